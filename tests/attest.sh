#!/usr/bin/env bash
# Attestations: written on one machine, verified on another. Usage: tests/attest.sh build/sardonyx
# shellcheck source=tests/expect.sh
source "$(dirname "$0")/expect.sh"

cp "$data/softmax.onnx" "$data/static.onnx" "$work"
cd "$work" || exit 1

# What run answers is what is attested.
expect 0 "$("$sardonyx" run static.onnx --random 1 --digest)" "$sardonyx" attest static.onnx --random 1 -o a.json
expect 0 'model static.onnx is the attested one' "$sardonyx" verify a.json
for flags in "--isa portable" "--threads 2" "--optimize off"; do
  # shellcheck disable=SC2086
  expect 0 'as attested' "$sardonyx" verify a.json $flags
done
expect 0 'verified by sardonyx' "$sardonyx" verify a.json --isa portable
expect 0 '"same": true' "$sardonyx" verify a.json --json
expect 0 '"sardonyx_attestation": 1' "$sardonyx" attest static.onnx --random 1
same "$("$sardonyx" attest static.onnx --random 1)" "$(cat a.json)" "an attestation on stdout"

# The seal is the hash of the rest, which needs no Sardonyx to check.
seal=$(python3 -c '
import hashlib, json, sys
all = json.load(open(sys.argv[1]))
seal = all.pop("sha256")
text = json.dumps(all, separators=(",", ":"), ensure_ascii=False)
print(hashlib.sha256(text.encode()).hexdigest() == seal)' a.json)
same "$seal" True "the seal, by Python"

# White space is no change, anything else is.
python3 -c 'import json; print(json.dumps(json.load(open("a.json"))))' > spaced.json
expect 0 'as attested' "$sardonyx" verify spaced.json
sed 's/"f32"/"f64"/' a.json > changed.json
expect 2 'SDX-C0192' "$sardonyx" verify changed.json
reseal() { # FILE: a wrong statement with a right seal
  python3 -c '
import hashlib, json, sys
all = json.load(open(sys.argv[1]))
all.pop("sha256")
text = json.dumps(all, separators=(",", ":"), ensure_ascii=False)
all["sha256"] = hashlib.sha256(text.encode()).hexdigest()
json.dump(all, open(sys.argv[1], "w"))' "$1"
}
digest=$("$sardonyx" run static.onnx --random 1 --digest | tail -n 1 | sed 's/.* //')
sed "s/$digest/$(printf '%064d' 0)/" a.json > wrong.json
reseal wrong.json
expect 1 'DIFFERS: attested was' "$sardonyx" verify wrong.json
expect 1 '"same": false' "$sardonyx" verify wrong.json --json
sed 's/"sardonyx_attestation": 1/"sardonyx_attestation": 2/' a.json > newer.json
expect 2 'SDX-C0191' "$sardonyx" verify newer.json
sed 's/"numerics": "standard"/"numerics": "loose"/' a.json > loose.json
reseal loose.json
expect 2 'SDX-C0194' "$sardonyx" verify loose.json
sed 's/"seed": 1/"seed": "one"/' a.json > form.json
reseal form.json
expect 2 'SDX-C0193' "$sardonyx" verify form.json
head -c 100 a.json > cut.json
expect 2 'SDX-C0190' "$sardonyx" verify cut.json
expect 2 'none.json' "$sardonyx" verify none.json

# Inputs from files; another model or another input is named.
"$sardonyx" inputs softmax.onnx --random 3 --set N=2 --output-dir given >/dev/null
"$sardonyx" inputs softmax.onnx --random 4 --set N=2 --output-dir other >/dev/null
expect 0 '' "$sardonyx" attest softmax.onnx --input x=given/input_0.pb --set N=2 -o b.json
expect 0 'input x f32 [2,3]' "$sardonyx" verify b.json
expect 1 'input x f32 [2,3]' "$sardonyx" verify b.json --input x=other/input_0.pb
cp static.onnx other.onnx
"$sardonyx" convert static.onnx copy.txt
"$sardonyx" convert copy.txt other.onnx
printf '\x32\x00' >> other.onnx  # an empty doc_string: another file with the same answer
expect 1 'is ANOTHER than the attested one' "$sardonyx" verify a.json --model other.onnx

# A folder that has moved is found beside the attestation.
mkdir away && mv softmax.onnx given b.json away
expect 0 'is the attested one' "$sardonyx" verify away/b.json
expect 2 'SDX-C0195' "$sardonyx" attest - --random 1 < static.onnx

# Weights in another file are part of the model.
"$sardonyx" convert "$work/static.onnx" ext.onnx --external ext.bin --external-from 1 >/dev/null
expect 0 '' "$sardonyx" attest ext.onnx --random 1 -o c.json
expect 0 'is the attested one' "$sardonyx" verify c.json
printf '\x01' | dd of=ext.bin bs=1 seek=0 conv=notrunc 2>/dev/null
expect 1 'is ANOTHER than the attested one' "$sardonyx" verify c.json
exit $failed
