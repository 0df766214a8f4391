#!/usr/bin/python3
"""Measures Sardonyx against onnxruntime in one run, engine by engine in alternating rounds.

    bench/compare.py [--models DIR] [--only NAME,NAME] [--threads 1,2] [--rounds N] [--json FILE]
    bench/compare.py --peer-only ...          onnxruntime alone
    bench/compare.py --rounds 0 ...           outputs compared, nothing timed
    bench/compare.py --avx2 ...               both as on a machine that has AVX2 and nothing more (peer_avx2.py)

Each round starts a fresh process of each engine per thread count, so load time and memory are measured as often as
latency, and whatever else the machine does falls on both. `min` is the least of all runs, `median` the median of the
rounds' medians. Ratios are onnxruntime / Sardonyx: above 1, Sardonyx is the faster or smaller.
Outputs are compared with onnxruntime running the model as written (graph optimisations off), as ||a-b|| / ||b||;
onnxruntime's own optimised outputs get the same measure, since some of its rewrites change answers.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import numpy_helper

import cases
import peer_avx2

SECONDS_PER_ROUND = 1.0
MEASURES = ("load_ms", "min_ms", "median_ms", "p90_ms", "peak_rss_mb", "arena_bytes")


class Sardonyx:
    key = "sardonyx"

    def __init__(self, program):
        self.program = str(program)
        describe = ["git", "-C", str(cases.ROOT), "describe", "--always", "--dirty"]
        self.version = subprocess.run(describe, capture_output=True, text=True).stdout.strip()

    def bench_command(self, model, inputs, threads, runs, warmup):
        flags = ["--threads", str(threads), "--runs", str(runs), "--warmup", str(warmup), "--json"]
        return [self.program, "bench", str(model), *cases.input_flags(inputs), *flags]

    def run_command(self, model, inputs, folder):
        return [self.program, "run", str(model), *cases.input_flags(inputs), "--output-dir", str(folder)]


class Peer:
    key = "onnxruntime"

    def __init__(self, folder, optimize="on"):
        self.folder, self.optimize = folder, optimize
        self.version = cases.install_peer(folder)

    def command(self, model, inputs, *flags):
        return cases.peer_command(model, inputs, "--optimize", self.optimize, *flags, peer=self.folder)

    def bench_command(self, model, inputs, threads, runs, warmup):
        return self.command(model, inputs, "--threads", str(threads), "--runs", str(runs), "--warmup", str(warmup))

    def run_command(self, model, inputs, folder):
        return self.command(model, inputs, "--output-dir", str(folder))


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
        raise RuntimeError(lines[0] if lines else "failed")
    return done.stdout


def bench(engine, model, inputs, threads, runs, warmup):
    return json.loads(call(engine.bench_command(model, inputs, threads, runs, warmup)).strip().splitlines()[-1])


def outputs(engine, model, inputs, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("output_*.pb"):
        old.unlink()
    call(engine.run_command(model, inputs, folder))
    return [numpy_helper.to_array(tensor) for tensor in cases.read_outputs(folder)]


def relative_error(actual, expected):
    """||a-b|| / ||b||, infinite where shapes, types or the places of non-finite values differ."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return float("inf")
    a, b = actual.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    norm = np.linalg.norm(b[finite])
    difference = np.linalg.norm(a[finite] - b[finite])
    return float(difference / norm) if norm > 0 else float(difference)


def worst_error(actual, expected):
    if len(actual) != len(expected):
        return float("inf")
    return max(relative_error(a, b) for a, b in zip(actual, expected))


def summary(rounds):
    merged = {}
    for measure in MEASURES:
        values = [one[measure] for one in rounds if measure in one]
        if values:
            merged[measure] = min(values) if measure == "min_ms" else statistics.median(values)
    merged["runs"] = sum(one["runs"] for one in rounds)
    return merged


def ratios(ours, theirs):
    named = (("min", "min_ms"), ("median", "median_ms"), ("load", "load_ms"), ("peak_rss", "peak_rss_mb"))
    return {name: theirs[measure] / ours[measure] for name, measure in named}


