#!/usr/bin/env python3
"""Architectures that nobody tuned for: exported here with drawn weights, and run in both engines side by side.

    bench/architectures.py --program build/sardonyx [--only NAME,NAME] [--threads 1,16] [--lanes 1] [--seconds 0.4] [--limit 580]
                           [--models DIR] [--json FILE]

For a machine whose Python has torch, torchvision, transformers, onnx and onnxruntime, which need not have anything that builds
Sardonyx: the program may be the one of `make static`. architectures_list.py has the table. Each model is loaded and run by fresh processes
of both engines in turns; a time is the least of all. With one thread, --lanes of them run side by side, each on a core of its own. Outputs
are compared (relative L2 distance), and Sardonyx's digests over threads, levels and optimisation. What does not fit into --limit seconds
is left out. With --models, the models of a folder (NAME.onnx, NAME.csv and fill_weights.cc, which writes the weights) are run instead:
what compare.py does where node is. Ratios are onnxruntime / Sardonyx: above 1, Sardonyx is faster.
"""

import argparse
import json
import math
import multiprocessing
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings

EXPORT_SECONDS = 150

PEER = """
import glob, json, sys, time
import numpy as np, onnxruntime
folder, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
begin = time.perf_counter()
session = onnxruntime.InferenceSession(folder + "/model.onnx", options, providers=["CPUExecutionProvider"])
load, times = time.perf_counter() - begin, []
feeds = {given.name: np.load(f"{folder}/in_{given.name}.npy") for given in session.get_inputs()}
for i, value in enumerate(session.run(None, feeds)):
    np.save(f"{folder}/peer_{i}.npy", value)
end = time.perf_counter() + seconds
while time.perf_counter() < end or len(times) < 3:
    begin = time.perf_counter()
    session.run(None, feeds)
    times.append(time.perf_counter() - begin)
print(json.dumps({"load_ms": load * 1e3, "min_ms": min(times) * 1e3}))
"""


def exported(module, values, names, path):
    """By whichever of torch's two exporters takes it; raises what the last one said."""
    import torch
    problem = None
    for options in ({"dynamo": True, "external_data": True, "verbose": False}, {"dynamo": False, "opset_version": 17}):
        try:
            with torch.no_grad():
                return torch.onnx.export(module, tuple(values), str(path), input_names=names, **options)
        except Exception as error:  # noqa: BLE001: exporters raise what they like
            problem = error
    raise problem


class Samples:
    """What onnxruntime's quantiser is calibrated with: the same inputs, twice."""

    def __init__(self, feeds):
        self.left = [feeds, feeds]

    def get_next(self):
        return self.left.pop() if self.left else None


def forms(name, folder, feeds):
    """The further forms of an exported model, each in a folder beside it."""
    import onnx
    from onnxruntime import quantization
    from onnxruntime.transformers.float16 import convert_float_to_float16

    import architectures_list
    source = str(folder / "model.onnx")

    def quantised(to):
        quantization.quantize_static(source, to, Samples(feeds), quant_format=quantization.QuantFormat.QDQ, per_channel=len(name) % 2 == 0,
                                     activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)

    def dynamic(to):
        quantization.quantize_dynamic(source, to, weight_type=quantization.QuantType.QInt8)

    def halves(to):
        onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=True), to)

    for form, names, make in (("qdq", architectures_list.QUANTISED, quantised), ("dynamic", architectures_list.DYNAMIC, dynamic),
                              ("fp16", architectures_list.HALVES, halves)):
        if name not in names:
            continue
        beside = folder.with_name(f"{name}_{form}")
        beside.mkdir()
        try:
            make(str(beside / "model.onnx"))
            for given in folder.glob("in_*.npy"):
                (beside / given.name).write_bytes(given.read_bytes())
        except Exception as error:  # noqa: BLE001: a form that the tools cannot make is left out, and said
            print(f"{name}_{form}: {type(error).__name__}: {str(error)[:120]}", flush=True)


def give_up(*_):
    raise TimeoutError(f"it takes more than {EXPORT_SECONDS} s")


