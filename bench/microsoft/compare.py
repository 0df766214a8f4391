#!/usr/bin/python3
"""Every operator of com.microsoft against onnxruntime, on small generated models.

    bench/microsoft/compare.py [--out DIR] [--only OP,OP] [--program build/sardonyx] [--jobs N] [--verbose]

cases.py makes at least 20 models per operator (each optional input, attribute and type) and damaged ones that must be
refused. onnxruntime answers them in one process: its Python package where there is one (answers.py), else
onnxruntime-node (answers.mjs); Sardonyx runs each with optimisation on and off, which
must give the same digests. Floats agree within 1e-3 of the element and of the output's root mean square (2e-3 for
halves), integers but for rounding ties: one step in at most one element of twenty.
"""

import argparse
import collections
import concurrent.futures
import importlib.util
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

import cases

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def install_peer(folder):
    """onnxruntime-node in folder, as bench/cases.py puts it there."""
    spec = importlib.util.spec_from_file_location("bench_cases", ROOT / "bench/cases.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.install_peer(folder)


def write_case(folder, case):
    folder.mkdir(parents=True)
    onnx.save(case.model(), str(folder / "model.onnx"))
    for i, (name, array) in enumerate(case.fed()):
        (folder / f"input_{i}.pb").write_bytes(cases.proto(array, name).SerializeToString())


def run_ours(program, folder, case, *flags):
    """Runs one case: (None, outputs, digests), or (error, None, None)."""
    out = folder / "ours"
    shutil.rmtree(out, ignore_errors=True)
    command = [str(program), "run", str(folder / "model.onnx"), "--output-dir", str(out), "--digest", *flags]
    for i, (name, _) in enumerate(case.fed()):
        command += ["--input", f"{name}={folder / f'input_{i}.pb'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 1, 2):
        return f"exit {done.returncode}: {done.stderr.strip()[:300]}", None, None
    if done.returncode != 0:
        return done.stderr.strip()[:400] or "refused without a word", None, None
    return None, read_outputs(out), done.stdout


def read_outputs(folder):
    paths = sorted(folder.glob("output_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    return [numpy_helper.to_array(onnx.load_tensor(str(path))) for path in paths]


def difference(ours, theirs, tolerance):
    """None if they agree, "tie" if integers differ by rounding alone, else what differs."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{list(ours.shape)} against {theirs.dtype}{list(theirs.shape)}"
    if ours.size == 0:
        return None
    if ours.dtype.kind in "OUSb":
        return None if np.array_equal(ours, theirs) else "other values"
    if ours.dtype.kind in "iu":
        steps = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
        if not steps.any():
            return None
        if steps.max() <= 1 and np.count_nonzero(steps) <= max(1, steps.size // 20):
            return "tie"
        return f"{np.count_nonzero(steps)} of {steps.size} integers differ, by up to {steps.max()}"
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return "NaN in other places"
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite & ~np.isnan(b)], b[~finite & ~np.isnan(b)]):
        return "infinities in other places"
    a, b = a[finite], b[finite]
    if b.size == 0:
        return None
    size = np.sqrt(np.mean(b * b))
    over = np.abs(a - b) - tolerance * (np.abs(b) + size)
    if over.max() <= 0:
        return None
    worst = int(np.argmax(over))
    return f"element {worst}: {a[worst]:.6g} instead of {b[worst]:.6g} (root mean square {size:.3g})"


def answers(flags):
    """The command that lets onnxruntime answer every case of the folder."""
    if importlib.util.find_spec("onnxruntime") is not None:
        return [sys.executable, str(pathlib.Path(__file__).with_name("answers.py")), str(flags.out)]
    install_peer(flags.peer)
    return ["node", str(pathlib.Path(__file__).with_name("answers.mjs")), str(flags.out), "--peer", str(flags.peer)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/microsoft")
    parser.add_argument("--only", default="")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/sardonyx")
    parser.add_argument("--peer", type=pathlib.Path, default=ROOT / "build/peer")
    parser.add_argument("--jobs", type=int, default=1, help="cases that Sardonyx runs at once")
    parser.add_argument("--verbose", action="store_true")
    flags = parser.parse_args()
    only = set(filter(None, flags.only.split(",")))
    good = [case for case in cases.all_cases() if not only or case.op in only]
    bad = [case for case in cases.damaged_cases() if not only or case.op in only]
    shutil.rmtree(flags.out, ignore_errors=True)
    for i, case in enumerate(good + bad):
        case.folder = flags.out / f"{i:05d}_{case.op}"
        write_case(case.folder, case)
    command = answers(flags)
    while subprocess.run(command).returncode < 0:  # onnxruntime crashed on one case; the next call goes on behind it
        pass

    def run_both(case):
        """As it is run, and as written, on portable code."""
        found = run_ours(flags.program, case.folder, case)
        if found[0] is not None or case in bad:
            return found, None
        return found, run_ours(flags.program, case.folder, case, "--optimize", "off", "--isa", "portable")
    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        runs = dict(zip(good + bad, pool.map(run_both, good + bad)))

    tally = collections.defaultdict(collections.Counter)
    notes = []
    for case in good:
        theirs_refused = case.folder / "refused.txt"
        (error, ours, digest), plain = runs[case]
        if error is None:
            if plain[2] != digest:
                notes.append((case, f"other bits without optimisation: {plain[0] or ''}"))
                tally[case.op]["failed"] += 1
                continue
        if theirs_refused.exists():
            kind = "onnxruntime cannot" if error is None else "neither"
            tally[case.op][kind] += 1
            if flags.verbose or error is not None:
                notes.append((case, f"{kind}: {theirs_refused.read_text()[:200]}" + (f"; ours: {error}" if error else "")))
            continue
        if error is not None:
            tally[case.op]["failed"] += 1
            notes.append((case, error))
            continue
        theirs = read_outputs(case.folder)
        tolerance = 2e-3 if case.half() else 1e-3
        found = [difference(a, b, case.tolerance or tolerance) for a, b in zip(ours, theirs)]
        if len(ours) != len(theirs):
            found = [f"{len(ours)} outputs instead of {len(theirs)}"]
        wrong = [text for text in found if text not in (None, "tie")]
        tally[case.op]["failed" if wrong else "tie" if "tie" in found else "agree"] += 1
        if wrong:
            notes.append((case, "; ".join(wrong)))
    refused = accepted = 0
    for case in bad:
        (error, _, _), _ = runs[case]
        if error is not None and "SDX-" in error:
            refused += 1
        else:
            accepted += 1
            notes.append((case, f"was to be refused: {error or 'it ran'}"))
    for case, text in notes:
        print(f"{case.folder.name} {case.note}: {text}")
    print()
    columns = ["agree", "tie", "failed", "onnxruntime cannot", "neither"]
    print(f"{'operator':<36}" + "".join(f"{name:>20}" for name in columns))
    for op in sorted(tally):
        print(f"{op:<36}" + "".join(f"{tally[op][name]:>20}" for name in columns))
    totals = sum(tally.values(), collections.Counter())
    print(f"{sum(totals.values())} cases of {len(tally)} operators: " + ", ".join(f"{totals[name]} {name}" for name in columns))
    print(f"{refused} damaged models refused, {accepted} not")
    sys.exit(1 if totals["failed"] or accepted else 0)


if __name__ == "__main__":
    main()
