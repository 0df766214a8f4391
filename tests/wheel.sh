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
# The demo, the documents' examples, operators in Python and onnx's own runner, with what the wheel brought.
"$source/scripts/demo.sh" "$work/venv/bin" | tail -2
if "$work/venv/bin/python" -c 'import onnx' 2>/dev/null; then
  tests=$source/bindings/python/tests
  "$work/venv/bin/python" "$tests/test_sardonyx.py" OwnOperators Models.test_documentation_runs
  "$work/venv/bin/python" "$tests/official_suite.py" "$source/tests/expected_failures_onnx_1_12.txt" "$tests/expected_failures.txt" | tail -1
fi
# Another Python of the same version, if there is one: it takes the same wheel. (One wheel for all versions would need the limited
# interface, which pybind11 does not keep to.)
version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
other=${OTHER_PYTHON:-$(command -v "$version" || true)}
if [ -n "$other" ] && [ "$("$other" -c 'import sys; print(sys.base_prefix)')" != "$("$python" -c 'import sys; print(sys.base_prefix)')" ]; then
  "$other" -m venv --without-pip "$work/other"
  "$python" -m zipfile -e "$wheel" "$work/other/lib/$version/site-packages"
  numpy=$("$python" -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))')
  PYTHONPATH=$numpy "$work/other/bin/python" - "$source/examples/digits/digits.onnx" <<'PROGRAM'
import sys
import numpy as np
import sardonyx

picture = np.zeros((1, 1, 8, 8), np.float32)
picture[0, 0, :, 4] = 1
assert sardonyx.InferenceSession(sys.argv[1]).run(None, {"picture": picture})[0].argmax() == 1
print("also in", sys.base_prefix.rsplit("/", 1)[-1], sys.version.split()[0])
PROGRAM
fi
echo "$wheel: $(stat -c %s "$wheel") bytes"
