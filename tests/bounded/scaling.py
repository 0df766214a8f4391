#!/usr/bin/env python3
"""Time per node of each stage at 10^3, 10^4 and 10^5 nodes: flat within a factor of 2.

usage: scaling.py SARDONYX [--print]
"""
import os
import resource
import subprocess
import sys
import tempfile

import models

STAGES = {
    "check": ["check"],
    "infer": ["show", "--at", "inferred", "--summary"],
    "rewrite": ["show", "--at", "optimized"],
    "plan": ["show", "--at", "plan"],
    "show": ["show"],
    "view": ["show", "--at", "model", "--format", "dot"],
}
SHAPES = {"chain": models.chain, "wide": models.parallel_wires, "split": models.wide_split}
SIZES = [1000, 10000, 100000]
FACTOR = 2.0


def cpu_seconds(words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.call(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code != 0:
        print(f"FAIL: exit code {code}: {' '.join(words)}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, code


def main():
    sardonyx = sys.argv[1]
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        print("microseconds per node    " + "".join(f"{n:>10}" for n in SIZES))
        for shape, make in SHAPES.items():
            files = []
            for n in SIZES:
                files.append(os.path.join(work, f"{shape}{n}.onnx"))
                with open(files[-1], "wb") as file:
                    file.write(make(n))
            for stage, words in STAGES.items():
                command = [sardonyx, words[0], None, *words[1:]]
                costs = []
                for n, file in zip(SIZES, files):
                    runs = [cpu_seconds([file if w is None else w for w in command]) for _ in range(2 if n < 10**5 else 1)]
                    failed += any(code != 0 for _, code in runs)
                    costs.append(min(cost for cost, _ in runs) / n * 1e6)
                # The start of the process weighs on the smallest, so it is no yardstick; a better
                # one at a larger size is welcome.
                flat = costs[2] <= FACTOR * min(costs[1], max(costs[0], costs[1]))
                failed += not flat
                print(f"{shape:>10} {stage:<14}" + "".join(f"{c:>10.2f}" for c in costs) + ("" if flat else "  NOT FLAT"))
                sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
