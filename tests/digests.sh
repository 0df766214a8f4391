#!/usr/bin/env bash
# One model, one answer: the digest does not depend on threads, instruction set or optimisation.
#   digests.sh PROGRAM MODEL [option...]
set -euo pipefail
program=$1 model=$2
shift 2
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
reference=$("$program" run "$model" --digest --threads 1 --isa portable --optimize off "$@")
echo "$reference"
different=0
for isa in portable avx2 avx512; do
  for threads in 1 2 3; do
    for optimize in on off; do
      flags=(--threads "$threads" --isa "$isa" --optimize "$optimize")
      if ! digest=$("$program" run "$model" --digest "${flags[@]}" "$@" 2>"$errors"); then
        grep -q SDX-C0001 "$errors" && continue  # this machine lacks the instruction set
        echo "${flags[*]}: $(cat "$errors")"
        different=1
      elif [[ $digest != "$reference" ]]; then
        echo "${flags[*]} gives $digest"
        different=1
      fi
    done
  done
done
exit $different
