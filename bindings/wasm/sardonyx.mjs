// Sardonyx in JavaScript: loads ONNX models and runs them, the same bits on every machine, in browsers and in node.
//
//   import { Sardonyx } from "./sardonyx.mjs";
//   const engine = await Sardonyx.load();
//   const session = engine.open(bytesOfTheModel);
//   const { probability } = session.run({ picture: { type: "f32", dims: [1, 1, 8, 8], data: new Float32Array(64) } });
//   console.log(probability.data, probability.digest);
//
// It is a thin layer over the functions of sardonyx_c.h. A model comes as bytes and holds its weights itself: there are no
// files here. Inputs and outputs are tensors.

/** What went wrong, with a stable code such as "SDX-T0102". */
export class SardonyxError extends Error {
  constructor(code, text) {
    super(text);
    this.name = "SardonyxError";
    this.code = code;
  }
}

// Element types, with ONNX's numbers and the array that holds them. Those that JavaScript has no array of come as their
// bytes, narrow ones packed from the least significant bit; halves as 16-bit patterns.
const TYPES = {
  f32: [1, Float32Array], u8: [2, Uint8Array], i8: [3, Int8Array], u16: [4, Uint16Array], i16: [5, Int16Array],
  i32: [6, Int32Array], i64: [7, BigInt64Array], string: [8, Array], bool: [9, Uint8Array], f16: [10, Uint16Array],
  f64: [11, Float64Array], u32: [12, Uint32Array], u64: [13, BigUint64Array], c64: [14, Float32Array],
  c128: [15, Float64Array], bf16: [16, Uint16Array], f8e4m3fn: [17, Uint8Array], f8e4m3fnuz: [18, Uint8Array],
  f8e5m2: [19, Uint8Array], f8e5m2fnuz: [20, Uint8Array], u4: [21, Uint8Array], i4: [22, Uint8Array],
  f4e2m1: [23, Uint8Array], f8e8m0: [24, Uint8Array], u2: [25, Uint8Array], i2: [26, Uint8Array],
  f6e2m3: [27, Uint8Array], f6e3m2: [28, Uint8Array],
};
const NAMES = Object.fromEntries(Object.entries(TYPES).map(([name, [number]]) => [number, name]));
const TENSOR = 1;  // sardonyx_kind

// What the module asks of the world around it. There is none of it but time, chance and a console: functions of files and
// folders fail, as on a machine that has none.
function world(module, memoryOf, crypto) {
  const view = () => new DataView(memoryOf().buffer), bytes = (at, size) => new Uint8Array(memoryOf().buffer, at >>> 0, size);
  const unfinished = {};  // lines of output, by file
  const kMostRandom = 65536;  // bytes at a time, says the Web
  const random = (into, size) => {
    for (let at = 0; at < size; at += kMostRandom) {
      crypto.getRandomValues(bytes(into + at, Math.min(kMostRandom, size - at)));
    }
    return 0;
  };
  const known = {
    env: { getentropy: random, emscripten_notify_memory_growth: () => {} },
    wasi_snapshot_preview1: {
      fd_write(file, pieces, count, written) {
        let total = 0, text = unfinished[file] ?? "";
        for (let piece = pieces; piece < pieces + 8 * count; piece += 8) {
          const size = view().getUint32(piece + 4, true);
          text += new TextDecoder().decode(bytes(view().getUint32(piece, true), size));
          total += size;
        }
        const lines = text.split("\n");
        unfinished[file] = lines.pop();
        for (const line of lines) console.error(line);
        view().setUint32(written, total, true);
        return 0;
      },
      clock_time_get(clock, precision, into) {
        const milliseconds = clock === 0 ? Date.now() : performance.now();
        view().setBigUint64(into, BigInt(Math.round(milliseconds * 1e6)), true);
        return 0;
      },
      environ_sizes_get(count, size) {
        view().setUint32(count, 0, true);
        view().setUint32(size, 0, true);
        return 0;
      },
      environ_get: () => 0,
      proc_exit(code) {
        throw new Error(`the engine has ended with ${code}`);
      },
    },
  };
  const kNoSuchFunction = 52;
  const missing = { env: () => -kNoSuchFunction, wasi_snapshot_preview1: () => kNoSuchFunction };
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = known[from]?.[name] ?? missing[from];
  }
  return imports;
}

