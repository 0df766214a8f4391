#!/usr/bin/python3
"""What one call costs: a model of one node on three numbers, in Sardonyx from Python and in onnxruntime from node.

    PYTHONPATH=build/python bench/call_overhead.py [--peer build/peer] [--runs 20000]
"""

import argparse
import json
import pathlib
import struct
import subprocess
import tempfile
import time

import numpy as np

import sardonyx

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "tests/data/softmax.onnx"


def ours(runs):
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = 1
    session = sardonyx.InferenceSession(str(MODEL), options)
    feed = {"x": np.zeros((1, 3), np.float32)}
    for _ in range(runs // 10):
        session.run(None, feed)
    times = np.empty(runs)
    for i in range(runs):
        start = time.perf_counter()
        session.run(None, feed)
        times[i] = time.perf_counter() - start
    return {"min": 1e6 * times.min(), "median": 1e6 * np.median(times)}


def theirs(runs, peer):
    with tempfile.TemporaryDirectory() as folder:
        # TensorProto {dims: [1, 3], data_type: FLOAT, raw_data: 12 bytes}
        tensor = b"\x08\x01\x08\x03\x10\x01\x4a\x0c" + struct.pack("<3f", 0, 0, 0)
        file = pathlib.Path(folder) / "x.pb"
        file.write_bytes(tensor)
        command = ["node", ROOT / "bench/peer_run.mjs", MODEL, "--input", f"x={file}", "--runs", str(runs),
                   "--warmup", str(runs // 10), "--threads", "1", "--peer", peer]
        line = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"min": 1e3 * line["min_ms"], "median": 1e3 * line["median_ms"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", default=str(ROOT / "build/peer"), help="where onnxruntime-node is installed")
    parser.add_argument("--runs", type=int, default=20000)
    args = parser.parse_args()
    a, b = ours(args.runs), theirs(args.runs, args.peer)
    print("microseconds of one call      min   median")
    print(f"sardonyx, from Python    {a['min']:8.2f} {a['median']:8.2f}")
    print(f"onnxruntime, from node   {b['min']:8.2f} {b['median']:8.2f}")
    print(f"ratio                    {b['min'] / a['min']:8.2f} {b['median'] / a['median']:8.2f}")


if __name__ == "__main__":
    main()
