#!/usr/bin/env bash
# Installs the Debian packages that are missing; silent when there are none. scripts/install_deps.sh fuzz: also those of
# `make fuzz` alone.
set -euo pipefail
packages=(
  g++ cmake ninja-build ccache make pkg-config git clang-format
  libfmt-dev libre2-dev libcli11-dev nlohmann-json3-dev zlib1g-dev   # the library and the command line
  libjpeg62-turbo-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev   # formats of ImageDecoder
  pybind11-dev python3-dev dpkg-dev debhelper dh-python lintian debootstrap mkdocs  # the Python package, Debian packages
  libgtest-dev libbenchmark-dev libmpfr-dev libgmp-dev libonnx-testdata python3-numpy python3-onnx python3-jsonschema  # tests
)
[ "${1:-}" = fuzz ] && packages+=(clang libclang-rt-dev)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
