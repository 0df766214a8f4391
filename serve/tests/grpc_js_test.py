#!/usr/bin/python3
"""The protocol over gRPC with @grpc/grpc-js from npm, which is fetched into the build folder once."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from server import Server

modules = os.environ.get("GRPC_JS_FOLDER", os.path.join(HERE, "../../build/grpc-js"))
if not os.path.isdir(os.path.join(modules, "node_modules", "@grpc", "proto-loader")):
    os.makedirs(modules, exist_ok=True)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", modules, "@grpc/grpc-js@1", "@grpc/proto-loader@0.7"], check=True)
server = Server()
code = subprocess.run(["node", os.path.join(HERE, "grpc_js_test.cjs")], timeout=60,
                      env={**os.environ, "PORT": str(server.port), "NODE_PATH": os.path.join(modules, "node_modules")}).returncode
assert server.stop() == 0
sys.exit(code)
