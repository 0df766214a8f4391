#!/usr/bin/python3
"""Every .onnx file of onnxruntime's public repository, run by onnxruntime and by Sardonyx on the same random inputs.

    bench/microsoft/repository.py GIT_DIR [--out DIR] [--only TEXT] [--program build/sardonyx] [--verbose]

GIT_DIR is a clone of github.com/microsoft/onnxruntime (a bare one will do). Files and what lies beside them are taken
out of it; none are kept here. Open sizes are tried as 2, 1, 4, 8 and 16 and integers as 0 or 1 and as 0 to 9, until
onnxruntime takes the inputs. It answers without optimisation and, where Sardonyx differs from that, as it runs by
default: where its own levels differ, to agree with one is to agree. Prints how many run there, how many of those run here
and agree, and the others by reason.
Outputs agree as compare.py judges: floats within 1e-3 of the element and of the output's root mean square (2e-3 for
models that compute in halves, or the next half), integers but for rounding ties, which are listed; drawn ones by their
shape and mean. Files that are known not to agree stand in differences.tsv with the reason; one more, one that agrees by
now, and a crash are errors.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import compare

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SETS = [(2, 2), (1, 2), (2, 10), (4, 2), (8, 2), (16, 10)]  # the size of open dimensions, and how many integers to draw from
BESIDE = (".onnx", ".bin", ".data", ".onnx_data", ".weights", ".pb")
# Operators that draw, by how many inputs they need for it: the last one of a dropout is training_mode.
DRAWING = {"RandomNormal": 0, "RandomUniform": 0, "RandomNormalLike": 1, "RandomUniformLike": 1, "Multinomial": 1,
           "Bernoulli": 1, "Sampling": 1, "Dropout": 3, "BiasDropout": 5, "BitmaskDropout": 3, "BitmaskBiasDropout": 5}


def extract(git, out):
    """The .onnx files of the newest commit, with the files of weights beside them."""
    listing = subprocess.run(["git", "--git-dir", str(git), "ls-tree", "-r", "HEAD", "--name-only"], check=True,
                             capture_output=True, text=True).stdout.splitlines()
    models = [name for name in listing if name.endswith(".onnx")]
    folders = {str(pathlib.PurePath(name).parent) for name in models}
    wanted = [name for name in listing if name.endswith(BESIDE) and str(pathlib.PurePath(name).parent) in folders]
    for name in wanted:
        target = out / "files" / name
        if target.exists():
            continue
        blob = subprocess.run(["git", "--git-dir", str(git), "show", f"HEAD:{name}"], capture_output=True)
        if blob.returncode == 0 and not blob.stdout.startswith(b"version https://git-lfs"):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(blob.stdout)
    return [name for name in models if (out / "files" / name).exists()]


def draw(rng, name, tensor, size, most):
    """A random tensor of the declared type, or None if it is of a type that cannot be given from here."""
    symbols = {}
    dims = []
    for dim in tensor.shape.dim:
        known = dim.HasField("dim_value") and dim.dim_value >= 0
        dims.append(dim.dim_value if known else symbols.setdefault(dim.dim_param, size))
    kind = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE.get(tensor.elem_type)
    if kind is None or tensor.elem_type in (TensorProto.BFLOAT16, TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        return None
    if np.prod([float(dim) for dim in dims]) > 1e8:
        return None
    if tensor.elem_type == TensorProto.STRING:
        return np.array([f"word {i % 3}" for i in range(int(np.prod(dims)))], object).reshape(dims)
    if tensor.elem_type == TensorProto.BOOL:
        return rng.integers(0, 2, dims).astype(bool)
    if np.issubdtype(kind, np.integer):
        if "mask" in name.lower():
            return np.ones(dims, kind)
        return rng.integers(0, most, dims).astype(kind)
    return rng.uniform(-1, 1, dims).astype(kind)


def write_sets(path, folder):
    """Writes the sets of inputs of a model; how many, or a reason why there are none."""
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # damaged on purpose
        return f"not a model: {type(error).__name__}"
    graph = model.graph
    given = {init.name for init in graph.initializer} | {init.values.name for init in graph.sparse_initializer}
    wanted = [info for info in graph.input if info.name not in given]
    count = 0
    for size, most in SETS:
        rng = np.random.default_rng(7)
        target = folder / str(count)
        target.mkdir(parents=True, exist_ok=True)
        for i, info in enumerate(wanted):
            if not info.type.HasField("tensor_type"):
                return "inputs that are no tensors"
            array = draw(rng, info.name, info.type.tensor_type, size, most)
            if array is None:
                return f"an input of type {info.type.tensor_type.elem_type}"
            proto = numpy_helper.from_array(array, info.name)
            (target / f"input_{i}.pb").write_bytes(proto.SerializeToString())
        count += 1
    return count


def draws(path):
    """Whether a model draws random numbers, in subgraphs and functions too."""
    model = onnx.load(str(path), load_external_data=False)

    def any_draws(nodes):
        for node in nodes:
            if len(node.input) >= DRAWING.get(node.op_type, 1000):
                return True
            if any(any_draws(graph.node) for a in node.attribute for graph in [a.g, *a.graphs]):
                return True
        return False
    return any_draws(model.graph.node) or any(any_draws(function.node) for function in model.functions)


def run_ours(program, model, folder, chosen, *flags):
    """(error, outputs): one of them None."""
    out = folder / "ours"
    shutil.rmtree(out, ignore_errors=True)
    command = [str(program), "run", str(model), "--output-dir", str(out), "--threads", "1", *flags]
    for path in sorted((folder / str(chosen)).glob("input_*.pb")):
        name = onnx.load_tensor(str(path)).name
        command += ["--input", f"{name}={path}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, errors="replace")
    except subprocess.TimeoutExpired:
        return "crash: it did not end in 300 s", None
    if done.returncode not in (0, 1, 2):
        return f"crash: exit code {done.returncode}: {done.stderr.strip()[:300]}", None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("error")]
        return (lines or ["refused without a word"])[0], None
    try:
        return None, compare.read_outputs(out)
    except Exception as error:
        return f"cannot be read back: {error}", None


def same_draws(ours, theirs):
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{list(ours.shape)} against {theirs.dtype}{list(theirs.shape)}"
    if ours.size < 30 or ours.dtype.kind not in "fiu":
        return None
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    error = np.sqrt((a.var() + b.var()) / a.size)
    return None if abs(a.mean() - b.mean()) <= 6 * error + 1e-6 else "drawn from another distribution"


def computes_in_half(path):
    """Whether a model's weights, inputs, outputs or casts are halves: its floats are then as good as halves are."""
    model = onnx.load(str(path), load_external_data=False)
    graph = model.graph
    types = [init.data_type for init in graph.initializer]
    types += [info.type.tensor_type.elem_type for info in [*graph.input, *graph.output, *graph.value_info]]
    types += [attribute.i for node in graph.node for attribute in node.attribute if attribute.name == "to"]
    return TensorProto.FLOAT16 in types


