#!/usr/bin/python3
"""Measures every node of a table as a one-node model in both engines, in alternation, and says where Sardonyx is slow.

    bench/nodes.py [--table FILE.csv.xz] [--only Conv,MatMul] [--sample N] [--threads 1] [--isa native | --avx2]
                   [--rounds 3] [--seconds 0.02] [--worst 50] [--json FILE]

The table has one row per form of node: operator, attributes, types and shapes (node_models.py makes the model). Each round
times both engines, one after the other, for --seconds; a row's time is its least. Ratios are onnxruntime / Sardonyx: above
1, Sardonyx is faster. Rows under 50 us in onnxruntime are mostly the cost of a call and are counted apart. Outputs are
compared: a relative L2 distance over 1e-3 is printed as an error, and the command then ends with 1. With --avx2 both engines run as
on a machine that has AVX2 and nothing more (peer_avx2.py); --isa holds Sardonyx alone to a level.
"""

import argparse
import collections
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import cases
import compare
import engines
import node_models
import peer_avx2

ENOUGH = 50e-6


def measure(record, ours, peer, rounds, seconds):
    model, feeds, row = node_models.build(record)
    outputs = [(f"y{i}", port.dtype, port.dims) for i, port in enumerate(row.outputs) if port.present]
    sessions = [ours.session(model, feeds, outputs), peer.session(model, feeds, outputs)]
    try:
        error = compare.worst_error(sessions[0].answers(), [array.copy() for array in sessions[1].answers()])
        times = [[], []]
        for _ in range(rounds):
            for i, session in enumerate(sessions):
                times[i] += session.times(seconds)
    finally:
        for session in sessions:
            session.close()
    ours_s, peer_s = min(times[0]), min(times[1])
    return {"op": row.op, "row": row.text, "nodes": row.count, "ours_us": ours_s * 1e6, "peer_us": peer_s * 1e6,
            "ratio": peer_s / ours_s, "error": error}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def table(results):
    if not results:
        return print("none")
    by_op = collections.defaultdict(list)
    for result in results:
        by_op[result["op"]].append(result["ratio"])
    by_op["all"] = [result["ratio"] for result in results]
    print(f'{"operator":24} {"rows":>5} {"ratio":>6} {"< 1.0":>6} {"< 0.8":>6} {"< 0.5":>6} {"least":>6}')
    for op, ratios in sorted(by_op.items(), key=lambda item: geometric_mean(item[1])):
        share = [sum(ratio < bound for ratio in ratios) / len(ratios) for bound in (1, 0.8, 0.5)]
        print(f"{op:24} {len(ratios):5} {geometric_mean(ratios):6.2f} {share[0]:6.0%} {share[1]:6.0%} {share[2]:6.0%}"
              f" {min(ratios):6.2f}")


def kernel_of(program, record, flags):
    """The kernel that ran and its share of the measured peak, from `sardonyx profile`."""
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(node_models.build(record)[0])
        file.flush()
        done = subprocess.run([program, "profile", file.name, "--random", "1", *flags], capture_output=True, text=True)
    lines = done.stdout.split("by operator")[-1].splitlines()
    found = re.match(r"\s*[\d.]+ \w+\s+[\d.]+%\s+\d+\s+([\d.]+ \S+)?\s*(\d+%)?\s+(.+?)  ", lines[2]) if len(lines) > 2 else None
    return f"{found[3].strip()} {found[2] or ''}" if found else "no step of its own"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=pathlib.Path, default=cases.ROOT.parent / "shared/shapes/nodes.csv.xz")
    parser.add_argument("--only", default="", help="operators, by name")
    parser.add_argument("--sample", type=int, help="this many rows, drawn with seed 1")
    parser.add_argument("--part", default="1/1", help="I/N: every N-th row from the I-th on, to share the work")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--isa", default="native", choices=engines.ISAS)
    parser.add_argument("--avx2", action="store_true", help="both engines as on a machine without AVX-512 and VNNI")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.02)
    parser.add_argument("--worst", type=int, default=50)
    parser.add_argument("--build", type=pathlib.Path, default=cases.ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()

    records = [r for r in node_models.rows(options.table) if not options.only or r["op"] in options.only.split(",")]
    if options.sample and options.sample < len(records):
        records = random.Random(1).sample(records, options.sample)
    part, parts = map(int, options.part.split("/"))
    records = records[part - 1 :: parts]
    if options.avx2:
        options.isa = "avx2"
        peer = engines.LibraryPeer(options.threads, peer_avx2.both(options.build / "peer"))
    else:
        peer = engines.peer(options.threads, options.build / "peer")
    ours = engines.Sardonyx(options.build, options.threads, options.isa)
    results, skipped = [], collections.Counter()
    for i, record in enumerate(records):
        if sys.stderr.isatty():
            print(f"\r{i + 1} of {len(records)}", end="", file=sys.stderr)
        try:
            results.append({**measure(record, ours, peer, options.rounds, options.seconds), "record": record})
        except (node_models.Unsolved, RuntimeError, ValueError) as reason:
            skipped[f'{record["op"]}: {reason}'[:110]] += 1
    if sys.stderr.isatty():
        print(file=sys.stderr)

    print(f"Sardonyx {ours.version} ({options.isa}) against onnxruntime {peer.version}, {options.threads} thread(s),"
          f" {compare.machine()['cpu']}\n{len(results)} rows measured, {sum(skipped.values())} not\n")
    enough = [result for result in results if result["peer_us"] >= ENOUGH * 1e6]
    print(f"Rows of {ENOUGH * 1e6:.0f} us and more:")
    table(enough)
    print("\nRows below that:")
    table([result for result in results if result["peer_us"] < ENOUGH * 1e6])
    print(f"\nThe worst {options.worst} of {ENOUGH * 1e6:.0f} us and more (ratio, ours us, kernel and share of peak, row):")
    flags = ["--threads", str(options.threads), "--isa", options.isa]
    for result in sorted(enough, key=lambda result: result["ratio"])[: options.worst]:
        kernel = kernel_of(str(options.build / "sardonyx"), result["record"], flags)
        print(f'{result["ratio"]:5.2f} {result["ours_us"]:9.0f}  {kernel:34} {result["row"][:150]}')
    for reason, count in skipped.most_common():
        print(f"not measured: {count} x {reason}")
    wrong = [result for result in results if not result["error"] <= 1e-3]
    for result in wrong:
        print(f'ERROR {result["error"]:.1e}  {result["row"]}')
    if options.json:
        rows = [{k: v for k, v in result.items() if k != "record"} for result in results]
        options.json.write_text(json.dumps({
            "format": 1, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": compare.machine(),
            "versions": {"sardonyx": ours.version, "onnxruntime": peer.version}, "isa": options.isa,
            "threads": options.threads, "enough_us": ENOUGH * 1e6, "rows": rows}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
