#!/usr/bin/env bash
# The server under a sanitizer and under load: scripts/sanitize_serve.sh BUILD address|thread SECONDS. The server's room is compiled by
# clang with the sanitizer, and so are the engine's files that share something among threads, for a sanitizer of threads must see each
# lock and each atomic; the rest is BUILD/libsardonyx.a. Then clients ask over REST and gRPC, leave in the middle, models are replaced,
# and SIGTERM drains. Exit code 1, and the report, if the sanitizer says anything.
set -euo pipefail
build=$(cd "$1" && pwd) sanitizer=$2 seconds=$3
root=$(cd "$(dirname "$0")/.." && pwd)
work=$build/sanitize-$sanitizer
mkdir -p "$work/road"
for folder in bytes base; do ln -sfn "$root/src/$folder" "$work/road/$folder"; done
ln -sfn "$root/serve" "$work/road/serve"
release=$(sed -n 's/.*project(.*VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt" | head -1)
build_one() {  # SOURCE OBJECT INCLUDES
  { [ "$2" -nt "$1" ] && [ "$2" -nt "$newest" ]; } || clang++ -std=c++20 -O1 -g1 -DFMT_SHARED -DSARDONYX_RELEASE="\"${release:-0}\"" -fsanitize="$sanitizer" \
    -fno-omit-frame-pointer -ffp-contract=off -fno-math-errno -DNDEBUG -I"$root/include" -I"$3" -I"$build/stamp" -c "$1" -o "$2"
}
newest=$(find "$root/serve" "$root/src" "$root/include" -name '*.h' -printf '%T@ %p\n' | sort -rn | head -1 | cut -d' ' -f2-)
export -f build_one
export release sanitizer root work newest build
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
  echo "$work/main.cc $work/main.o $work/road"
  echo "$build/serve/page.cc $work/page.o $work/road"
  cd "$root"
  find serve -name '*.cc' | grep -vE '_test\.cc|_client\.cc|/fuzz\.cc|/queue/' | sort |
    while read -r source; do echo "$root/$source $work/$(echo "$source" | tr / _).o $work/road"; done
  { grep -lE 'std::(atomic|mutex|condition_variable|thread|once_flag)' -r src --include='*.cc' | grep -vE '_(test|bench)\.cc|src/(infer|op)/'
    ls src/plan/{compiled,packs,pack_cache}*.cc src/run/*.cc src/base/tensor.cc | grep -v _test; } | sort -u |
    while read -r source; do echo "$root/$source $work/$(echo "$source" | tr / _).o $root/src"; done
} > "$work/list"
xargs -P "$(nproc)" -L 1 bash -c 'build_one "$0" "$1" "$2"' < "$work/list"
mapfile -t objects < <(cut -d' ' -f2 "$work/list")
clang++ -fsanitize="$sanitizer" -Wl,--allow-multiple-definition "${objects[@]}" "$build/libsardonyx.a" -lnghttp2 -lssl -lcrypto -lsimdjson -lz \
  -lfmt -lre2 -ljpeg -lpng -ltiff -lwebp -lopenjp2 -lpthread -o "$work/server"
exec /usr/bin/python3 "$root/serve/tests/load_test.py" "$work/server" "$seconds"