def export(job):
    """A model's name, and why it could not be exported or None."""
    name, work = job
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(EXPORT_SECONDS)
    warnings.filterwarnings("ignore")
    try:
        import numpy as np
        import onnx
        import torch

        import architectures_list
        torch.set_num_threads(2)
        torch.manual_seed(0)
        module, values, names = architectures_list.ARCHITECTURES[name]()
        folder, raw = work / name, work / "raw" / name
        raw.mkdir(parents=True)
        exported(module.eval(), values, names, raw / "model.onnx")
        model = onnx.load(str(raw / "model.onnx"))
        folder.mkdir()
        onnx.save_model(model, str(folder / "model.onnx"), save_as_external_data=True, location="model.bin", size_threshold=1024)
        feeds = {given: value.numpy() for given, value in zip(names, values) if given in [one.name for one in model.graph.input]}
        for given, value in feeds.items():
            np.save(folder / f"in_{given}.npy", value)
        forms(name, folder, feeds)
        return name, None
    except Exception as error:  # noqa: BLE001
        return name, f"{type(error).__name__}: {str(error)[:160]}"


def prepared(job):
    """The same of a model in a folder, whose weights are written here."""
    name, source, work = job
    try:
        import numpy as np
        import onnx

        import cases
        folder = work / name
        folder.mkdir()
        shutil.copy(source / f"{name}.csv", folder)
        subprocess.run([work / "fill_weights", f"{name}.csv"], cwd=folder, check=True, capture_output=True)
        shutil.copy(source / f"{name}.onnx", folder / "model.onnx")
        graph = onnx.load(str(folder / "model.onnx"), load_external_data=False).graph
        weights = {tensor.name for tensor in graph.initializer}
        for given in graph.input:
            if given.name not in weights:
                port = given.type.tensor_type
                shape = [dim.dim_value or 1 for dim in port.shape.dim]
                dtype = onnx.helper.tensor_dtype_to_np_dtype(port.elem_type)
                np.save(folder / f"in_{given.name}.npy", cases.make_input(name, given.name, dtype, shape))
        return name, None
    except Exception as error:  # noqa: BLE001
        return name, f"{type(error).__name__}: {str(error)[:160]}"


def output_of(command, timeout):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise RuntimeError(f"{pathlib.Path(str(command[0])).name}: {done.stderr.strip()[-300:]}")
    return done.stdout


def worst_distance(folder):
    import numpy as np
    import onnx
    from onnx import numpy_helper
    worst = 0.0
    for path in folder.glob("peer_*.npy"):
        theirs = np.load(path).astype(np.float64)
        ours = numpy_helper.to_array(onnx.load_tensor(str(folder / "ours" / f"output_{path.stem[5:]}.pb"))).astype(np.float64)
        if ours.shape != theirs.shape:
            return math.inf
        size = np.linalg.norm(theirs)
        worst = max(worst, float(np.linalg.norm(ours - theirs) / (size or 1)))
    return worst


def measure(job):
    """One model at one number of threads; on a core of its own, if one is given."""
    folder, program, threads, seconds, rounds, core, profiled_below = job
    pinned = [] if core is None else ["taskset", "-c", core]
    inputs = [word for path in sorted(folder.glob("in_*.npy")) for word in ("--input", f"{path.stem[3:]}={path}")]
    model, record = folder / "model.onnx", {"model": folder.name, "threads": threads}
    least = {}

    def note(engine, answer):
        for key in ("load_ms", "min_ms"):
            least[engine, key] = min(least.get((engine, key), math.inf), answer[key])

    try:
        for _ in range(rounds):
            theirs = json.loads(output_of([*pinned, sys.executable, "-c", PEER, folder, threads, seconds], 90))
            note("peer", theirs)
            runs = max(3, min(2000, int(seconds * 1e3 / theirs["min_ms"])))
            bench = [*pinned, program, "bench", model, *inputs, "--runs", runs, "--warmup", 2, "--threads", threads, "--json"]
            note("ours", json.loads(output_of(bench, 120)))
        record.update({f"{engine}_{key}": value for (engine, key), value in least.items()})
        record["ratio"] = least["peer", "min_ms"] / least["ours", "min_ms"]
        record["load"] = least["peer", "load_ms"] / least["ours", "load_ms"]
        if threads == 1:
            ways = ([], ["--threads", 3, "--isa", "avx2"], ["--threads", 2, "--optimize", "off"])
            digests = {output_of([program, "run", model, *inputs, "--digest", "--output-dir", folder / "ours", *way], 240) for way in ways}
            record.update(digests=len(digests), distance=worst_distance(folder))
            if record["ratio"] < profiled_below:
                record["profile"] = output_of([*pinned, program, "profile", model, *inputs, "--threads", 1], 120)
    except (RuntimeError, subprocess.TimeoutExpired, ValueError, KeyError) as problem:
        record["problem"] = str(problem)[:300]
    return record


