#!/usr/bin/env bash
# A static program runs in a root that holds nothing but itself and a model, with the digest of docs/digests.md.
#   static.sh PROGRAM [EMULATOR]
set -euo pipefail
program=$1 emulator=${2:-}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$program" "$work/sardonyx"
cp "$root/examples/digits/digits.onnx" "$work/"
start=(/sardonyx)
if [ -n "$emulator" ]; then
  cp "$(command -v "$emulator")" "$work/emulator"
  start=(/emulator /sardonyx)
fi
want=$(sed -n 's/^| examples\/digits |.*`\([0-9a-f]\{64\}\)`.*/\1/p' "$root/docs/digests.md")
got=$(unshare --map-root-user chroot "$work" "${start[@]}" run /digits.onnx --random 1 --set N=10 --digest)
echo "$(stat -c %s "$program") bytes; in an empty root: $got"
[ "${got##* }" = "$want" ] || { echo "expected $want"; exit 1; }
if command -v readelf >/dev/null && readelf -l "$program" | grep -q INTERP; then
  echo "$program asks for a loader: it is not static"
  exit 1
fi
