// The protocol over gRPC with @grpc/grpc-js: NODE_PATH holds it and @grpc/proto-loader, PORT is the server's.
"use strict";
const assert = require("assert");
const path = require("path");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const definition = loader.loadSync(path.join(__dirname, "..", "inference.proto"), {keepCase: true, longs: Number});
const {inference} = grpc.loadPackageDefinition(definition);
const client = new inference.GRPCInferenceService("127.0.0.1:" + process.env.PORT, grpc.credentials.createInsecure());
const call = (method, request) => new Promise((resolve, reject) => client[method](request, (error, answer) => error ? reject(error) : resolve(answer)));
const request = (values, more) => ({model_name: "double", inputs: [{name: "x", datatype: "FP32", shape: [values.length / 4, 4]}],
  raw_input_contents: [Buffer.from(Float32Array.from(values).buffer)], ...more});
const floats = answer => Array.from(new Float32Array(new Uint8Array(answer.raw_output_contents[0]).buffer));

async function main() {
  assert.equal((await call("ServerLive", {})).live, true);
  assert.equal((await call("ServerReady", {})).ready, true);
  assert.equal((await call("ModelReady", {name: "double"})).ready, true);
  assert.equal((await call("ServerMetadata", {})).name, "sardonyx");
  assert.deepEqual((await call("ModelMetadata", {name: "double"})).inputs[0].shape, [-1, 4]);
  assert.deepEqual(floats(await call("ModelInfer", request([1, 2, 3, 4]))), [2, 4, 6, 8]);
  const typed = request([1, 2, 3, 4], {raw_input_contents: []});
  typed.inputs[0].contents = {fp32_contents: [1, 2, 3, 4]};
  assert.deepEqual(floats(await call("ModelInfer", typed)), [2, 4, 6, 8]);
  await assert.rejects(call("ModelInfer", request([1, 2, 3, 4], {model_name: "none"})), {code: grpc.status.NOT_FOUND});
  assert.equal((await call("RepositoryIndex", {})).models.length, 4);
  assert.ok((await call("ModelStatistics", {name: "double"})).model_stats[0].inference_stats.success.count >= 1);
  assert.equal((await call("ModelConfig", {name: "double"})).config.name, "double");
  const answers = await Promise.all(Array.from({length: 200}, (_, i) => call("ModelInfer", request([i, 0, 0, 0]))));
  assert.deepEqual(answers.map(answer => floats(answer)[0]), Array.from({length: 200}, (_, i) => 2 * i));
  const stream = client.ModelStreamInfer();
  const ids = [];
  const ended = new Promise((resolve, reject) => {
    stream.on("data", answer => ids.push(answer.infer_response.id));
    stream.on("end", resolve);
    stream.on("error", reject);
  });
  for (let i = 0; i < 5; ++i) stream.write(request([1, 2, 3, 4], {id: String(i)}));
  stream.end();
  await ended;
  assert.deepEqual(ids.sort(), ["0", "1", "2", "3", "4"]);
  client.close();
  console.log("grpc-js: every call answered");
}
main().catch(error => { console.error(error); process.exit(1); });
