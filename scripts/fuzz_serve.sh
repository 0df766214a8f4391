#!/usr/bin/env bash
# Fuzzes the server's parsers: scripts/fuzz_serve.sh BUILD SECONDS [PARSER...], one after the other for so many seconds each (http,
# json, proto, frames, zip, yaml, nats: all of them unless named; 0 seconds: only builds). They are compiled by clang with its sanitizers;
# the library behind them is BUILD/libsardonyx.a. Findings are left in BUILD/findings-serve.
set -euo pipefail
build=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- http json proto frames zip yaml nats
root=$(cd "$(dirname "$0")/.." && pwd)
work=$build/fuzz-serve
mkdir -p "$work/road" "$work/corpus" "$build/findings-serve"
for folder in bytes base; do ln -sfn "$root/src/$folder" "$work/road/$folder"; done
ln -sfn "$root/serve" "$work/road/serve"
sources=(serve/fuzz/fuzz.cc serve/failure.cc serve/http/http1_parser.cc serve/http/message.cc serve/http/zip.cc serve/oip/request.cc
         serve/yaml/yaml.cc serve/shm/regions.cc serve/queue/nats_parser.cc
         serve/oip/json_elements.cc serve/oip/json_read.cc serve/oip/json_write.cc serve/oip/proto.cc serve/oip/framing.cc)
objects=()
for source in "${sources[@]}"; do
  object=$work/$(echo "$source" | tr / _).o
  objects+=("$object")
  [ "$object" -nt "$root/$source" ] || clang++ -std=c++20 -O1 -g1 -DFMT_SHARED -fsanitize=fuzzer-no-link,address,undefined \
    -fno-sanitize=vptr,function -fno-sanitize-recover=all -I"$root/include" -I"$work/road" -c "$root/$source" -o "$object"
done
clang++ -fsanitize=fuzzer,address,undefined "${objects[@]}" "$build/libsardonyx.a" -lsimdjson -lz -lfmt -lre2 -ljpeg -lpng -ltiff \
  -lwebp -lopenjp2 -lpthread -o "$work/serve_fuzz"
printf '\x00POST /v2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n' > "$work/corpus/http"
printf '\x01{"inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":[[1,2.5],[-0.0,"NaN"]]}],"parameters":{"digest":true}}' > "$work/corpus/json"
printf '\x01{"inputs":[{"name":"x","datatype":"FP64","shape":[5],"data":[1,-0.25 , 1e-5,0.14285714285714285,16777217.000000001]}]}' > "$work/corpus/json_flat"
printf '\x02\x0a\x01m\x2a\x0d\x0a\x01x\x12\x04FP32\x1a\x02\x01\x01\x3a\x04abcd' > "$work/corpus/proto"
printf '\x03\x00\x00\x00\x00\x03\x0a\x01m' > "$work/corpus/frames"
(printf '\x04'; printf hello | gzip -c) > "$work/corpus/zip"
printf '\x05a: [1, {b: "c"}]\nd:\n  - e: |\n      f\n    g: >-\n      h\n  - true # i\n' > "$work/corpus/yaml"
printf '\x06INFO {}\r\nMSG a 1 r 2\r\nhi\r\nHMSG a 1 r 18 20\r\nNATS/1.0\r\nb: c\r\n\r\nhi\r\nPING\r\n' > "$work/corpus/nats"
[ "$seconds" -gt 0 ] || exit 0
for parser in "$@"; do
  mkdir -p "$work/corpus-$parser"
  SERVE_FUZZ=$parser "$work/serve_fuzz" "$work/corpus-$parser" "$work/corpus" -max_total_time="$seconds" -max_len=8192 -timeout=10 \
    -rss_limit_mb=2048 -artifact_prefix="$build/findings-serve/" -print_final_stats=1 2>&1 |
    awk -v parser="$parser" '/number_of_executed|SUMMARY|ERROR|deadly/ { print parser ": " $0; bad += /ERROR|deadly/ } END { exit bad > 0 }'
done
