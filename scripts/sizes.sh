#!/usr/bin/env bash
# Prints how large the stripped archive is: all of it, and what a program that only loads and runs models links of it.
# The third line is what is left without image formats and regular expressions (SDX_IMAGES=OFF, SDX_RE2=OFF): the few files that
# know of them are compiled anew. Usage: scripts/sizes.sh BUILD
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$build/libsardonyx.a" "$work/full.a"
strip --strip-unneeded "$work/full.a"
full=$(stat -c %s "$work/full.a")
# The members that these functions need, and those that they need in turn.
wanted=()
for name in model_load model_parse model_release model_counts model_input model_output session_new session_run session_release \
  tensor_over tensor_new tensor_data tensor_shape tensor_type value_release error_text error_release; do
  wanted+=(-u "sardonyx_$name")
done
# run_only ARCHIVE NAME
run_only() {
  ld -r --gc-sections -o "$work/$2.o" "${wanted[@]}" "$1"
  strip --strip-unneeded "$work/$2.o"
  ar rcs "$work/$2.a" "$work/$2.o"
}
run_only "$work/full.a" run
# The lines of the build that define SDX_WITH_..., without it.
/usr/bin/python3 - "$build" "$work" <<'PROGRAM'
import json, re, subprocess, sys
build, work = sys.argv[1:]
for entry in json.load(open(f"{build}/compile_commands.json")):
    command = entry["command"]
    if "-DSDX_WITH_" not in command or "-DSDX_CASES" in command:
        continue
    output = f"{work}/{entry['file'].rsplit('/', 1)[1]}.o"
    command = re.sub(r" -DSDX_WITH_\w+", "", command)
    command = re.sub(r" -o \S+", f" -o {output}", command)
    subprocess.run(command, shell=True, check=True, cwd=entry["directory"])
    subprocess.run(["ar", "r", f"{work}/full.a", output], check=True)
PROGRAM
strip --strip-unneeded "$work/full.a"
run_only "$work/full.a" lean
printf '%9d bytes  libsardonyx.a, stripped\n' "$full"
printf '%9d bytes  libsardonyx.a, stripped, what loading and running models needs\n' "$(stat -c %s "$work/run.a")"
printf '%9d bytes  the same without image formats and RE2\n' "$(stat -c %s "$work/lean.a")"
# None of their functions is needed any more.
! nm -u "$work/lean.o" | grep -E ' (jpeg_|png_|TIFF|WebP|opj_|_ZN3re2)'
