// The few ONNX protobuf messages that the peer scripts need: tensors in and out, and the names of a model's wires.

const kTypes = {
  1: ['float32', Float32Array],
  2: ['uint8', Uint8Array],
  3: ['int8', Int8Array],
  4: ['uint16', Uint16Array],
  5: ['int16', Int16Array],
  6: ['int32', Int32Array],
  7: ['int64', BigInt64Array],
  8: ['string', null],
  9: ['bool', Uint8Array],
  10: ['float16', Uint16Array],
  11: ['float64', Float64Array],
  12: ['uint32', Uint32Array],
  13: ['uint64', BigUint64Array],
};

function readVarint(bytes, at) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = bytes[at++];
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return [value, at];
  }
}

// Yields [field number, value]: a BigInt for a varint, a byte view for everything else.
export function* fields(bytes) {
  for (let at = 0; at < bytes.length; ) {
    let tag, value;
    [tag, at] = readVarint(bytes, at);
    const wire = Number(tag & 7n);
    if (wire === 0) {
      [value, at] = readVarint(bytes, at);
    } else {
      let size = wire === 1 ? 8n : 4n;
      if (wire === 2) [size, at] = readVarint(bytes, at);
      value = bytes.subarray(at, at + Number(size));
      at += Number(size);
    }
    yield [Number(tag >> 3n), value];
  }
}

function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const block = (field, bytes) => Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);

function* repeatedVarints(value) {
  if (typeof value === 'bigint') {
    yield value;
    return;
  }
  for (let at = 0, one; at < value.length; ) {
    [one, at] = readVarint(value, at);
    yield one;
  }
}

// A TensorProto's bytes as {name, type, dims, data}, data in the array type that onnxruntime wants.
export function readTensor(bytes) {
  const tensor = {name: '', type: '', dims: [], data: null};
  let arrayType = null;
  const raw = [], strings = [], integers = [];
  for (const [field, value] of fields(bytes)) {
    if (field === 1) tensor.dims.push(...[...repeatedVarints(value)].map(Number));
    if (field === 2) [tensor.type, arrayType] = kTypes[Number(value)] ?? ['', null];
    if (field === 8) tensor.name = value.toString();
    if (field === 4 || field === 9 || field === 10) raw.push(value);
    if (field === 6) strings.push(value.toString());
    if (field === 5 || field === 7 || field === 11) integers.push(...repeatedVarints(value));
  }
  if (tensor.type === '') throw new Error('a tensor of a type that onnxruntime-node cannot take');
  if (tensor.type === 'string') {
    tensor.data = strings;
  } else if (integers.length > 0) {
    const wide = arrayType === BigInt64Array || arrayType === BigUint64Array;
    tensor.data = arrayType.from(integers, (v) => (wide ? v : Number(BigInt.asIntN(32, v))));
  } else {
    const copy = Buffer.concat(raw);
    tensor.data = new arrayType(new Uint8Array(copy).buffer);
  }
  return tensor;
}

// The TensorProto of an onnxruntime tensor.
export function writeTensor(name, {type, dims, data}) {
  const code = Object.keys(kTypes).find((key) => kTypes[key][0] === type);
  const parts = dims.map((dim) => number(1, dim));
  parts.push(number(2, code));
  if (type === 'string') parts.push(...data.map((text) => block(6, Buffer.from(text))));
  parts.push(block(8, Buffer.from(name)));
  if (type !== 'string') parts.push(block(9, Buffer.from(data.buffer, data.byteOffset, data.byteLength)));
  return Buffer.concat(parts);
}

// The names of all node outputs of the main graph and of its declared outputs.
export function readWires(modelBytes) {
  const wires = [], outputs = [];
  for (const [modelField, graph] of fields(modelBytes)) {
    if (modelField !== 7) continue;
    for (const [graphField, message] of fields(graph)) {
      if (graphField !== 1 && graphField !== 12) continue;
      for (const [field, value] of fields(message)) {
        if (graphField === 1 && field === 2 && value.length > 0) wires.push(value.toString());
        if (graphField === 12 && field === 1) outputs.push(value.toString());
      }
    }
  }
  return {wires, outputs};
}

// The model with more graph outputs. Protobuf merges a field that occurs twice, so appending a graph that holds
// only outputs adds them to the graph that is there.
export function withOutputs(modelBytes, names) {
  const outputs = names.map((name) => block(12, block(1, Buffer.from(name))));
  return Buffer.concat([modelBytes, block(7, Buffer.concat(outputs))]);
}
