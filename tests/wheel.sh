#!/usr/bin/env bash
# Builds the wheel without a network, installs it into a fresh virtual environment, and uses it there. Usage: tests/wheel.sh FOLDER
set -euo pipefail
mkdir -p "$1"
wheels=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-/usr/bin/python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip wheel --quiet --no-index --no-deps --wheel-dir "$wheels" "$source"
wheel=$(ls -t "$wheels"/sardonyx-*.whl | head -1)
# numpy is the system's: the wheel itself is what is tested.
"$python" -m venv --system-site-packages "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --no-deps "$wheel"
cd "$work"
"$work/venv/bin/python" - "$source/examples/digits/digits.onnx" <<'PROGRAM'
import pathlib, subprocess, sys
import numpy as np
import sardonyx

package = pathlib.Path(sardonyx.__file__).parent
assert "venv" in package.parts, package
picture = np.zeros((1, 1, 8, 8), np.float32)
picture[0, 0, :, 4] = 1
probability, = sardonyx.InferenceSession(sys.argv[1]).run(None, {"picture": picture})
assert probability.argmax() == 1
# Every library that is not the system's comes from the wheel.
module, = package.glob("_sardonyx*.so")
needed = subprocess.run(["ldd", module], capture_output=True, text=True, check=True).stdout
for name in (path.name for path in (package.parent / "sardonyx.libs").iterdir()):
    line, = [line for line in needed.splitlines() if line.strip().startswith(name + " ")]
    assert "sardonyx.libs" in line, line
PROGRAM
"$work/venv/bin/sardonyx" check "$source/examples/digits/digits.onnx" 2>/dev/null
"$work/venv/bin/python" -m sardonyx --version
echo "$wheel: $(stat -c %s "$wheel") bytes"
