#!/usr/bin/env python3
"""Every command on every hostile model, with a stack of 256 KB and 2 GB of address space: no signal
ends it, and it takes no more than a bounded time and memory.

usage: bounded.py SARDONYX [--table] [--short] [--every] [--folder=DIR] [NAME...]      --table: the worst of each model, as Markdown;
--short: one command that looks and one that runs for the models of more_models.py; --every: the commands that write and draw,
too; --folder: the models of a folder instead of those that are made here
"""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import models
import more_models

SECONDS = float(os.environ.get("SDX_BOUNDED_SECONDS", "2"))
MEGABYTES = 500
HERE = os.path.dirname(os.path.abspath(__file__))

# What runs a model has its time limit; what looks at one needs none.
RUNS = ["--time-limit", "1", "--random", "1"]
COMMANDS = {
    "check": ["check", "MODEL"],
    "check-sonnx": ["check", "MODEL", "--profile", "sonnx-full", "--format", "json"],
    "info": ["info", "MODEL"],
    "show": ["show", "MODEL", "--at", "inferred"],
    "show-plan": ["show", "MODEL", "--at", "plan", "--time-limit", "1"],
    "run": ["run", "MODEL", "--digest", *RUNS],
    "run-plain": ["run", "MODEL", "--digest", "--optimize", "off", "--threads", "1", *RUNS],
    "bench": ["bench", "MODEL", "--runs", "1", "--time-limit", "1"],
    "profile": ["profile", "MODEL", *RUNS],
    "compare": ["compare", "MODEL", *RUNS],
    "convert": ["convert", "MODEL", "OUT", "--inline"],
    "fix": ["fix", "MODEL", "OUT", "--time-limit", "1"],
}
EVERY = {
    "report": ["check", "MODEL", "--report", "PAGE", "--time-limit", "1"],
    "show-optimized": ["show", "MODEL", "--at", "optimized", "--time-limit", "1"],
    "show-json": ["show", "MODEL", "--at", "plan", "--format", "json", "--time-limit", "1"],
    "show-svg": ["show", "MODEL", "--format", "svg", "--time-limit", "1"],
    "view": ["view", "MODEL", "-o", "PAGE", "--time-limit", "1"],
    "view-run": ["view", "MODEL", "-o", "PAGE", "--run", *RUNS],
    "text": ["convert", "MODEL", "TEXT"],
    "extract": ["extract", "MODEL", "OUT"],
    "simplify": ["simplify", "MODEL", "OUT", *RUNS],
    "diff": ["diff", "MODEL", "MODEL"],
    "inputs": ["inputs", "MODEL", "--random", "1"],
    "stream": ["stream", "MODEL", "--axis", "N", "--explain", "--time-limit", "1"],
    "score": ["score", "MODEL", "--input", "ROWS", "--out", "JOB", "--time-limit", "1"],
    "verify": ["verify", "MODEL", "--time-limit", "1"],
    "attest": ["attest", "MODEL", "-o", "SEAL", *RUNS],
    "test": ["test", "FOLDER", "--time-limit", "1"],
    "serve": ["serve", "--models", "FOLDER", "--port", "0", "--pack-cache", "off", "--time-limit", "1"],
    "run-guard": ["run", "MODEL", "--guard", "--digest", *RUNS],
    "run-sandbox": ["run", "MODEL", "--sandbox", "--digest", *RUNS],
}


def as_folder(file, folder):
    """The model as a test of ONNX's suites and as a folder that a server watches: folder/model/{1/,}model.onnx."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "model", "1"))
    os.makedirs(os.path.join(folder, "model", "test_data_set_0"))
    os.symlink(os.path.abspath(file), os.path.join(folder, "model", "model.onnx"))
    os.symlink(os.path.abspath(file), os.path.join(folder, "model", "1", "model.onnx"))


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (2000000 * 1024, 2000000 * 1024))
    resource.setrlimit(resource.RLIMIT_STACK, (256 * 1024, 256 * 1024))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def measured(words):
    """Exit code (negative: the signal), seconds, megabytes, the first line of the error."""
    with tempfile.TemporaryFile() as out:
        start = time.monotonic()
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=out, preexec_fn=limits)
        while True:
            done, status, usage = os.wait4(child.pid, os.WNOHANG)
            if done or time.monotonic() - start > 10 * SECONDS:
                break
            time.sleep(0.002)
        if not done:
            child.kill()
            _, status, usage = os.wait4(child.pid, 0)
        # Beside other work, what the process itself took.
        spent = min(time.monotonic() - start, usage.ru_utime + usage.ru_stime)
        child.returncode = 0
        out.seek(0)
        text = out.read(4000).decode("utf-8", "replace")
    code = os.waitstatus_to_exitcode(status)
    return code, spent, usage.ru_maxrss / 1024, next((l for l in text.splitlines() if "error[" in l), "")


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    sardonyx, names = arguments[0], arguments[1:]
    folder = next((a.partition("=")[2] for a in sys.argv[1:] if a.startswith("--folder=")), None)
    commands = {**COMMANDS, **EVERY} if "--every" in sys.argv else COMMANDS
    count = failed = 0
    with tempfile.TemporaryDirectory() as work:
        files = {}
        places = {"OUT": "out.onnx", "TEXT": "out.onnxtxt", "PAGE": "out.html", "ROWS": "rows.csv", "JOB": "job",
                  "SEAL": "seal.json", "FOLDER": "folder"}
        with open(os.path.join(work, "rows.csv"), "w") as file:
            file.write("x\n1\n2\n")
        for name, make in {**models.HOSTILE, **more_models.MORE}.items():
            if folder or names and name not in names:
                continue
            files[name] = os.path.join(work, name + ".onnx")
            with open(files[name], "wb") as file:
                file.write(make())
        stored = folder or os.path.join(HERE, "models")
        for name in sorted(os.listdir(stored)) if os.path.isdir(stored) else []:
            files[name.removesuffix(".onnx")] = os.path.join(stored, name)
        for name, file in files.items():
            if names and name not in names:
                continue
            worst_time = worst_memory = 0
            as_folder(file, os.path.join(work, "folder"))
            outcome = ""
            for label, command in commands.items():
                if "--short" in sys.argv and name in more_models.MORE and label not in ("check", "run"):
                    continue
                count += 1
                words = [sardonyx] + [file if w == "MODEL" else os.path.join(work, places[w]) if w in places else w
                                      for w in command]
                code, seconds, megabytes, error = measured(words)
                worst_time, worst_memory = max(worst_time, seconds), max(worst_memory, megabytes)
                outcome = outcome or error[:60]
                if code not in (0, 1, 2) or seconds > SECONDS or megabytes > MEGABYTES:
                    failed += 1
                    print(f"FAIL: {label} {name}: exit code {code}, {seconds:.2f} s, {megabytes:.0f} MB {error[:90]}")
                    sys.stdout.flush()
            if "--table" in sys.argv:
                print(f"| {name} | {os.path.getsize(file)} | {worst_time:.2f} | {worst_memory:.0f} | {outcome} |")
    print(f"{failed} of {count} failed" if failed else f"all {count} bounded")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
