#!/usr/bin/env bash
# One model, one answer: the digest does not depend on threads, instruction set or optimisation.
#   digests.sh PROGRAM MODEL [option...]         of one model
#   digests.sh PROGRAM FOLDER|FILE.tar.xz        of all outputs of a suite of backend tests
set -euo pipefail
program=$1 model=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ $model == *.tar.xz ]]; then
  mkdir "$work/suite"
  tar -xf "$model" -C "$work/suite"
  model=$work/suite
fi
# What a run prints that must be the same; tests that fail have outputs too.
digest_of() {
  if [[ -d $model ]]; then
    "$program" test --digest --quiet "$model" "$@" 2>"$work/errors" || [[ $? == 1 ]]
  else
    "$program" run "$model" --digest "$@" 2>"$work/errors"
  fi
}
reference=$(digest_of --threads 1 --isa portable --optimize off "$@")
echo "$reference"
different=0
for isa in portable avx2 avx512 neon; do
  for threads in 1 2; do
    for optimize in on off; do
      flags=(--threads "$threads" --isa "$isa" --optimize "$optimize")
      if ! digest=$(digest_of "${flags[@]}" "$@"); then
        grep -q SDX-C0001 "$work/errors" && continue  # this machine lacks the instruction set
        echo "${flags[*]}: $(cat "$work/errors")"
        different=1
      elif [[ $digest != "$reference" ]]; then
        echo "${flags[*]} gives $digest"
        different=1
      fi
    done
  done
done
exit $different
