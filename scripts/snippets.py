#!/usr/bin/python3
"""Keeps the code shown in documents equal to the code that is built.

    scripts/snippets.py [--write]      check README.md and docs/*.md, or bring them up to date

A document names what it shows in a comment, and the fenced block after it is that code:

    <!-- snippet src/ops/normalization/softmax.cc: struct Softmax -->     the first declaration whose line has this text
    <!-- snippet examples/first/first.cc -->                              the whole file
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- snippet ([^\s:]+)(?:: (.+?))? -->\n```(\w*)\n(.*?)```\n", re.DOTALL)


def declaration(lines, text):
    """From the comment above the line that has `text` to the end of the declaration that begins there."""
    start = next((i for i, line in enumerate(lines) if text in line), None)
    if start is None:
        return None
    indent = re.match(r" *", lines[start])[0]
    end = start
    one_line = re.search(r"[;}]\s*(//.*)?$", lines[start])
    while not one_line and end + 1 < len(lines):
        end += 1
        if re.match(indent + r"[})]", lines[end]):
            break
    while start > 0 and re.match(indent + r"(//|template <)", lines[start - 1]):
        start -= 1
    return lines[start : end + 1]


def code_of(path, text):
    file = ROOT / path
    if not file.exists():
        return None
    lines = file.read_text().splitlines()
    return lines if text is None else declaration(lines, text)


def main():
    write = "--write" in sys.argv[1:]
    stale = []
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:

        def renew(match):
            path, text, language, shown = match.groups()
            code = code_of(path, text)
            name = f"{document.relative_to(ROOT)}: {path}" + (f": {text}" if text else "")
            if code is None:
                stale.append(f"{name}: no such code")
                return match[0]
            code = "\n".join(code) + "\n"
            if code != shown and not write:
                stale.append(f"{name}: differs; scripts/snippets.py --write brings it up to date")
            return match[0].replace(f"```{language}\n{shown}```", f"```{language}\n{code}```")

        before = document.read_text()
        after = BLOCK.sub(renew, before)
        if write and after != before:
            document.write_text(after)
    print("\n".join(stale), file=sys.stderr, end="\n" if stale else "")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
