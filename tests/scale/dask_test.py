#!/usr/bin/python3
"""sardonyx.dask on a real scheduler with real workers, which are killed, stopped and left behind.

SARDONYX names the program; PYTHONPATH holds the package.
"""

import importlib.util
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

try:
    import dask.array
    import dask.bag
    import dask.dataframe
    import pandas
    from distributed import Client
except ImportError as error:
    print(f"skipped: {error} (scripts/install_deps.sh scale)")
    sys.exit(77)

if importlib.util.find_spec("sardonyx") is None:
    print("skipped: the Python package was not built (scripts/install_deps.sh test)")
    sys.exit(77)

import sardonyx  # noqa: E402
import sardonyx.dask  # noqa: E402
from sardonyx import _sardonyx  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("SARDONYX", str(ROOT / "build/sardonyx"))
SLOW = """<ir_version: 8, opset_import: ["" : 17]>
slow (float[N,1,64,64] x) => (float[N,32] y)
<float[32,1,5,5] w = {%s}>
{
  t = Conv<pads = [2, 2, 2, 2]>(x, w)
  p = GlobalAveragePool(t)
  y = Flatten(p)
}
""" % ", ".join(str((i * 37 % 101) / 101 - 0.5) for i in range(800))
MEAN = """<ir_version: 8, opset_import: ["" : 17]>
mean (float[N,2] x) => (float[N,2] y) {
  middle = ReduceMean<axes = [0]>(x)
  y = Sub(x, middle)
}
"""
PARQUET = """
import pandas


class _Table:
    def __init__(self, path):
        self.frame = pandas.read_pickle(path)

    def to_pandas(self):
        return self.frame


class ParquetFile:
    def __init__(self, path):
        self.metadata = self
        self.num_rows = len(pandas.read_pickle(path))


read_table = _Table
"""
ROWS = 480


class Cluster:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address, self.folder, self.workers = f"tcp://127.0.0.1:{self.port}", folder, []
        # On a machine that is busy with other tests a healthy worker may be silent for seconds: it must outlive that.
        # They run in a folder of their own, where the way to the package may lead elsewhere.
        path = os.pathsep.join(os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry)
        self.env = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "15s", "SARDONYX_CACHE": str(folder / "cache"),
                    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "30s", "PYTHONPATH": path}
        self.log = open(folder / "log", "a")
        self.scheduler = self._start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port),
                                     "--no-dashboard", "--no-show")

    def _start(self, module, *words, **env):
        # The folder of the tests is left out of the path: its name must not hide a package.
        return subprocess.Popen([sys.executable, "-m", module, *words], cwd=self.folder, env={**self.env, **env},
                                stdout=self.log, stderr=self.log)

    def add(self, isa=None, **env):
        more = {**env, "SARDONYX_ISA": isa} if isa else env
        self.workers.append(self._start("distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads", "1",
                                        "--memory-limit", "0", "--no-dashboard", "--local-directory", str(self.folder), **more))

    def close(self):
        for process in [*self.workers, self.scheduler]:
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        self.log.close()


CLIENT = """
import sys
from distributed import Client
import sardonyx.dask
with Client(sys.argv[1], timeout=60) as client:
    job = sardonyx.dask.score(sys.argv[2], sys.argv[3], out=sys.argv[4], part_rows=4, batch=2, progress=False)
    print(job.skipped)
    print("\\n".join(job.digest()))
"""


