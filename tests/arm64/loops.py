#!/usr/bin/env python3
"""The inner loops of the arm64 kernels, counted: what can be said of their speed without an Arm machine.

    tests/arm64/loops.py BUILD [--peer libonnxruntime.so] [--mca llvm-mca-19]

For each kernel the loop with most multiply-adds per instruction is found in its disassembly: how many multiply-adds it has, how
many loads and instructions for each of them, and whether a sum is spilled. llvm-mca's models of some cores say how much of
the peak such a loop reaches if all it reads is in the first cache; the peak is what the same model makes of multiply-adds that wait for
nothing. With --peer the best loop of another library is shown beside ours. Fails if a loop is longer than it was, spills, or falls
below its share.
"""
import argparse
import bisect
import re
import shutil
import subprocess
import sys
import tempfile

KERNELS = "CMakeFiles/sdx_kernel_neon.dir/src/kernel/"
# name, object, function, instruction, how many a full tile has, most instructions for each, least share of the peak
LOOPS = [
    ("product of floats, packed", "gemm/tile.isa.cc.o", "tileILi6ELi4E.*PackedRows", "fmla", 24, 1.60, 0.95),
    ("product of floats, rows in place", "gemm/tile.isa.cc.o", "tileILi6ELi4E.*RowsInPlace", "fmla", 24, 1.60, 0.95),
    ("convolution in blocks", "conv/blocked/dense.isa.cc.o", "run_tileILi1ELi6ELi4E", "fmla", 24, 1.75, 0.95),
    ("convolution in blocks, two rows", "conv/blocked/dense.isa.cc.o", "run_tileILi2ELi3ELi4E", "fmla", 24, 1.75, 0.95),
    ("product of bytes, SDOT", "gemm_int8/gemm_int8.isa.cc.o", "SignedDot", "sdot", 24, 1.50, 0.88),
    ("product of bytes, I8MM", "gemm_int8/gemm_int8.isa.cc.o", "MixedDot", "sudot", 24, 1.45, 0.88),
    ("convolution of bytes, SDOT", "conv/int8_channels_last/conv_int8_channels_last.isa.cc.o", "SignedDot", "sdot", 80, 1.50, 0.88),
    ("convolution of bytes, I8MM", "conv/int8_channels_last/conv_int8_channels_last.isa.cc.o", "MixedDot", "sudot", 80, 1.45, 0.88),
]
CORES = ["cortex-a76", "neoverse-n1", "neoverse-v1", "neoverse-v2", "apple-m1"]


def disassembled(path):
    """Functions of an object file: name, instructions as (address, mnemonic, operands)."""
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", path], check=True, capture_output=True,
                          text=True).stdout
    name, body = None, []
    for line in text.splitlines():
        if found := re.match(r"^[0-9a-f]+ <(.*)>:", line):
            if body:
                yield name, body
            name, body = found.group(1), []
        elif found := re.match(r"^\s+([0-9a-f]+):\s+(\S+)\s*(.*)", line):
            body.append((int(found.group(1), 16), found.group(2), found.group(3).split("//")[0].strip()))
    if body:
        yield name, body


def innermost_loops(body):
    """Instructions between a branch backwards and its target that hold no other such branch."""
    last_target = -1
    addresses = [address for address, _, _ in body]
    for i, (address, mnemonic, operands) in enumerate(body):
        if not (mnemonic.startswith("b.") or mnemonic in ("cbz", "cbnz", "tbz", "tbnz")):
            continue
        target = re.search(r"([0-9a-f]+) <", operands)
        if target is None or not body[0][0] <= (to := int(target.group(1), 16)) <= address:
            continue
        first = bisect.bisect_left(addresses, to)
        if first > last_target:
            yield body[first:i + 1]
        last_target = i


def best_loop(path, function, instruction, count=None):
    best = None
    for name, body in disassembled(path):
        if not re.search(function, name) or all(mnemonic != instruction for _, mnemonic, _ in body):
            continue
        for loop in innermost_loops(body):
            adds = sum(mnemonic == instruction for _, mnemonic, _ in loop)
            if adds == 0 or (count is not None and adds != count) or (count is None and adds < 12):
                continue
            if best is None or len(loop) / adds < len(best[1]) / best[0]:
                best = (adds, loop, name)
    return best


def counts(adds, loop):
    # A load of a pair is one instruction and one access.
    loads = sum(mnemonic.startswith("ld") for _, mnemonic, _ in loop)
    spills = sum("[sp" in operands for _, _, operands in loop)
    return len(loop) / adds, loads / adds, spills


def cycles(lines, core, mca):
    """Of 200 rounds of a loop."""
    with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
        file.write("\n".join([".arch armv8.2-a+dotprod+i8mm", "again:"] + lines) + "\n")
        file.flush()
        made = subprocess.run([mca, "-march=aarch64", f"-mcpu={core}", "-mattr=+dotprod,+i8mm", "-iterations=200", file.name],
                              capture_output=True, text=True)
    found = re.search(r"Total Cycles:\s+(\d+)", made.stdout)
    return int(found.group(1)) if found else None


def shares(adds, loop, instruction, mca):
    """Of the peak, by core."""
    lines = [f"  {mnemonic} " + re.sub(r"[0-9a-f]+ <[^>]*>", "again", operands) for _, mnemonic, operands in loop]
    operands = {"fmla": "v{}.4s, v30.4s, v31.s[0]"}.get(instruction, "v{}.4s, v30.16b, v31.4b[0]")
    alone = [f"  {instruction} {operands.format(i)}" for i in range(24)]
    for core in CORES:
        took, least = cycles(lines, core, mca), cycles(alone, core, mca)
        yield core, adds * least / len(alone) / took if took and least else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--peer")
    parser.add_argument("--mca", default="llvm-mca-19")
    options = parser.parse_args()
    mca = shutil.which(options.mca)
    print(f"{'loop':34} {'adds':>4} {'instr':>6} {'loads':>6} {'spills':>6}  " +
          "  ".join(f"{core:>11}" for core in CORES if mca))
    failures = []

    def show(name, found, instruction, judged):
        adds, loop, _ = found
        instructions, loads, spills = counts(adds, loop)
        by_core = list(shares(adds, loop, instruction, mca)) if mca else []
        print(f"{name:34} {adds:4} {instructions:6.2f} {loads:6.2f} {spills:6}  " +
              "  ".join(f"{share:10.0%} " if share is not None else f"{'-':>11}" for _, share in by_core))
        if judged is None:
            return
        if spills:
            failures.append(f"{name}: {spills} accesses to the stack")
        most_instructions, least_share = judged
        if instructions > most_instructions:
            failures.append(f"{name}: {instructions:.2f} instructions for a multiply-add, at most {most_instructions} before")
        for core, reached in by_core:
            if reached is not None and reached < least_share:
                failures.append(f"{name}: {reached:.0%} of {core}'s peak, expected {least_share:.0%}")

    for name, path, function, instruction, count, most, share in LOOPS:
        found = best_loop(f"{options.build}/{KERNELS}{path}", function, instruction, count)
        if found is None:
            failures.append(f"{name}: no loop with {count} {instruction}")
        else:
            show(name, found, instruction, (most, share))
    if options.peer:
        for instruction in ("fmla", "sdot", "udot"):
            if found := best_loop(options.peer, "", instruction):
                show(f"peer: {instruction}", found, instruction, None)
    for failure in failures:
        print("FAILED", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
