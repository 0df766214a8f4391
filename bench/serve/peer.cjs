// onnxruntime behind node's http and @grpc/grpc-js, as a person would write it: the peer of figures.py.
//   node peer.cjs ORT_FOLDER GRPC_FOLDER MODEL.onnx     prints {"http": PORT, "h2c": PORT, "grpc": PORT}
"use strict";
const http = require("http");
const http2 = require("http2");
const path = require("path");
const {createRequire} = require("module");
const [ortFolder, grpcFolder, model] = process.argv.slice(2);
const ort = createRequire(path.resolve(ortFolder, "package.json"))("onnxruntime-node");
const fromGrpc = createRequire(path.resolve(grpcFolder, "package.json"));
const grpc = fromGrpc("@grpc/grpc-js"), loader = fromGrpc("@grpc/proto-loader");

const TYPES = {FP32: ["float32", Float32Array], INT64: ["int64", BigInt64Array]};
const NAMES = {float32: "FP32", int64: "INT64"};

function ofNumbers({datatype, shape, data}) {
  const [type, Values] = TYPES[datatype];
  return new ort.Tensor(type, Values.from(datatype === "INT64" ? data.map(BigInt) : data), shape);
}
function ofBytes({datatype, shape}, bytes) {
  const [type, Values] = TYPES[datatype];
  return new ort.Tensor(type, new Values(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)), shape);
}
const bytesOf = ({data}) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

async function main() {
  const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3});

  // The Open Inference Protocol: numbers in JSON, or behind it as binary tensors.
  const infer = async (body, headerLength) => {
    const jsonLength = headerLength === undefined ? body.length : Number(headerLength);
    const asked = JSON.parse(body.subarray(0, jsonLength));
    const feeds = {};
    let at = jsonLength;
    for (const input of asked.inputs) {
      const size = input.parameters?.binary_data_size;
      feeds[input.name] = size === undefined ? ofNumbers(input) : ofBytes(input, body.subarray(at, at += size));
    }
    const results = Object.entries(await session.run(feeds));
    const binary = asked.parameters?.binary_data_output;
    const outputs = results.map(([name, y]) => ({name, datatype: NAMES[y.type], shape: y.dims,
      ...(binary ? {parameters: {binary_data_size: y.data.byteLength}} : {data: Array.from(y.data)})}));
    const json = Buffer.from(JSON.stringify({model_name: "m", model_version: "1", outputs}));
    if (!binary) return [{"Content-Type": "application/json", "Content-Length": json.length}, json];
    const whole = Buffer.concat([json, ...results.map(([, y]) => bytesOf(y))]);
    return [{"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": json.length, "Content-Length": whole.length}, whole];
  };
  const answer = (request, response) => {
    const parts = [];
    request.on("data", part => parts.push(part));
    request.on("end", async () => {
      const [headers, body] = await infer(Buffer.concat(parts), request.headers["inference-header-content-length"]);
      response.writeHead(200, headers);
      response.end(body);
    });
  };
  const listening = async server => {
    await new Promise(resolve => server.listen(0, "127.0.0.1", resolve));
    return server.address().port;
  };

  const definition = loader.loadSync(path.join(__dirname, "../../serve/inference.proto"), {keepCase: true, longs: Number});
  const server = new grpc.Server();
  server.addService(grpc.loadPackageDefinition(definition).inference.GRPCInferenceService.service, {
    ModelInfer: async ({request}, done) => {
      const feeds = {};
      request.inputs.forEach((input, i) => { feeds[input.name] = ofBytes(input, request.raw_input_contents[i]); });
      const results = Object.entries(await session.run(feeds));
      done(null, {model_name: request.model_name, model_version: "1",
        outputs: results.map(([name, y]) => ({name, datatype: NAMES[y.type], shape: y.dims})),
        raw_output_contents: results.map(([, y]) => bytesOf(y))});
    },
  });
  const port = await new Promise((resolve, reject) => server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(),
    (error, port) => error ? reject(error) : resolve(port)));
  console.log(JSON.stringify({http: await listening(http.createServer(answer)), h2c: await listening(http2.createServer(answer)), grpc: port}));
}
main();