class Dask(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cluster = Cluster(self.folder)
        self.addCleanup(self.cluster.close)
        self.model = self.folder / "slow.onnxtxt"
        self.model.write_text(SLOW)
        self.x = np.random.default_rng(11).random((ROWS, 1, 64, 64), dtype=np.float32)
        np.save(self.folder / "x.npy", self.x)

    def client(self, workers):
        client = Client(self.cluster.address, timeout=60)
        self.addCleanup(client.close)
        client.wait_for_workers(workers, timeout=60)
        return client

    def alone(self):
        """The digest of one process."""
        return subprocess.run([PROGRAM, "score", self.model, "--input", self.folder / "x.npy", "--out", self.folder / "alone"],
                              check=True, capture_output=True, text=True, timeout=120).stdout.splitlines()

    def test_a_run_takes_as_many_rows_as_turn_out_fastest(self):
        for row_s, expected in (({4: 1, 16: 2, 64: 1}, 4), ({4: 3, 16: 2, 64: 2.1}, 16), ({4: 3, 16: 3.1, 64: 1}, 64), ({4: 1, 16: 1.1, 64: 1.2}, 4)):
            pace = _sardonyx.Pace()
            for _ in range(20):
                pace.took(1, 0.001)  # the last rows of a part tell nothing
                pace.took(pace.rows, pace.rows * row_s[pace.rows])
            self.assertEqual(pace.rows, expected, row_s)

    def test_one_digest_for_any_workers_partitions_batches_and_instruction_sets(self):
        alone = self.alone()
        for workers, isas in ((1, ["portable"]), (2, ["avx2"]), (4, [None, None])):
            for isa in isas:
                self.cluster.add(isa)
            client = self.client(workers)
            for rows in (7, 100, ROWS):
                array = dask.array.from_array(self.x, chunks=(rows, -1, -1, -1))
                for batch in (3, 64, None):
                    self.assertEqual(sardonyx.dask.score(array, self.model, batch=batch).digest(), alone, (workers, rows, batch))
            out = self.folder / f"job{workers}"
            self.assertEqual(sardonyx.dask.score(array.rechunk((50, -1, -1, -1)), self.model, out=out).digest(), alone)
            counts = client.run(sardonyx.dask.compiled)
            self.assertEqual(len(counts), workers)
            for count in counts.values():
                self.assertTrue(all(times == 1 for times in count.values()), counts)
            client.close()

    def test_workers_that_die_or_stop_and_a_client_that_is_gone_lose_nothing(self):
        alone, out = self.alone(), self.folder / "job"
        for isa in ("portable", "avx2", None, None):
            self.cluster.add(isa)
        self.client(4).close()
        words = [sys.executable, "-c", CLIENT, self.cluster.address, str(self.folder / "x.npy"), str(self.model), str(out)]

        def finished():
            return len(list(out.glob("part-*.json")))

        def wait(parts):
            end = time.time() + 150
            while finished() < parts and time.time() < end:
                time.sleep(0.002)
            self.assertGreaterEqual(finished(), parts, (self.folder / "log").read_text()[-4000:])

        first = subprocess.Popen(words, env=self.cluster.env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=self.cluster.log)
        wait(10)
        self.cluster.workers[0].send_signal(signal.SIGKILL)
        wait(25)
        self.cluster.workers[1].send_signal(signal.SIGKILL)
        self.cluster.workers[2].send_signal(signal.SIGSTOP)  # past its time to live
        wait(40)
        first.send_signal(signal.SIGKILL)
        first.wait(30)
        before = finished()
        self.assertLess(before, ROWS // 4)
        second = subprocess.run(words, env=self.cluster.env, cwd=self.folder, capture_output=True, text=True, timeout=150)
        self.assertEqual(second.returncode, 0, second.stderr)
        skipped, *digest = second.stdout.splitlines()
        self.assertGreaterEqual(int(skipped), before)
        self.assertEqual(digest, alone)
        self.cluster.workers[2].send_signal(signal.SIGCONT)
        merged = subprocess.run([PROGRAM, "score", "--merge", out], capture_output=True, text=True, timeout=60)
        self.assertEqual(merged.stdout.splitlines(), alone, merged.stderr)
        self.assertIn(f"{ROWS} rows", merged.stderr)
        rows = sorted((part["first_row"], part["rows"]) for part in (json.loads(path.read_text()) for path in out.glob("part-*.json")))
        self.assertEqual(rows, [(first, 4) for first in range(0, ROWS, 4)])

    def test_types_are_known_before_anything_runs(self):
        # No worker is there: nothing can have run.
        array = dask.array.zeros((10, 1, 64, 64), chunks=(4, 1, 64, 64), dtype="f4")
        y = sardonyx.dask.score(array, self.model)["y"]
        self.assertEqual((y.dtype, y.shape, y.chunks), (np.dtype("f4"), (10, 32), ((4, 4, 2), (32,))))
        for rows, text in ((array.astype("f8"), "float64"), (array[:, :, 1:], "(rows, 1, 64, 64)"), (3, "not a int")):
            with self.assertRaisesRegex(sardonyx.Error, text.replace("(", r"\(").replace(")", r"\)")):
                sardonyx.dask.score(rows, self.model)
        (self.folder / "mean.onnxtxt").write_text(MEAN)
        with self.assertRaisesRegex(sardonyx.Error, "ReduceMean"):
            sardonyx.dask.score(array, self.folder / "mean.onnxtxt")

    def test_frames_bags_and_files_give_what_arrays_give(self):
        self.cluster.add()
        self.client(1)
        digits, x = ROOT / "examples/digits/digits.onnx", np.random.default_rng(2).random((90, 1, 8, 8), dtype=np.float32)
        whole = sardonyx.dask.score(dask.array.from_array(x, chunks=(90, -1, -1, -1)), digits).digest()
        frame = dask.dataframe.from_pandas(pandas.DataFrame(x.reshape(90, 64).astype("f8")), npartitions=4)
        self.assertEqual(sardonyx.dask.score(frame, digits, batch=7).digest(), whole)
        self.assertEqual(sardonyx.dask.score(frame, digits, out=self.folder / "frame").digest(), whole)
        self.assertEqual(sardonyx.dask.score(frame, digits, out=self.folder / "frame").skipped, 4)
        bag = dask.bag.from_sequence([{"picture": row} for row in x], npartitions=3)
        self.assertEqual(sardonyx.dask.score(bag, digits).digest(), whole)
        (self.folder / "rows").mkdir()
        np.save(self.folder / "rows/0.npy", x[:40])
        np.savez_compressed(self.folder / "rows/1.npz", picture=x[40:41])
        np.savetxt(self.folder / "rows/2.csv", x[41:].reshape(49, 64), delimiter=",", fmt="%.9g")
        self.assertEqual(sardonyx.dask.score(self.folder / "rows", digits).digest(), whole)
        self.assertEqual(sardonyx.dask.score(self.folder / "rows", digits, out=self.folder / "files", part_rows=20).digest(), whole)
        # `sardonyx score` goes on with a job of Dask's: nothing is left to do.
        for path in sorted((self.folder / "files").glob("part-00002-*.json"))[:2]:
            path.unlink()
        again = subprocess.run([PROGRAM, "score", digits, "--input", self.folder / "rows", "--out", self.folder / "files", "--part-rows",
                                "20"], capture_output=True, text=True, timeout=60)
        self.assertEqual(again.stdout.splitlines(), whole, again.stderr)
        self.assertIn("2 parts scored, 4 were finished", again.stderr)

    def test_parquet_files_are_read_with_pyarrow_and_named_without(self):
        digits, x = ROOT / "examples/digits/digits.onnx", np.random.default_rng(2).random((90, 1, 8, 8), dtype=np.float32)
        columns = pandas.DataFrame(x.reshape(90, 64)).rename(columns=str)
        rows = self.folder / "rows"
        rows.mkdir()
        real, gone = importlib.util.find_spec("pyarrow") is not None, set()
        for name, frame in (("0.parquet", columns[:40]), ("1.parquet", columns[40:70])):
            (frame.to_parquet if real else frame.to_pickle)(rows / name)
        np.save(rows / "2.npy", x[70:])
        if not real:
            self.cluster.add()
            with self.client(1) as client:
                gone = set(client.scheduler_info()["workers"])
                with self.assertRaisesRegex(sardonyx.Error, r"SDX-P0128.*0\.parquet: Parquet files need pyarrow, which is not installed"):
                    sardonyx.dask.score([rows / "0.parquet"], digits).digest()
                with self.assertRaises(sardonyx.dask.ScoreFailed) as caught:
                    sardonyx.dask.score(rows, digits, out=self.folder / "without")
                self.assertEqual([os.path.basename(part) for part, _ in caught.exception.failed], ["0.parquet", "1.parquet"])
                self.assertIn("SDX-P0128", caught.exception.failed[0][1])
            # Debian has no pyarrow; the three calls that are made of it, over pandas' own files.
            (self.folder / "calls/pyarrow").mkdir(parents=True)
            (self.folder / "calls/pyarrow/__init__.py").write_text("__version__ = '0.1'")  # too old for pandas to use
            (self.folder / "calls/pyarrow/parquet.py").write_text(PARQUET)
            self.cluster.workers[0].kill()
            self.cluster.env["PYTHONPATH"] = f"{self.folder / 'calls'}:{self.cluster.env['PYTHONPATH']}"
        self.cluster.add("avx2")
        with Client(self.cluster.address, timeout=60) as client:
            end = time.time() + 60
            while len(set(client.scheduler_info()["workers"])) != 1 or gone & set(client.scheduler_info()["workers"]):
                self.assertLess(time.time(), end, "the new worker has not come, or the old one is not gone")
                time.sleep(0.05)
            whole = sardonyx.dask.score(dask.array.from_array(x, chunks=(90, -1, -1, -1)), digits).digest()
            self.assertEqual(sardonyx.dask.score(rows, digits).digest(), whole)
            self.assertEqual(sardonyx.dask.score(rows, digits, out=self.folder / "job", part_rows=16).digest(), whole)

    def test_a_worker_without_the_package_or_with_another_is_named_and_nothing_waits_for_it(self):
        (self.folder / "none").mkdir()
        (self.folder / "none/sardonyx.py").write_text("raise ImportError('none here')")
        (self.folder / "old/sardonyx").mkdir(parents=True)
        (self.folder / "old/sardonyx/__init__.py").write_text("__version__ = '0.0.1'")
        (self.folder / "old/sardonyx/dask.py").touch()
        for path, text in (("none", "SDX-P0131.*the worker at tcp://127.0.0.1.*none here"), ("old", r"SDX-P0132.*has sardonyx 0\.0\.1")):
            self.cluster.add(PYTHONPATH=str(self.folder / path))
            client = self.client(1)
            for more in ({}, {"out": self.folder / "job"}):
                with self.assertRaisesRegex(sardonyx.Error, text):
                    sardonyx.dask.score([self.folder / "x.npy"], self.model, **more)
            client.retire_workers()
            client.close()

    def test_a_part_that_fails_is_named_and_the_others_go_on(self):
        self.cluster.add()
        self.client(1)
        digits, out = ROOT / "examples/digits/digits.onnx", self.folder / "job"
        x = np.random.default_rng(2).random((30, 1, 8, 8), dtype=np.float32)
        (self.folder / "rows").mkdir()
        np.save(self.folder / "rows/0.npy", x[:10])
        (self.folder / "rows/1.npy").write_bytes(b"\x93NUMPY, or not")
        np.save(self.folder / "rows/2.npy", np.zeros((5, 1, 9, 8), "f4"))
        np.save(self.folder / "rows/3.npy", x[10:])
        with self.assertRaises(sardonyx.dask.ScoreFailed) as caught:
            sardonyx.dask.score(self.folder / "rows", digits, out=out)
        self.assertEqual([os.path.basename(part) for part, _ in caught.exception.failed], ["1.npy", "2.npy"])
        self.assertEqual(sorted(path.name for path in out.glob("part-*.json")),
                         ["part-00000-000000000000.json", "part-00003-000000000000.json"])
        np.save(self.folder / "rows/1.npy", x[:0])
        np.save(self.folder / "rows/2.npy", x[:0])
        job = sardonyx.dask.score(self.folder / "rows", digits, out=out)
        self.assertEqual(job.skipped, 2)
        self.assertEqual(job.digest(), sardonyx.dask.score(dask.array.from_array(x, chunks=(11, -1, -1, -1)), digits).digest())

        def broken(rows):
            if rows[0, 0, 0, 0] == x[20, 0, 0, 0]:
                raise ValueError("these rows are lost")
            return rows

        array = dask.array.from_array(x, chunks=(10, -1, -1, -1)).map_blocks(broken, dtype="f4", meta=x[:0])
        with self.assertRaises(sardonyx.dask.ScoreFailed) as caught:
            sardonyx.dask.score(array, digits, out=self.folder / "array")
        self.assertEqual(caught.exception.failed, [("part-00002-000000000000", "ValueError: these rows are lost")])
        other = sardonyx.load(digits)
        (self.folder / "other.onnx").write_bytes(other.serialized() + b"\x32\x01x")  # a note more: another file
        with self.assertRaisesRegex(sardonyx.Error, "its model differ"):
            sardonyx.dask.score(self.folder / "rows", self.folder / "other.onnx", out=out)


if __name__ == "__main__":
    unittest.main()
