#!/usr/bin/python3
"""Prints docs/onnxruntime.md: every public name of onnxruntime's Python package, and whether it is here.

With PYTHONPATH=build/python. The list of names is bindings/python/tests/onnxruntime_names.json, taken from onnxruntime's sources.
"""
import json
import pathlib
import sys

import sardonyx
from sardonyx._refused import REFUSED, REFUSED_MEMBERS

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = json.loads((ROOT / "bindings/python/tests/onnxruntime_names.json").read_text(encoding="utf-8"))
# Objects whose attributes are theirs, not their class's.
MADE = {
    "ModelMetadata": lambda: sardonyx.InferenceSession(str(ROOT / "tests/data/softmax.onnx")).get_modelmeta(),
    "OrtArenaCfg": sardonyx.OrtArenaCfg,
    "RunOptions": sardonyx.RunOptions,
    "SessionOptions": sardonyx.SessionOptions,
}


def rows():
    """(name, "here", "refused" or "absent", reason)"""
    for name in NAMES["names"]:
        yield name, "here" if name in vars(sardonyx) else "refused" if name in REFUSED else "absent", REFUSED.get(name, "")
    for owner, members in NAMES["members"].items():
        thing = MADE[owner]() if owner in MADE else getattr(sardonyx, owner)
        for member in members:
            name = f"{owner}.{member}"
            reason = REFUSED_MEMBERS.get(name, "")
            yield name, "here" if hasattr(thing, member) else "refused" if reason else "absent", reason


def page():
    """The document."""
    table = list(rows())
    count = {kind: sum(row[1] == kind for row in table) for kind in ("here", "refused", "absent")}
    lines = [
        "# onnxruntime's Python names",
        "",
        f"The public names of onnxruntime {NAMES['onnxruntime']}'s Python package and of its classes: {count['here']} are here,",
        f"{count['refused']} are refused with a reason, {count['absent']} are absent. Printed by `scripts/onnxruntime_names.py`; a test",
        "compares. What each does is in [python.md](python.md).",
        "",
        "| name | | why not |",
        "|---|---|---|",
    ]
    return "\n".join(lines + [f"| `{name}` | {kind} | {reason} |" for name, kind, reason in table]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
