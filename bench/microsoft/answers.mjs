// Runs every case of a folder in onnxruntime, in one process.
//
//   node answers.mjs DIR --peer PEER
//
// DIR/CASE/{model.onnx, input_0.pb ...} gets output_0.pb ... in graph order, or refused.txt with onnxruntime's reason.
// A case that has either is left alone, so that after a crash of onnxruntime, which refused.txt then tells, the next
// call goes on.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {parseArgs} from 'node:util';

import {readTensor, writeTensor} from '../protobuf.mjs';

const {values: options, positionals} = parseArgs({allowPositionals: true, options: {peer: {type: 'string'}}});
const ort = createRequire(path.resolve(options.peer, 'package.json'))('onnxruntime-node');
const settings = {
  executionProviders: ['cpu'],
  graphOptimizationLevel: 'disabled',
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  logSeverityLevel: 4,
};

async function answer(folder) {
  const session = await ort.InferenceSession.create(path.join(folder, 'model.onnx'), settings);
  const feeds = {};
  for (const file of fs.readdirSync(folder).filter((name) => /^input_\d+\.pb$/.test(name))) {
    const {name, type, data, dims} = readTensor(fs.readFileSync(path.join(folder, file)));
    feeds[name] = new ort.Tensor(type, data, dims);
  }
  const results = await session.run(feeds);
  session.outputNames.forEach((name, i) => {
    fs.writeFileSync(path.join(folder, `output_${i}.pb`), writeTensor(name, results[name]));
  });
  await session.release();
}

for (const name of fs.readdirSync(positionals[0]).sort()) {
  const folder = path.join(positionals[0], name);
  const refused = path.join(folder, 'refused.txt');
  if (!fs.existsSync(path.join(folder, 'model.onnx'))) continue;
  if (fs.existsSync(refused) || fs.existsSync(path.join(folder, 'output_0.pb'))) continue;
  fs.writeFileSync(refused, 'onnxruntime crashed');
  try {
    await answer(folder);
    fs.unlinkSync(refused);
  } catch (error) {
    fs.writeFileSync(refused, String(error.message ?? error));
  }
}
