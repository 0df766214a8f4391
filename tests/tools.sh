#!/usr/bin/env bash
# The commands around a model: parts, simpler forms, differences, inputs, wires. Usage: tests/tools.sh build/sardonyx
# shellcheck source=tests/expect.sh
source "$(dirname "$0")/expect.sh"
digits=$data/../../examples/digits/digits.onnx
digest() { "$sardonyx" run "$@" --digest 2>/dev/null; }

# Which program this is.
expect 0 "sardonyx $(sed -n 's/^project(Sardonyx VERSION \([0-9.]*\).*/\1/p' "$data/../../CMakeLists.txt")" "$sardonyx" --version
expect 0 'ai.onnx up to version' "$sardonyx" version
expect 2 'did you mean "extract"' "$sardonyx" extrakt

# A model from standard input, as bytes and as text.
same "$(digest - --random 7 < "$data/static.onnx")" "$(cat "$data/static.digest")" "a model from a pipe"
expect 0 'graph         Test' bash -c "'$sardonyx' info - < '$data/four_nodes.txt'"
expect 2 'standard input' bash -c "echo nothing | '$sardonyx' check -"
same "$("$sardonyx" convert "$digits" - | digest - --random 1 --set N=2)" "$(digest "$digits" --random 1 --set N=2)" "through a pipe"

# extract: the parts, one after the other, are the whole.
expect 0 '2 of 4 nodes, 1 inputs, 1 outputs' "$sardonyx" extract "$data/static.onnx" "$work/first.onnx" --to s
expect 0 '1 inputs, 2 outputs' "$sardonyx" extract "$data/static.onnx" "$work/second.onnx" --from s --to y,z
expect 0 '' "$sardonyx" run "$work/first.onnx" --random 7 --output-dir "$work/first"
same "$(digest "$work/second.onnx" --input s="$work/first/output_0.pb")" "$(cat "$data/static.digest")" "two parts of a model"
expect 0 ': valid' "$sardonyx" check "$work/second.onnx"
expect 2 'did you mean' "$sardonyx" extract "$data/static.onnx" "$work/none.onnx" --to S
cat > "$work/two.txt" <<'MODEL'
<ir_version: 10, opset_import: ["" : 21]>
g (float[2] a, float[2] b) => (float[2] y) { c = Neg(a)  d = Neg(b)  y = Add(c, d) }
MODEL
expect 2 'also needs the model'"'"'s input "b"' "$sardonyx" extract "$work/two.txt" "$work/none.onnx" --from c

# simplify: what is known is folded, what only passes values on goes, no bit changes.
cat > "$work/long.txt" <<'MODEL'
<ir_version: 10, opset_import: ["" : 21]>
g (float[N, 4] x) => (float[N, 4] y, float[N, 4] same) {
  one = Constant <value = float {1}> ()
  three = Constant <value = float {3}> ()
  four = Add(one, three)
  i = Identity(x)
  c = Cast <to = 1> (i)
  a = Mul(c, four)
  b = Mul(c, four)
  t = Transpose <perm = [0, 1]> (a)
  sum = Add(t, b)
  unread = Neg(sum)
  y = Identity(sum)
  same = Relu(i)
}
MODEL
expect 0 '3 nodes, before 12: 3 folded' "$sardonyx" simplify "$work/long.txt" "$work/short.onnx"
expect 0 'equal digests' "$sardonyx" simplify "$work/long.txt" "$work/short.txt" --random 4 --set N=3
same "$(digest "$work/short.onnx" --random 4 --set N=3)" "$(digest "$work/long.txt" --random 4 --set N=3)" "a simplified model"
expect 0 ': valid' "$sardonyx" check "$work/short.onnx"
cat > "$work/body.txt" <<'MODEL'
<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x, bool c) => (float[4] y) {
  i = Identity(x)
  y = If(c) <then_branch = t () => (float[4] o) { o = Neg(i) }, else_branch = e () => (float[4] p) { p = Relu(i) }>
}
MODEL
expect 0 '1 nodes, before 2' "$sardonyx" simplify "$work/body.txt" "$work/body.onnx"
cat > "$work/default.txt" <<'MODEL'
<ir_version: 10, opset_import: ["" : 21]>
g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { v = Neg(w)  y = Add(x, v) }
MODEL
expect 0 '2 nodes, before 2: 0 folded' "$sardonyx" simplify "$work/default.txt" "$work/default.onnx"

