#!/usr/bin/python3
"""Does an engine agree with itself? Runs models in both engines over the configurations that this machine offers, and
appends what it saw to bench/history/one_answer.jsonl; bench/one_answer_page.py makes docs/one_answer.md of these records.

    bench/one_answer.py --models DIR [--only NAME,NAME] [--build build] [--threads 1,2] [--batch 3] [--seconds N]
    bench/one_answer.py ... --run "qemu-aarch64-static -cpu max ..." --levels neon,portable --machine "arm64 (qemu)" --no-peer

Sardonyx: every level of the machine, every number of threads, optimisation on and off; answers are compared by digest.
onnxruntime: its four levels of optimisation and every number of threads, through its Python package where there is one,
else through onnxruntime-node; answers are compared by their bytes, and the distance is ||a - b|| / ||b||, b being the
answer of the model as written (no optimisation) with one thread. Batch: a row of several at once against the row alone,
where `sardonyx convert --batch` can give the model such rows. Inputs are those of `--random 1`, which are the same
everywhere. After --seconds no further model is begun; told to end (SIGTERM), it keeps the models that it has finished.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import platform
import shlex
import signal
import subprocess
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
HISTORY = ROOT / "bench/history/one_answer.jsonl"
PEER_LEVELS = ("disabled", "basic", "extended", "all")


def processor():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def digest_of(arrays):
    sha = hashlib.sha256()
    for array in arrays:
        # An array of strings holds their places, which are nobody's answer.
        words = array.dtype.kind == "O"
        sha.update(repr(array.tolist()).encode() if words else np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()[:16]


def distance(arrays, others):
    """The relative L2 distance over all outputs; infinite if their shapes or their NaN differ."""
    square = of = 0.0
    for a, b in zip(arrays, others):
        if a.shape != b.shape:
            return float("inf")
        if a.dtype.kind not in "fiub":
            return 0.0 if (a == b).all() else float("inf")
        a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore"):
            square += float(np.sum(np.where(same, 0, a - b) ** 2))
            of += float(np.sum(np.where(np.isfinite(b), b, 0) ** 2))
    return 0.0 if square == 0 else float(np.sqrt(square / of)) if of > 0 else float("inf")


class Sardonyx:
    def __init__(self, build, run, levels):
        self.command = [*shlex.split(run), str(pathlib.Path(build) / "sardonyx")]
        self.version = json.loads(self.call("version", "--json"))
        self.levels = levels or [isa for isa in ("portable", "avx2", "avx512", "neon") if self.has(isa)]

    def call(self, *words):
        done = subprocess.run([*self.command, *map(str, words)], capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[0])
        return done.stdout

    def has(self, isa):
        try:
            self.call("run", ROOT / "examples/digits/digits.onnx", "--random", "1", "--set", "N=1", "--isa", isa)
            return True
        except RuntimeError:
            return False

    def inputs(self, model, folder, seed=1):
        self.call("inputs", model, "--random", seed, "--output-dir", folder, "--format", "npz")
        self.call("inputs", model, "--random", seed, "--output-dir", folder, "--format", "pb")
        with np.load(folder / "inputs.npz") as arrays:
            return {name: arrays[name] for name in arrays.files}

    def digest(self, model, isa, threads, optimize):
        lines = self.call("run", model, "--random", "1", "--isa", isa, "--threads", threads, "--optimize", optimize, "--digest")
        return hashlib.sha256(lines.encode()).hexdigest()[:16]

    def answers(self, model, flags, folder):
        self.call("run", model, *flags, "--output-dir", folder, "--format", "npz")
        with np.load(folder / "outputs.npz") as arrays:
            return [arrays[name] for name in arrays.files]


class PythonPeer:
    def __init__(self):
        import onnxruntime
        self.ort, self.version = onnxruntime, onnxruntime.__version__

    def answers(self, model, feeds, level, threads):
        options = self.ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
        kinds = self.ort.GraphOptimizationLevel
        options.graph_optimization_level = {"disabled": kinds.ORT_DISABLE_ALL, "basic": kinds.ORT_ENABLE_BASIC,
                                            "extended": kinds.ORT_ENABLE_EXTENDED, "all": kinds.ORT_ENABLE_ALL}[level]
        session = self.ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        return session.run(None, {value.name: feeds[value.name] for value in session.get_inputs()})


class NodePeer:
    def __init__(self, folder):
        import cases
        self.folder, self.version = folder, cases.install_peer(folder)

    def answers(self, model, feeds, level, threads):
        import onnx
        from onnx import numpy_helper
        with tempfile.TemporaryDirectory() as work:
            flags = []
            for i, (name, array) in enumerate(feeds.items()):
                file = pathlib.Path(work) / f"input_{i}.pb"
                file.write_bytes(numpy_helper.from_array(array, name).SerializeToString())
                flags += ["--input", f"{name}={file}"]
            command = ["node", str(ROOT / "bench/peer_run.mjs"), str(model), "--peer", str(self.folder), *flags,
                       "--optimize", level, "--threads", str(threads), "--output-dir", work]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode != 0:
                raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[0])
            paths = sorted(pathlib.Path(work).glob("output_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
            return [numpy_helper.to_array(onnx.load_tensor(str(path))) for path in paths]


def make_peer(folder):
    try:
        return PythonPeer()
    except ImportError:
        return NodePeer(folder)


class Ended(BaseException):
    """Raised where the signal finds the program; not an Exception, which a judgement would take for a model's own."""


def end(*_):
    raise Ended


def judge_sardonyx(engine, model, threads):
    seen, count = {}, 0
    for isa in engine.levels:
        for number in threads:
            for optimize in ("on", "off"):
                seen.setdefault(engine.digest(model, isa, number, optimize), f"{isa} {number} {optimize}")
                count += 1
    return {"configurations": count, "digests": sorted(seen)}


