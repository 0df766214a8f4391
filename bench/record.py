#!/usr/bin/python3
"""Keeps what was measured, machine by machine and build by build, so that a regression is seen where it happens.

    bench/record.py [--models COMPARE.json] [--nodes NODES.json] [--history DIR]     appends one line
    bench/record.py --page FILE.html [--history DIR]                                 draws all of them

The inputs are what `compare.py --json` and `nodes.py --json` wrote on this machine. A line goes to bench/history/CPU.jsonl, where
CPU is the machine's own name for its processor:

    {"format": 1, "time", "cpu", "cpus", "level", "sardonyx", "onnxruntime",
     "models": {"1": {"mean", "least", "ratios": {MODEL: RATIO}, "load": {MODEL: RATIO}}, "16": ...},
     "nodes": {"threads", "rows", "mean", "below_0.8", "below_0.5", "operators": {NAME: [ROWS, MEAN, LEAST]}}}

Ratios are onnxruntime / Sardonyx: above 1, Sardonyx is faster. The page has one picture per machine, its builds from left to
right, and what is slowest in the last one; a mean that fell by more than 3 % from a build to the next is marked.
"""

import argparse
import collections
import html
import json
import math
import pathlib
import re
import subprocess
import sys

import cases

FELL = 0.97


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def of_models(report):
    by_threads = {}
    for record in report["models"]:
        for threads, result in record["threads"].items():
            if "ratio" not in result:
                continue
            kept = by_threads.setdefault(threads, {"ratios": {}, "load": {}})
            kept["ratios"][record["model"]] = round(result["ratio"]["min"], 3)
            kept["load"][record["model"]] = round(result["ratio"]["load"], 3)
    for kept in by_threads.values():
        ratios = kept["ratios"].values()
        kept.update(mean=round(geometric_mean(ratios), 3), least=min(ratios))
    return by_threads


def of_nodes(report):
    enough = [row for row in report["rows"] if row["peer_us"] >= report["enough_us"]]
    operators = collections.defaultdict(list)
    for row in enough:
        operators[row["op"]].append(row["ratio"])
    ratios = [row["ratio"] for row in enough]
    share = lambda bound: round(sum(ratio < bound for ratio in ratios) / len(ratios), 4)
    return {"threads": report["threads"], "rows": len(ratios), "mean": round(geometric_mean(ratios), 3),
            "below_0.8": share(0.8), "below_0.5": share(0.5),
            "operators": {op: [len(some), round(geometric_mean(some), 3), round(min(some), 3)]
                          for op, some in sorted(operators.items())}}


