#!/usr/bin/env bash
# Installs into a prefix, moves the prefix, and builds and runs programs against it with CMake and pkg-config, the archive
# and the shared library, g++ and clang++. Usage: tests/install.sh BUILD SOURCE
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
model=$source/examples/digits/digits.onnx
expected=$("$build/examples/first" "$model")

DESTDIR=$work/stage cmake --install "$build" --prefix /usr/local >/dev/null
mv "$work/stage/usr/local" "$work/moved"
rm -r "$work/stage"
libdir=$(dirname "$(find "$work/moved" -name libsardonyx.a)")
if grep -rIl "$build\|$source\|/usr/local" "$work/moved"; then
  echo "these name the place where they were built or installed"
  exit 1
fi

for file in bin/sardonyx share/man/man1/sardonyx.1 share/bash-completion/completions/sardonyx \
  share/zsh/vendor-completions/_sardonyx share/fish/vendor_completions.d/sardonyx.fish; do
  test -s "$work/moved/$file" || { echo "FAIL: $file is not installed"; exit 1; }
done

failed=0
same() {
  local found
  if found=$(LD_LIBRARY_PATH=$libdir "$1" "$model" 2>&1) && [ "$found" = "$expected" ]; then
    echo "pass: $2"
  else
    echo "FAIL: $2: $found"
    failed=1
  fi
}
compilers=(g++)
command -v clang++ >/dev/null && compilers+=(clang++)
for cxx in "${compilers[@]}"; do
  cc=${cxx%++}
  [ "$cxx" = g++ ] && cc=gcc
  out=$work/$cxx
  cmake -S "$source/tests/consumer" -B "$out" -G Ninja -DCMAKE_PREFIX_PATH="$work/moved" -DFIRST="$source/examples/first" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_COMPILER="$cc" >"$work/log" 2>&1 && ninja -C "$out" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
  for kind in static shared; do
    same "$out/$kind" "CMake, $kind, $cxx"
    same "$out/c_$kind" "CMake, $kind, C, $cc"
  done
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  # shellcheck disable=SC2046
  "$cxx" -std=c++20 "$source/examples/first/first.cc" -o "$out/pkg" $(pkg-config --cflags --libs sardonyx)
  same "$out/pkg" "pkg-config, shared, $cxx"
  # shellcheck disable=SC2046
  "$cxx" -std=c++20 "$source/examples/first/first.cc" -o "$out/pkg_static" \
    $(pkg-config --static --cflags --libs sardonyx | sed 's/-lsardonyx/-l:libsardonyx.a/')
  same "$out/pkg_static" "pkg-config, static, $cxx"
done
"$work/moved/bin/sardonyx" check "$model"
exit $failed
