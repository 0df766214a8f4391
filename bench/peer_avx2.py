"""onnxruntime as it runs on a machine that has AVX2 and nothing more, on a machine that has more.

onnxruntime has no setting for this: it asks the processor. A copy of its library is told by each of its questions (XGETBV) that
the system saves no registers of AVX-512 and AMX, and by CPUID that there is no AVX-VNNI. What then runs are the very kernels of
an AVX2 machine, on this machine's caches and clock.
"""

import os
import re
import shutil

import cases

LIBRARY = "node_modules/onnxruntime-node/bin/napi-*/linux/x64/libonnxruntime.so.1"

# Code, and what stands there instead: of the same length.
XGETBV, PUSH_7_POP = rb"\x0f\x01\xd0", b"\x6a\x07\x58"  # eax = 7: the x87, SSE and AVX registers are saved
ANSWERS = (
    # xgetbv; mov eax, eax; shl rdx, 32
    (re.compile(XGETBV + rb"(?=\x89\xc0\x48\xc1\xe2\x20)"), PUSH_7_POP),
    # xor ecx, ecx; xgetbv
    (re.compile(rb"(?<=\x31\xc9)" + XGETBV), PUSH_7_POP),
    # cpuid; test al, 16: AVX-VNNI. Then it tests no bit.
    (re.compile(rb"\x0f\xa2\xa8\x10"), b"\x0f\xa2\xa8\x00"),
)


def patched(code):
    for pattern, instead in ANSWERS:
        code, found = pattern.subn(lambda _: instead, code)
        if found == 0:
            raise SystemExit(f"peer_avx2.py: this onnxruntime asks its processor in another way ({pattern.pattern!r} is not in it)")
    return code


def both(peer):
    """A folder beside `peer` with such a copy of it, made once; and Sardonyx, wherever this process loads or starts it, is held to
    the same."""
    os.environ.update(SARDONYX_ISA="avx2", SARDONYX_INT8="plain")
    cases.install_peer(peer)
    folder = peer.with_name(peer.name + "-avx2")
    if not folder.exists():
        making = folder.with_name(folder.name + ".new")
        shutil.rmtree(making, ignore_errors=True)
        shutil.copytree(peer, making, copy_function=os.link, symlinks=True)
        library, = making.glob(LIBRARY)
        code = patched(library.read_bytes())
        library.unlink()  # its name here, not the other folder's file
        library.write_bytes(code)
        making.rename(folder)
    return folder
