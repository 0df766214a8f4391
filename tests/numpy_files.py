#!/usr/bin/python3
"""Arrays go from numpy to `sardonyx run` and back: .npy and .npz, stored and compressed, whole and damaged.

Usage: numpy_files.py SARDONYX DATA
"""

import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy as np

program, data = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
TYPES = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"]


class NumpyFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.x = np.random.default_rng(0).standard_normal((5, 3)).astype("f4")
        np.save(self.folder / "x.npy", self.x)
        np.savez(self.folder / "x.npz", x=self.x)
        np.savez_compressed(self.folder / "packed.npz", x=self.x)
        np.savez_compressed(self.folder / "nameless.npz", self.x)
        np.savez(self.folder / "more.npz", x=self.x, z=self.x)

    def run_model(self, *arguments, model="softmax.onnx"):
        done = subprocess.run([program, "run", data / model, *arguments], cwd=self.folder, capture_output=True,
                              encoding="utf-8", errors="replace", check=False)
        return done.returncode, done.stdout, done.stderr

    def test_every_form_gives_the_same(self):
        expected = self.run_model("--input", "x=x.npy", "--digest")
        self.assertEqual(expected[0], 0)
        for given in ("x.npz", "packed.npz", "x=x.npz", "x=packed.npz", "x=nameless.npz", "x=more.npz"):
            self.assertEqual(self.run_model("--input", given, "--digest"), expected, given)

    def test_wrong_archives_are_errors(self):
        (self.folder / "text.npz").write_text("text that is long enough to hold an end record")
        with zipfile.ZipFile(self.folder / "other.npz", "w") as other:
            other.writestr("readme", "no array")
        for given, code in {"more.npz": "SDX-C0036", "nameless.npz": "SDX-C0036", "none.npz": "SDX-B0001",
                            "text.npz": "SDX-C0026", "other.npz": "SDX-C0026", "x.npy": "SDX-C0030"}.items():
            found, _, said = self.run_model("--input", given)
            self.assertEqual(found, 2, given)
            self.assertIn(code, said)

    def test_damaged_archives_never_crash(self):
        drawn = random.Random(1)
        for name in ("x.npz", "packed.npz"):
            whole = (self.folder / name).read_bytes()
            for i in range(40):
                damaged = bytearray(whole)
                for _ in range(drawn.choice((1, 2, 8))):
                    damaged[drawn.randrange(len(damaged))] = drawn.randrange(256)
                (self.folder / "damaged.npz").write_bytes(damaged[: drawn.randrange(len(whole))] if i % 4 == 0 else damaged)
                self.assertIn(self.run_model("--input", "damaged.npz")[0], (0, 2))

    def test_results_come_back(self):
        expected = None
        for kind, file in {"npy": "output_0.npy", "npz": "outputs.npz"}.items():
            self.assertEqual(self.run_model("--input", "x.npz", "--output-dir", "out", "--format", kind)[0], 0)
            with (self.folder / "out" / file).open("rb") as opened:
                loaded = np.load(opened)
                y = loaded["y"] if kind == "npz" else loaded
            self.assertEqual((y.shape, y.dtype), ((5, 3), np.float32))
            expected = y if expected is None else expected
            np.testing.assert_array_equal(y, expected)
            np.testing.assert_allclose(y.sum(1), 1, rtol=1e-6)
        self.assertIsNone(zipfile.ZipFile(self.folder / "out/outputs.npz").testzip())

    def test_every_type_and_rank_goes_there_and_back(self):
        for kind in TYPES:
            for shape in ((), (0,), (3,), (2, 1, 3)):
                name = "c64" if kind == "c8" else "c128" if kind == "c16" else kind
                onnx = {"?": "bool", "f4": "float", "f8": "double", "f2": "float16", "c64": "complex64", "c128": "complex128"}
                text = onnx.get(name) or ("u" if name[0] == "u" else "") + f"int{8 * int(name[1])}"
                sizes = ",".join(map(str, shape))
                declared = f"{text}[{sizes}]" if shape else f"{text}"
                (self.folder / "same.txt").write_text(
                    f'<ir_version: 8, opset_import: ["" : 16]> g ({declared} x) => ({declared} y) {{ y = Identity(x) }}')
                x = (np.arange(np.prod(shape, dtype=int)) % 2).astype(kind).reshape(shape)
                np.savez(self.folder / "in.npz", x=x)
                for form in ("npy", "npz"):
                    found = self.run_model("--input", "in.npz", "--output-dir", "back", "--format", form,
                                           model=self.folder / "same.txt")
                    self.assertEqual(found[0], 0, found)
                    y = np.load(self.folder / "back" / {"npy": "output_0.npy", "npz": "outputs.npz"}[form])
                    y = y["y"] if form == "npz" else y
                    self.assertEqual((y.dtype, y.shape), (x.dtype, x.shape))
                    np.testing.assert_array_equal(x, y)

    def test_what_numpy_lacks_is_an_error(self):
        (self.folder / "same.txt").write_text(
            '<ir_version: 8, opset_import: ["" : 16]> g (float[2] x) => (bfloat16[2] y) { y = Cast<to = 16>(x) }')
        for form in ("npy", "npz"):
            found = self.run_model("--random", "1", "--output-dir", "none", "--format", form, model=self.folder / "same.txt")
            self.assertEqual(found[0], 2)
            self.assertIn("SDX-C0025", found[2])
            self.assertFalse((self.folder / "none").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
