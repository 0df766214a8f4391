// What the page and the program for node share: the ten handwritten digits of examples/digits, and the inputs of the
// published digest.
import { Sardonyx } from "../../build-wasm/module/sardonyx.mjs";

/** `read(name)` gives a file's bytes. What the model says of the pictures, and of the inputs that docs/digests.md tells of. */
export async function readDigits(read) {
  const [engine, model, pictures, labels] = await Promise.all(
    [Sardonyx.load(), ...["digits.onnx", "pictures.pb", "labels.pb"].map((name) => read(`../digits/${name}`))]);
  const session = engine.open(model);
  // A TensorProto's raw data comes last: 640 floats, and 10 integers.
  const shown = { type: "f32", dims: [10, 1, 8, 8], data: new Float32Array(last(pictures, 640 * 4)) };
  const meant = new BigInt64Array(last(labels, 10 * 8));
  const { probability } = session.run({ picture: shown });
  const answers = Array.from({ length: 10 }, (_, n) => {
    const chances = [...probability.data.slice(10 * n, 10 * n + 10)], best = Math.max(...chances);
    return { ink: shown.data.slice(64 * n, 64 * n + 64), digit: chances.indexOf(best), chance: best, meant: Number(meant[n]) };
  });
  const random = session.run({ picture: { ...shown, data: drawn(640) } }).probability;
  session.release();
  return { version: engine.version, answers, digest: probability.digest, published: random.digest };
}

function last(bytes, count) {
  const all = new Uint8Array(bytes);
  return all.slice(all.length - count).buffer;
}

// As `sardonyx run --random 1` draws the first input: SplitMix64, whose upper 24 bits become a number from -1 to 1.
function drawn(count) {
  const whole = (x) => BigInt.asUintN(64, x);
  let hash = 0xcbf29ce484222325n;
  for (const c of "0") hash = whole((hash ^ BigInt(c.charCodeAt(0))) * 0x100000001b3n);
  let state = 1n ^ hash;
  return Float32Array.from({ length: count }, () => {
    state = whole(state + 0x9e3779b97f4a7c15n);
    let z = whole((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = whole((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return Number((z ^ (z >> 31n)) >> 40n) / 2 ** 23 - 1;
  });
}
