#!/usr/bin/env python3
"""Rows per second of 1, 2, 4 ... processes of `sardonyx score`, one thread each, and how near to linear that is.

    bench/scale/linear.py build/sardonyx [--most 16] [--rows 4096] [--model MODEL --shape 1,64,64] [--folder DIR] [-- MORE OPTIONS]

Each process has as many rows whatever their number, so a machine that scales takes as long for 16 as for 1. Rounds alternate; the best
of each number counts. The digest of each job is compared with that of one process over the same rows. "user_s" and "system_s" are the
processor time of one process, on average: where the first grows with their number, they share something (a core's two threads, caches,
memory, the clock); where the second does, they contend in the system (pages, files); where only the time on the clock grows, they wait
(for a core, or for the disk: each part is synced). "apart" is what the same number of processes
get of linear, at the same time, that share neither rows nor results: each has a file and a folder of its own and knows of no other.
What `score` costs by sharing is the difference; what is missing from both is the machine's (virtual cores share caches, memory and
often the units of a core with each other and with neighbours unseen).
"""

import argparse
import json
import math
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
m (float[N,1,64,64] x) => (float[N,32] y)
<float[32,1,5,5] w = {%s}>
{
  t = Conv<pads = [2, 2, 2, 2]>(x, w)
  p = GlobalAveragePool(t)
  y = Flatten(p)
}
""" % ", ".join(str((i * 37 % 101) / 101 - 0.5) for i in range(800))


def write_rows(path, rows, shape):
    """An .npy file of f32, without numpy: a machine to be measured needs nothing but the program."""
    size = 1
    for extent in shape:
        size *= extent
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {', '.join(map(str, shape))}), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    rng = random.Random(1)
    block = struct.pack(f"<{size * 16}f", *(rng.random() for _ in range(size * 16)))
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for first in range(0, rows, 16):
            file.write(block[:4 * size * min(16, rows - first)])


def timed(jobs):
    """Seconds until the last of these command lines, side by side, has ended; the processor time of one on average, (its own, the system's)."""
    begin = time.perf_counter()
    all_ = [subprocess.Popen(job, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for job in jobs]
    ends = [os.wait4(process.pid, 0) for process in all_]
    seconds = time.perf_counter() - begin
    assert not any(status for _, status, _ in ends), ends
    return seconds, (sum(usage.ru_utime for *_, usage in ends) / len(jobs), sum(usage.ru_stime for *_, usage in ends) / len(jobs))


def scored(program, model, rows, out, *options):
    return [program, "score", model, "--input", rows, "--out", out, "--threads", "1", *options]


def together(program, model, rows, out, processes, options):
    shutil.rmtree(out, ignore_errors=True)
    seconds, cpu = timed([scored(program, model, rows, out, "--shard", f"{i}/{processes}", *options) for i in range(processes)])
    return seconds, cpu, subprocess.run([program, "score", "--merge", out], check=True, capture_output=True, text=True).stdout


def apart(program, model, folder, processes, options):
    jobs = []
    for i in range(processes):
        shutil.rmtree(folder / f"out_{i}", ignore_errors=True)
        jobs.append(scored(program, model, folder / f"apart_{i}.npy", folder / f"out_{i}", *options))
    return timed(jobs)[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--most", type=int, default=os.cpu_count())
    parser.add_argument("--rows", type=int, default=4096, help="of each process")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--model")
    parser.add_argument("--shape", default="1,64,64", help="of a row")
    parser.add_argument("--folder", help="for rows and results; the system's for temporary files")
    parser.add_argument("--part-rows", default="1024")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:cut])
    options = ["--part-rows", given.part_rows, *words[cut + 1:]]
    shape = [int(extent) for extent in given.shape.split(",")]
    folder = pathlib.Path(tempfile.mkdtemp(dir=given.folder))
    try:
        model = given.model
        if model is None:
            model = folder / "m.onnxtxt"
            model.write_text(MODEL)
        counts = [1]
        while counts[-1] * 2 <= given.most:
            counts.append(counts[-1] * 2)
        best, alone = {}, {}
        for count in counts:
            write_rows(folder / f"{count}.npy", given.rows * count, shape)
        for i in range(counts[-1]):
            shutil.copy(folder / "1.npy", folder / f"apart_{i}.npy")
        for _ in range(given.rounds):
            for count in counts:
                ended = together(given.program, model, folder / f"{count}.npy", folder / "out", count, options)
                best[count] = min(best.get(count, ended), ended)
                alone[count] = min(alone.get(count, math.inf), apart(given.program, model, folder, count, options))
        _, _, one = together(given.program, model, folder / f"{counts[-1]}.npy", folder / "out", 1,
                             [*options, "--workers", str(counts[-1])])
        assert one == best[counts[-1]][2], "the digest depends on the number of processes"
        answer = [{"processes": count, "rows_per_s": round(given.rows * count / best[count][0]),
                   "seconds": round(best[count][0], 3), "user_s": round(best[count][1][0], 3), "system_s": round(best[count][1][1], 3),
                   "of_linear": round(best[1][0] / best[count][0], 3), "apart": round(alone[1] / alone[count], 3)}
                  for count in counts]
        for line in answer:
            print(json.dumps(line))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
