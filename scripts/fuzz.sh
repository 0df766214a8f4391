#!/usr/bin/env bash
# Fuzzes every target: scripts/fuzz.sh BUILD MINUTES [TARGET...]. MINUTES are of CPU time for each target, shared by JOBS
# processes (1 unless told). Prints each target's executions, coverage and findings.
#
# A finding is a file of BUILD/findings, and is to become one of tests/fuzz/reproducers once it is repaired. BUILD needs to
# hold no more than tests/fuzz/fuzz, so this runs where no compiler is: copy that program, this script, tests/fuzz and
# tests/data.
set -euo pipefail
build=$1 minutes=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
jobs=${JOBS:-1}
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(bytes text infer run kernels)
suite=/usr/lib/python3/dist-packages/onnx/backend/test/data
mkdir -p "$build/findings"

# Seeds: the repository's small models and reproducers, and the smallest of ONNX's own where they are installed.
seed() {
  cp "$root"/tests/data/*.onnx "$root"/tests/data/*.txt "$root"/tests/fuzz/seeds/* "$1"
  # What once cost far more than its size.
  cp "$root"/tests/bounded/models/*.onnx "$1"
  for file in "$root"/tests/fuzz/reproducers/*; do
    [ -f "$file" ] && cp "$file" "$1"
  done
  if [ -d "$suite" ]; then
    find "$suite" -name model.onnx -size -4k | while read -r file; do
      cp "$file" "$1/$(basename "$(dirname "$file")").onnx"
    done
  fi
}

# One process until its time is over; after a finding it starts again.
fuzz() {
  local target=$1 job=$2 seconds=$3
  local end=$((SECONDS + seconds)) log=$build/findings/$1.$2.log
  : > "$log"
  while [ $SECONDS -lt $end ]; do
    "$build/tests/fuzz/fuzz" --target="$target" "$build/corpus/$target" -dict="$root/tests/fuzz/onnx.dict" \
      -max_total_time=$((end - SECONDS)) -max_len=65536 -timeout=30 -report_slow_units=1000 -rss_limit_mb=2048 \
      -malloc_limit_mb=1024 -use_value_profile=$((job % 2)) -artifact_prefix="$build/findings/$target-" \
      -print_final_stats=1 >> "$log" 2>&1 && break
  done
}

failed=0
for target in "${targets[@]}"; do
  mkdir -p "$build/corpus/$target"
  seed "$build/corpus/$target"
  rm -f "$build/findings/$target"[.-]*
  for job in $(seq "$jobs"); do
    fuzz "$target" "$job" $((minutes * 60 / jobs)) &
  done
  wait
  cat "$build/findings/$target".*.log > "$build/findings/$target.log"
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/findings/$target.log" | awk '{n += $1} END {print n + 0}')
  coverage=$(grep -o 'cov: [0-9]*' "$build/findings/$target.log" | sort -k2n | tail -1)
  findings=$(find "$build/findings" -name "$target-*" | wc -l)
  echo "$target: $runs executions, ${coverage:-cov: 0}, $findings findings"
  if [ "$findings" -gt 0 ]; then
    failed=1
    grep -h -E '^(BROKEN|SUMMARY)|runtime error' "$build/findings/$target.log" | cut -c1-200 | sort | uniq -c | sort -rn
  fi
done
exit "$failed"
