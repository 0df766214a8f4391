#!/usr/bin/env bash
# Prints the digests of docs/digests.md: of the models in the tree, and of those of README's table if their folder is given.
# Usage: scripts/digests.sh build/sardonyx [MODELS]
set -euo pipefail
sardonyx=$1 models=${2:-}
root=$(cd "$(dirname "$0")/.." && pwd)
# print NAME FILE ARGUMENTS...: its first output.
print() {
  local name=$1 file=$2
  shift 2
  "$sardonyx" run "$file" --random 1 "$@" --digest 2>/dev/null | sed -n 1p | while read -r output type shape digest; do
    echo "| $name | $* | $output $type $shape | \`$digest\` |"
  done
}
echo "| model | sizes | output | SHA-256 |"
echo "|---|---|---|---|"
print examples/digits "$root/examples/digits/digits.onnx" --set N=10
print examples/text "$root/examples/text/block.txt" --set N=3
print tests/data/static "$root/tests/data/static.onnx"
print tests/data/loop "$root/tests/data/loop.onnx"
if [ -n "$models" ]; then
  for model in bert_base convnext_tiny efficientnet_b0 gpt2_decode lstm_lm minilm_l6 minilm_l6_dynint8 minilm_l6_fp16 mobilenet_v2 \
    mobilenet_v3_large resnet50 resnet50_qdq segformer_b0 vit_b16 whisper_encoder llama_160m_decode_int4; do
    print "$model" "$models/$model.onnx"
  done
fi