def judge_peer(peer, model, feeds, threads):
    written = peer.answers(model, feeds, "disabled", 1)
    seen, worst, where, count = {digest_of(written)}, 0.0, "", 1
    for level in PEER_LEVELS:
        for number in threads:
            if (level, number) == ("disabled", 1):
                continue
            answers = peer.answers(model, feeds, level, number)
            seen.add(digest_of(answers))
            count += 1
            away = distance(answers, written)
            if away > worst:
                worst, where = away, f"{level}, {number} threads"
    usual = digest_of(peer.answers(model, feeds, "all", threads[-1]))
    return {"configurations": count, "answers": len(seen), "worst": worst, "where": where, "usual": usual}


def judge_batch(engine, peer, model, rows, work):
    """Row i of several at once and alone: {"sardonyx": distance, "onnxruntime": distance}, or None."""
    one, many = work / "one.onnx", work / "many.onnx"
    try:
        for size, path in ((1, one), (rows, many)):
            engine.call("convert", model, path, "--batch", size, "--embed")
        alone = [engine.inputs(one, work / f"alone{i}", 1 + i) for i in range(rows)]
    except RuntimeError:
        return None  # the model's rows are not its own
    if any(array.ndim == 0 or array.shape[0] != 1 for array in alone[0].values()):
        return None
    feeds = {name: np.concatenate([row[name] for row in alone]) for name in alone[0]}
    np.savez(work / "many.npz", **feeds)
    ours = engine.answers(many, ["--input", work / "many.npz"], work / "many_out")
    found = {"sardonyx": 0.0}
    for i in range(rows):
        row = engine.answers(one, ["--random", 1 + i], work / f"out{i}")
        found["sardonyx"] = max(found["sardonyx"], distance([array[i:i + 1] for array in ours], row))
    if peer:
        theirs = peer.answers(many, feeds, "all", 1)
        found["onnxruntime"] = max(
            distance([array[i:i + 1] for array in theirs], peer.answers(one, alone[i], "all", 1)) for i in range(rows))
    return found


def judge(engine, peer, model, args):
    found = {"sardonyx": judge_sardonyx(engine, model, args.threads)}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if peer:
            try:
                found["onnxruntime"] = judge_peer(peer, model, engine.inputs(model, work / "inputs"), args.threads)
            except (RuntimeError, ValueError) as error:
                found["onnxruntime"] = {"error": str(error)[:200]}
            except Exception as error:  # whatever onnxruntime's own kinds are
                found["onnxruntime"] = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        if args.batch > 1:
            try:
                found["batch"] = judge_batch(engine, peer, model, args.batch, work)
            except Exception as error:
                found["batch"] = {"error": str(error)[:200]}
    return found


def line_of(name, found):
    ours, theirs, batch = found["sardonyx"], found.get("onnxruntime"), found.get("batch")
    text = f"{name:26} sardonyx {len(ours['digests'])} of {ours['configurations']}"
    if theirs and "error" not in theirs:
        text += f"   onnxruntime {theirs['answers']} of {theirs['configurations']}, off by {theirs['worst']:.1e} ({theirs['where']})"
    elif theirs:
        text += f"   onnxruntime: {theirs['error']}"
    if batch and "error" not in batch:
        text += "   batch " + ", ".join(f"{engine} {away:.1e}" for engine, away in batch.items())
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--threads", default="")
    parser.add_argument("--batch", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--run", default="", help="what starts a program, as an emulator does")
    parser.add_argument("--levels", default="")
    parser.add_argument("--machine", default="")
    parser.add_argument("--peer", type=pathlib.Path, default=ROOT / "build/peer")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--history", type=pathlib.Path, default=HISTORY)
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    args.threads = [int(word) for word in args.threads.split(",") if word] or sorted({1, 2, cores})
    engine = Sardonyx(args.build, args.run, [word for word in args.levels.split(",") if word])
    peer = None if args.no_peer else make_peer(args.peer)
    wanted = [word for word in args.only.split(",") if word]
    names = wanted or sorted(path.stem for path in args.models.glob("*.onnx"))
    start, models = time.monotonic(), {}
    signal.signal(signal.SIGTERM, end)
    try:
        for name in names:
            if time.monotonic() - start > args.seconds:
                break
            try:
                models[name] = judge(engine, peer, args.models / f"{name}.onnx", args)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"{name:26} left out: {error}", flush=True)
                continue
            print(line_of(name, models[name]), flush=True)
    except Ended:
        print("ended before all models were judged", flush=True)
    record = {"date": datetime.date.today().isoformat(), "machine": args.machine or processor(), "cores": cores,
              "emulated": bool(args.run), "levels": engine.levels, "threads": args.threads, "batch": args.batch,
              "sardonyx": engine.version["version"], "compiler": engine.version["compiler"],
              "onnxruntime": peer.version if peer else None, "models": models}
    args.history.parent.mkdir(parents=True, exist_ok=True)
    with args.history.open("a") as file:
        file.write(json.dumps(record, separators=(",", ":")) + "\n")
    agreeing = sum(len(found["sardonyx"]["digests"]) == 1 for found in models.values())
    judged = [found["onnxruntime"] for found in models.values() if "answers" in found.get("onnxruntime", {})]
    print(f"sardonyx agrees with itself on {agreeing} of {len(models)} models, "
          f"onnxruntime on {sum(one['answers'] == 1 for one in judged)} of {len(judged)}")
    return 0 if agreeing == len(models) else 1


if __name__ == "__main__":
    raise SystemExit(main())
