#!/usr/bin/python3
"""Memory that a model takes in each engine, both measured alike: as a library in a process of its own.

    bench/memory.py [--models DIR] [--only NAME,NAME] [--threads 1] [--json FILE]

The process is Python with numpy and the inputs in place. From there on it loads the engine's library and the model, runs it a few
times, and what its peak of resident memory has grown by is the figure: code, weights, working memory and all. Ratios are
onnxruntime / Sardonyx: above 1, Sardonyx is the smaller.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys

import onnx
from onnx import numpy_helper

import cases
import engines

RUNS = 3


def resident_kb(field):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise RuntimeError(f"the system does not tell {field}")


def grown_mb(engine, model, inputs, threads, build):
    """In this process: what loading and running take. The peak so far is forgotten first."""
    feeds = {name: numpy_helper.to_array(onnx.load_tensor(str(path))) for name, path in inputs}
    outputs = [(value.name, None, None) for value in onnx.load(str(model), load_external_data=False).graph.output]
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = resident_kb("VmRSS")
    made = engines.Sardonyx(build, threads) if engine == "sardonyx" else engines.peer(threads, build / "peer")
    session = made.session(model, feeds, outputs)
    for _ in range(RUNS):
        session.call()
    return (resident_kb("VmHWM") - before) / 1024


def measured_apart(engine, model, threads, build):
    command = [sys.executable, __file__, "--engine", engine, "--models", str(model), "--threads", str(threads), "--build", str(build)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1])
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, default=cases.ROOT.parent / "shared/models")
    parser.add_argument("--only", default="", help="model names, by comma")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--build", type=pathlib.Path, default=cases.ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--engine", help=argparse.SUPPRESS)  # the process that is measured: --models is one file
    options = parser.parse_args()
    options.build = options.build.resolve()
    scratch = options.build / "compare"
    if options.engine:
        inputs = cases.make_inputs(options.models, scratch / options.models.stem)
        return print(grown_mb(options.engine, options.models, inputs, options.threads, options.build))

    names = cases.model_names(options.models, [name for name in options.only.split(",") if name])
    models = cases.fill_models(options.models.resolve(), options.build / "models", names)
    cases.install_peer(options.build / "peer")
    print("| model | Sardonyx, MB | onnxruntime, MB | ratio |\n|---|---|---|---|")
    records = {}
    for name in names:
        try:
            ours, theirs = (measured_apart(engine, models / f"{name}.onnx", options.threads, options.build)
                            for engine in ("sardonyx", "onnxruntime"))
        except RuntimeError as reason:
            print(f"{name}: {reason}", file=sys.stderr)
            continue
        records[name] = {"sardonyx": ours, "onnxruntime": theirs, "ratio": theirs / ours}
        print(f"| {name} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.2f} |", flush=True)
    if not records:
        raise SystemExit("no model was measured")
    ratios = [record["ratio"] for record in records.values()]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\ngeometric mean {mean:.2f}, least {min(ratios):.2f}, {len(ratios)} models")
    if options.json:
        options.json.write_text(json.dumps({"format": 1, "threads": options.threads, "models": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()
