#!/usr/bin/env bash
# The server under a sanitizer and under load: scripts/sanitize_serve.sh BUILD address|thread SECONDS. The server's room is compiled by
# clang with the sanitizer, the library behind it is BUILD/libsardonyx.a; then clients ask over REST and gRPC, leave in the middle,
# models are replaced, and SIGTERM drains. Exit code 1, and the report, if the sanitizer says anything.
set -euo pipefail
build=$(cd "$1" && pwd) sanitizer=$2 seconds=$3
root=$(cd "$(dirname "$0")/.." && pwd)
work=$build/sanitize-$sanitizer
mkdir -p "$work/road"
for folder in bytes base; do ln -sfn "$root/src/$folder" "$work/road/$folder"; done
ln -sfn "$root/serve" "$work/road/serve"
release=$(sed -n 's/.*project(.*VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt" | head -1)
build_one() {  # SOURCE OBJECT
  [ "$2" -nt "$1" ] || clang++ -std=c++20 -O1 -g1 -DFMT_SHARED -DSARDONYX_RELEASE="\"${release:-0}\"" -fsanitize="$sanitizer" \
    -fno-omit-frame-pointer -I"$root/include" -I"$work/road" -c "$1" -o "$2"
}
export -f build_one
export release sanitizer root work
cat > "$work/main.cc" <<'MAIN'
#include <cstdio>
#include "serve/server.h"
int main(int, char** words) {
  sardonyx::serve::ServerSettings settings;
  if (const auto failure = settings.read_file(words[2])) return std::fprintf(stderr, "%s\n", failure->message.c_str()), 2;
  settings.models = words[1];
  return sardonyx::serve::serve(settings);
}
MAIN
{
  echo "$work/main.cc $work/main.o"
  echo "$build/serve/page.cc $work/page.o"
  cd "$root"
  find serve -name '*.cc' | grep -vE '_test\.cc|_client\.cc|/fuzz\.cc|/queue/' | sort |
    while read -r source; do echo "$root/$source $work/$(echo "$source" | tr / _).o"; done
} > "$work/list"
xargs -P "$(nproc)" -L 1 bash -c 'build_one "$0" "$1"' < "$work/list"
mapfile -t objects < <(cut -d' ' -f2 "$work/list")
clang++ -fsanitize="$sanitizer" "${objects[@]}" "$build/libsardonyx.a" -lnghttp2 -lssl -lcrypto -lsimdjson -lz \
  -lfmt -lre2 -ljpeg -lpng -ltiff -lwebp -lopenjp2 -lpthread -o "$work/server"
exec /usr/bin/python3 "$root/serve/tests/load_test.py" "$work/server" "$seconds"
