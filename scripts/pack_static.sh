#!/usr/bin/env bash
# Strips the static program of a build and packs it with its manual and completions, as sardonyx.tar.gz.
#   pack_static.sh BUILD STRIP
set -euo pipefail
build=$1 strip=$2
"$strip" "$build/sardonyx"
cp "$(dirname "$0")/../LICENSE" "$build"
tar -C "$build" -czf "$build/sardonyx.tar.gz" sardonyx share LICENSE
stat -c '%n: %s bytes' "$build/sardonyx" "$build/sardonyx.tar.gz"
