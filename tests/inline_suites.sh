#!/usr/bin/env bash
# Operators that ONNX defines as functions, replaced by their bodies, still pass ONNX's own tests.
#   inline_suites.sh PROGRAM node.tar.xz
set -euo pipefail
program=$1 suite=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names="celu elu greater_equal hardsigmoid hardswish leakyrelu less_equal logsoftmax mish mvn prelu reduce_l1 reduce_l2 \
reduce_log_sum reduce_log_sum_exp reduce_sum_square selu shrink softmax softplus softsign swish thresholdedrelu"
patterns=()
for name in $names; do patterns+=("*/test_${name}_*/*" "*/test_$name/*"); done
tar -xf "$suite" -C "$work" --wildcards "${patterns[@]}" 2> /dev/null || true  # a pattern may match nothing
expanded=0
while read -r model; do
  before=$(stat -c %s "$model")
  "$program" convert --inline-ops "$model" "$work/model.onnx"
  "$program" check "$work/model.onnx" > "$work/report" || { echo "FAIL: $model"; cat "$work/report"; exit 1; }
  if [[ $(stat -c %s "$work/model.onnx") -gt $before ]]; then expanded=$((expanded + 1)); fi
  mv "$work/model.onnx" "$model"
done < <(find "$work" -name model.onnx | grep -v '_expanded')
echo "$expanded models expanded"
[[ $expanded -ge 50 ]]
"$program" test --quiet "$work"
