# What tests of the program share: source it with the program as $1. Ends with `exit $failed`.
set -uo pipefail
sardonyx=$1
data=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect CODE TEXT COMMAND...: the exit code, and a piece of what is printed on either stream.
expect() {
  local code=$1 text=$2 out found
  shift 2
  out=$("$@" 2>&1)
  found=$?
  if [ "$found" != "$code" ] || [[ "$out" != *"$text"* ]]; then
    echo "FAIL: ${*/#$sardonyx/sardonyx}"
    echo "  exit code $found, expected $code; expected to read: $text"
    printf '%s\n' "$out" | sed 's/^/  | /' | head -12
    failed=1
  fi
}
same() {
  if [ "$1" != "$2" ]; then
    echo "FAIL: $3: \"$1\" is not \"$2\""
    failed=1
  fi
}
# An .npy file: dtype, shape, and the elements' bytes as printf takes them.
npy() {
  local header="{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n'"$3" "$header"
}

