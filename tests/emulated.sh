#!/usr/bin/env bash
# A program for another machine, in an emulator: the digests of the official suites and of the published models are those of
# this machine.
#   emulated.sh BUILD PROGRAM EMULATOR [SUITE...]
set -euo pipefail
here=$1/sardonyx program=$2 emulator=$3
shift 3
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(node simple pytorch-operator pytorch-converted)
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
different=0
for suite in "${suites[@]}"; do
  mkdir "$work/$suite"
  tar -xf "$root/tests/data/onnx-1.23/$suite.tar.xz" -C "$work/$suite"
  # What a library is needed for is left out of both.
  for test in test_image_decoder test_regex_full_match; do find "$work/$suite" -maxdepth 2 -name "$test*" -exec rm -rf {} +; done
  want=$("$here" test --digest --quiet "$work/$suite")
  for threads in 1 2; do
    got=$("$emulator" "$program" test --digest --quiet --threads $threads "$work/$suite")
    if [ "$got" = "$want" ]; then
      echo "$suite, $threads threads: equal, $(tail -n 1 <<<"$got")"
    else
      echo "$suite, $threads threads: $got, expected $want"
      different=1
    fi
  done
done
# Attested here, verified there.
"$here" attest "$root/examples/digits/digits.onnx" --random 1 --set N=10 -o "$work/digits.json" >/dev/null
"$emulator" "$program" verify "$work/digits.json" || different=1
exit $different
