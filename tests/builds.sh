#!/usr/bin/env bash
# The digests that a build gives: of the official suites at every level that it has, and of the models of this tree. Two builds by
# other compilers or with other options print the same lines.
#   builds.sh PROGRAM [EMULATOR]
set -euo pipefail
program=$1
start=(${2:+"$2"} "$program")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for suite in simple pytorch-operator node pytorch-converted; do
  mkdir "$work/$suite"
  tar -xf "$root/tests/data/onnx-1.23/$suite.tar.xz" -C "$work/$suite"
  # A build may do without these libraries.
  find "$work/$suite" -maxdepth 2 \( -name 'test_image_decoder*' -o -name 'test_regex_full_match*' \) -prune -exec rm -rf {} +
  seen=""
  for isa in portable avx2 avx512 neon; do
    "${start[@]}" run "$root/tests/data/static.onnx" --random 1 --isa $isa >/dev/null 2>&1 || continue
    got=$("${start[@]}" test --digest --quiet --isa $isa "$work/$suite" | paste -sd ' ')
    [ "$seen" = "" ] || [ "$seen" = "$got" ] || { echo "$suite: $isa gives $got, the level before gave $seen"; exit 1; }
    seen=$got
  done
  echo "$suite $seen"
done
for model in "examples/digits/digits.onnx --set N=10" "tests/data/static.onnx" "tests/data/loop.onnx"; do
  read -ra words <<<"$model"
  "${start[@]}" run "$root/${words[0]}" "${words[@]:1}" --random 1 --digest
done
