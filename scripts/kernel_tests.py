#!/usr/bin/python3
"""Which case of ops_test covers which kernel: kernel_tests.py OPS_TEST [--write].

Without --write the table in cli/kernel_tests.inc is compared with the tests that there are. Kernels that this machine's
instruction sets do not have are not missed.
"""
import pathlib
import subprocess
import sys

TABLE = pathlib.Path(__file__).resolve().parents[1] / "cli/kernel_tests.inc"


def tests(program):
    """(operator, kernel, case), in the order of the program."""
    operator = ""
    for line in subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout.splitlines():
        if not line.startswith(" "):
            operator = line.rstrip(".").split("/")[-1]
            continue
        words = line.split("#")[0].strip().split("/")
        if len(words) == 3 or (len(words) == 2 and words[1] == "reference"):
            yield operator, words[1], words[0]


def main():
    found = {}
    every = set()
    for operator, kernel, case in tests(sys.argv[1]):
        found.setdefault((operator, kernel), case)
        every.add((operator, kernel, case))
    if sys.argv[2:] == ["--write"]:
        lines = [f'{{"{op}", "{kernel}", "{case}"}},' for (op, kernel), case in sorted(found.items())]
        TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return 0
    table = set()
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        table.add(tuple(word.strip(' "') for word in line.strip("{},").split(",")))
    levels = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    whole = all(word in levels for word in ("avx512f", "avx512_vnni", "amx_int8"))
    wrong = [f"{row}: no such test" for row in sorted(table - every) if whole]
    wrong += [f"{pair}: not in the table" for pair in sorted(set(found) - {row[:2] for row in table})]
    print("\n".join(wrong[:20]) or f"{len(table)} kernels and references have a test")
    return 1 if wrong else 0


sys.exit(main())