# diff: nothing, or what.
expect 0 'the models are equal' "$sardonyx" diff "$digits" "$digits"
expect 1 '- Identity that makes "i"' "$sardonyx" diff "$work/long.txt" "$work/short.onnx"
expect 1 'f32[N,4] -> f32[3,4]' "$sardonyx" diff "$work/long.txt" "$work/short.txt"
sed 's/perm = \[0, 1\]/perm = [1, 0]/' "$work/long.txt" > "$work/turned.txt"
expect 1 'perm: [0, 1] -> [1, 0]' "$sardonyx" diff "$work/long.txt" "$work/turned.txt"
sed 's/Relu(i)/Neg(i)/' "$work/body.txt" > "$work/other_body.txt"
expect 1 'nodes within If' "$sardonyx" diff "$work/body.txt" "$work/other_body.txt"

# inputs: what a model takes; what is drawn can be given. Names do not matter to a draw.
expect 0 'picture f32[N,1,8,8]' "$sardonyx" inputs "$digits"
expect 0 '' "$sardonyx" inputs "$digits" --random 5 --set N=2 --output-dir "$work/drawn" --format npz
same "$(digest "$digits" --input "$work/drawn/inputs.npz")" "$(digest "$digits" --random 5 --set N=2)" "drawn inputs as a file"
expect 2 'SDX-C0067' "$sardonyx" inputs "$digits" --output-dir "$work/drawn"
sed 's/\bx\b/renamed_mask/g' "$work/long.txt" > "$work/renamed.txt"
same "$(digest "$work/renamed.txt" --random 4 --set N=3)" "$(digest "$work/long.txt" --random 4 --set N=3)" "a draw under another name"

# Any wire is an output if it is asked for; all of them can be written.
same "$(digest "$data/static.onnx" --random 7 --outputs s)" "$(digest "$work/first.onnx" --random 7)" "a wire by its name"
same "$(digest "$data/static.onnx" --random 7 --outputs s,y | wc -l)" 2 "a wire and an output"
expect 0 '' "$sardonyx" run "$data/static.onnx" --random 7 --dump "$work/wires"
same "$(ls "$work/wires" | tr '\n' ' ')" "wire_0.pb wire_1.pb wire_2.pb wire_3.pb wires.json " "files of all wires"

# compare: with another model, with what another engine wrote; the first wire that parts them is named.
expect 0 'ok   y: equal bits' "$sardonyx" compare "$work/long.txt" "$work/short.onnx" --set N=3
sed 's/float {3}/float {3.5}/' "$work/long.txt" > "$work/wrong.txt"
expect 1 'first at "three", which Constant makes' "$sardonyx" compare "$work/long.txt" "$work/wrong.txt" --set N=3
expect 0 'relative 0.1' "$sardonyx" compare "$work/long.txt" "$work/wrong.txt" --set N=3 --rtol 0.2
for format in pb npy npz; do
  expect 0 '' "$sardonyx" run "$data/static.onnx" --random 7 --output-dir "$work/$format" --dump "$work/$format" --format $format
  expect 0 '4 wires' "$sardonyx" compare "$data/static.onnx" --random 7 --against "$work/$format"
  expect 1 'first at "h", which MatMul "product" makes' "$sardonyx" compare "$data/static.onnx" --random 8 --against "$work/$format"
done
mkdir "$work/one" && cp "$work/npy/output_0.npy" "$work/one"
expect 1 'z: not there' "$sardonyx" compare "$data/static.onnx" --random 7 --against "$work/one" --rtol 1
expect 2 'SDX-C0069' "$sardonyx" compare "$data/static.onnx" --random 7 --against "$work/drawn"

# Weights in a file of their own, and back; another batch.
expect 0 '' "$sardonyx" convert "$digits" "$work/apart.onnx" --external weights.bin --external-from 100
same "$(digest "$work/apart.onnx" --random 1 --set N=2)" "$(digest "$digits" --random 1 --set N=2)" "weights in another file"
mkdir "$work/elsewhere"
expect 2 '--embed' "$sardonyx" convert "$work/apart.onnx" "$work/elsewhere/model.onnx"
expect 0 '' "$sardonyx" convert "$work/apart.onnx" "$work/elsewhere/model.onnx" --embed
same "$(digest "$work/elsewhere/model.onnx" --random 1 --set N=2)" "$(digest "$digits" --random 1 --set N=2)" "weights embedded again"
expect 2 'SDX-C0062' "$sardonyx" convert "$digits" "$work/none.onnx" --external "$work/elsewhere/weights.bin"
# convert --opset: the same digests in another version of ai.onnx, or the node that stands in the way.
for version in 28 21 18 11 9 7; do
  expect 0 'equal digests' "$sardonyx" convert "$digits" "$work/version.onnx" --opset $version --set N=2
  same "$(digest "$work/version.onnx" --random 1 --set N=2)" "$(digest "$digits" --random 1 --set N=2)" "digits in opset $version"
  expect 0 ': valid' "$sardonyx" check "$work/version.onnx"