def last_places(ours, theirs):
    """Whether halves are equal or neighbours: below 6e-5 a step is more than any share of the number."""
    if ours.dtype != np.float16 or ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    step = np.spacing(np.maximum(np.abs(ours), np.abs(theirs))).astype(np.float64)
    return bool((np.abs(ours.astype(np.float64) - theirs.astype(np.float64)) <= step).all())


def judge(model, ours, theirs):
    """(what differs first or None, whether integers differ by a tie)."""
    if len(ours) != len(theirs):
        return f"{len(ours)} outputs instead of {len(theirs)}", False
    random, tie = draws(model), False
    tolerance = 2e-3 if computes_in_half(model) else 1e-3
    for i, (a, b) in enumerate(zip(ours, theirs)):
        found = same_draws(a, b) if random else compare.difference(a, b, tolerance)
        if found not in (None, "tie") and not last_places(a, b):
            return f"output {i}: {found}", tie
        tie = tie or found == "tie"
    return None, tie


def as_by_default(peer, case, folder, chosen):
    """onnxruntime's outputs at its default level of optimisation, or None."""
    out = folder / "default"
    out.mkdir(exist_ok=True)
    listed = out / "list.json"
    listed.write_text(json.dumps([{**case, "set": chosen, "out": str(out)}]))
    script = pathlib.Path(__file__).with_name("repository.mjs")
    subprocess.run(["node", str(script), str(listed), "--peer", str(peer), "--levels", "all"])
    return compare.read_outputs(out) if "set" in json.loads((out / "answer.json").read_text()) else None


