#!/usr/bin/env bash
# Everything that is checked, part by part, and the minutes that each part took. Without arguments all of them:
#   release   the tests, as `make test` runs them
#   debug     the same tests with assertions, and the graph's verifier after every pass
#   asan      addresses and undefined behaviour: the tests of every folder, kernels of one level included
#   tsan      races: the tests that use threads
#   tidy      clang-tidy, findings are errors
#   clang     built by clang++ without precompiled headers: the folders' tests, and g++'s digests
#   options   built with -O0, and with -O3 and LTO: the same digests
# Environment: JOBS, as for make.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
parts=("$@")
[ ${#parts[@]} -eq 0 ] && parts=(release debug asan tsan tidy clang options)

build() {  # PRESET [target...]
  local preset=$1
  shift
  cmake --preset "$preset" >/dev/null && cmake --build "build-$preset" -j "$jobs" ${@:+--target "$@"} >"build-$preset.log" 2>&1 ||
    { grep -E 'error|FAILED' "build-$preset.log" | head -20; return 1; }
}
build_and_test() {  # PRESET FILTER [target...]
  local preset=$1 filter=$2
  shift 2
  build "$preset" "$@" || return 1
  (cd "build-$preset" && ctest --output-on-failure -j "$jobs" -R "$filter")
}
folders() { sed -n 's/^ *sdx_folder(\([a-z_]*\).*/\1/p' CMakeLists.txt; }
folder_tests="^($(folders | paste -sd '|'))\$"
# Programs of the folders that have tests.
test_programs() {
  local folder
  for folder in $(folders); do
    [ -n "$(find "src/$folder" -name '*_test.cc' -print -quit)" ] && echo "${folder}_test"
  done
}

release() { make --no-print-directory test; }
debug() { build_and_test debug "$folder_tests" $(test_programs) sardonyx_cli; }
asan() { build_and_test asan "$folder_tests" $(test_programs); }
tsan() { build_and_test tsan '^(concurrency|kernel|run)$' concurrency_test kernel_test run_test; }
tidy() {  # without precompiled headers, which are g++'s where the debug build has made them
  cmake --preset debug -B build-tidy -DSDX_PRECOMPILED=OFF >/dev/null
  cmake --build build-tidy --target stamp/plan/pack_stamp.h >/dev/null
  git ls-files 'src/*.cc' 'cli/*.cc' | grep -v -E '_(test|bench)\.cc|\.(isa|wasm|windows)\.cc' |
    xargs -P "$jobs" -n 4 clang-tidy -p build-tidy --quiet 2>&1 | grep -E 'error:|warning:' && return 1
  return 0
}
# A build by other means gives the digests of g++'s release.
same_digests() {  # BUILD
  local want got
  want=$(tests/builds.sh build/sardonyx) && got=$(tests/builds.sh "$1/sardonyx") || return 1
  diff <(echo "$want") <(echo "$got") && echo "$1: equal digests"
}
clang() { build_and_test clang "$folder_tests" $(test_programs) sardonyx_cli && same_digests build-clang; }
options() {
  local preset
  for preset in o0 lto; do
    build $preset sardonyx_cli && same_digests build-$preset || return 1
  done
}

failed=0
table=""
for part in "${parts[@]}"; do
  case $part in
    release | debug | asan | tsan | tidy | clang | options) ;;
    *)
      echo "checks.sh: no part \"$part\"" >&2
      exit 2 ;;
  esac
  echo "== $part"
  started=$SECONDS
  if "$part"; then result=passed; else result=FAILED failed=1; fi
  table+=$(printf '%-8s %-6s %3d min %02d s' "$part" "$result" $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)))$'\n'
done
printf '\n%s' "$table"
exit $failed
