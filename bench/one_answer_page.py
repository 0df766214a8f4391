#!/usr/bin/python3
"""Makes docs/one_answer.md and docs/one_answer.svg of bench/history/one_answer.jsonl, the records of bench/one_answer.py;
of each machine the last records count, those of one day, version and way of running, which several runs side by side may have
written. With --check: fails if they are not what the records say.
"""
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE, PLOT = ROOT / "docs/one_answer.md", ROOT / "docs/one_answer.svg"
INTRODUCTION = """# One answer: the evidence

Made by `bench/one_answer_page.py` of the records in [bench/history/one_answer.jsonl](../bench/history/one_answer.jsonl), which
`bench/one_answer.py` writes: both engines run the same models on the same inputs (`--random 1`) in every configuration that a machine
offers. Sardonyx: levels, numbers of threads, optimisation on and off. onnxruntime: its four levels of optimisation and the same
numbers of threads. "Answers" counts different ones, by their bits; one is what is promised. The distance is ||a - b|| / ||b|| between
an answer and that of the model as written with one thread. Anybody can add a machine; `sardonyx attest` and `sardonyx verify`
([cli.md](cli.md)) prove a single answer to others. A digest is of the version that its record names; where a later one answers
otherwise, [CHANGELOG.md](../CHANGELOG.md) says so under "Answers".
"""


def name_of(record):
    return record["machine"] if record["emulated"] else f"{record['machine']}, {record['cores']} cores"


SAME = ("sardonyx", "compiler", "levels", "threads", "onnxruntime", "date")


def read():
    records = {}
    for line in (ROOT / "bench/history/one_answer.jsonl").read_text().splitlines():
        record = json.loads(line)
        before = records.get(name_of(record))
        if before and all(before[key] == record[key] for key in SAME):
            before["models"].update(record["models"])
        else:
            records[name_of(record)] = record
    return list(records.values())


def peers(record):
    return {name: found["onnxruntime"] for name, found in record["models"].items()
            if "answers" in found.get("onnxruntime", {})}


def machines_table(records):
    yield "| machine | levels | threads | runs | models with one answer: Sardonyx | onnxruntime | its largest distance |"
    yield "|---|---|---|---|---|---|---|"
    for record in records:
        models, theirs = record["models"], peers(record)
        runs = sum(found["sardonyx"]["configurations"] for found in models.values())
        one = sum(len(found["sardonyx"]["digests"]) == 1 for found in models.values())
        if theirs:
            agrees = f"{sum(found['answers'] == 1 for found in theirs.values())} of {len(theirs)}"
            name, worst = max(((name, found["worst"]) for name, found in theirs.items()), key=lambda pair: pair[1])
            worst = f"{worst:.2g} ({name})" if worst else "0"
        else:
            agrees = worst = "not run"
        yield (f"| {name_of(record)} | {', '.join(record['levels'])} | {', '.join(map(str, record['threads']))} | {runs} | "
               f"{one} of {len(models)} | {agrees} | {worst} |")


def across(records):
    """Models that several machines ran: how many have one digest on all of them, by engine."""
    names = sorted({name for record in records for name in record["models"]})
    ours = theirs = shared = compared = 0
    for name in names:
        digests = [set(record["models"][name]["sardonyx"]["digests"]) for record in records if name in record["models"]]
        usual = [peers(record)[name]["usual"] for record in records if name in peers(record)]
        if len(digests) > 1:
            shared += 1
            ours += len(set.union(*digests)) == 1
        if len(usual) > 1:
            compared += 1
            theirs += len(set(usual)) == 1
    if shared == 0:
        return ""
    text = f"**Across machines**, {ours} of the {shared} models that more than one of them ran have one digest on all of them"
    if compared:
        text += f"; onnxruntime's usual answer (all optimisations, all threads) is the same for {theirs} of {compared}"
    return text + "."


def batch_line(records):
    ours, theirs = [], []
    for record in records:
        for found in record["models"].values():
            batch = found.get("batch") or {}
            if "sardonyx" in batch:
                ours.append(batch["sardonyx"])
            if "onnxruntime" in batch:
                theirs.append(batch["onnxruntime"])
    if not ours:
        return ""
    text = f"**Batches**: a row among several is the row alone in {sum(away == 0 for away in ours)} of {len(ours)} cases of Sardonyx"
    if theirs:
        text += f", and in {sum(away == 0 for away in theirs)} of {len(theirs)} of onnxruntime (at most {max(theirs):.1e} away)"
    return text + "."


