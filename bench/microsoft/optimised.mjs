// Saves a model as onnxruntime's optimiser leaves it: node optimised.mjs MODEL OUT LEVEL --peer PEER
import {createRequire} from 'node:module';
import path from 'node:path';
import {parseArgs} from 'node:util';

const {values: options, positionals} = parseArgs({allowPositionals: true, options: {peer: {type: 'string'}}});
const ort = createRequire(path.resolve(options.peer, 'package.json'))('onnxruntime-node');
const [model, out, level] = positionals;
const session = await ort.InferenceSession.create(model, {
  executionProviders: ['cpu'], graphOptimizationLevel: level, optimizedModelFilePath: out, intraOpNumThreads: 1,
  logSeverityLevel: 4,
});
await session.release();
