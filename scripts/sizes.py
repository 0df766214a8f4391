#!/usr/bin/env python3
"""Lines of code per operator family, and the median length of a file in src/ops.

    scripts/sizes.py        tests are left out
"""
import pathlib
import statistics

OPS = pathlib.Path(__file__).resolve().parent.parent / "src" / "ops"


def main():
    files = {}
    for path in sorted(OPS.rglob("*")):
        if path.suffix not in (".cc", ".h") or path.name.endswith("_test.cc"):
            continue
        family = path.relative_to(OPS).parts[0] if path.parent != OPS else "(shared)"
        files.setdefault(family, []).append(path.read_text().count("\n"))
    print(f"{'family':<16}{'files':>7}{'lines':>8}{'median':>8}{'longest':>9}")
    for family, lengths in sorted(files.items()):
        print(f"{family:<16}{len(lengths):>7}{sum(lengths):>8}"
              f"{statistics.median(lengths):>8.0f}{max(lengths):>9}")
    lengths = [length for family in files.values() for length in family]
    print(f"{'all':<16}{len(lengths):>7}{sum(lengths):>8}"
          f"{statistics.median(lengths):>8.0f}{max(lengths):>9}")


if __name__ == "__main__":
    main()
