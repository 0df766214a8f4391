#!/usr/bin/python3
"""`sardonyx score`: parts, shards, reruns and what goes wrong; one digest for all of it.

SARDONYX names the program.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("SARDONYX", str(ROOT / "build/sardonyx"))
DIGITS = ROOT / "examples/digits/digits.onnx"
SUM = """<ir_version: 8, opset_import: ["" : 17]>
sum (float[N,2] a, int64[N] k, float[2] bias) => (float[N,2] y, int64[N] twice) {
  t = Mul(a, bias)
  y = Add(t, bias)
  twice = Add(k, k)
}
"""
MEAN = """<ir_version: 8, opset_import: ["" : 17]>
mean (float[N,2] x) => (float[N,2] y) {
  middle = ReduceMean<axes = [0]>(x)
  y = Sub(x, middle)
}
"""
ONE = """<ir_version: 8, opset_import: ["" : 17]>
one (float[1,3] x) => (float[1,3] y) {
  y = Softmax(x)
}
"""
SLOW = """<ir_version: 8, opset_import: ["" : 17]>
slow (float[N,1,96,96] x) => (float[N,64,1,1] y)
<float[64,1,5,5] w = {%s}>
{
  t = Conv<pads = [2, 2, 2, 2]>(x, w)
  y = GlobalMaxPool(t)
}
""" % ", ".join(["0.5"] * 1600)

# A row takes 512 KB from one step to the next: 4 rows stay in the cache of most cores, 64 do not.
WIDE = """<ir_version: 8, opset_import: ["" : 17]>
wide (float[N,1,64,64] x) => (float[N,32,1,1] y)
<float[32,1,5,5] w = {%s}>
{
  t = Conv<pads = [2, 2, 2, 2]>(x, w)
  y = GlobalAveragePool(t)
}
""" % ", ".join(["0.5"] * 800)


def sardonyx(*words, **how):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120, **how)


def isa(name):
    """Flags that ask for an instruction set, where the machine has it."""
    return ["--isa", name] if sardonyx("run", DIGITS, "--random", 1, "--isa", name).returncode == 0 else []


class Score(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.x = np.random.default_rng(7).random((500, 1, 8, 8), dtype=np.float32)
        self.all = self.save("all.npy", self.x)
        for name, text in (("sum", SUM), ("mean", MEAN), ("one", ONE), ("slow", SLOW)):
            (self.folder / f"{name}.onnxtxt").write_text(text)

    def save(self, name, array):
        np.save(self.folder / name, array)
        return self.folder / name

    def done(self, *words):
        result = sardonyx(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def refused(self, code, text, *words):
        result = sardonyx(*words)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertIn(text, result.stderr)
        return result

    def whole(self):
        return self.done("run", DIGITS, "--input", f"picture={self.all}", "--digest")

    def test_the_digest_does_not_depend_on_parts_batches_workers_or_instruction_sets(self):
        whole = self.whole()
        cuts = [0, 1, 130, 130, 499, 500]
        files = [self.save(f"{i}.npy", self.x[a:b]) for i, (a, b) in enumerate(zip(cuts, cuts[1:]))]
        given = [word for file in files for word in ("--input", file)]
        for i, more in enumerate((["--batch", 1], ["--part-rows", 7, "--workers", 3, *isa("portable")],
                                  ["--part-rows", 0, "--batch", 500, *isa("avx2")], ["--threads", 2, "--batch", 9])):
            self.assertEqual(self.done("score", DIGITS, *given, "--out", self.folder / f"out{i}", *more), whole)
        self.assertEqual(self.done("score", DIGITS, "--input", self.all, "--out", self.folder / "out"), whole)

    def test_a_run_takes_as_many_rows_as_turn_out_fastest(self):
        rng = np.random.default_rng(1)
        (self.folder / "wide.onnxtxt").write_text(WIDE)
        x = self.save("wide.npy", rng.random((1500, 1, 64, 64), dtype=np.float32))
        digests = set()

        def cpu_s(*more):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            digests.add(self.done("score", self.folder / "wide.onnxtxt", "--input", x, "--out", tempfile.mkdtemp(dir=self.folder), "--threads", 1, *more))
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        # In turns; the least of each is what a machine with other work to do spoils least.
        times = [(cpu_s(), cpu_s("--batch", 4), cpu_s("--batch", 16), cpu_s("--batch", 64)) for _ in range(3)]
        found, *given = (min(column) for column in zip(*times))
        self.assertLess(found, 1.3 * min(given) + 0.05, times)
        self.assertEqual(len(digests), 1)

    def test_shards_in_one_folder_and_in_folders_of_their_own_make_one_job(self):
        words = ["score", DIGITS, "--input", self.all, "--part-rows", 60]
        for i in range(3):
            self.assertEqual(self.done(*words, "--out", self.folder / "shared", "--shard", f"{i}/3"), "")
            self.done(*words, "--out", self.folder / f"own{i}", "--shard", f"{i}/3")
        self.assertEqual(self.done("score", "--merge", self.folder / "shared"), self.whole())
        own = [self.folder / f"own{i}" for i in range(3)]
        self.assertEqual(self.done("score", "--merge", *own), self.whole())
        self.refused(1, "are not finished", "score", "--merge", *own[:2])

    def test_every_row_is_there_in_its_place(self):
        out = self.folder / "out"
        self.done("score", DIGITS, "--input", self.all, "--out", out, "--part-rows", 64)
        made = np.concatenate([np.load(path) for path in sorted(out.glob("part-*.npy"))])
        self.done("run", DIGITS, "--input", f"picture={self.all}", "--output-dir", self.folder / "run", "--format", "npy")
        self.assertTrue((made == np.load(self.folder / "run/output_0.npy")).all())

    def test_the_digest_is_recomputed_by_the_lines_of_the_documentation(self):
        out = self.folder / "out"
        digest = self.done("score", DIGITS, "--input", self.all, "--out", out, "--part-rows", 64)
        page = (ROOT / "docs/scaling.md").read_text()
        code = re.search(r"```python\n(# The digest of a job.*?)```", page, re.S).group(1)
        result = subprocess.run(["/usr/bin/python3", "-c", code, str(out)], capture_output=True, text=True)
        self.assertEqual(result.stdout, digest, result.stderr)
        shell = re.search(r"```sh\n(# The same in a shell.*?)```", page, re.S).group(1)
        result = subprocess.run(["bash", "-euc", shell], cwd=out, capture_output=True, text=True)
        self.assertIn(digest.split()[-1], result.stdout, result.stderr)

    def test_a_job_that_was_killed_goes_on_where_it_ended(self):
        x = self.save("x.npy", np.random.default_rng(1).random((400, 1, 96, 96), dtype=np.float32))
        words = ["score", self.folder / "slow.onnxtxt", "--input", x, "--part-rows", 4, "--batch", 2]
        out = self.folder / "out"
        process = subprocess.Popen([PROGRAM, *map(str, words), "--out", str(out)], stderr=subprocess.DEVNULL)
        end = time.time() + 60
        while len(list(out.glob("part-*.json"))) < 3 and time.time() < end:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(60), -9)
        finished = len(list(out.glob("part-*.json")))
        self.assertLess(finished, 100)
        self.refused(1, "are not finished", "score", "--merge", out)
        again = sardonyx(*words, "--out", out)
        self.assertEqual(again.returncode, 0, again.stderr)
        found = re.search(r"(\d+) parts scored, (\d+) were finished before", again.stderr)
        self.assertEqual((int(found[1]), int(found[2])), (100 - finished, finished))
        whole = self.done("run", self.folder / "slow.onnxtxt", "--input", f"x={x}", "--digest")
        self.assertEqual(again.stdout, whole)
        self.assertIn("0 parts scored, 100 were finished before", sardonyx(*words, "--out", out).stderr)

    def test_what_is_half_written_or_damaged_is_not_taken_for_finished(self):
        out = self.folder / "out"
        words = ["score", DIGITS, "--input", self.all, "--out", out, "--part-rows", 100]
        whole = self.done(*words)
        manifest, part = out / "part-00000-000000000100.json", out / "part-00000-000000000200.0.npy"
        manifest.write_text(manifest.read_text()[:70])
        part.write_bytes(part.read_bytes()[:-1])
        text = self.refused(1, str(manifest), "score", "--merge", out).stderr
        self.assertIn(str(part), text)
        again = sardonyx(*words)
        self.assertEqual((again.stdout, again.returncode), (whole, 0))
        self.assertIn("2 parts scored, 3 were finished", again.stderr)
        data = bytearray(part.read_bytes())
        data[-1] ^= 1  # of the same size: only the hash tells
        part.write_bytes(data)
        self.refused(1, "SDX-C0153", "score", "--merge", out)

    def test_a_part_that_two_manifests_claim_is_refused(self):
        out = self.folder / "out"
        self.done("score", DIGITS, "--input", self.all, "--out", out, "--part-rows", 100)
        manifest = json.loads((out / "part-00000-000000000100.json").read_text())
        manifest["first_row"] = 50
        (out / "part-00000-000000000050.json").write_text(json.dumps(manifest))
        self.refused(1, "SDX-C0152", "score", "--merge", out)

    def test_a_source_that_cannot_be_read_is_named_and_the_others_go_on(self):
        first, last = self.save("0.npy", self.x[:200]), self.save("2.npy", self.x[200:])
        broken, wide = self.folder / "1.npy", self.save("3.npy", np.zeros((4, 1, 8, 9), np.float32))
        broken.write_bytes(b"no array")
        out = self.folder / "out"
        given = ["--input", first, "--input", broken, "--input", last, "--out", out]
        result = self.refused(1, str(broken), "score", DIGITS, *given)
        self.assertIn("2 parts scored", result.stderr)
        self.refused(1, "no part of source 1", "score", "--merge", out)
        np.save(broken, self.x[:0])
        self.assertEqual(self.done("score", DIGITS, *given), self.whole())
        self.refused(1, "SDX-C0114", "score", DIGITS, "--input", wide, "--out", self.folder / "wide")
        self.refused(1, "SDX-C0113", "score", DIGITS, "--input", self.save("f8.npy", self.x.astype("f8")), "--out",
                     self.folder / "f8")
        self.refused(1, "SDX-C0116", "score", DIGITS, "--input", "nothing.npy", "--out", self.folder / "nothing")

    def test_a_source_that_changed_is_scored_anew(self):
        source, out = self.save("x.npy", self.x[:250]), self.folder / "out"
        words = ["score", DIGITS, "--input", source, "--out", out, "--part-rows", 100]
        self.done(*words)
        os.utime(self.save("x.npy", self.x[250:400]), ns=(1, 1))
        again = self.done(*words)
        fresh = self.done("score", DIGITS, "--input", source, "--out", self.folder / "fresh")
        self.assertEqual(again, fresh)

    def test_another_model_or_other_options_do_not_go_on_with_a_job(self):
        out, model = self.folder / "out", self.folder / "model.onnxtxt"
        x = self.save("x.npy", np.ones((3, 3), np.float32))
        shutil.copy(self.folder / "one.onnxtxt", model)
        words = ["score", model, "--input", x, "--out", out]
        self.done(*words)
        self.refused(2, "--part-rows", *words, "--part-rows", 9)
        self.refused(2, "other inputs", *words, "--input", x)
        model.write_text(ONE.replace("Softmax", "LogSoftmax"))
        self.refused(2, "another model", *words)

    def test_a_full_disk_is_told_and_the_job_goes_on_when_there_is_room(self):
        out = self.folder / "small"
        out.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", out],
                                               capture_output=True).returncode != 0:
            self.skipTest("a small file system cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", out])
        words = ["score", DIGITS, "--input", self.all, "--out", out, "--part-rows", 50]
        result = self.refused(1, "No space left on device", *words)
        self.assertIn("part-00000-", result.stderr)
        self.assertEqual([name for name in os.listdir(out) if not re.fullmatch(r"job\.json|part-[\d-]+(\.0\.npy|\.json)", name)], [])
        subprocess.run(["mount", "-o", "remount,size=4m", out], check=True)
        self.assertEqual(self.done(*words), self.whole())

    def test_a_model_that_looks_at_other_rows_is_refused_by_its_node(self):
        x = self.save("x.npy", np.ones((4, 2), np.float32))
        self.refused(2, "ReduceMean", "score", self.folder / "mean.onnxtxt", "--input", x, "--out", self.folder / "out")

    def test_a_model_of_one_row_takes_rows_one_by_one(self):
        x = np.random.default_rng(3).random((5, 3), dtype=np.float32)
        out = self.folder / "out"
        self.done("score", self.folder / "one.onnxtxt", "--input", self.save("x.npy", x), "--out", out)
        made = np.load(out / "part-00000-000000000000.0.npy")
        self.done("run", self.folder / "one.onnxtxt", "--input", f"x={self.save('row.npy', x[3:4])}", "--output-dir",
                  self.folder / "row", "--format", "npy")
        self.assertTrue((made[3:4] == np.load(self.folder / "row/output_0.npy")).all())

    def test_several_inputs_come_from_npz_and_csv_alike(self):
        rng = np.random.default_rng(5)
        a, k = rng.random((6, 2), dtype=np.float32), rng.integers(-9, 9, 6)
        bias = self.save("bias.npy", np.float32([0.25, -3]))
        np.savez(self.folder / "rows.npz", a=a, k=k)
        lines = ["a.0,note,k,a.1"] + [f'{p:.9g},"not, used ""here""",{i},{q:.9g}' for (p, q), i in zip(a, k)]
        (self.folder / "rows.csv").write_text("\r\n".join(lines) + "\r\n")
        words = ["score", self.folder / "sum.onnxtxt", "--same", f"bias={bias}"]
        from_npz = self.done(*words, "--input", self.folder / "rows.npz", "--out", self.folder / "npz", "--batch", 4)
        from_csv = self.done(*words, "--input", self.folder / "rows.csv", "--out", self.folder / "csv", "--part-rows", 2)
        self.assertEqual(from_npz, from_csv)
        self.assertEqual([line.split()[:3] for line in from_npz.splitlines()],
                         [["y", "f32", "[6,2]"], ["twice", "i64", "[6]"]])
        only = self.done(*words, "--input", self.folder / "rows.npz", "--out", self.folder / "only", "--outputs", "twice")
        self.assertEqual(only.splitlines(), from_npz.splitlines()[1:])
        self.refused(2, "--same bias=FILE.npy", "score", self.folder / "sum.onnxtxt", "--input", self.folder / "rows.npz",
                     "--out", self.folder / "none")

    def test_a_field_that_is_no_number_is_named_by_its_line_and_column(self):
        for text, what in (("1,2,3\n4,five,6\n", 'line 2, column 2: "five"'), ("1,2,3\n4,5\n", "line 2 has 2 fields"),
                           ('1,2,3\n4,"5,6\n', "a quote is not closed"), ("1,2\n3,4\n", "takes rows of 3 elements")):
            (self.folder / "x.csv").write_text(text)
            self.refused(1, what, "score", self.folder / "one.onnxtxt", "--input", self.folder / "x.csv", "--out",
                         self.folder / "out")

    def test_folders_and_lists_of_files_are_taken_in_order(self):
        (self.folder / "rows").mkdir()
        for i in range(3):
            np.save(self.folder / f"rows/{i}.npy", self.x[i * 100:(i + 1) * 100])
        (self.folder / "rows/notes.txt").write_text("not rows")
        (self.folder / "list").write_text("".join(f"{self.folder}/rows/{i}.npy\n" for i in range(3)))
        one = self.done("score", DIGITS, "--input", self.folder / "rows", "--out", self.folder / "1")
        two = self.done("score", DIGITS, "--input", f"@{self.folder}/list", "--out", self.folder / "2")
        three = self.done("score", DIGITS, "--input", self.save("300.npy", self.x[:300]), "--out", self.folder / "3")
        self.assertEqual((one, two), (three, three))

    def test_words_that_make_no_sense_are_refused(self):
        for words, text in ((["score"], "SDX-C0163"), (["score", DIGITS, "--out", "o"], "SDX-C0117"),
                            (["score", DIGITS, "--input", self.all, "--out", "o", "--shard", "3/3"], "SDX-C0160"),
                            (["score", DIGITS, "--input", self.all, "--out", "o", "--shard", "x"], "SDX-C0160"),
                            (["score", "--merge", self.folder], "job.json")):
            self.refused(2, text, *words)

    def test_a_sandboxed_job_scores_too(self):
        words = ["score", DIGITS, "--input", self.all, "--out", self.folder / "out"]
        result = sardonyx(*words, "--sandbox")
        if "no landlock" in result.stderr or "seccomp" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual((result.returncode, result.stdout), (0, self.whole()), result.stderr)

    def test_gnu_parallel_runs_the_shards(self):
        if shutil.which("parallel") is None:
            self.skipTest("parallel is not installed (scripts/install_deps.sh scale)")
        out = self.folder / "out"
        subprocess.run(["parallel", "-j2", f"{PROGRAM} score {DIGITS} --input {self.all} --part-rows 50 --threads 1 "
                        f"--out {out} --shard {{}}/4", ":::", "0", "1", "2", "3"], check=True, capture_output=True, timeout=60)
        self.assertEqual(self.done("score", "--merge", out), self.whole())


if __name__ == "__main__":
    unittest.main()