def reason(text):
    """An error's first line as a class: code, and the operator it is about."""
    if text.startswith("crash"):
        return text[:80]
    code = re.search(r"\[(SDX-\w+|SONNX-\w+)", text)
    message = re.sub(r'"[^"]*"', '"..."', text.split(": ", 1)[-1])
    return f"{code.group(1) if code else ''} {re.sub(r'[0-9]+', 'N', message)[:90]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("git", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/repository")
    parser.add_argument("--only", default="")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/sardonyx")
    parser.add_argument("--peer", type=pathlib.Path, default=ROOT / "build/peer")
    parser.add_argument("--verbose", action="store_true", help="name every file that does not agree")
    flags = parser.parse_args()
    compare.install_peer(flags.peer)
    names = [name for name in extract(flags.git, flags.out) if flags.only in name]
    cases, no_inputs = [], {}
    for name in names:
        folder = flags.out / "cases" / name.replace("/", "+")
        folder.mkdir(parents=True, exist_ok=True)
        answer = folder / "answer.json"
        sets = len(SETS) if answer.exists() else write_sets(flags.out / "files" / name, folder)
        if isinstance(sets, str):
            no_inputs[name] = sets
            sets = 0
        cases.append({"name": name, "model": str(flags.out / "files" / name), "folder": str(folder), "sets": sets})
    listed = flags.out / "list.json"
    listed.write_text(json.dumps([case for case in cases if case["name"] not in no_inputs]))
    script = pathlib.Path(__file__).with_name("repository.mjs")
    while subprocess.run(["node", str(script), str(listed), "--peer", str(flags.peer)]).returncode != 0:
        pass  # onnxruntime crashed on one; the next call goes on behind it

    known = dict(line.split("\t") for line in pathlib.Path(__file__).with_name("differences.tsv").read_text().splitlines())
    news = []
    tally, reasons, crashed, ties = collections.Counter(), collections.defaultdict(list), [], []
    for case in cases:
        folder, name = pathlib.Path(case["folder"]), case["name"]
        answer = json.loads((folder / "answer.json").read_text()) if name not in no_inputs else {"refused": no_inputs[name]}
        error, ours = run_ours(flags.program, case["model"], folder, answer.get("set", 0),
                               *([] if "set" in answer else ["--random", "1"]))
        if error is not None and error.startswith("crash"):
            crashed.append((name, error))
        tally["files"] += 1
        if "set" not in answer:
            tally["only here" if error is None else "neither"] += 1
            continue
        tally["run there"] += 1
        if error is None:
            tally["run here"] += 1
            theirs = compare.read_outputs(folder)
            error, tie = judge(case["model"], ours, theirs)
            if error is not None:
                theirs = as_by_default(flags.peer, case, folder, answer["set"])
                at_default = (error, tie) if theirs is None else judge(case["model"], ours, theirs)
                if at_default[0] is None:
                    error, tie = at_default
                    tally["at default"] += 1
            if tie and error is None:
                ties.append(name)
            if error is None and name in known:
                news.append(f"{name} agrees: its line of differences.tsv can go")
            if error is None:
                tally["agree"] += 1
                continue
            error = f"[differs] : {error}"
        reasons[known.get(name) or reason(error)].append((name, error))
        if name not in known:
            news.append(f"{name}: {error[:220]}")
    for why, found in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(found):4} {why}")
        if flags.verbose:
            for name, error in found:
                print(f"       {name}: {error[:220]}")
    for name in ties:
        print(f"tie {name}")
    for line in news:
        print(f"NEW {line}")
    for name, error in crashed:
        print(f"CRASH {name}: {error}")
    print()
    for column in ("files", "run there", "run here", "agree", "at default", "only here", "neither"):
        print(f"{column:<12}{tally[column]:>6}")
    share = tally["agree"] / max(1, tally["run there"])
    print(f"{100 * share:.1f} % of what onnxruntime runs agrees; {len(crashed)} crashes")
    sys.exit(1 if crashed or news else 0)


if __name__ == "__main__":
    main()
