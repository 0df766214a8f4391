#!/usr/bin/env bash
# Packs the fuzz program with all it needs, for a machine of any distribution without a compiler: scripts/pack_fuzz.sh BUILD
# makes BUILD/fuzz.tar.xz. There: tar xf fuzz.tar.xz && cd fuzz && JOBS=16 scripts/fuzz.sh build 30
set -euo pipefail
build=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
pack=$build/fuzz
rm -rf "$pack"
mkdir -p "$pack"/{scripts,tests/fuzz,tests/data,build/tests/fuzz/lib}
cp "$root/scripts/fuzz.sh" "$pack/scripts"
cp -r "$root"/tests/fuzz/{seeds,reproducers,onnx.dict} "$pack/tests/fuzz"
cp "$root"/tests/data/*.{onnx,txt} "$pack/tests/data"
mkdir -p "$pack/tests/bounded"
cp -r "$root/tests/bounded/models" "$pack/tests/bounded"
cd "$pack/build/tests/fuzz"
strip -g -o fuzz.bin "$build/tests/fuzz/fuzz"
# The libraries it runs with here, the loader among them: another distribution has other versions.
ldd "$build/tests/fuzz/fuzz" | grep -o '/[^ ]*' | xargs -I{} cp -L {} lib
cat > fuzz <<'END'
#!/bin/sh
here=$(dirname "$(realpath "$0")")
exec "$here/lib/ld-linux-x86-64.so.2" --library-path "$here/lib" "$here/fuzz.bin" "$@"
END
chmod +x fuzz
cd "$build"
tar cJf fuzz.tar.xz fuzz
du -h fuzz.tar.xz