async function bytesAt(address) {
  if (address.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(address);
  }
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status} ${answer.statusText}`);
  return answer.arrayBuffer();
}

/** The engine: one piece of memory, in which models and tensors live. */
export class Sardonyx {
  #c;

  /** `source`: the bytes of sardonyx.wasm, or its address; by default it lies beside this file. */
  static async load(source = new URL("sardonyx.wasm", import.meta.url)) {
    const module = await WebAssembly.compile(source instanceof URL ? await bytesAt(source) : source);
    let instance = null;
    const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto;  // node 18 has it by its name alone
    instance = await WebAssembly.instantiate(module, world(module, () => instance.exports.memory, crypto));
    instance.exports._initialize();
    return new Sardonyx(instance.exports);
  }

  /** For load() alone. */
  constructor(c) {
    this.#c = new Calls(c);
  }

  /** The engine's release: "0.3.0". */
  get version() {
    return this.#c.text(this.#c.c.sardonyx_version());
  }

  /**
   * A model, from its bytes, ready to run. `options`: `set`, sizes of named dimensions ({ N: 10 }); `strict`, true for the
   * numerics level of that name; `optimize`, false to run the graph as written.
   */
  open(bytes, options = {}) {
    const c = this.#c;
    return c.around((scope) => {
      const at = scope.copy(new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength));
      const model = scope.owned("model", c.made((out) => c.c.sardonyx_model_parse(at, bytes.byteLength, 0, out)));
      const sizes = Object.entries(options.set ?? {});
      const kSize = 16, list = scope.room(kSize * sizes.length);
      sizes.forEach(([name, value], i) => {
        c.view().setUint32(list + kSize * i, scope.string(name), true);
        c.view().setBigInt64(list + kSize * i + 8, BigInt(value), true);
      });
      const kOptions = 44, given = scope.room(kOptions);
      const members = [kOptions, 1, 0, options.optimize === false ? 1 : 0, options.strict ? 1 : 0, list, sizes.length];
      members.forEach((value, i) => c.view().setUint32(given + 4 * i, value, true));
      return new Session(c, c.made((out) => c.c.sardonyx_session_new(model, given, out)));
    });
  }
}

/** A model that is ready to run. */
class Session {
  #c;
  #handle;

  constructor(c, handle) {
    this.#c = c;
    this.#handle = handle;
    const [inputs, outputs] = c.two((a, b) => c.c.sardonyx_session_counts(handle, a, b));
    /** What it takes and gives: { name, text, type, dims }, -1 for a size that a run binds. */
    this.inputs = Array.from({ length: inputs }, (_, i) => c.port((out) => c.c.sardonyx_session_input(handle, i, out)));
    this.outputs = Array.from({ length: outputs }, (_, i) => c.port((out) => c.c.sardonyx_session_output(handle, i, out)));
  }

  /** From { name: { type, dims, data } } to { name: { type, dims, data, digest } }. */
  run(inputs) {
    const c = this.#c;
    return c.around((scope) => {
      const names = Object.keys(inputs), kPointer = 4;
      const given = scope.room(2 * kPointer * names.length), values = given + kPointer * names.length;
      names.forEach((name, i) => {
        const value = scope.tensor(inputs[name]), text = scope.string(name);
        c.view().setUint32(given + kPointer * i, text, true);
        c.view().setUint32(values + kPointer * i, value, true);
      });
      const count = this.outputs.length, made = scope.room(kPointer * count);
      c.must(c.c.sardonyx_session_run(this.#handle, given, values, names.length, 0, made, count));
      const handles = this.outputs.map((_, i) => scope.owned("value", c.view().getUint32(made + kPointer * i, true)));
      return Object.fromEntries(this.outputs.map(({ name }, i) => [name, c.tensor(handles[i], name)]));
    });
  }

  /** Lets the model's memory go; the session is then of no more use. */
  release() {
    this.#c.c.sardonyx_session_release(this.#handle);
    this.#handle = 0;
  }
}

// The functions of sardonyx_c.h, and how values come and go.
class Calls {
  constructor(c) {
    this.c = c;
  }
  // Anew each time: the buffer is another one when memory has grown.
  view() {
    return new DataView(this.c.memory.buffer);
  }
  bytes(at, size) {
    return new Uint8Array(this.c.memory.buffer, at >>> 0, size);
  }
  text(at) {
    const all = new Uint8Array(this.c.memory.buffer);
    return new TextDecoder().decode(all.subarray(at >>> 0, all.indexOf(0, at >>> 0)));
  }
  must(error) {
    if (error === 0) return;
    const thrown = new SardonyxError(this.text(this.c.sardonyx_error_code(error)), this.text(this.c.sardonyx_error_text(error)));
    this.c.sardonyx_error_release(error);
    throw thrown;
  }
  // What a function writes to the place that it is given.
  two(call) {
    return this.around((scope) => {
      const out = scope.room(8);
      this.must(call(out, out + 4));
      return [this.view().getUint32(out, true), this.view().getUint32(out + 4, true)];
    });
  }
  made(call) {
    return this.two((out) => call(out))[0];
  }
  port(call) {
    return this.around((scope) => {
      const kPort = 40, at = scope.room(kPort);
      this.view().setUint32(at, kPort, true);
      this.must(call(at));
      const view = this.view();
      const rank = Number(view.getBigInt64(at + 24, true)), dims = view.getUint32(at + 32, true);
      return {
        name: this.text(view.getUint32(at + 4, true)),
        text: this.text(view.getUint32(at + 8, true)),
        type: view.getInt32(at + 12, true) === TENSOR ? NAMES[view.getInt32(at + 16, true)] : undefined,
        dims: rank < 0 ? undefined : Array.from({ length: rank }, (_, i) => Number(view.getBigInt64(dims + 8 * i, true))),
      };
    });
  }
  // A tensor's elements, copied, and their digest.
  tensor(handle, name) {
    const c = this.c;
    if (this.made((out) => c.sardonyx_value_kind(handle, out)) !== TENSOR) {
      throw new SardonyxError("SDX-A0101", `the output "${name}" is no tensor`);
    }
    const type = NAMES[this.made((out) => c.sardonyx_tensor_type(handle, out))];
    const [dims, rank] = this.two((a, b) => c.sardonyx_tensor_shape(handle, a, b));
    const tensor = { type, dims: Array.from({ length: rank }, (_, i) => Number(this.view().getBigInt64(dims + 8 * i, true))) };
    if (type === "string") {
      const count = this.made((out) => c.sardonyx_tensor_count(handle, out));
      tensor.data = Array.from({ length: count }, (_, i) => {
        const [at, length] = this.two((a, b) => c.sardonyx_tensor_string(handle, i, a, b));
        return new TextDecoder().decode(this.bytes(at, length));
      });
    } else {
      const [at, size] = this.two((a, b) => c.sardonyx_tensor_data(handle, a, b));
      tensor.data = new TYPES[type][1](this.bytes(at, size).slice().buffer);
    }
    tensor.digest = this.around((scope) => {
      const digest = scope.room(65);
      this.must(c.sardonyx_tensor_digest(handle, digest));
      return this.text(digest);
    });
    return tensor;
  }
  // body(scope): what the scope holds is let go behind it, whatever happens.
  around(body) {
    const scope = new Scope(this);
    try {
      return body(scope);
    } finally {
      scope.end();
    }
  }
}

class Scope {
  #calls;
  #held = [];

  constructor(calls) {
    this.#calls = calls;
  }
  // Memory, all zeros.
  room(size) {
    const at = this.#calls.c.malloc(Math.max(size, 1)) >>> 0;
    if (at === 0) throw new SardonyxError("SDX-A0102", `no memory for ${size} bytes`);
    this.#held.push(() => this.#calls.c.free(at));
    this.#calls.bytes(at, size).fill(0);
    return at;
  }
  copy(bytes) {
    const at = this.room(bytes.length);
    this.#calls.bytes(at, bytes.length).set(bytes);
    return at;
  }
  string(text) {
    return this.copy(new TextEncoder().encode(text + "\0"));
  }
  // A handle, of a value or a model.
  owned(kind, handle) {
    this.#held.push(() => this.#calls.c[`sardonyx_${kind}_release`](handle));
    return handle;
  }
  tensor({ type, dims, data }) {
    const calls = this.#calls, known = TYPES[type];
    if (known === undefined) throw new SardonyxError("SDX-A0101", `no element type is called "${type}"`);
    const sizes = this.copy(new Uint8Array(BigInt64Array.from(dims, BigInt).buffer));
    if (type === "string") {
      const kPointer = 4, strings = this.room(2 * kPointer * data.length), lengths = strings + kPointer * data.length;
      data.forEach((text, i) => {
        const bytes = new TextEncoder().encode(text), at = this.copy(bytes);
        calls.view().setUint32(strings + kPointer * i, at, true);
        calls.view().setUint32(lengths + kPointer * i, bytes.length, true);
      });
      return this.owned("value", calls.made((out) =>
        calls.c.sardonyx_tensor_of_strings(sizes, dims.length, strings, lengths, data.length, out)));
    }
    const handle = this.owned("value", calls.made((out) => calls.c.sardonyx_tensor_new(known[0], sizes, dims.length, out)));
    const [at, size] = calls.two((a, b) => calls.c.sardonyx_tensor_data(handle, a, b));
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    if (bytes.length !== size) {
      throw new SardonyxError("SDX-A0101", `${type}[${dims}] takes ${size} bytes, ${bytes.length} were given`);
    }
    calls.bytes(at, size).set(bytes);
    return handle;
  }
  end() {
    for (const release of this.#held.reverse()) release();
    this.#held = [];
  }
}
