#!/usr/bin/env bash
# Every model of the official suites is equal after printing and parsing.
#   text_suites.sh MODEL_TEST FILE.tar.xz...
set -euo pipefail
program=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for suite in "$@"; do tar -xf "$suite" -C "$folder" --wildcards '*.onnx'; done
SARDONYX_SUITE_DIR=$folder "$program" --gtest_brief=1 \
  --gtest_filter='Suite.every_model_is_equal_after_printing_and_parsing'
