#!/usr/bin/env bash
# Prints how large the stripped archive is: all of it, and what a program that only loads and runs models links of it.
# Usage: scripts/sizes.sh BUILD
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$build/libsardonyx.a" "$work/full.a"
strip --strip-unneeded "$work/full.a"
# The members that these functions need, and those that they need in turn.
wanted=()
for name in model_load model_parse model_release model_counts model_input model_output session_new session_run session_release \
  tensor_over tensor_new tensor_data tensor_shape tensor_type value_release error_text error_release; do
  wanted+=(-u "sardonyx_$name")
done
ld -r --gc-sections -o "$work/run.o" "${wanted[@]}" "$work/full.a"
strip --strip-unneeded "$work/run.o"
ar rcs "$work/run.a" "$work/run.o"
printf '%9d bytes  libsardonyx.a, stripped\n' "$(stat -c %s "$work/full.a")"
printf '%9d bytes  libsardonyx.a, stripped, what loading and running models needs\n' "$(stat -c %s "$work/run.a")"
