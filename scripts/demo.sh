#!/usr/bin/env bash
# Reads ten handwritten digits with build/sardonyx, shows what it saw and answered, and checks that thread count,
# instruction set and optimisation do not change a bit.
set -euo pipefail
build=${1:-build}
example=$(cd "$(dirname "$0")/.." && pwd)/examples/digits
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

run() { "$build/sardonyx" run "$example/digits.onnx" --input "picture=$example/pictures.pb" --digest "$@"; }

# A TensorProto's raw data comes last, so the last 4 n bytes are its n floats.
floats() { tail -c "$(($2 * 4))" "$1" | od -An -v -w4 -tf4; }
labels() { tail -c 80 "$1" | od -An -v -w8 -td8; }

digest=$(run --output-dir "$out")
{ floats "$example/pictures.pb" 640; floats "$out/output_0.pb" 100; labels "$example/labels.pb"; } | awk '
  NR <= 640 { ink[NR - 1] = $1; next }
  NR <= 740 { probability[NR - 641] = $1; next }
            { label[NR - 741] = $1 }
  function shade(x) { return x < 0.15 ? "  " : x < 0.4 ? "░░" : x < 0.65 ? "▒▒" : x < 0.9 ? "▓▓" : "██" }
  END {
    for (first = 0; first < 10; first += 5) {
      for (y = 0; y < 8; ++y) {
        line = ""
        for (n = first; n < first + 5; ++n)
          for (x = 0; x < 8; ++x) line = line shade(ink[n * 64 + y * 8 + x])
        print line
      }
      line = ""
      for (n = first; n < first + 5; ++n) {
        best = 0
        for (d = 1; d < 10; ++d) if (probability[n * 10 + d] > probability[n * 10 + best]) best = d
        right += best == label[n]
        said = sprintf("a %d, %.1f%%%s", best, 100 * probability[n * 10 + best], best == label[n] ? "" : " (wrong)")
        line = line sprintf("   %-13s", said)
      }
      print line "\n"
    }
    printf "%d of 10 are right.\n\n", right
  }'

echo "$digest"
for flags in "--threads 1" "--threads 3" "--isa portable" "--optimize off"; do
  # shellcheck disable=SC2086
  if [ "$(run $flags)" != "$digest" ]; then
    echo "another digest with $flags" >&2
    exit 1
  fi
done
echo "The same bits with one thread or three, with portable code, and with the optimiser off."
