#!/usr/bin/env bash
# plans.sh SARDONYX PLAN_CERTIFICATES CHECKER SOURCE: the checker accepts plans of the example models and of random graphs,
# refuses ones that were tampered with, and says what is no certificate.
set -euo pipefail
sardonyx=$1 plan_certificates=$2 checker=$3 source=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for model in "$source"/tests/data/{loop,static,four_nodes,softmax}.onnx; do
  "$sardonyx" show "$model" --at plan --format json >> "$work/models"
done
"$sardonyx" show "$source/examples/digits/digits.onnx" --at plan --format json --set N=3 >> "$work/models"
"$checker" --quiet "$work/models"
"$plan_certificates" 1 400 > "$work/generated"
"$checker" --quiet "$work/generated"
"$plan_certificates" --steps 10000 > "$work/chain"
"$checker" --quiet "$work/chain"

refused() {  # NAME, and standard input: the checker must say no
  local status=0
  "$checker" - > "$work/out" || status=$?
  [ $status -eq 1 ] && grep -q refused "$work/out" || { echo "not refused: $1"; cat "$work/out"; exit 1; }
}
"$sardonyx" show "$source/examples/digits/digits.onnx" --at plan --format json --set N=3 > "$work/digits"
sed 's/"kind":"arena","bytes":[0-9]*/"kind":"arena","bytes":64/' "$work/digits" | refused "an arena that is too small"
sed 's/"memory":1,"offset":[0-9]*/"memory":1,"offset":0/g' "$work/digits" | refused "all wires at one place"
status=0; echo '{"format":"something"}' | "$checker" - > /dev/null 2>&1 || status=$?
[ $status -eq 2 ] || { echo "exit code $status for what is no certificate"; exit 1; }
