#!/usr/bin/env bash
# Every public header compiles alone, without a warning, under g++ and clang++, in C++20; those of C in C11 too.
# Usage: tests/headers.sh include
set -uo pipefail
include=$1
failed=0
warnings="-Wall -Wextra -Wpedantic -Werror -fsyntax-only"
try() {
  # shellcheck disable=SC2086
  echo "#include <sardonyx/$header>" | "$@" $warnings -I "$include" - || { echo "FAIL: $1 $header"; failed=1; }
}
for header in $(cd "$include/sardonyx" && ls -- *.h); do
  for cxx in g++ clang++; do
    command -v $cxx >/dev/null && try $cxx -std=c++20 -x c++
  done
  if [[ $header == *_c.h ]]; then
    for cc in gcc clang; do
      command -v $cc >/dev/null && try $cc -std=c11 -x c
    done
  fi
done
exit $failed
