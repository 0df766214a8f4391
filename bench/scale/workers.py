#!/usr/bin/python3
"""What Dask costs: time per part beyond the part itself, and two single-thread workers against two processes by hand.

    PYTHONPATH=build/python bench/scale/workers.py            # prints JSON

Rounds alternate, the best of each is taken, and the digests are compared.
"""

import argparse
import json
import multiprocessing
import pathlib
import shutil
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/scale"))

from distributed import Client  # noqa: E402

import sardonyx.dask  # noqa: E402
from dask_test import SLOW, Cluster  # noqa: E402
from sardonyx import _sardonyx  # noqa: E402
from sardonyx.dask import _api, _job  # noqa: E402


def by_hand(path, model, out, part_rows, start, mine, of):
    """Every `of`-th part from `mine` on, in a plain loop that writes the same files."""
    made = _api._model(model, None, None, None, None)
    made.session()
    x = np.load(path, mmap_mode="r")
    stamp = _api._stamp(str(path), made.ports)
    start.wait()
    for k in range(mine, -(-len(x) // part_rows), of):
        first = k * part_rows
        rows = min(part_rows, len(x) - first)
        wanted = {"part": _job.part_name(0, first), "model": made.sha256, "source": 0, "source_name": str(path), "first_row": first,
                  "rows": rows, "source_rows": stamp["rows"], "source_bytes": stamp["bytes"], "source_changed": stamp["changed"]}
        _job.write_part(str(out), wanted, list(made.types), made.run({made.ports["inputs"][0][0]: x[first:first + rows]}))


def hand_time(path, model, out, part_rows, processes):
    shutil.rmtree(out, ignore_errors=True)
    made = _api._model(model, None, None, None, None)
    _job.begin(str(out), {"format": _job.FORMAT, "model": made.sha256, "numerics": "standard",
                          "outputs": [{"name": n, "type": t} for n, t in made.types.items()], "sources": [str(path)],
                          "part_rows": part_rows})
    start = multiprocessing.Barrier(processes + 1)
    all_ = [multiprocessing.Process(target=by_hand, args=(path, model, out, part_rows, start, i, processes)) for i in range(processes)]
    for process in all_:
        process.start()
    start.wait()
    begin = time.perf_counter()
    for process in all_:
        process.join()
    seconds = time.perf_counter() - begin
    return seconds, _sardonyx.merge([str(out)])


def dask_time(path, model, out, part_rows):
    """Without the last check of all files, which both could have."""
    shutil.rmtree(out, ignore_errors=True)
    merge, begin = _sardonyx.merge, time.perf_counter()
    try:
        _sardonyx.merge = lambda folders: []
        sardonyx.dask.score([path], model, out=out, part_rows=part_rows, progress=False)
        seconds = time.perf_counter() - begin
    finally:
        _sardonyx.merge = merge
    return seconds, merge([str(out)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", type=int, default=16, help="of the comparison with processes by hand")
    parser.add_argument("--part-rows", type=int, default=1024, help="of each, 0.2 ms or so a row; score's own default is 65536")
    given = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    cluster, answer = Cluster(folder), {}
    try:
        model, rng = folder / "slow.onnxtxt", np.random.default_rng(0)
        model.write_text(SLOW)
        np.save(folder / "x.npy", rng.random((given.parts * given.part_rows, 1, 64, 64), dtype=np.float32))
        np.save(folder / "tiny.npy", rng.random((500, 1, 8, 8), dtype=np.float32))
        digits = ROOT / "examples/digits/digits.onnx"
        client = Client(cluster.address, timeout=60)
        for workers in (1, 2):
            cluster.add()
            client.wait_for_workers(workers)
            path, used, rows = (folder / "tiny.npy", digits, 1) if workers == 1 else (folder / "x.npy", model, given.part_rows)
            dask_time(path, used, folder / "warm", rows * 8)
            hand, dask = [], []
            for _ in range(given.rounds):
                hand.append(hand_time(path, used, folder / "hand", rows, workers))
                dask.append(dask_time(path, used, folder / "dask", rows))
            assert len({line for _, lines in hand + dask for line in lines}) == 1
            parts = 500 if workers == 1 else given.parts
            best_hand, best_dask = min(hand)[0], min(dask)[0]
            if workers == 1:
                answer["overhead_ms_per_part"] = (best_dask - best_hand) / parts * 1e3
            else:
                answer["part_ms"] = best_hand * workers / parts * 1e3
                answer["two_workers_of_two_processes"] = best_hand / best_dask
        answer["compiled"] = list(client.run(sardonyx.dask.compiled).values())
        client.close()
    finally:
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(answer, indent=1))


if __name__ == "__main__":
    main()
