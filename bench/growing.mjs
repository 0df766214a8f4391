// Greedy decoding in onnxruntime with a past that grows: growing.py's other engine. Reads what to do on stdin, prints
// {times, ids}: seconds and chosen id per token.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {parseArgs} from 'node:util';

const {values: options} = parseArgs({options: {peer: {type: 'string'}}});
const ort = createRequire(path.resolve(options.peer, 'package.json'))('onnxruntime-node');
const spec = JSON.parse(fs.readFileSync(0));
const session = await ort.InferenceSession.create(spec.model, {
  executionProviders: ['cpu'], intraOpNumThreads: spec.threads, interOpNumThreads: 1, logSeverityLevel: 4,
});
const arrays = {float32: Float32Array, int64: BigInt64Array, bool: Uint8Array};
const feeds = {};
for (const {name, type, dims, file} of spec.feeds) {
  const bytes = fs.readFileSync(file);
  feeds[name] = new ort.Tensor(type, new arrays[type](new Uint8Array(bytes).buffer), dims);
}
let length = Object.entries(feeds).find(([name]) => name.startsWith('past'))[1].dims[2];
const times = [], ids = [];
let token = 1n;
const wanted = [spec.logits, ...spec.states.map(([output]) => output)];
for (let step = 0; step < spec.steps; ++step) {
  feeds.input_ids = new ort.Tensor('int64', BigInt64Array.of(token), [1, 1]);
  if (spec.names.includes('position_ids')) {
    feeds.position_ids = new ort.Tensor('int64', BigInt64Array.of(BigInt(length)), [1, 1]);
  }
  if (spec.names.includes('mask')) {
    feeds.mask = new ort.Tensor('int64', new BigInt64Array(length + 1).fill(1n), [1, length + 1]);
  }
  const start = performance.now();
  const results = await session.run(feeds, wanted);
  times.push((performance.now() - start) / 1e3);
  const scores = results[spec.logits].data;
  let best = 0;
  for (let i = 1; i < scores.length; ++i) if (scores[i] > scores[best]) best = i;
  token = BigInt(best);
  ids.push(best);
  for (const [output, name] of spec.states) {
    if (!name.includes('encoder')) feeds[name] = results[output];
  }
  ++length;
}
console.log(JSON.stringify({times, ids}));
