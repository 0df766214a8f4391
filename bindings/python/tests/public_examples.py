#!/usr/bin/python3
"""Programs that onnxruntime's own project publishes, run with their imports changed and nothing else.

    public_examples.py CHECKOUT [--record NODE_PEER]

CHECKOUT is a folder with docs/python/examples and onnxruntime/python of github.com/microsoft/onnxruntime. What
the programs compute is compared with public_examples.json, which holds the answers of onnxruntime to the same inputs:
--record makes it anew through onnxruntime-node, installed in NODE_PEER.
"""

import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import sardonyx

HERE = pathlib.Path(__file__).resolve().parent
ANSWERS = HERE / "public_examples.json"
DIGITS = str(HERE.parents[2] / "examples/digits/digits.onnx")
PROGRAMS = {
    "docs/python/examples/plot_load_and_predict.py": [],
    "docs/python/examples/plot_profiling.py": [],
    "onnxruntime/python/tools/onnxruntime_test.py": [DIGITS, "3", "--profile", "--symbolic_dims", "N=2"],
}


def plain(value):
    """Results as JSON holds them."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else float(value)


def play(program, words, datasets):
    """Runs a program; returns what it printed and each successful run as (model, feed, results)."""
    os.environ["SARDONYX_DATASETS"] = str(datasets)
    code = re.sub(r"^(import|from) onnxruntime\b", r"\1 sardonyx", program.read_text(), flags=re.MULTILINE)
    runs, original = [], sardonyx.InferenceSession.run

    def watched(session, names, feed, options=None):
        results = original(session, names, feed, options)
        runs.append((session._model.serialized(), names, feed, results))
        return results

    printed = io.StringIO()
    np.random.seed(0)
    sardonyx.InferenceSession.run = watched
    try:
        with contextlib.redirect_stdout(printed), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            sys.argv = [program.name, *words]
            exec(compile(code, program.name, "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sardonyx.InferenceSession.run = original
    return printed.getvalue(), runs


def answer_of_onnxruntime(model, feed, peer):
    """The model's outputs in onnxruntime-node, by name."""
    import onnx
    from onnx import numpy_helper

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        proto = onnx.load_from_string(model)
        onnx.save(proto, path)
        command = ["node", str(HERE.parents[2] / "bench/peer_run.mjs"), path, "--peer", peer, "--output-dir", folder]
        for name, array in feed.items():
            file = os.path.join(folder, f"{name}.pb")
            pathlib.Path(file).write_bytes(numpy_helper.from_array(array, name).SerializeToString())
            command += ["--input", f"{name}={file}"]
        subprocess.run(command, check=True)
        answers = {}
        for i, output in enumerate(proto.graph.output):
            tensor = onnx.TensorProto()
            tensor.ParseFromString(pathlib.Path(folder, f"output_{i}.pb").read_bytes())
            answers[output.name] = numpy_helper.to_array(tensor).tolist()
        return answers


def flat(value):
    if isinstance(value, dict):
        return [x for item in value.values() for x in flat(item)]
    if isinstance(value, list):
        return [x for item in value for x in flat(item)]
    return [value]


def main():
    words = sys.argv[1:]
    checkout = pathlib.Path(words[0]).resolve()
    record = os.path.abspath(words[2]) if words[1:2] == ["--record"] else None
    stored = {} if record else json.loads(ANSWERS.read_text())
    failed = 0
    for name, words in PROGRAMS.items():
        printed, runs = play(checkout / name, words, checkout / "onnxruntime/python/datasets")
        if record:
            stored[name] = [answer_of_onnxruntime(model, feed, record) for model, _, feed, _ in runs]
        worst = 0.0
        for (model, names, feed, results), answer in zip(runs, stored[name]):
            names = names or [output.name for output in sardonyx.InferenceSession(model).get_outputs()]
            for output, result in zip(names, results):
                ours, theirs = np.array(flat(plain(result))), np.array(flat(answer[output]))
                worst = max(worst, float(np.max(np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1e-6))))
        good = len(runs) == len(stored[name]) and runs and worst < 1e-5
        failed += not good
        print(f"{'pass' if good else 'FAIL'} {name}: {len(runs)} runs, {len(printed.splitlines())} lines printed, "
              f"at most {worst:.1e} from onnxruntime")
    if record:
        ANSWERS.write_text(json.dumps(stored, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
