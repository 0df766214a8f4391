#!/usr/bin/env bash
# A model with 3 GB of external data loads and runs in little memory. The data is a sparse file.
#   big_external.sh PROGRAM
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
truncate -s 3G "$work/big.bin"
printf '\x00\x00\x80\x3f' | dd of="$work/big.bin" bs=4096 seek=700000 conv=notrunc status=none  # row 700000: 1, 0 ...
cat > "$work/big.txt" <<'MODEL'
<ir_version: 10, opset_import: ["" : 21]>
big (int64[K] i) => (float[K, 1024] y) <
  float[786432, 1024] w = ["location": "big.bin", "offset": "0", "length": "3221225472"]
> { y = Gather (w, i) }
MODEL
header="{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }"
printf '\x93NUMPY\x01\x00\x76\x00%-117s\n\x60\xae\x0a\x00\x00\x00\x00\x00' "$header" > "$work/i.npy"
"$program" convert "$work/big.txt" "$work/big.onnx"
out=$("$program" run "$work/big.onnx" --input "i=$work/i.npy")
[[ $out == "y f32[1,1024] = 1 0 0"* ]] || { echo "FAIL: $out"; exit 1; }
json=$("$program" bench "$work/big.onnx" --runs 2 --json)
peak=$(sed -E 's/.*"peak_rss_mb": *([0-9]+).*/\1/' <<< "$json")
[[ $peak -lt 200 ]] || { echo "FAIL: peak memory of $peak MiB"; exit 1; }
echo "peak memory $peak MiB"