def in_lane(job):
    lane = multiprocessing.current_process()._identity[-1] % job[1]
    return measure((*job[0], str(lane * job[2]), job[3]))


def finished(pool, work, jobs, until):
    """What the pool has done of the jobs by then."""
    waiting = pool.imap_unordered(work, jobs, 1)
    for _ in jobs:
        while True:
            try:
                yield waiting.next(timeout=2)
                break
            except multiprocessing.TimeoutError:
                if time.monotonic() > until:
                    return


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def show(record):
    if "problem" in record:
        return print(f'{record["model"]:26} {record["threads"]:3} {record["problem"][:120]}', flush=True)
    extra = f'  distance {record["distance"]:.1e}, digests {record["digests"]}' if "distance" in record else ""
    print(f'{record["model"]:26} {record["threads"]:3} {record["ours_min_ms"]:9.2f} / {record["peer_min_ms"]:9.2f} ms '
          f' {record["ratio"]:5.2f}  load {record["load"]:5.2f}{extra}', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--models", type=pathlib.Path, help="a folder of models to run instead")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=3600)
    parser.add_argument("--profile-below", type=float, default=1.0)
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    begin = time.monotonic()
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import architectures_list
    known = sorted(path.stem for path in given.models.glob("*.onnx")) if given.models else list(architectures_list.ARCHITECTURES)
    names = [name for name in given.only.split(",") if name] or known
    program = given.program.resolve()
    with tempfile.TemporaryDirectory() as folder:
        work, cores = pathlib.Path(folder), os.cpu_count()
        make, jobs = export, [(name, work) for name in names]
        if given.models:
            subprocess.run(["g++", "-O2", "-std=c++20", given.models / "fill_weights.cc", "-o", work / "fill_weights"], check=True)
            make, jobs = prepared, [(name, given.models.resolve(), work) for name in names]
        with multiprocessing.get_context("spawn").Pool(max(1, cores // 2), maxtasksperchild=1) as pool:
            for name, problem in finished(pool, make, jobs, begin + given.limit / 2):
                if problem:
                    print(f"{name}: not made: {problem}", flush=True)
        folders = sorted(path.parent for path in work.glob("*/model.onnx") if list(path.parent.glob("in_*.npy")))
        records = []
        for threads in map(int, given.threads.split(",")):
            jobs = [(one, program, threads, given.seconds, given.rounds) for one in folders]
            if threads == 1:
                with multiprocessing.get_context("fork").Pool(given.lanes) as pool:
                    lanes = [(job, given.lanes, cores // given.lanes, given.profile_below) for job in jobs]
                    for record in finished(pool, in_lane, lanes, begin + given.limit):
                        records.append(record)
                        show(record)
                continue
            for job in jobs:
                if time.monotonic() - begin < given.limit:
                    records.append(measure((*job, None, given.profile_below)))
                    show(records[-1])
    for threads in sorted({record["threads"] for record in records}):
        good = [record for record in records if record["threads"] == threads and "ratio" in record]
        slower = sum(record["ratio"] < 1 for record in good)
        print(f"{threads} thread(s): {len(good)} models, mean {mean([r['ratio'] for r in good]):.2f}, {slower} below 1.0;"
              f" loading {mean([r['load'] for r in good]):.2f}")
    if given.json:
        given.json.write_text(json.dumps({"format": 1, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "records": records}))


if __name__ == "__main__":
    main()
