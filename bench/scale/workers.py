#!/usr/bin/python3
"""What Dask costs: time per part beyond the part itself, and two single-thread workers against two processes by hand.

    PYTHONPATH=build/python bench/scale/workers.py            # prints JSON

Rounds alternate, the best of each is taken, and the digests are compared. Nothing waits for ever: what takes longer than --limit
seconds ends with the words that scheduler and workers had for it.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/scale"))

from distributed import Client  # noqa: E402

import sardonyx.dask  # noqa: E402
from dask_test import SLOW, Cluster  # noqa: E402
from sardonyx import _sardonyx  # noqa: E402
from sardonyx.dask import _api, _job  # noqa: E402


def by_hand(paths, model, out, part_rows, start, mine, of):
    """Every `of`-th part from `mine` on, in a plain loop that writes the same files."""
    made = _api._model(model, None, None, None, None)
    name, arrays = made.ports["inputs"][0][0], [np.load(path, mmap_mode="r") for path in paths]
    stamps = [_api._stamp(path, made.ports) for path in paths]
    made.run({name: arrays[0][:8 * part_rows]})  # as the workers were warmed up: batches have found their size
    parts = [(k, first) for k, x in enumerate(arrays) for first in range(0, len(x), part_rows)]
    start.wait()
    for k, first in parts[mine::of]:
        rows = min(part_rows, len(arrays[k]) - first)
        wanted = {"part": _job.part_name(k, first), "model": made.sha256, "source": k, "source_name": paths[k], "first_row": first,
                  "rows": rows, "source_rows": stamps[k]["rows"], "source_bytes": stamps[k]["bytes"],
                  "source_changed": stamps[k]["changed"]}
        _job.write_part(str(out), wanted, list(made.types), made.run({name: arrays[k][first:first + rows]}))
    start.wait()  # the end: what a process takes to go is not counted, workers stay


def hand_time(paths, model, out, part_rows, processes):
    shutil.rmtree(out, ignore_errors=True)
    made = _api._model(model, None, None, None, None)
    _job.begin(str(out), {"format": _job.FORMAT, "model": made.sha256, "numerics": "standard",
                          "outputs": [{"name": n, "type": t} for n, t in made.types.items()], "sources": paths,
                          "part_rows": part_rows})
    anew = multiprocessing.get_context("spawn")  # the client of this process has threads, which no fork survives
    start = anew.Barrier(processes + 1, timeout=120)
    all_ = [anew.Process(target=by_hand, args=(paths, model, out, part_rows, start, i, processes)) for i in range(processes)]
    for process in all_:
        process.start()
    start.wait()
    begin = time.perf_counter()
    start.wait()
    seconds = time.perf_counter() - begin
    for process in all_:
        process.join(60)
    assert not any(process.exitcode for process in all_), "a process by hand failed"
    return seconds, _sardonyx.merge([str(out)])


def dask_time(paths, model, out, part_rows):
    """Without the last check of all files, which both could have."""
    shutil.rmtree(out, ignore_errors=True)
    merge, begin = _sardonyx.merge, time.perf_counter()
    try:
        _sardonyx.merge = lambda folders: []
        sardonyx.dask.score(paths, model, out=out, part_rows=part_rows, progress=False)
        seconds = time.perf_counter() - begin
    finally:
        _sardonyx.merge = merge
    return seconds, merge([str(out)])


def give_up(cluster, folder, seconds):
    log = (folder / "log").read_text()[-4000:]
    print(f"not done after {seconds} s; scheduler and workers said last:\n{log}", file=sys.stderr, flush=True)
    cluster.close()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sources", type=int, default=12, help="files of the comparison with processes by hand")
    parser.add_argument("--parts", type=int, default=4, help="of each file")
    parser.add_argument("--part-rows", type=int, default=4096, help="of each part, 0.05 to 0.2 ms a row; score's own default is 65536")
    parser.add_argument("--limit", type=int, default=300, help="seconds that all of it may take")
    given = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    cluster, answer = Cluster(folder), {}
    limit = threading.Timer(given.limit, give_up, (cluster, folder, given.limit))
    limit.daemon = True
    limit.start()
    try:
        model, rng = folder / "slow.onnxtxt", np.random.default_rng(0)
        model.write_text(SLOW)
        np.save(folder / "x0.npy", rng.random((given.parts * given.part_rows, 1, 64, 64), dtype=np.float32))
        files = [str(folder / f"x{i}.npy") for i in range(given.sources)]
        for path in files[1:]:
            os.link(files[0], path)
        np.save(folder / "tiny.npy", rng.random((500, 1, 8, 8), dtype=np.float32))
        digits = ROOT / "examples/digits/digits.onnx"
        client = Client(cluster.address, timeout=60)
        for workers in (1, 2):
            cluster.add()
            client.wait_for_workers(workers, timeout=60)
            paths, used, rows = ([str(folder / "tiny.npy")], digits, 1) if workers == 1 else (files, model, given.part_rows)
            dask_time(paths[:2], used, folder / "warm", rows)
            hand, dask = [], []
            for _ in range(given.rounds):
                hand.append(hand_time(paths, used, folder / "hand", rows, workers))
                dask.append(dask_time(paths, used, folder / "dask", rows))
            assert len({line for _, lines in hand + dask for line in lines}) == 1
            parts = 500 if workers == 1 else given.parts * given.sources
            best_hand, best_dask = min(hand)[0], min(dask)[0]
            if workers == 1:
                answer["overhead_ms_per_part"] = (best_dask - best_hand) / parts * 1e3
            else:
                answer["part_ms"] = best_hand * workers / parts * 1e3
                answer["two_workers_of_two_processes"] = best_hand / best_dask
        answer["compiled"] = list(client.run(sardonyx.dask.compiled).values())
        client.close()
    finally:
        limit.cancel()
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(answer, indent=1))


if __name__ == "__main__":
    main()