done
cat > "$work/axes.txt" <<'MODEL'
<ir_version: 8, opset_import: ["" : 13]>
g (float[2, 3] x, int64[1] a) => (float[M] y) { [total] y = ReduceSum <keepdims = 0> (x, a) }
MODEL
expect 2 'node "total" (ReduceSum, ai.onnx 13) cannot be written in ai.onnx 11' "$sardonyx" convert "$work/axes.txt" "$work/none.onnx" --opset 11
expect 2 'SDX-C0174' "$sardonyx" convert "$work/axes.txt" "$work/none.onnx" --opset newest
expect 2 'has the versions 1 to' "$sardonyx" convert "$work/axes.txt" "$work/none.onnx" --opset 99
same "$(ls "$work/none.onnx" 2>/dev/null)" "" "a model that was refused"
expect 0 '' "$sardonyx" convert "$digits" "$work/batch.onnx" --batch 4
expect 0 'picture f32[4,1,8,8]' "$sardonyx" info "$work/batch.onnx"
expect 0 '' "$sardonyx" convert "$work/batch.onnx" "$work/open.onnx" --batch rows
expect 0 'probability f32[rows,10]' "$sardonyx" info "$work/open.onnx"
printf '<ir_version: 10, opset_import: ["" : 21]> g (float[1,3] x) => (float[1,3] y) { a = Constant <value = int64[1] {0}> () m = ReduceMax <keepdims = 1> (x, a) y = Sub(x, m) }' > "$work/mixed.txt"
expect 2 'row 0 of output "y" is not what the model gave' "$sardonyx" convert "$work/mixed.txt" "$work/none.onnx" --batch 3

# Facts: weights in Constant nodes are counted, and the products of recurrences.
expect 0 'parameters    6 in 1 tensors' bash -c "printf '<ir_version: 10, opset_import: [\"\" : 21]> g (float[2,3] x) => (y) { w = Constant <value = float[2,3] {1,2,3,4,5,6}> () y = Add(x, w) }' | '$sardonyx' info -"
cat > "$work/lstm.txt" <<'MODEL'
<ir_version: 10, opset_import: ["" : 21]>
g (float[5, 1, 3] x, float[1, 8, 3] w, float[1, 8, 2] r) => (y) { y = LSTM <hidden_size = 2> (x, w, r) }
MODEL
expect 0 'multiply-adds 200' "$sardonyx" info "$work/lstm.txt"

# A name that is no C identifier is worth a note, no more; inputs and outputs keep theirs unless told otherwise.
printf '<ir_version: 10, opset_import: ["" : 21]> g (float[2] "in/x") => (float[2] y) { y = Neg("in/x") }' > "$work/slash.txt"
expect 0 ': valid (1 note)' "$sardonyx" check "$work/slash.txt"
expect 1 '--rename gives them others' "$sardonyx" fix "$work/slash.txt" "$work/slash.onnx"
expect 0 'in/x' "$sardonyx" inputs "$work/slash.onnx"
expect 0 'valid under sonnx' "$sardonyx" fix "$work/slash.txt" "$work/slash.onnx" --rename

# Sizes that nobody gave are asked for where 1 cannot run.
printf '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x, float[4] z) => (y) { a = Concat <axis = 0> (x, z) s = Constant <value = int64[2] {2, 3}> () y = Reshape(a, s) }' > "$work/even.txt"
expect 2 'give --set N=V' "$sardonyx" bench "$work/even.txt"
expect 0 'min' "$sardonyx" bench "$work/even.txt" --set N=2 --runs 1

# A profile never shows more than the machine can do.
shares=$("$sardonyx" profile "$digits" --set N=64 --json | sed -n 's/.*"of_peak": \([0-9.e-]*\).*/\1/p' | sort -g | tail -1)
expect 0 'yes' awk -v most="$shares" 'BEGIN { print((most > 0 && most <= 1) ? "yes" : "no: " most) }'

# Progress tells what remains only when it can.
for words in "run --random 1" "bench --runs 3"; do
  # shellcheck disable=SC2086
  first=$(SARDONYX_PROGRESS_AFTER=0 "$sardonyx" ${words/ / $digits --set N=2 } 2>&1 | grep -m1 ' of ')
  case $first in *left*) [[ $first == *" 0 s left"* ]] || same "$first" "no remaining time" "the first line of progress" ;; esac
done

exit "$failed"
