#!/usr/bin/env bash
# Fuzzes every target for some minutes: scripts/fuzz.sh BUILD MINUTES [TARGET...]. Prints executions, coverage and
# findings of each; a finding is left in BUILD/findings and is to become a file of tests/fuzz/reproducers.
set -euo pipefail
build=$1 minutes=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(bytes)
suite=/usr/lib/python3/dist-packages/onnx/backend/test/data
mkdir -p "$build/findings"
findings=0
for target in "${targets[@]}"; do
  corpus=$build/corpus/$target
  mkdir -p "$corpus"
  # Seeds: the repository's small models and reproducers, and the smallest of ONNX's own where they are installed.
  cp "$root"/tests/data/*.onnx "$corpus"
  cp "$root"/tests/fuzz/reproducers/* "$corpus" 2>/dev/null || true
  if [ -d "$suite" ]; then
    find "$suite" -name model.onnx -size -4k | while read -r file; do
      cp "$file" "$corpus/$(basename "$(dirname "$file")").onnx"
    done
  fi
  log=$build/findings/$target.log
  status=0
  "$build/tests/fuzz/fuzz_$target" "$corpus" -dict="$root/tests/fuzz/onnx.dict" -max_total_time=$(awk "BEGIN {print int($minutes * 60)}") \
    -max_len=65536 -timeout=20 -rss_limit_mb=2048 -artifact_prefix="$build/findings/$target-" \
    -print_final_stats=1 > "$log" 2>&1 || status=$?
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  coverage=$(grep -o 'cov: [0-9]*' "$log" | tail -1)
  echo "$target: ${runs:-0} executions, ${coverage:-cov: 0}, $([ "$status" = 0 ] && echo no finding || echo "a finding: $log")"
  [ "$status" = 0 ] || findings=1
done
exit "$findings"
