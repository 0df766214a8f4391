// Runs one model in onnxruntime: times it, writes its outputs, or writes every wire for debugging.
//
//   node bench/peer_run.mjs MODEL --input NAME=FILE.pb ... [--threads N] [--optimize on|off|basic|extended]
//        [--runs N --warmup N]        print one JSON line in the shape of `sardonyx bench --json`
//        [--output-dir DIR]           write output_0.pb, output_1.pb ... in graph order
//        [--wires all|NAME,NAME]      with --output-dir: also write wire_NAME.pb; puts a model with these extra
//                                     outputs beside MODEL while it runs, since weights are found from there
//        [--peer DIR]                 where onnxruntime-node is installed, build/peer unless told
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {parseArgs} from 'node:util';

import {readTensor, readWires, withOutputs, writeTensor} from './protobuf.mjs';

const {values: options, positionals} = parseArgs({
  allowPositionals: true,
  options: {
    input: {type: 'string', multiple: true, default: []},
    threads: {type: 'string', default: '1'},
    optimize: {type: 'string', default: 'on'},
    runs: {type: 'string', default: '0'},
    warmup: {type: 'string', default: '1'},
    'output-dir': {type: 'string'},
    wires: {type: 'string'},
    peer: {type: 'string', default: path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '../build/peer')},
  },
});

// What node itself needs is not onnxruntime's: the memory reported is the growth from here.
const baseRss = process.resourceUsage().maxRSS;
const ort = createRequire(path.resolve(options.peer, 'package.json'))('onnxruntime-node');

const feeds = {};
for (const input of options.input) {
  const cut = input.indexOf('=');
  const {type, data, dims} = readTensor(fs.readFileSync(input.slice(cut + 1)));
  feeds[input.slice(0, cut)] = new ort.Tensor(type, data, dims);
}

let modelPath = positionals[0];
let extra = null;
if (options.wires) {
  const bytes = fs.readFileSync(modelPath);
  const {wires, outputs} = readWires(bytes);
  const wanted = options.wires === 'all' ? wires : options.wires.split(',');
  extra = wanted.filter((name) => !outputs.includes(name));
  modelPath = path.join(path.dirname(modelPath), `.wires-${process.pid}.onnx`);
  fs.writeFileSync(modelPath, withOutputs(bytes, extra));
}

const loadStart = performance.now();
let session;
try {
  session = await ort.InferenceSession.create(modelPath, {
    executionProviders: ['cpu'],
    executionMode: 'sequential',
    graphOptimizationLevel: {on: 'all', off: 'disabled'}[options.optimize] ?? options.optimize,
    intraOpNumThreads: Number(options.threads),
    interOpNumThreads: 1,
    logSeverityLevel: 3,
  });
} finally {
  if (extra) fs.unlinkSync(modelPath);
}
const loadMs = performance.now() - loadStart;

if (options['output-dir']) {
  const results = await session.run(feeds);
  fs.mkdirSync(options['output-dir'], {recursive: true});
  const plain = session.outputNames.filter((name) => !extra?.includes(name));
  plain.forEach((name, i) => {
    fs.writeFileSync(path.join(options['output-dir'], `output_${i}.pb`), writeTensor(name, results[name]));
  });
  for (const name of extra ?? []) {
    const file = `wire_${name.replaceAll(/[^\w.-]/g, '_')}.pb`;
    fs.writeFileSync(path.join(options['output-dir'], file), writeTensor(name, results[name]));
  }
}

const runs = Number(options.runs);
if (runs > 0) {
  for (let i = 0; i < Number(options.warmup); ++i) await session.run(feeds);
  const times = new Float64Array(runs);
  for (let i = 0; i < runs; ++i) {
    const start = performance.now();
    await session.run(feeds);
    times[i] = performance.now() - start;
  }
  times.sort();
  const at = (share) => times[Math.min(runs - 1, Math.floor(runs * share))];
  console.log(JSON.stringify({
    load_ms: loadMs,
    min_ms: times[0],
    median_ms: at(0.5),
    p90_ms: at(0.9),
    runs,
    peak_rss_mb: (process.resourceUsage().maxRSS - baseRss) / 1024,
    threads: Number(options.threads),
  }));
}
