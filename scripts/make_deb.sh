#!/usr/bin/env bash
# Builds the Debian packages into build-deb/packages, lets lintian judge them, and prints sizes.
set -euo pipefail
cd "$(dirname "$0")/.."
out=build-deb/packages
mkdir -p "$out"
rm -f "$out"/*
dpkg-buildpackage -b -us -uc --no-check-builddeps --buildinfo-option=-u"$out" --changes-option=-u"$out" \
  --buildinfo-file="$out/sardonyx.buildinfo" --changes-file="$out/sardonyx.changes" >build-deb/log 2>&1 ||
  { tail -30 build-deb/log; exit 1; }
lintian --fail-on error "$out"/*.deb
ls -l "$out"/*.deb | awk '{ n = split($NF, path, "/"); printf "%9d bytes  %s\n", $5, path[n] }'
scripts/sizes.sh build-deb
