// A pulsed model in onnxruntime, pulse after pulse: each state that comes out goes in again (streamed.py drives it).
//
//   node bench/peer_stream.mjs PEER_FOLDER QUESTION.json
//   {"model": path, "pulses": N, "inputs": [{"name", "dims", "file"}], "fixed": [the same],
//    "states": [{"input", "output"}], "first": [{"name", "dims", "type", "file"}], "outputs": [{"name", "file"}]}
// Files are raw 32-bit floats, but for the first states; an input's has all its pulses, one behind the other, and so has an
// output's.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

const [folder, question] = process.argv.slice(2);
const ort = createRequire(path.resolve(folder, 'package.json'))('onnxruntime-node');
const asked = JSON.parse(fs.readFileSync(question, 'utf8'));
const floats = (file) => {
  const bytes = fs.readFileSync(file);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
};

const session = await ort.InferenceSession.create(asked.model, {
  executionProviders: ['cpu'], graphOptimizationLevel: 'all', intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3,
});
const feeds = {};
for (const {name, dims, file} of asked.fixed) feeds[name] = new ort.Tensor('float32', floats(file), dims);
const kinds = {float32: Float32Array, float64: Float64Array, int64: BigInt64Array, int32: Int32Array, bool: Uint8Array, uint8: Uint8Array};
for (const {name, dims, type, file} of asked.first) {
  const bytes = fs.readFileSync(file);
  const data = new kinds[type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  feeds[name] = new ort.Tensor(type, data, dims);
}
const rows = asked.inputs.map(({name, dims, file}) => ({name, dims, data: floats(file)}));
const parts = asked.outputs.map(() => []);
for (let pulse = 0; pulse < asked.pulses; ++pulse) {
  for (const {name, dims, data} of rows) {
    const count = dims.reduce((a, b) => a * b, 1);
    feeds[name] = new ort.Tensor('float32', data.slice(pulse * count, (pulse + 1) * count), dims);
  }
  const results = await session.run(feeds);
  for (const {input, output} of asked.states) feeds[input] = results[output];
  asked.outputs.forEach(({name}, i) => {
    const {data} = results[name];
    parts[i].push(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  });
}
asked.outputs.forEach(({file}, i) => fs.writeFileSync(file, Buffer.concat(parts[i])));