def measure_model(model, inputs, engines, thread_counts, rounds, scratch):
    """One record of the JSON report. An engine that fails leaves its error instead of its numbers."""
    record = {"model": model.stem, "threads": {}, "relative_error": {}, "failures": {}}
    working = list(engines)

    def failed(engine, error):
        record["failures"][engine.key] = str(error)
        working.remove(engine)

    plain = Peer(engines[0].folder, optimize="off")
    expected = outputs(plain, model, inputs, scratch / "as_written")
    for engine in engines:
        try:
            record["relative_error"][engine.key] = worst_error(outputs(engine, model, inputs, scratch / engine.key), expected)
        except (RuntimeError, OSError) as error:
            failed(engine, error)

    for threads in thread_counts if rounds > 0 else ():
        runs = {}
        for engine in list(working):
            try:
                first = bench(engine, model, inputs, threads, 2, 1)
                runs[engine] = max(3, min(300, int(SECONDS_PER_ROUND * 1000 / first["min_ms"])))
            except (RuntimeError, OSError, ValueError) as error:
                failed(engine, error)
        seen = {engine: [] for engine in working}
        for _ in range(rounds):
            for engine in working:
                warmup = max(1, min(10, runs[engine] // 5))
                seen[engine].append(bench(engine, model, inputs, threads, runs[engine], warmup))
        result = {engine.key: summary(seen[engine]) for engine in working}
        if "sardonyx" in result and "onnxruntime" in result:
            result["ratio"] = ratios(result["sardonyx"], result["onnxruntime"])
        record["threads"][str(threads)] = result
    return record


def call_overhead(peer, scratch, rounds):
    """What one call of onnxruntime costs from node, in ms: the time of a model that copies one number."""
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", [value("x")], [value("y")])
    path = scratch / "identity.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), str(path))
    inputs = cases.make_inputs(path, scratch / "identity")
    return statistics.median(bench(peer, path, inputs, 1, 300, 50)["median_ms"] for _ in range(rounds))


def machine():
    facts = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    cpu = facts.get("model name", platform.processor())
    if "cpu family" in facts and not any(letter.isdigit() for letter in cpu):  # a virtual machine's, of several generations
        cpu += f" (family {facts['cpu family']}, model {facts['model']})"
    return {"cpu": cpu, "cpus": len(os.sched_getaffinity(0)), "system": platform.platform()}


def number(value, form):
    return "-" if value is None else format(value, form)


def print_table(records, thread_counts):
    """Markdown, so that it can be pasted where it is read."""
    head = ["model"]
    for threads in thread_counts:
        head += [f"sardonyx {threads}T min/med ms", f"onnxruntime {threads}T min/med ms", f"ratio {threads}T min/med"]
    head += ["load ratio", "memory ratio", "error", "ort's own error"]
    rows = []
    for record in records:
        row = [record["model"]]
        for threads in thread_counts:
            result = record["threads"].get(str(threads), {})
            for key in ("sardonyx", "onnxruntime"):
                one = result.get(key, {})
                row.append(f"{number(one.get('min_ms'), '.2f')} / {number(one.get('median_ms'), '.2f')}")
            ratio = result.get("ratio", {})
            row.append(f"{number(ratio.get('min'), '.2f')} / {number(ratio.get('median'), '.2f')}")
        ratio = record["threads"].get(str(thread_counts[0]), {}).get("ratio", {})
        row += [number(ratio.get("load"), ".2f"), number(ratio.get("peak_rss"), ".2f")]
        row += [number(record["relative_error"].get(key), ".1e") for key in ("sardonyx", "onnxruntime")]
        rows.append(row)
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    line = lambda row: "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
    print(line(head))
    print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for row in rows:
        print(line(row))
    for threads in thread_counts:
        known = [record["threads"].get(str(threads), {}).get("ratio", {}).get("min") for record in records]
        known = [value for value in known if value]
        if known:
            mean = float(np.exp(np.mean(np.log(known))))
            print(f"\ngeometric mean of the latency ratio, {threads} thread(s), {len(known)} models: {mean:.2f}", end="")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, default=cases.ROOT.parent / "shared/models")
    parser.add_argument("--only", default="", help="model names, by comma")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", type=pathlib.Path, default=cases.ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path, help="write the records here; docs in bench/README.md")
    parser.add_argument("--peer-only", action="store_true")
    parser.add_argument("--avx2", action="store_true", help="both engines as on a machine without AVX-512 and VNNI")
    args = parser.parse_args()
    args.build = args.build.resolve()

    thread_counts = [int(count) for count in args.threads.split(",")]
    names = cases.model_names(args.models, [name for name in args.only.split(",") if name])
    models = cases.fill_models(args.models.resolve(), args.build / "models", names)
    scratch = args.build / "compare"
    scratch.mkdir(parents=True, exist_ok=True)
    peer = Peer(peer_avx2.both(args.build / "peer") if args.avx2 else args.build / "peer")
    engines = [peer] if args.peer_only else [peer, Sardonyx(args.build / "sardonyx")]
    report = {
        "format": 1,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
        "versions": {engine.key: engine.version for engine in engines},
        "isa": "avx2" if args.avx2 else "native",
        "rounds": args.rounds,
        "call_overhead_ms": {"onnxruntime": call_overhead(peer, scratch, max(1, args.rounds))},
        "models": [],
    }
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        inputs = cases.make_inputs(models / f"{name}.onnx", scratch / name)
        record = measure_model(models / f"{name}.onnx", inputs, engines, thread_counts, args.rounds, scratch / name)
        for engine, error in record["failures"].items():
            print(f"  {engine}: {error}", file=sys.stderr)
        report["models"].append(record)
        if args.json:
            args.json.write_text(json.dumps(report, indent=1) + "\n")
    print_table(report["models"], thread_counts)
    print(f"onnxruntime {peer.version}; one call from node costs {report['call_overhead_ms']['onnxruntime']:.3f} ms of its times")


if __name__ == "__main__":
    main()
