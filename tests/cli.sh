#!/usr/bin/env bash
# The program as people call it: exit codes, error texts, files. Usage: tests/cli.sh build/sardonyx
# shellcheck source=tests/expect.sh
source "$(dirname "$0")/expect.sh"

# Every command explains itself.
expect 0 "info" "$sardonyx" -h
for command in info check fix show run test bench profile compare convert ops stream score extract simplify diff inputs version attest verify; do
  expect 0 "Usage" "$sardonyx" "$command" -h
done
expect 2 "" "$sardonyx"
expect 2 'there is no command "no-such-command"' "$sardonyx" no-such-command
expect 2 "" "$sardonyx" run
expect 2 "--threads" "$sardonyx" run "$data/softmax.onnx" --threads -1
expect 2 "--isa" "$sardonyx" run "$data/softmax.onnx" --isa mmx

expect 2 'did you mean "run"' "$sardonyx" rn "$data/softmax.onnx"
expect 2 'did you mean "--threads"' "$sardonyx" run "$data/softmax.onnx" --thread 2

# Streams: rows as they come are the whole run's, from files and through a pipe, and the pulsed model says what it keeps.
smooth=$data/smooth.txt
expect 0 'delay 1, ' "$sardonyx" stream "$smooth" --axis T
expect 0 'y: 1 row to drop at first' "$sardonyx" stream "$smooth" --axis T --pulse 4 -o "$work/pulsed.onnx"
expect 0 'valid' "$sardonyx" check "$work/pulsed.onnx"
expect 0 '"multiple": 2' "$sardonyx" stream "$smooth" --axis T --json
expect 0 'window of 5, stride 1, padding 2 and 2' "$sardonyx" stream "$smooth" --axis T --explain
expect 0 'known at the end; folded as rows come' "$sardonyx" show "$smooth" --at streamed --axis T
expect 1 'SDX-S0032' "$sardonyx" stream "$smooth" --axis T --pulse 3
expect 1 'open sizes of the inputs: T' "$sardonyx" stream "$smooth" --axis U
expect 1 'SDX-S0010' "$sardonyx" stream "$data/softmax.onnx" --axis x:1
expect 1 'refused: a row of its output depends on other rows' "$sardonyx" stream "$data/softmax.onnx" --axis x:1 --explain
expect 0 'any multiple of 3' "$sardonyx" stream "$data/softmax.onnx" --axis x:1:3 --pulse 6 --set N=1 -o "$work/windows.onnx"
expect 0 'valid' "$sardonyx" check "$work/windows.onnx"
expect 0 'y: axis 0, stride 1, delay 2, ' "$sardonyx" stream "$data/softmax.onnx" --axis x:1:3:1 --set N=1
expect 1 'has 3 rows, not windows of 4' "$sardonyx" stream "$data/softmax.onnx" --axis x:1:4
expect 1 'the model has no input "rate"' "$sardonyx" stream "$data/softmax.onnx" --axis x:1:3,rate=3
expect 1 'INPUT:AXIS:WINDOW[:HOP]' "$sardonyx" stream "$data/softmax.onnx" --axis x:1:3,y
whole=$("$sardonyx" run "$smooth" --set T=41 --random 3 --output-dir "$work/whole" --format npy --digest)
for chunk in 1 5 41 100; do
  same "$("$sardonyx" run "$smooth" --stream T --chunk $chunk --set T=41 --random 3 --digest)" "$whole" "a stream in chunks of $chunk"
done
printf '%0480d' 0 | "$sardonyx" run "$smooth" --stream T --chunk 7 --input x=- > "$work/rows" || { echo "FAIL: rows through a pipe"; failed=1; }
same "$(stat -c %s "$work/rows")" 120 "bytes of 30 rows, for 60 of the input"
printf '%048d' 0 | "$sardonyx" run "$data/softmax.onnx" --stream x:1:3 --set N=1 --chunk 2 --input x=- > "$work/rows" ||
  { echo "FAIL: windows through a pipe"; failed=1; }
same "$(stat -c %s "$work/rows")" 48 "bytes of 4 windows of 3 numbers"
expect 2 'stdin ends within a row' sh -c "printf 123456789 | '$sardonyx' run '$smooth' --stream T --input x=-"

