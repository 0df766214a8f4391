#!/usr/bin/python3
"""Models as streams, compared with themselves and with onnxruntime.

    bench/streamed.py [--models DIR]... [--json FILE] NAME:AXIS:ROWS:PULSE...

For each model (DIR/NAME.onnx) along an open size; INPUT/NUMBER, which opens one; or INPUT/NUMBER/WINDOW[/HOP], for a model of one
window, with ,OUTPUT=INPUT for its states, which begin as zeros, and ,INPUT=NUMBER for inputs that have one value:
  stream   the digests of `run --stream` in five chunkings are those of the whole run
  pulsed   the model that `stream -o` writes, pulse after pulse, gives the whole run's bits here
  peer     and lies within 1e-5 of them in onnxruntime, relative to the output's largest element
"""

import argparse
import fractions
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import cases

ROOT = cases.ROOT
CHUNKS = (1, 7, 64)


def call(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return done.stdout


class Case:
    def __init__(self, program, model, axis, rows, pulse, folder):
        self.program, self.model, self.axis = program, model, axis
        self.rows, self.pulse, self.folder = rows, pulse, folder
        self.report = json.loads(call(program, "stream", model, "--axis", axis, "--pulse", pulse, "--json", "-o",
                                      folder / "pulsed.onnx"))
        rng = np.random.RandomState(7)
        self.feeds = {}
        for port in self.report["inputs"]:
            dims = [rows if i == port.get("axis") else size for i, size in enumerate(port["shape"])]
            first = port["name"] in self.first_values()
            values = np.zeros(dims) if first else rng.uniform(-1, 1, dims)
            self.feeds[port["name"]] = (values.astype(np.float32), port.get("axis"))
            np.save(self.file(port["name"]), self.feeds[port["name"]][0])
        self.given = [word for name in self.feeds for word in ("--input", f"{name}={self.file(name)}")]

    def first_values(self):
        """Inputs that are states before the first window."""
        return {pair.split("=")[1] for pair in self.axis.split(",")[1:]}

    def file(self, name, kind="npy"):
        return self.folder / f"{name.replace(':', '_').replace('/', '_')}.{kind}"

    def whole(self):
        """The whole run through a stream of one push: the model's own sizes may be fixed."""
        out = self.folder / "whole"
        call(self.program, "run", self.model, "--stream", self.axis, "--chunk", self.rows, *self.given, "--output-dir", out,
             "--format", "npz")
        self.results = dict(np.load(next(out.glob("*.npz"))))
        return self.results

    def certain(self, output):
        """Rows that do not depend on where the input ends."""
        given = self.rows // self.pulse * self.pulse
        return int(fractions.Fraction(output["rows_per_input_row"]) * given) - output["delay"]

    def digests(self, *options):
        return call(self.program, "run", self.model, *options, *self.given, "--digest")

    def pulses(self):
        count = self.rows // self.pulse
        for name, (array, axis) in self.feeds.items():
            if axis is not None:
                yield name, axis, [np.ascontiguousarray(array.take(range(i * self.pulse, (i + 1) * self.pulse), axis))
                                   for i in range(count)]

    def here(self):
        """Every output's rows, joined and without its delay, of the pulsed model here."""
        given, count = [], self.rows // self.pulse
        for name, _, parts in self.pulses():
            for i, part in enumerate(parts):
                np.save(self.file(f"{name}_{i}"), part)
                given += ["--input", f"{name}={self.file(f'{name}_{i}')}"]
        for name, (array, axis) in self.feeds.items():
            if axis is None:
                given += ["--input", f"{name}={self.file(name)}"]
        for state in self.report["states"]:
            given += ["--state", f"{state['output']}={state['input']}"]
        out = self.folder / "here"
        call(self.program, "run", self.folder / "pulsed.onnx", *given, "--steps", count, "--output-dir", out, "--format", "npz")
        steps = [np.load(next((out / f"step_{i}").glob("*.npz"))) for i in range(count)] if count > 1 else \
            [np.load(next(out.glob("*.npz")))]
        return self.joined({name: [step[name] for step in steps] for name in self.outputs()})

    def outputs(self):
        return {output["name"]: output for output in self.report["outputs"] if "model_delay" in output}

    def joined(self, parts):
        made = {}
        for name, output in self.outputs().items():
            rows = np.concatenate(parts[name], output["axis"])
            made[name] = rows.take(range(output["model_delay"], rows.shape[output["axis"]]), output["axis"])
        return made

    def first_states(self):
        """onnxruntime-node gives inputs without a default only: the states' initial values go with the first pulse."""
        model = onnx.load(self.folder / "pulsed.onnx")
        names, first, kept = {state["input"] for state in self.report["states"]}, [], []
        for tensor in model.graph.initializer:
            if tensor.name not in names:
                kept.append(tensor)
                continue
            array = numpy_helper.to_array(tensor)
            file = self.folder / f"state_{len(first)}.raw"
            file.write_bytes(array.tobytes())
            first.append({"name": tensor.name, "dims": list(array.shape), "type": str(array.dtype), "file": str(file)})
        del model.graph.initializer[:]
        model.graph.initializer.extend(kept)
        onnx.save(model, self.folder / "peer.onnx")
        return first

    def there(self, peer):
        question = {"model": str(self.folder / "peer.onnx"), "pulses": self.rows // self.pulse, "inputs": [], "fixed": [],
                    "states": self.report["states"], "outputs": []}
        question["first"] = self.first_states()
        for name, _, parts in self.pulses():
            file = self.file(name, "raw")
            file.write_bytes(b"".join(part.tobytes() for part in parts))
            question["inputs"].append({"name": name, "dims": list(parts[0].shape), "file": str(file)})
        for name, (array, axis) in self.feeds.items():
            if axis is None:
                file = self.file(name, "raw")
                file.write_bytes(array.tobytes())
                question["fixed"].append({"name": name, "dims": list(array.shape), "file": str(file)})
        for name in self.outputs():
            question["outputs"].append({"name": name, "file": str(self.file(name, "out"))})
        (self.folder / "question.json").write_text(json.dumps(question))
        call("node", ROOT / "bench/peer_stream.mjs", peer, self.folder / "question.json")
        parts = {}
        for name, output in self.outputs().items():
            raw = np.fromfile(self.file(name, "out"), np.float32)
            dims = list(self.results[name].shape)
            dims[output["axis"]] = -1
            parts[name] = [part.reshape(dims) for part in np.split(raw, self.rows // self.pulse)]
        return self.joined(parts)


def compared(case, whole, rows):
    """How many rows were compared, whether all bits are equal, and the largest distance."""
    count, equal, distance = 0, True, 0.0
    for name, output in case.outputs().items():
        axis = output["axis"]
        least = min(rows[name].shape[axis], case.certain(output))
        a, b = (array.take(range(least), axis) for array in (rows[name], whole[name]))
        count += least
        equal &= a.tobytes() == b.tobytes()
        if a.size:
            distance = max(distance, float(np.abs(a - b).max() / max(1.0, np.abs(b).max())))
    return count, equal, distance


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--models", action="append", default=[])
    parser.add_argument("--program", default=str(ROOT / "build/sardonyx"))
    parser.add_argument("--peer", default=str(ROOT / "build/peer"))
    parser.add_argument("--json")
    options = parser.parse_args()
    peer = pathlib.Path(options.peer)
    cases.install_peer(peer)
    failed, record = 0, []
    print(f"{'model':20} {'rows':>6} {'pulse':>5}  {'stream':8} {'pulsed':8} {'onnxruntime':>12}  delay  state")
    for text in options.cases:
        name, axis, rows, pulse = text.split(":")
        axis = axis.replace("//", "\0").replace("/", ":").replace("\0", "::")  # onnx//Flatten_0 is a name
        model = next((path for folder in options.models for path in [pathlib.Path(folder) / f"{name}.onnx"] if path.exists()),
                     None)
        if model is None:
            raise SystemExit(f"no {name}.onnx in {', '.join(options.models)}")
        with tempfile.TemporaryDirectory() as folder:
            try:
                case = Case(options.program, model, axis, int(rows), int(pulse), pathlib.Path(folder))
                whole = case.whole()
                one = case.digests("--stream", case.axis, "--chunk", case.rows)
                stream = all(case.digests("--stream", case.axis, "--chunk", size) == one for size in (*CHUNKS, case.pulse))
                if ":" not in case.axis:
                    stream &= case.digests() == one
                count, pulsed, _ = compared(case, whole, case.here())
                _, _, distance = compared(case, whole, case.there(peer))
            except RuntimeError as error:
                print(f"{name:20} {error}")
                failed += 1
                continue
        good = stream and pulsed and count > 0 and distance <= 1e-5
        failed += not good
        delays = ",".join(str(output["delay"]) for output in case.outputs().values())
        print(f"{name:20} {rows:>6} {pulse:>5}  {'equal' if stream else 'DIFFERS':8} {'equal' if pulsed else 'DIFFERS':8} "
              f"{distance:12.2e}  {delays:5}  {case.report['state_bytes']}")
        record.append({"model": name, "stream": stream, "pulsed": pulsed, "distance": distance, "rows": count})
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(record, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
