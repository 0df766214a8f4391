#!/usr/bin/env bash
# Installs the packages of build-deb/packages in a root that debootstrap made and nothing else, and uses each of them there.
# Needs root. The bare root is kept as build-deb/root.tar for the next time.
#   check_deb.sh           this machine's packages
#   check_deb.sh arm64     those of build-deb-arm64/packages, in a root of arm64 whose programs the kernel gives to qemu
set -euo pipefail
cd "$(dirname "$0")/.."
arch=${1:-}
[ "$arch" != "$(dpkg --print-architecture)" ] || arch=
folder=build-deb${arch:+-$arch}
packages=$(pwd)/$folder/packages
[ "$(id -u)" -eq 0 ] || { echo "check_deb.sh needs root, for chroot" >&2; exit 1; }
mirror=$(apt-cache policy base-files | awk '$2 ~ /^[a-z]+:\/\// && !/security/ { print $2; exit }')
# shellcheck disable=SC1091
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
if [ -n "$arch" ]; then
  # What Debian's qemu-user-static registers where systemd or binfmt-support runs.
  formats=/proc/sys/fs/binfmt_misc
  [ -e $formats/register ] || mount -t binfmt_misc binfmt_misc $formats
  [ -e $formats/qemu-aarch64 ] || cat /usr/lib/binfmt.d/qemu-aarch64.conf >$formats/register
fi
if [ ! -f "$folder/root.tar" ]; then
  bare=$(mktemp -d)
  debootstrap --variant=minbase ${arch:+--arch="$arch"} "$release" "$bare" "$mirror" >"$folder/debootstrap.log" 2>&1 ||
    { tail -5 "$folder/debootstrap.log"; exit 1; }
  tar -C "$bare" -cf "$folder/root.tar" .
  rm -rf --one-file-system "$bare"
fi
root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
chmod 755 "$root"
tar -C "$root" -xf "$folder/root.tar"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$root/try"
cp "$packages"/*.deb examples/digits/digits.onnx examples/digits/pictures.pb examples/first/first.cc examples/first/first.c "$root/try/"
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/try DEBIAN_FRONTEND=noninteractive \
  $(env | grep -iE '^[a-z]*_proxy=' || true) sh -ec "$1"; }

in_root 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /try/*.deb g++ pkg-config >/try/log 2>&1 ||
  { tail -20 /try/log; exit 1; }'
echo "installed: $(in_root 'dpkg-query -W -f "\${Package} \${Version}, " libsardonyx0 libsardonyx-dev sardonyx-tools sardonyx-server python3-sardonyx')"
expected=$(in_root 'cd /try && sardonyx run digits.onnx --input picture=pictures.pb --digest')
echo "sardonyx-tools: $expected"
published=$(sed -n 's/^| examples\/digits |.*`\([0-9a-f]\{64\}\)`.*/\1/p' docs/digests.md)
in_root 'cd /try && sardonyx run digits.onnx --random 1 --set N=10 --digest' | grep -qF "$published"
echo "sardonyx-tools: the digest of docs/digests.md"
[ -n "$arch" ] ||
  in_root 'cd /try && sardonyx show digits.onnx --at plan --format json --set N=3 | sardonyx-check-plan --quiet -' | sed 's/^/sardonyx-tools: /'
in_root 'cd /try && g++ -std=c++20 first.cc -o first $(pkg-config --cflags --libs sardonyx) && ./first digits.onnx | tail -1' |
  sed 's/^/libsardonyx-dev: /'
in_root 'cd /try && gcc -std=c11 first.c -o first_c $(pkg-config --cflags --libs sardonyx) && ./first_c digits.onnx | tail -1' |
  sed 's/^/libsardonyx-dev, C: /'
in_root 'cd /try && python3 -c "
import numpy, sardonyx
session = sardonyx.InferenceSession(\"digits.onnx\")
picture = numpy.zeros((1, 1, 8, 8), numpy.float32)
picture[0, 0, :, 4] = 1
print(session.run(None, {\"picture\": picture})[0].argmax())" && python3 -m sardonyx check digits.onnx' | sed 's/^/python3-sardonyx: /'
[ "$(in_root 'cd /try && python3 -m sardonyx run digits.onnx --input picture=pictures.pb --digest')" = "$expected" ]
# The command of the server's unit, without systemd: it begins, finds itself ready and ends when it is told to.
in_root 'mkdir -p /var/lib/sardonyx/models && cp /try/digits.onnx /var/lib/sardonyx/models/
  command=$(sed -n "s/^ExecStart=//p" /lib/systemd/system/sardonyx-server.service)
  $command --host 127.0.0.1 --port 8000 >/try/serve.log 2>&1 &
  server=$!
  for try in $(seq 100); do
    if python3 -c "
import urllib.request
print(urllib.request.urlopen(\"http://127.0.0.1:8000/v2/models/digits/ready\", timeout=5).status)" 2>/dev/null; then break; fi
    sleep 0.1
  done
  kill -TERM $server && wait $server || { cat /try/serve.log; exit 1; }' | grep -x 200 | sed 's/^/sardonyx-server: ready, /'
echo "the five packages work in a root that holds nothing else"
