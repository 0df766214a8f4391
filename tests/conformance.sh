#!/usr/bin/env bash
# Runs an official ONNX backend suite; exactly the tests of the list may fail.
#   conformance.sh PROGRAM LIST FOLDER [option...]      a folder of tests
#   conformance.sh PROGRAM LIST FILE.tar.xz [option...] the same, unpacked first
set -euo pipefail
program=$1 list=$2 suite=$3
shift 3
if [[ -f $suite ]]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  tar -xf "$suite" -C "$folder"
  suite=$folder
fi
"$program" test --expect-failures "$list" "$@" "$suite"
