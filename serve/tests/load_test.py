#!/usr/bin/python3
"""A server under mixed load: load_test.py PROGRAM SECONDS, where PROGRAM MODELS CONFIG serves (scripts/sanitize_serve.sh makes one with a
sanitizer in it). Clients ask over REST and gRPC, in binary and ahead of their answers, break off in the middle, send noise, read
metrics; models are replaced meanwhile; at the end SIGTERM drains. Fails if an answer is wrong, the server ends badly, or it writes
anything that is not a line of its log."""
import http.client
import importlib
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
program, seconds = sys.argv[1], float(sys.argv[2])
MODEL = '<ir_version: 8, opset_import: ["" : 17]> m (float[N, 4] x) => (float[N, 4] y) <float k = {%d}> { y = Mul (x, k) }'
STEPS = "\n".join(f"  t{i + 1} = MatMul ({f't{i}' if i else 'x'}, w)" for i in range(300))
DEEP = ('<ir_version: 8, opset_import: ["" : 17]> deep (float[N, 64] x) => (float[N, 64] t300) <float[64, 64] w = {%s}> {\n%s\n}'
        % (", ".join(str((i * 37 % 101 - 50) / 400) for i in range(4096)), STEPS))
# What goes in comes out, in both forms that an answer's memory has: the input's own, and the engine's.
ECHO = '<ir_version: 8, opset_import: ["" : 17]> echo (float[N, M] x) => (float[N, M] y, float[N, M] z) { y = Identity (x)  z = Neg (x) }'
folder = tempfile.mkdtemp()
models = os.path.join(folder, "models")
os.mkdir(models)
for name, text in (("m", MODEL % 2), ("same", MODEL % 3), ("deep", DEEP), ("echo", ECHO)):
    with open(os.path.join(models, name + ".onnxtxt"), "w") as file:
        file.write(text)
config = os.path.join(folder, "config.yaml")
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
with open(config, "w") as file:
    file.write(f"port: {port}\nreactors: 2\nworkers: 3\npoll_seconds: 0.05\nmodel_control: true\nworking_memory_bytes: 100000000\nrecord: {folder}/records\n"
               "defaults: {threads: 2}  # the engine's own threads too\n")
subprocess.run(["protoc", f"-I{HERE}/..", f"--python_out={folder}", f"{HERE}/../inference.proto"], check=True)
sys.path.insert(0, folder)
pb = importlib.import_module("inference_pb2")
import grpc

log = open(os.path.join(folder, "log"), "w+")
server = subprocess.Popen([program, models, config], stderr=log, env={**os.environ, "TSAN_OPTIONS": "halt_on_error=0", "ASAN_OPTIONS": "detect_leaks=1"})
end = time.time() + seconds
wrong, counts = [], {}


def connection():
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def until_ready():
    for _ in range(600):
        try:
            client = connection()
            client.request("GET", "/v2/health/ready")
            if client.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise SystemExit("the server is never ready: " + open(log.name).read()[:3000])


def count(name):
    counts[name] = counts.get(name, 0) + 1


def rest(rng):
    client = connection()
    while time.time() < end:
        name = rng.choice(["m", "same", "deep"])
        width, rows = (64 if name == "deep" else 4), rng.randint(1, 3)
        values = [float(rng.randint(-9, 9)) for _ in range(rows * width)]
        parameters = {"digest": True, **({"record": True} if rng.random() < 0.02 else {})}
        client.request("POST", f"/v2/models/{name}/infer", json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [rows, width], "data": values}],
                                                                      "parameters": parameters}))
        answer = client.getresponse()
        body = json.loads(answer.read())
        if answer.status != 200 or (name == "same" and body["outputs"][0]["data"] != [3 * v for v in values]):
            wrong.append((name, answer.status, str(body)[:300]))
        count("rest")