def level_of(program):
    done = subprocess.run([str(program), "version", "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["isa"]


def append(options):
    models = json.loads(options.models.read_text()) if options.models else None
    nodes = json.loads(options.nodes.read_text()) if options.nodes else None
    source = models or nodes
    if source is None:
        raise SystemExit("nothing to record: give --models, --nodes or both")
    level = source.get("isa", "native")
    if level == "native":
        level = level_of(options.build / "sardonyx")
    line = {"format": 1, "time": source["time"], "cpu": source["machine"]["cpu"], "cpus": source["machine"]["cpus"],
            "level": level, "sardonyx": source["versions"]["sardonyx"],
            "onnxruntime": source["versions"]["onnxruntime"]}
    if models:
        line["models"] = of_models(models)
    if nodes:
        line["nodes"] = of_nodes(nodes)
    name = re.sub(r"[^a-z0-9]+", "-", f'{line["cpu"]} {line["cpus"]} {line["level"]}'.lower()).strip("-")
    options.history.mkdir(parents=True, exist_ok=True)
    path = options.history / f"{name}.jsonl"
    with path.open("a") as file:
        file.write(json.dumps(line, sort_keys=True) + "\n")
    print(f"{path}: {sum(1 for _ in path.open())} builds")


def series(lines):
    """The means that a machine's lines have, by name: [(place, value)]."""
    found = collections.defaultdict(list)
    for place, line in enumerate(lines):
        for threads, kept in line.get("models", {}).items():
            found[f"models, {threads} thread(s)"].append((place, kept["mean"]))
        if "nodes" in line:
            found[f'nodes, {line["nodes"]["threads"]} thread(s)'].append((place, line["nodes"]["mean"]))
    return found


def picture(lines):
    width, height, left, colours = 640, 200, 40, ["#0b6e4f", "#1d4e89", "#a63d40", "#7a5195"]
    found = series(lines)
    values = [value for points in found.values() for _, value in points] + [1.0]
    low, high = min(values) * 0.95, max(values) * 1.05
    x = lambda place: left + (width - 2 * left) * (place / max(1, len(lines) - 1))
    y = lambda value: height - 20 - (height - 40) * (value - low) / (high - low)
    out = [f'<svg viewBox="0 0 {width} {height}" role="img">',
           f'<line x1="{left}" x2="{width - left}" y1="{y(1):.1f}" y2="{y(1):.1f}" stroke="#999" stroke-dasharray="4 3"/>',
           f'<text x="4" y="{y(1) + 4:.1f}">1.0</text>']
    for i, (name, points) in enumerate(sorted(found.items())):
        colour = colours[i % len(colours)]
        path = " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in points)
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        for (_, before), (place, value) in zip([points[0], *points], points):
            fell = value < before * FELL
            title = html.escape(f'{lines[place]["sardonyx"]}, {name}: {value}{", fell from " + str(before) if fell else ""}')
            out.append(f'<circle cx="{x(place):.1f}" cy="{y(value):.1f}" r="{6 if fell else 3}" '
                       f'fill="{"#d00000" if fell else colour}"><title>{title}</title></circle>')
        out.append(f'<text x="{left + 8}" y="{14 + 13 * i}" fill="{colour}">{html.escape(name)}</text>')
    return "".join(out) + "</svg>"


def slowest(line):
    rows = []
    for threads, kept in sorted(line.get("models", {}).items()):
        for model, ratio in sorted(kept["ratios"].items(), key=lambda item: item[1])[:8]:
            rows.append((f"{model}, {threads} thread(s)", f"{ratio:.2f}"))
    for op, (count, mean, least) in sorted(line.get("nodes", {}).get("operators", {}).items(), key=lambda item: item[1][1])[:8]:
        rows.append((f"{op}, {count} nodes", f"{mean:.2f}, least {least:.2f}"))
    cells = "".join(f"<tr><td>{html.escape(name)}</td><td>{value}</td></tr>" for name, value in rows)
    return f"<table><caption>Slowest in {html.escape(line['sardonyx'])}</caption>{cells}</table>"


def draw(options):
    parts = []
    for path in sorted(options.history.glob("*.jsonl")):
        lines = [line for line in map(json.loads, path.read_text().splitlines()) if line.get("format") == 1]
        lines.sort(key=lambda line: line["time"])
        if not lines:  # another script's
            continue
        last = lines[-1]
        title = f'{last["cpu"]}, {last["cpus"]} CPUs, {last["level"]}; {len(lines)} builds, onnxruntime {last["onnxruntime"]}'
        parts.append(f"<section><h2>{html.escape(title)}</h2>{picture(lines)}{slowest(last)}</section>")
    style = "body{font:14px sans-serif;max-width:60em;margin:2em auto}svg{width:100%;font:11px sans-serif}td{padding:0 1em 0 0}"
    options.page.write_text(f'<!doctype html><meta charset="utf-8"><title>Sardonyx, measured</title><style>{style}</style>'
                            "<h1>onnxruntime / Sardonyx, by machine and build</h1>" + "\n".join(parts) + "\n")
    print(f"{options.page}: {len(parts)} machines")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, help="what compare.py --json wrote")
    parser.add_argument("--nodes", type=pathlib.Path, help="what nodes.py --json wrote")
    parser.add_argument("--page", type=pathlib.Path, help="draw the history here instead")
    parser.add_argument("--history", type=pathlib.Path, default=cases.ROOT / "bench/history")
    parser.add_argument("--build", type=pathlib.Path, default=cases.ROOT / "build")
    options = parser.parse_args()
    return draw(options) if options.page else append(options)


if __name__ == "__main__":
    sys.exit(main())
