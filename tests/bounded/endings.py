#!/usr/bin/env python3
"""How the program ends when the world is not as it should be: output that cannot be written, signals,
files that shrink, limits that are no limits, memory that is not there.

usage: endings.py SARDONYX
"""
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

import models
from onnx_writer import *  # noqa: F403

SARDONYX = sys.argv[1]
failed = 0


def expect(what, condition, detail=""):
    global failed
    if not condition:
        failed += 1
        print(f"FAIL: {what} {detail}")


def run(*words, **more):
    return subprocess.run([SARDONYX, *words], capture_output=True, text=True, errors="replace", **more)


def main():
    with tempfile.TemporaryDirectory() as work:
        small = os.path.join(work, "small.onnx")
        with open(small, "wb") as file:
            file.write(models.chain(3))

        # Standard output that cannot be written is no success.
        with open("/dev/full", "w") as full:
            for words in (["info", small], ["show", small], ["run", small, "--random", "1", "--digest"], ["ops"]):
                done = subprocess.run([SARDONYX, *words], stdout=full, stderr=subprocess.PIPE, text=True)
                expect("a full disk behind stdout", done.returncode == 2 and "SDX-C0007" in done.stderr, f"{words} {done}")

        # Limits that are none.
        for option, value in [("--time-limit", "inf"), ("--time-limit", "nan"), ("--time-limit", "-1"),
                              ("--time-limit", "1e300"), ("--time-limit", "0"), ("--memory-limit", "-1"),
                              ("--memory-limit", "0"), ("--memory-limit", "99999999999999999999"), ("--memory-limit", "9999999T"),
                              ("--arena-limit", "-1"), ("--arena-limit", "nan"), ("--threads", "-5"),
                              ("--threads", "100000"), ("--loop-limit", "nan"), ("--limit", "nodes=-1"),
                              ("--limit", "nesting=99999999999999999999"), ("--plans", "0")]:
            done = run("run", small, "--random", "1", option, value)
            expect("a limit that is none", done.returncode == 2 and done.stderr != "", f"{option} {value}: {done}")

        # Memory that is not there: an error, in every command.
        for words in (["check"], ["info"], ["run", "--random", "1"], ["show", "--at", "plan"]):
            done = run(words[0], small, *words[1:], "--memory-limit", "1M")
            expect("too little memory", done.returncode in (0, 2), f"{words} {done}")
        large = os.path.join(work, "large.onnx")
        with open(large, "wb") as file:
            file.write(model(graph([node("ConstantOfShape", ["s"], ["c"]), node("Sin", ["c"], ["y"])],
                                   inputs=[value_info("s", INT64, [1])], outputs=[value_info("y", FLOAT)])))
        sizes = os.path.join(work, "s.pb")
        with open(sizes, "wb") as file:
            file.write(ints("s", [50_000_000]))
        done = run("run", large, "--input", f"s={sizes}", "--digest", "--memory-limit", "100M")
        expect("200 MB in 100 MB", done.returncode == 2 and "SDX-" in done.stderr, done)
        done = run("run", large, "--input", f"s={sizes}", "--digest", "--arena-limit", "1000000")
        expect("200 MB in an arena of 1 MB", done.returncode == 2 and "SDX-R0021" in done.stderr, done)

        # A packed input that unfolds to more than it says.
        bomb = os.path.join(work, "bomb.npz")
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".ljust(117) + b"\n"
        with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(200 << 20))
        done = run("run", small, "--input", f"x={bomb}", "--memory-limit", "100M")
        expect("a packed input", done.returncode == 2 and "SDX-C0023" in done.stderr, done)

        # Ended while it writes, convert leaves nothing behind.
        big = os.path.join(work, "big.onnx")
        with open(big, "wb") as file:
            file.write(model(graph([node("Relu", ["w"], ["y"])], outputs=[value_info("y", FLOAT)],
                                   initializers=[tensor("w", FLOAT, [64 << 18], bytes(64 << 20))])))
        out = os.path.join(work, "out")
        os.mkdir(out)
        for delay in (0.005, 0.02, 0.05, 0.1):
            child = subprocess.Popen([SARDONYX, "convert", big, os.path.join(out, "copy.txt")], stderr=subprocess.DEVNULL)
            time.sleep(delay)
            child.send_signal(signal.SIGTERM)
            child.wait()
            left = [name for name in os.listdir(out) if name != "copy.txt"]
            expect("files left behind by SIGTERM", not left, left)

        # A model that is shortened while it runs.
        slow = os.path.join(work, "slow.onnx")
        weights = os.path.join(work, "w.bin")
        with open(weights, "wb") as file:
            file.truncate(1 << 28)
        external = (b"".join(number(1, d) for d in [1 << 13, 1 << 13]) + number(2, FLOAT) + blob(8, "w") +
                    blob(13, blob(1, "location") + blob(2, "w.bin")) + number(14, 1))
        with open(slow, "wb") as file:
            file.write(model(graph([node("Neg", ["w"], ["a"]), node("MatMul", ["x", "a"], ["y"])],
                                   inputs=[value_info("x", FLOAT, [1, 1 << 13])], outputs=[value_info("y", FLOAT)],
                                   initializers=[external])))
        child = subprocess.Popen([SARDONYX, "bench", slow, "--runs", "1000", "--threads", "1", "--optimize", "off"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.7)
        os.truncate(weights, 4096)
        _, error = child.communicate(timeout=60)
        expect("a file that is shortened", child.returncode == 2 and "w.bin" in error and "SDX-B0006" in error,
               f"{child.returncode} {error[:300]}")

        # What authors write is shown, not obeyed.
        rude = os.path.join(work, "rude.onnx")
        with open(rude, "wb") as file:
            file.write(models.rude_names())
        for words in (["check", rude], ["info", rude], ["show", rude], ["run", rude, "--random", "1"],
                      ["check", rude, "--format", "json"], ["check", rude, "--format", "sarif"],
                      ["show", rude, "--format", "dot"], ["show", rude, "--format", "svg"]):
            done = subprocess.run([SARDONYX, *words], capture_output=True)
            both = done.stdout + done.stderr
            expect("control characters", b"\x1b" not in both and b"\x07" not in both and b"\xff" not in both, f"{words}")

        # In the sandbox, the same answers.
        plain = run("run", small, "--random", "1", "--digest")
        closed = run("run", small, "--random", "1", "--digest", "--sandbox")
        if "no landlock" not in closed.stderr and "no seccomp" not in closed.stderr:
            expect("a run in the sandbox", closed.returncode == 0 and closed.stdout == plain.stdout, closed)
            made = run("run", small, "--random", "1", "--sandbox", "--output-dir", os.path.join(work, "made"))
            expect("files from the sandbox", made.returncode == 0 and os.listdir(os.path.join(work, "made")), made)
    print("all as expected" if failed == 0 else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