# Completions and the manual page come from the same help.
bash -n <("$sardonyx" completion bash) || { echo "FAIL: completion bash"; failed=1; }
expect 0 '--numerics' "$sardonyx" completion bash
expect 0 '(portable avx2 avx512 neon native)' "$sardonyx" completion zsh
expect 0 "-l threads -r" "$sardonyx" completion fish
expect 0 '.SS compare' "$sardonyx" man
complete_with() { (source <("$sardonyx" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sardonyx; echo "${COMPREPLY[*]}"); }
same "$(complete_with sardonyx pro)" "profile" "completing a command"
same "$(complete_with sardonyx run m.onnx --isa av)" "avx2 avx512" "completing a value"

# Files that are not models.
printf 'not a model' > "$work/text.onnx"
: > "$work/empty.onnx"
head -c 40 "$data/softmax.onnx" > "$work/cut.onnx"
for command in info check show run bench profile compare; do
  expect 2 "error[SDX-" "$sardonyx" "$command" "$work/no-such-file.onnx"
  expect 2 "error[SDX-" "$sardonyx" "$command" "$work/text.onnx"
  expect 2 "error[SDX-" "$sardonyx" "$command" "$work/cut.onnx"
  expect 2 "error[SDX-" "$sardonyx" "$command" "$work"
done

# check: 0 valid, 1 violations, 2 unreadable.
expect 0 "valid" "$sardonyx" check "$data/softmax.onnx"
expect 2 "more than 0 nodes" "$sardonyx" run "$data/softmax.onnx" --random 1 --limit nodes=0
expect 2 "--limit nothing=1" "$sardonyx" info "$data/softmax.onnx" --limit nothing=1
expect 1 "MatMul" "$sardonyx" check "$data/badshape.onnx"
expect 1 '"valid": false' "$sardonyx" check "$data/badshape.onnx" --format json

# The profile: the four-node example breaks one rule, at one node; repaired, it keeps them all.
expect 0 "valid" "$sardonyx" check "$data/four_nodes.onnx"
expect 1 "error[SONNX-R1]" "$sardonyx" check "$data/four_nodes.onnx" --profile sonnx
same "$("$sardonyx" check "$data/four_nodes.onnx" --profile sonnx 2>&1 | grep -A1 '^error')" "\
error[SONNX-R1]: no operation uses the output \"op4_out\", and it is no output of the graph
  --> $data/four_nodes.onnx: graph \"Test\", node 3 (Sub, ai.onnx 17)" "violations of the example"
expect 0 "equal digests, valid under sonnx" \
  "$sardonyx" fix "$data/four_nodes.onnx" "$work/fixed.onnx" --profile sonnx
expect 0 "valid" "$sardonyx" check "$work/fixed.onnx" --profile sonnx
# Functions, order, names, dead nodes and defaults.
expect 1 "error[SDX-K0210]" "$sardonyx" check "$data/untidy.onnx" --profile sonnx
expect 0 "equal digests, valid under sonnx" "$sardonyx" fix "$data/untidy.onnx" "$work/tidy.onnx" --profile sonnx
expect 0 'the node "/layer/Relu" is now "_layer_Relu"' "$sardonyx" fix "$data/untidy.onnx" "$work/tidy.onnx" --verbose
same "$("$sardonyx" fix "$data/untidy.onnx" "$work/tidy.onnx" 2>/dev/null | wc -l)" 1 "lines that fix prints by default"
expect 0 "valid" "$sardonyx" check "$work/tidy.onnx" --profile sonnx
expect 0 "valid under sonnx-full" "$sardonyx" fix "$data/untidy.onnx" "$work/full.onnx" --profile sonnx-full
expect 0 "alpha" "$sardonyx" show "$work/full.onnx"
expect 2 "SDX-" "$sardonyx" fix "$work/text.onnx" "$work/none.onnx"

# The page that can be filed.
expect 1 "SONNX-R1" "$sardonyx" check "$data/four_nodes.onnx" --profile sonnx --report "$work/page.html"
expect 0 'class="error"' cat "$work/page.html"
expect 0 'page.html: OK' bash -c "cd '$work' && sha256sum --check page.html.sha256"
expect 0 'does not apply' cat "$work/page.html"
expect 1 "" "$sardonyx" check "$data/four_nodes.onnx" --profile sonnx --report "$work/page.html" --date 2026-11-16
expect 0 '<td>2026-11-16</td>' cat "$work/page.html"
expect 0 "$("$sardonyx" run "$data/four_nodes.onnx" --random 1 --digest 2>/dev/null | head -1 | awk '{print $NF}')" cat "$work/page.html"
same "$(grep -o 'SONNX-R1\|does not apply' "$work/page.html" | head -1)" "SONNX-R1" "what the report says first"
expect 0 '"version": "0' "$sardonyx" check "$data/softmax.onnx" --format sarif
expect 0 "$(sha256sum "$data/four_nodes.onnx" | cut -d' ' -f1)" cat "$work/page.html"
# The same as JSON: failures first, each with its clause; a node is traced to the test of its kernel.
expect 1 "" "$sardonyx" check "$data/four_nodes.onnx" --profile sonnx --report "$work/page.json" --date 2026-11-16
expect 0 "page.json: OK" bash -c "cd '$work' && sha256sum --check page.json.sha256"
same "$(python3 -c "
import json
r = json.load(open('$work/page.json'))
verdicts = [rule['verdict'] for rule in r['rules']]
print(r['rules'][0]['rule'], r['rules'][0]['sonnx'], verdicts[0], verdicts[-1], r['date'], len(r['answers']) > 0)
print(all(s['test'].startswith(s['operation'] + '.') for n in r['trace'] for s in n['steps']))
")" "SONNX-R1 SONNX-R1 fails does not apply 2026-11-16 True
True" "the report as JSON"
expect 0 "valid" "$sardonyx" check "$data/loop.onnx" --profile sonnx --report "$work/loop.html"
expect 0 'graph &quot;body&quot;' cat "$work/loop.html"
expect 2 "SDX-" "$sardonyx" check "$data/loop.onnx" --report "$work/no/such/folder.html"


expect 2 '"readable": false' "$sardonyx" check "$work/text.onnx" --format json
expect 2 "error[SDX-" "$sardonyx" run "$data/badshape.onnx" --random 1

# Inputs.
expect 2 'no value for input "x"' "$sardonyx" run "$data/softmax.onnx"
expect 2 'did you mean "x"' "$sardonyx" run "$data/softmax.onnx" --input X=a.pb
expect 2 'NAME=FILE' "$sardonyx" run "$data/softmax.onnx" --input x
expect 2 '.pb, .npy and .npz' "$sardonyx" run "$data/softmax.onnx" --input x=a.txt
expect 2 'no-such.pb' "$sardonyx" run "$data/softmax.onnx" --input x="$work/no-such.pb"
expect 2 'did you mean "N"' "$sardonyx" run "$data/softmax.onnx" --random 1 --set n=2
expect 2 'is not a size' "$sardonyx" run "$data/softmax.onnx" --random 1 --set N=-2
expect 0 'N = 1' "$sardonyx" run "$data/softmax.onnx" --random 1
expect 0 'y f32[2,3] =' "$sardonyx" run "$data/softmax.onnx" --random 1 --set N=2
npy '>f4' '(1, 3)' '\x3f\x80\x00\x00\x3f\x80\x00\x00\x3f\x80\x00\x00' > "$work/turned.npy"
expect 2 'the order of another machine' "$sardonyx" run "$data/softmax.onnx" --input x="$work/turned.npy"
npy '<f4' '(1, 3)' '\x00\x00\x80\x3f\x00\x00\x80\x3f\x00\x00\x80\x3f' > "$work/ones.npy"
expect 0 'y f32[1,3] = 0.33333334 0.33333334 0.33333334' "$sardonyx" run "$data/softmax.onnx" --input x="$work/ones.npy"
npy '<f4' '(3,)' '\x00\x00\x80\x3f\x00\x00\x80\x3f\x00\x00\x80\x3f' > "$work/flat.npy"
expect 2 'the rank differs' "$sardonyx" run "$data/softmax.onnx" --input x="$work/flat.npy"
npy '<i4' '(1, 3)' '\x00\x00\x80\x3f\x00\x00\x80\x3f\x00\x00\x80\x3f' > "$work/ints.npy"
expect 2 'the element type differs' "$sardonyx" run "$data/softmax.onnx" --input x="$work/ints.npy"
npy '<f4' '(1, 3)' '\x00' > "$work/short.npy"
expect 2 'SDX-C0023' "$sardonyx" run "$data/softmax.onnx" --input x="$work/short.npy"
npy '<f4' '(1, -3)' '\x00' > "$work/negative.npy"
expect 2 'error[SDX-' "$sardonyx" run "$data/softmax.onnx" --input x="$work/negative.npy"
npy '<f4' '(99999999999, 99999999999)' '\x00' > "$work/huge.npy"
expect 2 'error[SDX-' "$sardonyx" run "$data/softmax.onnx" --input x="$work/huge.npy"
cp "$work/text.onnx" "$work/text.npy"
expect 2 'not a .npy file' "$sardonyx" run "$data/softmax.onnx" --input x="$work/text.npy"

# Progress: a bar on a terminal, without colours if so asked, and nothing of it elsewhere.
export SARDONYX_PROGRESS_AFTER=0
long=("$sardonyx" bench "$data/softmax.onnx" --runs 200000 --threads 1)
on_terminal() { TERM=xterm NO_COLOR=$1 script -qec "${long[*]@Q}" /dev/null; }
esc=$'\033'
expect 0 "${esc}[32m" on_terminal ""
plain=$(on_terminal 1)
if [[ "$plain" != *"timing ["*" of 200002 runs"*"${esc}[K"* || "$plain" == *"${esc}[32m"* ]]; then
  echo "FAIL: progress without colours"
  failed=1
fi
if [[ "$("${long[@]}" 2>&1)" == *"$esc"* ]]; then
  echo "FAIL: progress in a pipe"
  failed=1
fi

# Loading shows how far it is, with rate and remaining time: a bar on a terminal, plain lines elsewhere.
for flags in "run --random 1" "bench --runs 1" "show --at plan" "check --report $work/progress.html"; do
  words="$sardonyx ${flags/ / $data/static.onnx }"
  bar=$(TERM=xterm NO_COLOR=1 script -qec "$words" /dev/null)
  if [[ "$bar" != *"ing [#"*" of "*" operators, "*" per second"* ]]; then
    echo "FAIL: no bar while loading: $flags"
    failed=1
  fi
  plain=$($words 2>&1)
  if [[ "$plain" != *"ing: "*" of "*" operators, "*" per second"* || "$plain" == *"$esc"* ]]; then
    echo "FAIL: no plain line while loading: $flags"
    failed=1
  fi
done
unset SARDONYX_PROGRESS_AFTER

# A digest depends on the model and its inputs alone.
digest=$("$sardonyx" run "$data/static.onnx" --random 7 --digest)
for flags in "--threads 1" "--threads 3" "--isa portable" "--optimize off"; do
  # shellcheck disable=SC2086
  same "$("$sardonyx" run "$data/static.onnx" --random 7 --digest $flags)" "$digest" "digest with $flags"
done
same "$digest" "$(cat "$data/static.digest")" "digest of the static model"

# Outputs appear all or not at all.
expect 0 "" "$sardonyx" run "$data/static.onnx" --random 7 --output-dir "$work/new/out"
same "$(ls -A "$work/new/out")" "$(printf 'output_0.pb\noutput_1.pb')" "files of a new folder"
expect 0 "" "$sardonyx" run "$data/softmax.onnx" --random 7 --output-dir "$work/new/out"
same "$(ls -A "$work/new/out")" "output_0.pb" "files of a run with fewer outputs"
echo kept > "$work/new/out/notes"
expect 2 "error" "$sardonyx" run "$data/static.onnx" --output-dir "$work/new/out"
same "$(ls -A "$work/new/out")" "$(printf 'notes\noutput_0.pb')" "files after a failed run"
expect 2 "not a folder" "$sardonyx" run "$data/static.onnx" --random 7 --output-dir "$work/new/out/notes"
same "$(ls -A "$work/new")" "out" "nothing is left beside the folder"
expect 0 "f32[1,3]" "$sardonyx" run "$data/softmax.onnx" --input x="$work/new/out/output_0.pb"

# The other commands say what they should.
expect 0 'multiply-adds' "$sardonyx" info "$data/static.onnx"
expect 0 'Softmax[axis = 1](%x)' "$sardonyx" show "$data/softmax.onnx"
expect 0 '%x[FLOAT, Nx3]' "$sardonyx" show "$data/softmax.onnx" --at model
expect 0 'Softmax[axis = 1](%x) : f32[N,3]' "$sardonyx" show "$data/softmax.onnx" --at inferred
expect 0 'Softmax.13 {axis=1} (%x) : f32[8,3] "soft"' "$sardonyx" show "$data/softmax.onnx" --at typed --set N=8
expect 0 'unknown ranks     0' "$sardonyx" show "$data/softmax.onnx" --at inferred --summary
expect 0 'dimension 0 is N' "$sardonyx" show "$data/softmax.onnx" --at inferred --explain x
expect 2 'SDX-G0014' "$sardonyx" show "$data/softmax.onnx" --at inferred --explain nothing
expect 2 'SDX-C0038' "$sardonyx" show "$data/softmax.onnx" --summary
expect 2 '"N<=4" does not hold: N = 8' "$sardonyx" show "$data/softmax.onnx" --at typed --set N=8 --assert 'N<=4'
expect 2 'SDX-F0002' "$sardonyx" run "$data/softmax.onnx" --random 1 --assert 'N'
expect 0 '<svg' "$sardonyx" show "$data/softmax.onnx" --format svg
expect 0 'digraph' "$sardonyx" show "$data/softmax.onnx" --format dot --at optimized
expect 2 'SDX-C0070' "$sardonyx" show "$data/static.onnx" --format svg --at plan
digits=$data/../../examples/digits/digits.onnx
expect 0 'packed>' "$sardonyx" show "$digits" --at optimized --set N=1
expect 0 ' #0>' "$sardonyx" show "$digits" --at optimized
expect 0 'step' "$sardonyx" show "$data/static.onnx" --at plan
expect 0 'by fuse_elementwise: ' "$sardonyx" show "$digits" --at plan --journal --set N=1
expect 0 '  from node 0 ' "$sardonyx" show "$digits" --at plan --journal
expect 0 '"fate": "step"' "$sardonyx" show "$data/loop.onnx" --at plan --journal --format json
expect 0 '"rule":"fuse_elementwise","gone":[' bash -c "'$sardonyx' show '$digits' --at plan --journal --format json --set N=1 | tr -d ' \n'"
expect 0 '"format":"sardonyx-plan-certificate","version":1' "$sardonyx" show "$digits" --at plan --format json --set N=1
expect 0 '"attribute":"body","plan":{' "$sardonyx" show "$data/loop.onnx" --at plan --format json
certificate=$("$sardonyx" show "$digits" --at plan --format json --set N=1 | sha256sum | cut -d' ' -f1)
expect 0 "certificate, SHA-256</th><td><span class=\"mono\">$certificate<" bash -c "'$sardonyx' check '$digits' --set N=1 --report '$work/proof.html' >/dev/null; cat '$work/proof.html'"
expect 0 'fuse_elementwise ' cat "$work/proof.html"
expect 0 'f32' "$sardonyx" run "$digits" --random 1 --set N=3 --guard --digest
expect 2 'SDX-C0039' "$sardonyx" show "$digits" --at typed --journal
expect 2 'SDX-C0039' "$sardonyx" show "$digits" --at typed --format json
expect 0 '"median_ms":' "$sardonyx" bench "$data/static.onnx" --runs 3 --json
expect 0 'min' "$sardonyx" bench "$data/static.onnx" --runs 3
expect 0 'Softmax' "$sardonyx" profile "$data/static.onnx" --trace "$work/trace.json"
expect 0 'traceEvents' cat "$work/trace.json"
expect 0 'equal bits' "$sardonyx" compare "$data/static.onnx"
expect 0 'version 13' "$sardonyx" ops Softmax
expect 0 '"since": 13' "$sardonyx" ops Softmax --json
expect 0 'version 10 (deprecated)' "$sardonyx" ops Upsample
expect 0 'operators' "$sardonyx" ops
expect 2 'did you mean "Softmax"' "$sardonyx" ops Sofmax
expect 0 '' "$sardonyx" convert "$data/static.onnx" "$work/again.onnx"
expect 0 '' cmp "$data/static.onnx" "$work/again.onnx"
expect 2 'written as .onnx' "$sardonyx" convert "$data/static.onnx" "$work/again.bin"

# Models as text: there and back, taken by every command; the listing of the graph semantics.
expect 0 '' "$sardonyx" convert "$data/static.onnx" "$work/static.txt"
expect 0 '' "$sardonyx" convert "$work/static.txt" "$work/static.onnx"
expect 0 '' cmp "$data/static.onnx" "$work/static.onnx"
cp "$work/static.txt" "$work/static.onnxtxt"
same "$("$sardonyx" run "$work/static.onnxtxt" --random 7 --digest)" "$digest" "digest of a model as text"
same "$("$sardonyx" show "$data/four_nodes.txt")" "$(cat "$data/four_nodes.listing")" "the listing of four nodes"
for command in info check show run bench profile compare; do
  random=""
  if [ "$command" = run ]; then random="--random 1"; fi
  # shellcheck disable=SC2086
  expect 0 '' "$sardonyx" "$command" "$data/four_nodes.txt" $random
done
expect 0 'y f32[3,4] =' "$sardonyx" run "$data/../../examples/text/block.txt" --random 1 --set N=3
printf 'g (float[N] x) => (y) {\n  y = Add(x, 3)\n}\n' > "$work/bad.txt"
expect 2 'bad.txt: line 2, column 14' "$sardonyx" check "$work/bad.txt"

# Functions: replaced by their bodies, with equal outputs; recursion is refused with the chain.
block=$data/../../examples/text/block.txt
expect 0 '' "$sardonyx" convert --inline "$block" "$work/inlined.onnx"
expect 0 'valid' "$sardonyx" check "$work/inlined.onnx"
same "$("$sardonyx" info "$work/inlined.onnx" | grep -c functions)" 0 "functions after inlining"
same "$("$sardonyx" run "$work/inlined.onnx" --random 3 --set N=2 --digest)" \
     "$("$sardonyx" run "$block" --random 3 --set N=2 --digest)" "digest after inlining"
expect 0 '' "$sardonyx" convert --inline-ops "$block" "$work/expanded.txt"
expect 1 '' grep '= LeakyRelu' "$work/expanded.txt"
cat > "$work/recursive.txt" <<'MODEL'
<ir_version: 10, opset_import: ["" : 21, "f" : 1]>
g (float[N] x) => (float[N] y) { y = f.A (x) }
<domain: "f", opset_import: ["f" : 1]> A (x) => (y) { y = f.B (x) }
<domain: "f", opset_import: ["f" : 1]> B (x) => (y) { y = f.A (x) }
MODEL
expect 1 'f.A -> f.B -> f.A' "$sardonyx" check "$work/recursive.txt"
expect 2 'f.A -> f.B -> f.A' "$sardonyx" convert --inline "$work/recursive.txt" "$work/never.onnx"
expect 2 'f.A -> f.B -> f.A' "$sardonyx" run "$work/recursive.txt" --random 1

# Version numbers: simple, or of two, two and four bytes.
printf '<ir_version: 10, model_version: 281483566645251, opset_import: ["" : 21]> g () => (y) { y = Constant <value_int = 1> () }' > "$work/version.txt"
expect 0 'version       1.2.3' "$sardonyx" info "$work/version.txt"
expect 0 'IR version    10' "$sardonyx" info "$work/version.txt"

# Operator-set documents.
printf '\x0a\x09ONNXOPSET\x10\x08\x22\x00\x28\x0d\x42\x0d\x0a\x07Softmax\x10\x0d\x18\x01\x42\x0c\x0a\x06Unlike\x10\x01\x18\x00' > "$work/set.onnx"
for command in info ops; do
  expect 0 'operator set  ai.onnx 13' "$sardonyx" "$command" "$work/set.onnx"
  expect 0 'since 13   stable        runs here' "$sardonyx" "$command" "$work/set.onnx"
  expect 0 '2 operators, 1 of them run here' "$sardonyx" "$command" "$work/set.onnx"
done

# test: what fails must be listed, what is listed must fail.
mkdir -p "$work/suite/test_good/test_data_set_0" "$work/suite/test_bad/test_data_set_0"
for name in good bad; do
  cp "$data/softmax.onnx" "$work/suite/test_$name/model.onnx"
  cp "$work/new/out/output_0.pb" "$work/suite/test_$name/test_data_set_0/input_0.pb"
  "$sardonyx" run "$data/softmax.onnx" --input x="$work/new/out/output_0.pb" --output-dir "$work/suite/test_$name/test_data_set_0"
done
cp "$work/suite/test_bad/test_data_set_0/input_0.pb" "$work/suite/test_bad/test_data_set_0/output_0.pb"
expect 1 '1 passed, 1 failed' "$sardonyx" test "$work/suite"
expect 1 'FAIL test_bad: SDX-C0013: output 0 "y" element 0' "$sardonyx" test "$work/suite"
expect 0 '1 passed, 0 failed' "$sardonyx" test "$work/suite/test_good"
echo 'test_bad it expects its input' > "$work/list"
expect 0 '1 passed, 1 failed' "$sardonyx" test "$work/suite" --expect-failures "$work/list"
echo 'test_good no reason' >> "$work/list"
expect 1 'PASS test_good' "$sardonyx" test "$work/suite" --expect-failures "$work/list"
expect 2 'no tests' "$sardonyx" test "$work/new"

# run: order, trace, state, defaults, chosen outputs, limits.
digest() { "$sardonyx" run "$@" --digest 2>/dev/null; }
lengths=("$data/run/lengths.onnx" --random 3 --set B=2 --set L=5)
same "$(digest "${lengths[@]}" --order random:7)" "$(digest "${lengths[@]}")" "another order"
same "$(digest "${lengths[@]}" --outputs mean)" "$(digest "${lengths[@]}" | grep ^mean)" "one output"
expect 2 "SDX-C0044" "$sardonyx" run "${lengths[@]}" --order backwards
expect 2 "SDX-C0036" "$sardonyx" run "${lengths[@]}" --outputs nothing
expect 0 "executable  y" "$sardonyx" run "${lengths[@]}" --trace --optimize off
expect 2 "SDX-R0020" "$sardonyx" run "${lengths[@]}" --arena-limit 64
digits=("$data/../../examples/digits/digits.onnx" --random 1)
for _ in 1 2; do
  same "$(digest "${digits[@]}" --pack-cache "$work/packs")" "$(digest "${digits[@]}")" "packed weights on disk"
done
expect 0 ' 0 packed;' "$sardonyx" bench "${digits[@]}" --runs 1 --pack-cache "$work/packs"
truncate -s 100 "$work"/packs/*.sdxpack
expect 0 'is not used: it is cut short' "$sardonyx" bench "${digits[@]}" --runs 1 --pack-cache "$work/packs"
npy '<f4' '(1,)' '\x00\x00\x40\x40' > "$work/three.npy"
npy '<f4' '(3,)' '\x00\x00\x80\x3f\x00\x00\x80\x3f\x00\x00\x80\x3f' > "$work/ones.npy"
npy '<f4' '(3,)' '\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00' > "$work/zeros.npy"
npy '<f4' '(1,)' '\x00\x00\x00\x00' > "$work/zero.npy"
state=("$data/run/state.onnx" --state sum_out=sum_in --state count_out=count_in --steps 3
  --input "sum_in=$work/zeros.npy" --input "count_in=$work/zero.npy")
expect 0 "sum_out f32[3] = 2 2 2" "$sardonyx" run "${state[@]}" --input "x=$work/ones.npy" \
  --input "x=$work/zeros.npy" --input "x=$work/ones.npy"
expect 0 "step 2" "$sardonyx" run "${state[@]}" --input "x=$work/ones.npy"
defaults=("$data/run/defaults.onnx" --random 1 --set N=2)
gain4=$(digest "${defaults[@]}") gain9=$(digest "${defaults[@]}" --input "gain=$work/three.npy")
if [ "$gain4" = "$gain9" ] || [ -z "$gain9" ]; then
  echo "FAIL: an initializer was not overridden"
  failed=1
fi
npy '<i8' '()' '\xff\xff\xff\xff\xff\xff\xff\x7f' > "$work/many.npy"
forever=("$data/run/forever.onnx" --random 1 --input "times=$work/many.npy")
expect 2 "SDX-R0031" "$sardonyx" run "${forever[@]}" --time-limit 0.05
expect 2 "SDX-R0610" "$sardonyx" run "${forever[@]}" --loop-limit 100

exit $failed
