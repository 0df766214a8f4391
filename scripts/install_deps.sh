#!/usr/bin/env bash
# Installs the Debian packages that are missing; silent when there are none.
#   scripts/install_deps.sh            what building the library and the program takes
#   scripts/install_deps.sh PART...    and also what these parts take: test, package, site, fuzz, checks, proofs,
#                                      serve, scale, arm64, package-arm64, s390x, riscv64, windows, wasm
set -euo pipefail
packages=(
  g++ cmake ninja-build ccache make pkg-config git
  libfmt-dev libre2-dev libcli11-dev nlohmann-json3-dev zlib1g-dev
  libjpeg62-turbo-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev  # formats of ImageDecoder
)
for part in "$@"; do
  case $part in
    test)
      packages+=(libgtest-dev libbenchmark-dev libmpfr-dev libgmp-dev libonnx-testdata clang-format xz-utils
                 pybind11-dev python3-dev python3-numpy python3-onnx python3-jsonschema mypy
                 python3-pip python3-venv) ;;
    package)
      packages+=(dpkg-dev debhelper dh-python lintian debootstrap python3-dev pybind11-dev libnghttp2-dev libssl-dev
                 libsimdjson-dev) ;;
    site) packages+=(mkdocs) ;;
    fuzz) packages+=(clang libclang-rt-dev) ;;
    proofs) packages+=(coq libcoq-stdlib ocaml-nox ocaml-findlib libzarith-ocaml-dev libyojson-ocaml-dev) ;;
    serve)  # the server, and the clients of its tests
      packages+=(libnghttp2-dev libssl-dev libsimdjson-dev curl openssl nghttp2-client wrk protobuf-compiler python3-grpcio
                 python3-protobuf libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc chromium)
      # Where node came from somewhere else it brought its npm along, and Debian's would not go with it.
      command -v npm >/dev/null || packages+=(nodejs npm) ;;
    scale)  # engines that carry rows and requests to many machines (docs/scaling.md)
      packages+=(python3-distributed python3-dask python3-pandas haproxy nats-server parallel python3-numpy python3-yaml) ;;
    arm64)  # the cross compiler, libraries of arm64 beside this machine's, and what runs and counts them
      dpkg --print-foreign-architectures | grep -qx arm64 || foreign=arm64
      packages+=(g++-aarch64-linux-gnu qemu-user-static llvm-19)
      for package in libc6 libstdc++6 libfmt-dev libre2-dev zlib1g-dev libjpeg62-turbo-dev libpng-dev libtiff-dev libwebp-dev \
                     libopenjp2-7-dev libgtest-dev libgmp-dev libmpfr-dev; do
        packages+=("$package:arm64")
      done ;;
    package-arm64) packages+=(libssl-dev:arm64 libnghttp2-dev:arm64 libsimdjson14:arm64) ;;
    s390x) packages+=(g++-s390x-linux-gnu qemu-user-static) ;;
    riscv64) packages+=(g++-riscv64-linux-gnu qemu-user-static) ;;
    windows) packages+=(g++-mingw-w64-x86-64-posix wine wine64) ;;
    wasm)  # what compiles, and what runs it
      packages+=(emscripten chromium)
      command -v node >/dev/null || packages+=(nodejs) ;;
    checks) packages+=(clang clang-tidy libclang-rt-dev) ;;
    *)
      echo "install_deps.sh: no part \"$part\": test, package, site, fuzz, checks, proofs, serve, scale, arm64, package-arm64, s390x, riscv64, windows or wasm" >&2
      exit 2 ;;
  esac
done
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
[ -z "${foreign:-}" ] || "${sudo[@]}" dpkg --add-architecture "$foreign"
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
