#!/usr/bin/env bash
# Builds the Debian packages into build-deb/packages, lets lintian judge them, and prints sizes.
#   make_deb.sh            for this machine
#   make_deb.sh arm64      for arm64, by the cross compiler, into build-deb-arm64/packages; without sardonyx-check-plan, for
#                          Debian's ocamlopt makes code for its own machine alone
#   PACKAGE_BUILD=FOLDER   where they are compiled (build-deb): the folder of another release build lends its objects, which
#                          are compiled with the same flags; its prefix is /usr from then on
set -euo pipefail
cd "$(dirname "$0")/.."
arch=${1:-}
[ "$arch" != "$(dpkg --print-architecture)" ] || arch=
folder=build-deb${arch:+-$arch}
export PACKAGE_BUILD=${PACKAGE_BUILD:-$folder}
export PACKAGES=$folder/packages
mkdir -p "$PACKAGES"
rm -f "$PACKAGES"/*
for_another=()
if [ -n "$arch" ]; then
  for_another=(-a "$arch" "-Pcross,nocheck,pkg.sardonyx.noproofs")
  # Headers whose packages for two machines do not go together, or would bring a second Python along, are unpacked.
  if [ ! -d "$folder/libraries" ]; then
    rm -rf "$folder/unpacked" && mkdir "$folder/unpacked"
    (cd "$folder/unpacked" && apt-get download -qq "libsimdjson-dev:$arch" "libpython3.11-dev:$arch" 2>/dev/null &&
      for package in *.deb; do dpkg -x "$package" .; done && rm ./*.deb)
    mv "$folder/unpacked" "$folder/libraries"
  fi
  triplet=$(dpkg-architecture -a "$arch" -qDEB_HOST_MULTIARCH 2>/dev/null)
  # The file that simdjson's description of itself looks for is a link to the installed library.
  ln -sf "/usr/lib/$triplet"/libsimdjson.so.* "$folder/libraries/usr/lib/$triplet/"
  libraries=$PWD/$folder/libraries/usr
  CMAKE_OPTIONS="-DSDX_SERVE=ON -Dsimdjson_DIR=$libraries/lib/$triplet/cmake/simdjson"
  export CMAKE_OPTIONS="$CMAKE_OPTIONS -DSDX_PYTHON_HEADERS=$libraries/include -DSDX_PYTHON_SUFFIX=.cpython-311-$triplet.so"
fi
dpkg-buildpackage -b -us -uc --no-check-builddeps "${for_another[@]}" --buildinfo-option=-u"$PACKAGES" \
  --changes-option=-u"$PACKAGES" --buildinfo-file="$PACKAGES/sardonyx.buildinfo" --changes-file="$PACKAGES/sardonyx.changes" \
  >"$folder/log" 2>&1 || { tail -30 "$folder/log"; exit 1; }
lintian --fail-on error,warning "$PACKAGES"/*.deb
ls -l "$PACKAGES"/*.deb | awk '{ n = split($NF, path, "/"); printf "%9d bytes  %s\n", $5, path[n] }'
[ -n "$arch" ] || scripts/sizes.sh "$PACKAGE_BUILD"
