// Runs models of a folder in onnxruntime, each with the first of its sets of inputs that it takes.
//
//   node repository.mjs LIST.json --peer PEER [--levels disabled,all]
//
// LIST.json: [{model, folder, sets, out}]. folder/0 ... folder/N-1 hold the sets, input_0.pb ... each. out/answer.json
// gets {set} and out/output_0.pb ... the outputs, or {refused: reason}; out is folder unless it is given, and `set` names
// the one set to take. The first level of optimisation at which the model loads counts. A folder with an answer is left
// alone, so that after a crash of onnxruntime, which the answer then tells, the next call goes on.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {parseArgs} from 'node:util';

import {readTensor, writeTensor} from '../protobuf.mjs';

const {values: options, positionals} = parseArgs({allowPositionals: true, options: {
  peer: {type: 'string'},
  levels: {type: 'string', default: 'disabled,all'},
}});
const ort = createRequire(path.resolve(options.peer, 'package.json'))('onnxruntime-node');

function inputsOf(folder) {
  const feeds = {};
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith('.pb'))) {
    const {name, type, data, dims} = readTensor(fs.readFileSync(path.join(folder, file)));
    feeds[name] = new ort.Tensor(type, data, dims);
  }
  return feeds;
}

async function answer({model, folder, sets, out, set: only}) {
  let session, refused;
  for (const graphOptimizationLevel of options.levels.split(',')) {
    try {
      session = await ort.InferenceSession.create(model, {
        executionProviders: ['cpu'], graphOptimizationLevel, intraOpNumThreads: 1, interOpNumThreads: 1,
        logSeverityLevel: 4,
      });
      break;
    } catch (error) {
      refused ??= `loading: ${error.message ?? error}`;
    }
  }
  if (!session) return {refused};
  refused = 'running: no set of inputs';
  for (let set = only ?? 0; set < (only === undefined ? sets : only + 1); ++set) {
    try {
      const results = await session.run(inputsOf(path.join(folder, String(set))));
      session.outputNames.forEach((name, i) => {
        fs.writeFileSync(path.join(out ?? folder, `output_${i}.pb`), writeTensor(name, results[name]));
      });
      return {set, outputs: session.outputNames};
    } catch (error) {
      refused = `running: ${error.message ?? error}`;
    }
  }
  return {refused};
}

for (const one of JSON.parse(fs.readFileSync(positionals[0]))) {
  const file = path.join(one.out ?? one.folder, 'answer.json');
  if (fs.existsSync(file)) continue;
  fs.writeFileSync(file, JSON.stringify({refused: 'crashed'}));
  fs.writeFileSync(file, JSON.stringify(await answer(one)));
}
