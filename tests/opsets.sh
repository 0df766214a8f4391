#!/usr/bin/env bash
# Every model of an official suite, written in other versions of ai.onnx: equal digests, or a node named that cannot be. How
# many are written is what the list says, so that no version can lose one without a word.
#   opsets.sh PROGRAM LIST FILE.tar.xz
set -euo pipefail
program=$1 list=$2 suite=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tar -xf "$suite" -C "$folder"
name=$(basename "$suite" .tar.xz)
versions=()
for version in 28 24 21 18 15 13 11 9 7 6 1; do versions+=(--opset "$version"); done
"$program" test --expect-failures "$(dirname "$0")/expected_failures.txt" "${versions[@]}" "$folder" > "$folder/printed" || { tail -20 "$folder/printed"; exit 1; }
grep '^written in' "$folder/printed" | sed "s/^/$name: /" > "$folder/counts"
diff <(grep "^$name: " "$list") "$folder/counts"
