#!/usr/bin/env bash
# Builds the Debian packages into build-deb/packages, lets lintian judge them, and prints sizes.
#   PACKAGE_BUILD=FOLDER   where they are compiled (build-deb): the folder of another release build lends its objects, which
#                          are compiled with the same flags; its prefix is /usr from then on
set -euo pipefail
cd "$(dirname "$0")/.."
export PACKAGE_BUILD=${PACKAGE_BUILD:-build-deb}
out=build-deb/packages
mkdir -p "$out"
rm -f "$out"/*
dpkg-buildpackage -b -us -uc --no-check-builddeps --buildinfo-option=-u"$out" --changes-option=-u"$out" \
  --buildinfo-file="$out/sardonyx.buildinfo" --changes-file="$out/sardonyx.changes" >build-deb/log 2>&1 ||
  { tail -30 build-deb/log; exit 1; }
lintian --fail-on error,warning "$out"/*.deb
ls -l "$out"/*.deb | awk '{ n = split($NF, path, "/"); printf "%9d bytes  %s\n", $5, path[n] }'
scripts/sizes.sh "$PACKAGE_BUILD"
