#!/usr/bin/env bash
# The engine in WebAssembly gives this machine's digests: the official suites by the program in node, the published models, the
# digits by the module in node and in a page of Chromium.
#   run.sh BUILD
set -euo pipefail
build=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
wasm=$root/build-wasm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$root/tests/emulated.sh" "$build" "$wasm/sardonyx.js" node

printf '#!/bin/sh\nexec node "%s" "$@"\n' "$wasm/sardonyx.js" >"$work/sardonyx"
chmod +x "$work/sardonyx"
"$root/scripts/digests.sh" "$work/sardonyx" >"$work/digests"
while read -r line; do
  grep -qxF -- "$line" "$root/docs/digests.md" || { echo "not as published: $line"; exit 1; }
done <"$work/digests"
echo "published models: $(grep -c '`' "$work/digests") digests equal"

example=$root/examples/digits
pictures=$("$build/sardonyx" run "$example/digits.onnx" --input "picture=$example/pictures.pb" --digest | awk '{print $NF}')
published=$(sed -n 's/^| examples\/digits .*`\(.*\)` |$/\1/p' "$root/docs/digests.md")
python3 "$root/tests/wasm/module.py" "$pictures" "$published"
