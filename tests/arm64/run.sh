#!/usr/bin/env bash
# The arm64 program in qemu against this machine's: kernels' own tests, then the digests of the official suites.
#   run.sh BUILD ARM64_BUILD [SUITE...]
# As cores of three generations: without instructions for bytes, with SDOT, and with I8MM too.
set -euo pipefail
here=$1/sardonyx arm64=$2
shift 2
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(node simple pytorch-operator pytorch-converted)
libraries=/usr/lib/aarch64-linux-gnu
data=$(cd "$(dirname "$0")/.." && pwd)/data/onnx-1.23
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
on() { # CPU PROGRAM ARGUMENT...
  local cpu=$1
  shift
  qemu-aarch64-static -cpu "$cpu" -E LD_LIBRARY_PATH=$libraries $libraries/ld-linux-aarch64.so.1 "$@"
}
for cpu in cortex-a72 neoverse-n1 max; do
  on $cpu "$arm64/kernel_test" --gtest_brief=1 >"$work/$cpu" 2>&1 || { cat "$work/$cpu"; exit 1; }
  echo "kernel_test on $cpu: $(grep -o '[0-9]* tests from [0-9]* test suites ran' "$work/$cpu")"
done
different=0
for suite in "${suites[@]}"; do
  mkdir "$work/$suite"
  tar -xf "$data/$suite.tar.xz" -C "$work/$suite"
  want=$("$here" test --digest --quiet "$work/$suite")
  for flags in "cortex-a72 neon 1" "neoverse-n1 neon 1" "max neon 2" "max portable 1"; do
    read -r cpu isa threads <<<"$flags"
    got=$(on "$cpu" "$arm64/sardonyx" test --digest --quiet --isa "$isa" --threads "$threads" "$work/$suite")
    if [ "$got" = "$want" ]; then
      echo "$suite on $cpu, $isa, $threads threads: equal, $(tail -n 1 <<<"$got")"
    else
      echo "$suite on $cpu, $isa, $threads threads: $got, expected $want"
      different=1
    fi
  done
done
exit $different
