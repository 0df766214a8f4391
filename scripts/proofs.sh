#!/usr/bin/env bash
# proofs.sh BUILD: the proofs compiled and read again by Coq's independent checker, and the extracted checker over plans
# of random graphs, of planted bugs, of ONNX's tests and of whole models; then ONNX's tests in guarded runs.
#   MODELS=FOLDER   models (*.onnx with their weights), and which of the optimiser's replacements in them are proved
#   QUICK=1         without guarded runs and without asking the suites about planted bugs
set -euo pipefail
build=$(realpath "$1")
here=$(cd "$(dirname "$0")/.." && pwd)
sardonyx=$build/sardonyx checker=$build/proofs/sardonyx-check-plan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { printf '\n== %s\n' "$*"; }

say "proofs, on one core"
rm -rf "$build/proofs"
time make --no-print-directory -C "$here/proofs" BUILD="$build/proofs"
say "what they rest on"
make --no-print-directory -C "$here/proofs" BUILD="$build/proofs" axioms

say "a plan of 10,000 steps"
"$build/tests/proofs/plan_certificates" --steps 10000 | "$checker" --quiet -
say "random graphs"
"$build/tests/proofs/plan_certificates" 1 10000 | "$checker" --quiet -

for archive in "$here"/tests/data/onnx-1.23/*.tar.xz; do
  mkdir -p "$work/suites"
  tar -xf "$archive" -C "$work/suites"
done
suites=("$work"/suites/*)
for optimize in on off; do
  say "ONNX's tests, optimisation $optimize, three orders, subgraphs included"
  "$sardonyx" test "${suites[@]}" --quiet --threads 1 --optimize $optimize --order random:1,3 \
    --certificates "$work/certificates" || true  # what fails there is judged elsewhere
  "$checker" --quiet "$work/certificates"
done

if [ -n "${MODELS:-}" ]; then
  say "models"
  "$here/scripts/proofs_models.py" "$sardonyx" "$checker" "$MODELS"
fi

say "planted bugs"
if [ -z "${QUICK:-}" ]; then
  "$here/tests/proofs/planted.sh" "$build/tests/proofs/sardonyx_planted" "$checker" 10000 "${suites[@]}"
  say "guarded runs"
  for isa in portable avx2 avx512; do
    for threads in 1 3; do
      for suite in "${suites[@]}"; do  # "light" has nine large models; with portable code they take minutes
        echo "$isa, $threads threads, $(basename "$suite")"
        "$sardonyx" test "$suite" --quiet --guard --isa $isa --threads $threads
      done
    done
  done
else
  "$here/tests/proofs/planted.sh" "$build/tests/proofs/sardonyx_planted" "$checker" 10000
fi
