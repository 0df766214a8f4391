#!/usr/bin/python3
"""Runs the trained models that npm packages carry in Sardonyx and in onnxruntime, and prints how they agree.

    bench/trained.py [--models DIR] [--only NAME,NAME] [--build DIR]

Each model runs as its users run it: voice detectors chunk by chunk with the state fed back, text recognisers at three
picture sizes with one load, the speech decoder first without and then with its cache. A line per step gives, for the
worst output, ||a-b|| / ||b|| of Sardonyx and of onnxruntime with its optimisations, both against onnxruntime without
them, and whether the largest elements stand at the same places. An element counts as at least 0.001 large: where a
detector finds nothing, its noise is not compared digit by digit. Exits with 1 if a step differs by more than its bound
and by more than twice what onnxruntime's own optimisations make.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import cases


class Out:
    """The value that an output had at an earlier step."""

    def __init__(self, step, name):
        self.step, self.name = step, name


def speech(samples, seed=1, rate=16000):
    """Something like a voice: harmonics under a slow envelope, and noise."""
    t = np.arange(samples) / rate
    wave = sum(np.sin(2 * np.pi * 140 * k * t) / k for k in range(1, 9)) * (0.5 + 0.5 * np.sin(2 * np.pi * 3 * t))
    noise = np.random.default_rng(seed).standard_normal(samples) * 0.02
    return (0.1 * wave + noise).astype(np.float32)


def picture(*shape, seed=2):
    """Strokes on paper, as a network wants them: normalised to about [-1, 1]."""
    rng = np.random.default_rng(seed)
    image = np.full(shape, 0.9, np.float32)
    height, width = shape[-2:]
    for _ in range(24):
        y, x = rng.integers(0, height), rng.integers(0, width)
        image[..., y : y + 1 + height // 24, x : x + 1 + width // 6] = -0.8
        image[..., y : y + 1 + height // 5, x : x + 1 + width // 40] = -0.6
    return image + rng.normal(0, 0.02, shape).astype(np.float32)


def silero_v4(rate):
    chunks = speech(5 * 512).reshape(5, 1, 512)
    zero = np.zeros((2, 1, 64), np.float32)
    return [{"input": chunk, "sr": np.int64(rate), "h": Out(i - 1, "hn") if i else zero,
             "c": Out(i - 1, "cn") if i else zero} for i, chunk in enumerate(chunks)]


def silero_v5(rate):
    size = 512 if rate == 16000 else 256
    chunks = speech(5 * size, rate=rate).reshape(5, 1, size)
    zero = np.zeros((2, 1, 128), np.float32)
    return [{"input": chunk, "sr": np.int64(rate), "state": Out(i - 1, "stateN") if i else zero}
            for i, chunk in enumerate(chunks)]


def sizes(name, *shapes):
    return [{name: picture(*shape, seed=i)} for i, shape in enumerate(shapes)]


def moonshine_decoder():
    """Without the cache first; then with it, one more token each time."""
    hidden = np.random.default_rng(5).standard_normal((1, 41, 288)).astype(np.float32)
    past = [f"{layer}.{side}.{part}" for layer in range(6) for side in ("decoder", "encoder") for part in
            ("key", "value")]
    empty = np.zeros((1, 8, 0, 36), np.float32)
    steps = [{"input_ids": np.array([[1]], np.int64), "encoder_hidden_states": hidden,
              "use_cache_branch": np.array([False]), **{f"past_key_values.{p}": empty for p in past}}]
    for i, token in enumerate((450, 907, 22, 3)):
        feeds = {"input_ids": np.array([[token]], np.int64), "encoder_hidden_states": hidden,
                 "use_cache_branch": np.array([True])}
        for p in past:  # what was computed from the recording is computed once
            feeds[f"past_key_values.{p}"] = Out(0 if ".encoder." in p else i, f"present.{p}")
        steps.append(feeds)
    return steps


def noise(*shape, seed=3):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# name: (bound, {case: steps}). Where weights and activations are 8-bit integers, one rounding that falls the other
# way moves an activation by a whole step.
MODELS = {
    "silero_vad_v4": (1e-4, {"16 kHz": lambda: silero_v4(16000), "8 kHz": lambda: silero_v4(8000)}),
    "silero_vad_v5": (1e-4, {"16 kHz": lambda: silero_v5(16000), "8 kHz": lambda: silero_v5(8000)}),
    "silero_vad_v6": (1e-4, {"16 kHz": lambda: silero_v5(16000), "8 kHz": lambda: silero_v5(8000)}),
    "ppocrv4_ch_det": (1e-3, {"": lambda: sizes("x", (1, 3, 320, 320), (1, 3, 256, 448), (1, 3, 480, 224))}),
    "ppocrv4_ch_rec": (1e-3, {"": lambda: sizes("x", (1, 3, 48, 320), (1, 3, 48, 160), (2, 3, 48, 512))}),
    "ppocr_v2_cls": (1e-3, {"": lambda: sizes("x", (1, 3, 48, 192), (2, 3, 48, 192), (1, 3, 64, 256))}),
    "ddddocr_common": (1e-3, {"": lambda: sizes("input1", (1, 1, 64, 160), (1, 1, 64, 96), (1, 1, 64, 256))}),
    "ddddocr_det": (1e-3, {"": lambda: sizes("images", (1, 3, 416, 416))}),
    "ddddocr_old": (3e-2, {"": lambda: sizes("input1", (1, 1, 64, 160), (1, 1, 64, 96))}),
    "oww_melspectrogram": (1e-3, {"": lambda: [{"input": speech(n)[None] * 32767} for n in (16000, 1760, 12400)]}),
    "oww_embedding": (1e-3, {"": lambda: [{"input_1": noise(n, 76, 32, 1)} for n in (1, 3, 2)]}),
    "oww_hey_jarvis": (1e-3, {"": lambda: [{"x.1": noise(1, 16, 96)}]}),
    "oww_hey_rhasspy": (1e-3, {"": lambda: [{"onnx::Flatten_0": noise(1, 16, 96)}]}),
    "moonshine_tiny_encoder_q": (3e-2, {"": lambda: [{"input_values": speech(n)[None]} for n in (16000, 8000, 23040)]}),
    "moonshine_tiny_decoder_q": (3e-2, {"cached": moonshine_decoder}),
}


class Runner:
    """One engine; gives the outputs of all steps, by name."""

    def __init__(self, folder, names):
        self.folder, self.names = folder, names

    def write(self, step, feeds, done):
        paths = []
        for i, (name, value) in enumerate(feeds.items()):
            array = done[value.step][value.name] if isinstance(value, Out) else np.asarray(value)
            path = self.folder / f"in_{step}_{i}.pb"
            path.write_bytes(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape),
                                                     name).SerializeToString())
            paths.append((name, path))
        return paths

    def read(self, folder):
        return dict(zip(self.names, (numpy_helper.to_array(t) for t in cases.read_outputs(folder))))

    def one_by_one(self, model, steps, command):
        done = []
        for i, feeds in enumerate(steps):
            out = self.folder / f"out_{i}"
            call(command(model, self.write(i, feeds, done), out))
            done.append(self.read(out))
        return done


class Peer(Runner):
    def __init__(self, folder, names, peer, optimize):
        super().__init__(folder, names)
        self.peer, self.optimize = peer, optimize

    def run(self, model, steps):
        return self.one_by_one(model, steps, lambda model, inputs, out: cases.peer_command(
            model, inputs, "--optimize", self.optimize, "--output-dir", str(out), peer=self.peer))


class Sardonyx(Runner):
    def __init__(self, folder, names, program):
        super().__init__(folder, names)
        self.program = str(program)

    def run(self, model, steps):
        """With one load where each state comes from the step before."""
        kept = {(value.name, name) for feeds in steps for name, value in feeds.items() if isinstance(value, Out)}
        chained = all(value.step == i - 1 for i, feeds in enumerate(steps) for value in feeds.values()
                      if isinstance(value, Out))
        if not chained:
            return self.one_by_one(model, steps, lambda model, inputs, out: [
                self.program, "run", str(model), *cases.input_flags(inputs), "--output-dir", str(out)])
        command = [self.program, "run", str(model), "--output-dir", str(self.folder / "out"), "--steps", str(len(steps))]
        for output, name in sorted(kept):
            command += ["--state", f"{output}={name}"]
        for i, feeds in enumerate(steps):
            plain = {name: value for name, value in feeds.items() if not isinstance(value, Out)}
            command += cases.input_flags(self.write(i, plain, []))
        call(command)
        folders = [self.folder / "out"] if len(steps) == 1 else [self.folder / f"out/step_{i}" for i in range(len(steps))]
        return [self.read(folder) for folder in folders]


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        text = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(text[0] if text else f"exit code {done.returncode}")


def distance(a, b):
    if a.shape != b.shape:
        return float("inf")
    if a.size == 0:
        return 0.0
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-3 * np.sqrt(b.size)))


def same_peak(a, b):
    if a.shape != b.shape or a.size == 0 or a.ndim == 0:
        return a.shape == b.shape
    return bool(np.array_equal(a.argmax(-1), b.argmax(-1)))


def compare(name, case, steps, bound, args):
    model = args.models / f"{name}.onnx"
    names = [value.name for value in onnx.load(str(model), load_external_data=False).graph.output]
    agreed = True
    with tempfile.TemporaryDirectory() as scratch:
        folders = [pathlib.Path(scratch) / engine for engine in ("peer", "optimized", "ours")]
        for folder in folders:
            folder.mkdir()
        title = f"{name} {case}".strip()
        try:
            theirs = Peer(folders[0], names, args.build / "peer", "off").run(model, steps)
            optimized = Peer(folders[1], names, args.build / "peer", "on").run(model, steps)
            ours = Sardonyx(folders[2], names, args.build / "sardonyx").run(model, steps)
        except RuntimeError as error:
            print(f"{title:36} {error}")
            return False
        for i, (a, b, c) in enumerate(zip(ours, theirs, optimized)):
            worst = max(names, key=lambda output: distance(a[output], b[output]))
            error, own = distance(a[worst], b[worst]), max(distance(c[output], b[output]) for output in names)
            peak = "same" if same_peak(a[names[0]], b[names[0]]) else "other"
            shape = "x".join(map(str, a[names[0]].shape))
            fine = error <= max(bound, 2 * own)
            agreed &= fine
            verdict = "agrees" if fine else f"DIFFERS at {worst} (bound {bound})"
            print(f"{title:32} step {i} {shape:>14} {error:9.1e} (theirs {own:7.1e}) largest {peak:5} {verdict}")
    return agreed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True, help="a folder of NAME.onnx")
    parser.add_argument("--only", default="")
    parser.add_argument("--build", type=pathlib.Path, default=cases.ROOT / "build")
    args = parser.parse_args()
    cases.install_peer(args.build / "peer")
    only = [name for name in args.only.split(",") if name]
    agreed = total = 0
    for name, (bound, inputs) in MODELS.items():
        if only and name not in only:
            continue
        for case, steps in inputs.items():
            total += 1
            agreed += compare(name, case, steps(), bound, args)
    print(f"{agreed} of {total} cases agree")
    return 0 if agreed == total else 1


if __name__ == "__main__":
    sys.exit(main())
