#!/usr/bin/env bash
# axioms.sh BUILD FILE...: no theorem of these files rests on an axiom. Coq is asked for each theorem; then coqchk, which
# shares no code with it, reads the compiled files again and lists every axiom in what they load.
#
# coqchk lists the fields of one module of the standard library, Coq.ssr.ssrunder.Under_rel, in every file that loads
# Setoid: they are definitions behind a signature, which hides their bodies from it. No theorem uses them, as the first
# question shows. Anything else on its list is an error.
set -euo pipefail
build=$1
shift
cd "$build"
theorems=0
: > Assumptions.v
for file in "$@"; do
  echo "From Sardonyx Require $file." >> Assumptions.v
  while read -r name; do
    echo "Print Assumptions $file.$name." >> Assumptions.v
    theorems=$((theorems + 1))
  done < <(sed -n 's/^Theorem \([A-Za-z0-9_]*\).*/\1/p' "$file.v")
done
coqc -q -Q . Sardonyx Assumptions.v > assumptions
closed=$(grep -c '^Closed under the global context$' assumptions || true)
echo "$closed of $theorems theorems are closed under the global context"
[ "$closed" -eq "$theorems" ] || { grep -v '^Closed' assumptions; exit 1; }
# shellcheck disable=SC2046
coqchk -silent -o -Q . Sardonyx $(printf -- '-norec Sardonyx.%s ' "$@") > checked 2>&1
sed -n '/^\* Axioms/,/^  *$/p' checked | grep -v '^\*' | tr -d ' ' | grep -v '^$' > axioms || true
others=$(grep -vc '^Coq\.ssr\.ssrunder\.Under_rel\.' axioms || true)
echo "coqchk: $others axioms in $# files and what they load, $(wc -l < axioms) sealed definitions of the standard library"
[ "$others" -eq 0 ] || { cat checked; exit 1; }
for kind in type-in-type 'unsafe (co)fixpoints' 'positivity is assumed'; do
  grep -qF "$kind: <none>" checked || { cat checked; exit 1; }
done