def binary(rng):
    """Tensors of any size in binary, several requests ahead of their answers, read slowly or not at all."""
    while time.time() < end:
        tensors = [rng.randbytes(4 * rng.choice([1, 7, 1000, 150_528])) for _ in range(rng.randint(1, 4))]
        whole = b""
        for data in tensors:
            head = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, len(data) // 4], "parameters": {"binary_data_size": len(data)}}],
                               "outputs": [{"name": "y"}, {"name": "z"}], "parameters": {"binary_data_output": True}}).encode()
            whole += (b"POST /v2/models/echo/infer HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n"
                      % (len(head), len(head) + len(data)) + head + data)
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            sender = threading.Thread(target=lambda: client.sendall(whole))
            sender.start()
            with client.makefile("rb") as answers:
                for data in tensors:
                    headers = dict(line.decode().strip().split(": ", 1) for line in iter(answers.readline, b"\r\n") if b": " in line)
                    time.sleep(rng.choice([0, 0.005]))
                    body = answers.read(int(headers["Content-Length"]))
                    if body[int(headers["Inference-Header-Content-Length"]):][:len(data)] != data:
                        wrong.append(("binary", len(data), body[:300]))
            sender.join()
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            client.settimeout(0.05)
            try:
                client.sendall(whole)  # and leaves with all answers unread
            except OSError:
                pass
        count("binary")


def calls(rng):
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", request_serializer=pb.ModelInferRequest.SerializeToString,
                                response_deserializer=pb.ModelInferResponse.FromString)
    stream = channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer", request_serializer=pb.ModelInferRequest.SerializeToString,
                                   response_deserializer=pb.ModelStreamInferResponse.FromString)

    def request(value):
        made = pb.ModelInferRequest(model_name="same")
        made.inputs.add(name="x", datatype="FP32", shape=[1, 4])
        made.raw_input_contents.append(struct.pack("<4f", value, 0, 0, 0))
        return made
    while time.time() < end:
        futures = [infer.future(request(i), timeout=30) for i in range(8)]
        if rng.random() < 0.3:
            time.sleep(0.02)  # once it is sent: grpc's core resets streams that it has not opened, which ends the connection
            futures.pop().cancel()
        for i, future in enumerate(futures):
            if struct.unpack("<4f", future.result().raw_output_contents[0])[0] != 3 * i:
                wrong.append(("grpc", i))
        answers = list(stream(iter([request(i) for i in range(5)]), timeout=30))
        if len(answers) != 5:
            wrong.append(("stream", len(answers)))
        count("grpc")
    channel.close()


def break_off(rng):
    body = b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1,64],"data":[' + b",".join([b"1"] * 64) + b"]}]}"
    whole = b"POST /v2/models/deep/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    while time.time() < end:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            kind = rng.randrange(3)
            client.sendall(whole[:rng.randrange(len(whole))] if kind == 0 else whole if kind == 1 else rng.randbytes(rng.randrange(1, 2000)))
            time.sleep(rng.random() * 0.002)
        count("left")


def replace(rng):
    factor = 2
    while time.time() < end:
        factor = factor % 9 + 1
        with open(os.path.join(models, ".m"), "w") as file:
            file.write(MODEL % factor if rng.random() < 0.9 else "nonsense")
        os.rename(os.path.join(models, ".m"), os.path.join(models, "m.onnxtxt"))
        client = connection()
        for method, path in (("GET", "/metrics"), ("GET", "/status"), ("POST", "/v2/repository/index"), ("POST", "/v2/repository/models/deep/load")):
            client.request(method, path)
            if (answer := client.getresponse()).status != 200:
                wrong.append((path, answer.status))
            answer.read()
        time.sleep(0.1)
        count("replaced")


def client(work, rng):
    try:
        work(rng)
    except Exception as error:  # a client that is let down is a wrong answer
        wrong.append((work.__name__, time.time() - end, repr(error)[:1000]))


until_ready()
threads = [threading.Thread(target=client, args=(work, random.Random(i))) for i, work in enumerate([rest, rest, rest, calls, calls, binary, break_off, replace])]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
server.send_signal(signal.SIGTERM)
code = server.wait(120)
with open(log.name) as file:
    reports = [line for line in file if not line.startswith("{")]
print(counts, "exit code", code, "lines of reports", len(reports))
print("".join(reports[:60]), wrong[:3])
shutil.rmtree(folder)
sys.exit(0 if code == 0 and not reports and not wrong else 1)
