#!/usr/bin/env python3
"""Rows per second of 1, 2, 4 ... processes of `sardonyx score`, one thread each, and how near to linear that is.

    bench/scale/linear.py build/sardonyx [--most 16] [--rows 4000] [--model MODEL --shape 1,64,64]

Each process has as many rows whatever their number, so a machine that scales takes as long for 16 as for 1. Rounds alternate; the best
of each number counts. The digest of each job is compared with that of one process over the same rows.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
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


def run(program, model, rows, out, processes):
    shutil.rmtree(out, ignore_errors=True)
    words = [program, "score", model, "--input", rows, "--out", out, "--threads", "1", "--part-rows", "256"]
    begin = time.perf_counter()
    all_ = [subprocess.Popen([*words, "--shard", f"{i}/{processes}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for i in range(processes)]
    codes = [process.wait() for process in all_]
    seconds = time.perf_counter() - begin
    assert not any(codes), codes
    return seconds, subprocess.run([program, "score", "--merge", out], check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--most", type=int, default=os.cpu_count())
    parser.add_argument("--rows", type=int, default=4096, help="of each process")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--model")
    parser.add_argument("--shape", default="1,64,64", help="of a row")
    given = parser.parse_args()
    shape = [int(extent) for extent in given.shape.split(",")]
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        model = given.model
        if model is None:
            model = folder / "m.onnxtxt"
            model.write_text(MODEL)
        counts = [1]
        while counts[-1] * 2 <= given.most:
            counts.append(counts[-1] * 2)
        best = {}
        for count in counts:
            write_rows(folder / f"{count}.npy", given.rows * count, shape)
        for _ in range(given.rounds):
            for count in counts:
                seconds, digest = run(given.program, model, folder / f"{count}.npy", folder / "out", count)
                best[count] = min(best.get(count, (seconds, digest)), (seconds, digest))
        _, alone = run(given.program, model, folder / f"{counts[-1]}.npy", folder / "out", 1)
        assert alone == best[counts[-1]][1], "the digest depends on the number of processes"
        answer = [{"processes": count, "rows_per_s": round(given.rows * count / best[count][0]),
                   "of_linear": round(best[1][0] / best[count][0], 3)} for count in counts]
        print(json.dumps(answer, indent=1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
