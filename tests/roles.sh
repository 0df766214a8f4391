#!/usr/bin/env bash
# Five people and an installed tree: what each does on the first day, step by step. Usage: tests/roles.sh BUILD SOURCE
set -uo pipefail
build=$1 source=$2
work=$(mktemp -d)
server=
trap '[ -n "$server" ] && kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
DESTDIR=$work/stage cmake --install "$build" --prefix /usr >/dev/null || exit 1
root=$work/stage/usr
export PATH=$root/bin:$PATH PYTHONPATH=$root/lib/python3/dist-packages
libdir=$(dirname "$(find "$root" -name libsardonyx.a)")
export LD_LIBRARY_PATH=$libdir PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work/stage
digits=$work/digits.onnx
cp "$source/examples/digits/digits.onnx" "$digits"
cp "$source/examples/first/first.cc" "$work"
cd "$work" || exit 1

failed=0 steps=0
# step WORDS TEXT COMMAND...: it ends well and prints the text.
step() {
  local words=$1 text=$2 out
  shift 2
  steps=$((steps + 1))
  if ! out=$("$@" 2>&1) || [[ "$out" != *"$text"* ]]; then
    echo "FAIL: $role: $words: ${*}"
    printf '%s\n' "$out" | tail -8 | sed 's/^/  | /'
    failed=1
  fi
}
role() {
  [ "$steps" -gt 0 ] && echo "$role: $steps steps"
  role=$1 steps=0
}
digest() { sardonyx run digits.onnx --random 1 --set N=3 --digest "$@" 2>/dev/null; }

role "data scientist"
step "imports it in the place of onnxruntime" "1 (2, 10)" /usr/bin/python3 -c '
import numpy as np, sardonyx as ort
session = ort.InferenceSession("digits.onnx", providers=["CPUExecutionProvider"])
picture = np.zeros((2, 1, 8, 8), np.float32); picture[:, 0, :, 4] = 1
probability, = session.run(None, {session.get_inputs()[0].name: picture})
print(probability[0].argmax(), probability.shape)'
step "asks what a wire carries" "N" /usr/bin/python3 -c 'import sardonyx; print(sardonyx.infer("digits.onnx")["probability"].shape)'
step "writes an operator" "[2.0, 4.0]" /usr/bin/python3 -c '
import numpy as np, sardonyx
sardonyx.operator("mine", "Twice", "(x: T) -> (y: T) T in f32")(lambda x: x + x)
model = sardonyx.Model.from_text("<ir_version: 10, opset_import: [\"mine\" : 1]> g (float[N] x) => (float[N] y) { y = mine.Twice (x) }")
print(sardonyx.InferenceSession(model).run(None, {"x": np.array([1, 2], np.float32)})[0].tolist())'
step "looks at the graph" "" sardonyx view digits.onnx -o page.html --set N=1
step "finds a page" "Content-Security-Policy" head -c 2000 page.html
step "compares with numpy's files" "" sardonyx inputs digits.onnx --random 1 --set N=2 --output-dir drawn
step "sees what it is made of" "parameters" sardonyx info digits.onnx

role "C++ engineer"
# shellcheck disable=SC2046
step "builds the README's program" "" g++ -std=c++20 first.cc -o first $(pkg-config --cflags --libs sardonyx)
step "runs it" "020c05000d32c3296be639f29ddcd7120df9bab80983dc516bc6755fed4487ae" ./first digits.onnx
step "reads the manual" "SARDONYX" head -3 "$root/share/man/man1/sardonyx.1"
step "builds against the archive" "" bash -c "g++ -std=c++20 first.cc -o first_static \$(pkg-config --static --cflags --libs sardonyx | sed 's/-lsardonyx/-l:libsardonyx.a/')"
step "gets the same answer" "$(./first digits.onnx | tail -1)" ./first_static digits.onnx

role "operations engineer"
step "asks for the version" '"version"' sardonyx version --json
step "measures it" '"median_ms"' sardonyx bench digits.onnx --set N=1 --runs 3 --json
step "sees where time goes" "Conv" sardonyx profile digits.onnx --set N=1 --runs 3
mkdir models && cp digits.onnx models
port=$((20000 + RANDOM % 20000))
sardonyx serve --models models --host 127.0.0.1 --port $port > serve.log 2>&1 &
server=$!
for _ in $(seq 100); do curl -sf "http://127.0.0.1:$port/v2/health/ready" >/dev/null && break; sleep 0.2; done
step "sees the server ready" "" curl -sf "http://127.0.0.1:$port/v2/health/ready"
zeros=$(printf '0,%.0s' $(seq 64))
step "sends a picture" '"probability"' curl -sf "http://127.0.0.1:$port/v2/models/digits/infer" -H 'Content-Type: application/json' \
  -d "{\"inputs\": [{\"name\": \"picture\", \"datatype\": \"FP32\", \"shape\": [1, 1, 8, 8], \"data\": [${zeros%,}]}]}"
kill "$server" && wait "$server" 2>/dev/null
server=

role "certification engineer"
step "files a page" "valid" sardonyx check digits.onnx --report filed.html --date 2026-11-16 --set N=1
step "files it as JSON" "valid" sardonyx check digits.onnx --report filed.json --date 2026-11-16 --set N=1
step "checks both signatures" "filed.json: OK" sha256sum --check filed.html.sha256 filed.json.sha256
step "finds a test of every kernel" "True" /usr/bin/python3 -c '
import json
print(all(step["test"] for node in json.load(open("filed.json"))["trace"] for step in node["steps"]))'
for options in "--threads 2" "--isa portable" "--optimize off" "--isa avx2 --threads 3"; do
  # shellcheck disable=SC2086
  step "gets the same digest with $options" "$(digest)" sardonyx run digits.onnx --random 1 --set N=3 --digest $options
done
step "compares every wire with the reference" "equal" sardonyx compare digits.onnx --random 1 --set N=1

role "newcomer to the code"
for stage in model inferred typed optimized plan; do
  step "reads the stage $stage" "" sardonyx show digits.onnx --at "$stage" --set N=1
done
step "reads what an operator is" "axis" sardonyx ops Softmax
step "writes the model in another version" "equal digests" sardonyx convert digits.onnx old.onnx --opset 9 --set N=1
step "sees what differs" "21 -> 9" bash -c "sardonyx diff digits.onnx old.onnx; true"
step "makes it simpler" "equal digests" sardonyx simplify digits.onnx simple.onnx --set N=1
step "is told what to type" 'did you mean "extract"' bash -c "sardonyx extrakt; true"
role ""
exit $failed
