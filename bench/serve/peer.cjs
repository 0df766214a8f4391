// onnxruntime behind node's http and @grpc/grpc-js, as a person would write it: the peer of figures.py.
//   node peer.cjs ORT_FOLDER GRPC_FOLDER MODEL.onnx     prints {"http": PORT, "grpc": PORT}
"use strict";
const http = require("http");
const path = require("path");
const {createRequire} = require("module");
const [ortFolder, grpcFolder, model] = process.argv.slice(2);
const ort = createRequire(path.resolve(ortFolder, "package.json"))("onnxruntime-node");
const fromGrpc = createRequire(path.resolve(grpcFolder, "package.json"));
const grpc = fromGrpc("@grpc/grpc-js"), loader = fromGrpc("@grpc/proto-loader");

async function main() {
  const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3});
  const run = async (values, shape) => (await session.run({x: new ort.Tensor("float32", values, shape)})).y;

  const rest = http.createServer((request, response) => {
    const parts = [];
    request.on("data", part => parts.push(part));
    request.on("end", async () => {
      const {inputs: [input]} = JSON.parse(Buffer.concat(parts));
      const y = await run(Float32Array.from(input.data), input.shape);
      const text = JSON.stringify({model_name: "m", model_version: "1", outputs: [{name: "y", datatype: "FP32", shape: y.dims, data: Array.from(y.data)}]});
      response.writeHead(200, {"Content-Type": "application/json", "Content-Length": Buffer.byteLength(text)});
      response.end(text);
    });
  });
  await new Promise(resolve => rest.listen(0, "127.0.0.1", resolve));

  const definition = loader.loadSync(path.join(__dirname, "../../serve/inference.proto"), {keepCase: true, longs: Number});
  const server = new grpc.Server();
  server.addService(grpc.loadPackageDefinition(definition).inference.GRPCInferenceService.service, {
    ModelInfer: async ({request}, done) => {
      const bytes = request.raw_input_contents[0];
      const y = await run(new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)), request.inputs[0].shape);
      done(null, {model_name: request.model_name, model_version: "1", outputs: [{name: "y", datatype: "FP32", shape: y.dims}],
        raw_output_contents: [Buffer.from(y.data.buffer, y.data.byteOffset, y.data.byteLength)]});
    },
  });
  const port = await new Promise((resolve, reject) => server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(),
    (error, port) => error ? reject(error) : resolve(port)));
  console.log(JSON.stringify({http: rest.address().port, grpc: port}));
}
main();
