#!/usr/bin/python3
"""Models as onnxruntime's optimiser saves them, at each of its levels, against the originals, both run here.

    bench/microsoft/optimised.py --models DIR [--only NAME,NAME] [--program build/sardonyx] [--peer build/peer]

DIR holds the shared models with their weights. onnxruntime saves each at the levels basic, extended and all (at the last
with its blocked convolutions, com.microsoft.nchwc); Sardonyx runs what was saved on the inputs of the original. Printed:
how many nodes it has, which com.microsoft operators, and the relative L2 distance of the outputs, which must be below 1e-4.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx

import compare

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAMES = ("resnet50", "bert_base", "minilm_l6")
LEVELS = ("basic", "extended", "all")


def outputs(program, model, folder):
    shutil.rmtree(folder, ignore_errors=True)
    command = [str(program), "run", str(model), "--random", "1", "--output-dir", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.splitlines()[0], None
    return None, compare.read_outputs(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/sardonyx")
    parser.add_argument("--peer", type=pathlib.Path, default=ROOT / "build/peer")
    flags = parser.parse_args()
    compare.install_peer(flags.peer)
    script = pathlib.Path(__file__).with_name("optimised.mjs")
    failed = 0
    for name in filter(None, flags.only.split(",")) if flags.only else NAMES:
        source = flags.models / f"{name}.onnx"
        error, expected = outputs(flags.program, source, flags.models / "out_original")
        if error is not None:
            raise SystemExit(f"{name}: {error}")
        for level in LEVELS:
            saved = flags.models / f"{name}.{level}.onnx"
            subprocess.run(["node", str(script), str(source), str(saved), level, "--peer", str(flags.peer)], check=True)
            model = onnx.load(str(saved), load_external_data=False)
            theirs = sorted({node.op_type for node in model.graph.node if node.domain.startswith("com.microsoft")})
            error, found = outputs(flags.program, saved, flags.models / "out_saved")
            saved.unlink()
            if error is None:
                distance = max(np.linalg.norm(a.astype(float) - b) / max(np.linalg.norm(b), 1e-30)
                               for a, b in zip(found, expected))
                error = f"{distance:.1e}" if distance < 1e-4 else f"DIFFERS {distance:.1e}"
            failed += not error[0].isdigit()
            print(f"{name:<12}{level:<10}{len(model.graph.node):>5} nodes  {error:<10} {', '.join(theirs)}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