def models_table(records):
    yield "| model | Sardonyx's digest | machines that agree | onnxruntime's answers on each machine | largest distance |"
    yield "|---|---|---|---|---|"
    for name in sorted({name for record in records for name in record["models"]}):
        ran = [record for record in records if name in record["models"]]
        digests = [record["models"][name]["sardonyx"]["digests"] for record in ran]
        first = digests[0][0]
        agree = sum(found == [first] for found in digests)
        theirs = [peers(record)[name] for record in ran if name in peers(record)]
        answers = ", ".join(f"{found['answers']} in {found['configurations']} runs" for found in theirs) or "-"
        worst = max((found["worst"] for found in theirs), default=None)
        yield f"| {name} | `{first}` | {agree} of {len(ran)} | {answers} | {'-' if worst is None else f'{worst:.1e}' if worst else '0'} |"


def plot(records):
    """Every model a mark: how far onnxruntime's answers lie apart, on a logarithmic scale; Sardonyx's at 0."""
    worst = {}
    for record in records:
        for name, found in peers(record).items():
            worst[name] = max(worst.get(name, 0.0), min(found["worst"], 1.0))
    names = sorted(worst, key=lambda name: worst[name])
    row, left, right, top = 14, 190, 640, 48
    height = top + row * len(names) + 34

    def x(value):
        return left + 20 if value <= 0 else left + 50 + (right - left - 60) * (math.log10(max(value, 1e-8)) + 8) / 8

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 {height}" font-family="sans-serif" font-size="10">',
             '<style>text{fill:#444}.g{stroke:#ddd}.s{fill:#0a7d4b}.o{fill:#c4442a}'
             '@media(prefers-color-scheme:dark){text{fill:#bbb}.g{stroke:#444}}</style>',
             f'<text x="{left}" y="16" font-size="12">How far an engine\'s own answers lie apart, ||a-b|| / ||b||</text>',
             f'<circle class="s" cx="{left + 4}" cy="28" r="4"/><text x="{left + 12}" y="32">Sardonyx</text>',
             f'<circle class="o" cx="{left + 84}" cy="28" r="4"/><text x="{left + 92}" y="32">onnxruntime</text>']
    for tick in [0] + [10.0 ** power for power in range(-8, 1)]:
        label = "0" if tick == 0 else f"1e{round(math.log10(tick))}"
        parts.append(f'<line class="g" x1="{x(tick):.1f}" y1="{top - 8}" x2="{x(tick):.1f}" y2="{height - 26}"/>'
                     f'<text x="{x(tick):.1f}" y="{height - 12}" text-anchor="middle">{label}</text>')
    for i, name in enumerate(names):
        y = top + row * i + 4
        parts.append(f'<text x="{left - 8}" y="{y + 3}" text-anchor="end">{name}</text>'
                     f'<circle class="o" cx="{x(worst[name]):.1f}" cy="{y}" r="4"/><circle class="s" cx="{x(0):.1f}" cy="{y}" r="2.5"/>')
    return "\n".join(parts + ["</svg>"]) + "\n"


def main():
    records = read()
    disagreeing = [f"{name} on {name_of(record)}" for record in records for name, found in record["models"].items()
                   if len(found["sardonyx"]["digests"]) != 1]
    batch, shared = batch_line(records), across(records)
    lines = [INTRODUCTION, *machines_table(records), "", *([shared, ""] if shared else []), *([batch, ""] if batch else []),
             "![How far an engine's own answers lie apart](one_answer.svg)", "",
             "Models on which Sardonyx gave two answers: " + (", ".join(disagreeing) or "none") + ".", "", *models_table(records)]
    page, picture = "\n".join(lines) + "\n", plot(records)
    if "--check" in sys.argv:
        wrong = [str(path) for path, text in ((PAGE, page), (PLOT, picture)) if not path.exists() or path.read_text() != text]
        print("\n".join(f"{path} is not what the records say: bench/one_answer_page.py" for path in wrong))
        return 1 if wrong or disagreeing else 0
    PAGE.write_text(page)
    PLOT.write_text(picture)
    return 0


sys.exit(main())
