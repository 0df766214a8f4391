#!/usr/bin/python3
"""The protocol with grpc++: the client that GRPC_CPP_CLIENT names, against a server with all calls switched on."""
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import Server

server = Server("--model-control", "--shared-memory")
key = f"sardonyx-cpp-{os.getpid()}"
with open(f"/dev/shm/{key}", "wb") as file:
    file.write(struct.pack("<4f", 1, 2, 3, 4) + bytes(48))
try:
    code = subprocess.run([os.environ["GRPC_CPP_CLIENT"], str(server.port), "/" + key], timeout=60).returncode
    with open(f"/dev/shm/{key}", "rb") as file:
        answer = struct.unpack("<4f", file.read()[32:48])
finally:
    os.unlink(f"/dev/shm/{key}")
assert server.stop() == 0
assert code == 0
assert answer == (2, 4, 6, 8), answer
