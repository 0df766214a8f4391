#!/usr/bin/python3
"""Checks docs/features.md: every feature has a row, and every test that a row names exists.

A link [Suite.name](file_test.cc) names a GoogleTest; any other link names text that the file must contain.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "features.md"
ROWS = [f"{letter}{i}" for letter, last in (("S", 18), ("N", 14), ("T", 9), ("O", 20)) for i in range(1, last + 1)]
LATER = {"T9"}  # not in this version
LINK = re.compile(r"\[`?([^\]]+?)`?\]\(([^)]+)\)")


def missing(name, target):
    path = PAGE.parent / target
    if not path.is_file():
        return f"there is no file {target}"
    text = path.read_text()
    test = re.fullmatch(r"(\w+)\.(\w+)", name)
    if path.name.endswith("_test.cc") and test:
        found = re.search(rf"\bTEST(_F|_P)?\({test[1]},\s*{test[2]}\)", text)
    else:
        found = name in text
    return None if found else f"{target} has no {name}"


def main():
    rows = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.fullmatch(r"[SNTO]\d+", cells[0]):
            if cells[0] in rows:
                rows[cells[0]] = None
            else:
                rows[cells[0]] = cells
    wrong = [f"{row}: no row" for row in ROWS if row not in rows]
    wrong += [f"{row}: no such feature" for row in rows if row not in ROWS]
    for row, cells in rows.items():
        if cells is None:
            wrong.append(f"{row}: two rows")
            continue
        links = LINK.findall(cells[-1])
        if not links and row not in LATER:
            wrong.append(f"{row}: no test is named")
        wrong += [f"{row}: {problem}" for problem in (missing(*link) for link in links) if problem]
    for problem in wrong:
        print(f"docs/features.md: {problem}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
