#!/usr/bin/env bash
# The shared library shows the functions of sardonyx_c.h, all and only those, and the C++ classes of the public headers.
# Usage: tests/exports.sh libsardonyx.so include/sardonyx
set -euo pipefail
library=$1 include=$2
declared=$(sed 's://.*::' "$include/sardonyx_c.h" | tr '\n' ' ' |
  grep -oE 'SARDONYX_(API|CHECKED) [^;(]*\bsardonyx_[a-z0-9_]+ ?\(' | grep -oE 'sardonyx_[a-z0-9_]+ ?\($' | tr -d ' (' | sort)
shown=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u)
in_c=$(grep '^sardonyx_' <<<"$shown" || true)
if [ "$declared" != "$in_c" ]; then
  echo "declared (<) and shown (>) differ:"
  diff <(echo "$declared") <(echo "$in_c") || true
  exit 1
fi
others=$(grep -v '^sardonyx_' <<<"$shown" | c++filt | grep -vE '(^|for |\* )sardonyx::' || true)
if [ -n "$others" ]; then
  echo "shown, but in no public header:"
  echo "$others"
  exit 1
fi
echo "$(wc -l <<<"$declared") functions of C, $(($(wc -l <<<"$shown") - $(wc -l <<<"$declared"))) symbols of C++"
