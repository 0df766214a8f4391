// onnxruntime in a process that stays, for engines.py: one JSON question per line, one JSON answer each.
//
//   node bench/peer_loop.mjs PEER_FOLDER THREADS
//   {"model": base64, "feeds": [{"name", "type", "dims", "data": base64}]}   a session for what follows
//   {"run": true}                                                            its outputs
//   {"seconds": 0.05}                                                        seconds of each call
import {createRequire} from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

const [folder, threads] = process.argv.slice(2);
const ort = createRequire(path.resolve(folder, 'package.json'))('onnxruntime-node');
const arrays = {
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, int64: BigInt64Array, int32: Int32Array,
  int8: Int8Array, uint8: Uint8Array, bool: Uint8Array,
};
let session = null;
let feeds = {};

const bytes = (text) => {
  const buffer = Buffer.from(text, 'base64');
  return buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.length);
};

async function answer(question) {
  if (question.model) {
    session = await ort.InferenceSession.create(new Uint8Array(bytes(question.model)), {
      executionProviders: ['cpu'],
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      intraOpNumThreads: Number(threads),
      interOpNumThreads: 1,
      logSeverityLevel: 3,
    });
    feeds = {};
    for (const {name, type, dims, data} of question.feeds) {
      feeds[name] = new ort.Tensor(type, new arrays[type](bytes(data)), dims);
    }
    return {};
  }
  if (question.run) {
    const results = await session.run(feeds);
    const outputs = {};
    for (const name of session.outputNames) {
      const {data} = results[name];
      outputs[name] = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
    }
    return {outputs};
  }
  await session.run(feeds);
  const times = [];
  const end = performance.now() + question.seconds * 1000;
  while (times.length < 3 || performance.now() < end) {
    const start = performance.now();
    await session.run(feeds);
    times.push((performance.now() - start) / 1000);
  }
  return {times};
}

for await (const line of readline.createInterface({input: process.stdin})) {
  let reply;
  try {
    reply = await answer(JSON.parse(line));
  } catch (error) {
    reply = {error: String(error.message ?? error)};
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
