#!/usr/bin/python3
"""What must hold however long a server runs: soak.py [NAME...]. Exit code 1 if something does not.

  digests   --requests N of random rows, versions and encodings, over servers of several widths: every answer's digest is the
            one that `sardonyx run --digest` prints, and every later answer to the same request is the same, byte for byte
  idle      10,000 connections that say nothing: at most 100 MB
  reloads   --reloads N models put in the place of others under load: no request fails, memory stays within 1 %
  restart   kill -9 and a new start with a pack cache: ready in 200 ms"""
import argparse
import gzip
import json
import multiprocessing
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import load

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("names", nargs="*")
parser.add_argument("--program", default=str(load.ROOT / "build/sardonyx"))
parser.add_argument("--requests", type=int, default=1_000_000)
parser.add_argument("--clients", type=int, default=8)
parser.add_argument("--reloads", type=int, default=1000)
parser.add_argument("--seed", type=int, default=1)
arguments = parser.parse_args()
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="sardonyx-soak-"))
failures = []


def say(name, value, good):
    print(f"{name:<64} {value:>24}   {'yes' if good else 'NO'}", flush=True)
    if not good:
        failures.append(name)


# ---- digests

WIDTH = {"dense": 64, "deep": 128, "center": 64}


def deep(nodes=200, width=128):
    """A run of some hundred microseconds: requests wait for it, and those that wait go together."""
    rng = random.Random(7)
    weights = ", ".join(f"{rng.uniform(-0.15, 0.15):.5f}" for _ in range(width * width))
    steps = "\n".join(f"  t{i + 1} = MatMul ({f't{i}' if i else 'x'}, w)" for i in range(nodes))
    return (f'<ir_version: 8, opset_import: ["" : 17]>\ndeep (float[N, {width}] x) => (float[N, {width}] t{nodes})\n'
            f"<float[{width}, {width}] w = {{{weights}}}>\n{{\n{steps}\n}}\n")


def make_models(models):
    """Three versions of a row-wise model, a heavier one whose requests wait and so share runs, and one that is not row-wise."""
    for version in (1, 2, 3):
        (models / "dense" / str(version)).mkdir(parents=True)
        (models / "dense" / str(version) / "model.onnxtxt").write_text(load.dense(64, 32, 10, seed=version))
    (models / "dense" / "config.json").write_text(json.dumps({"versions": "all"}))
    (models / "deep.onnxtxt").write_text(deep())
    (models / "center.onnxtxt").write_text('<ir_version: 8, opset_import: ["" : 17]> m (float[N, 64] x) => (float[N, 64] y) '
                                           '{ s = ReduceMean <axes = [0], keepdims = 1> (x)\n y = Sub (x, s) }')


def model_file(models, name, version):
    return models / f"{name}.onnxtxt" if name != "dense" else models / "dense" / (version or "3") / "model.onnxtxt"


def digest_of(path, values, rows, width, threads):
    file = FOLDER / "x.npy"
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, width)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    file.write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + values)
    text = subprocess.run([arguments.program, "run", path, "--digest", "--input", f"x={file}", "--threads", str(threads)],
                          check=True, capture_output=True, text=True).stdout
    return text.split()[-1]


def request_bytes(name, version, values, rows, width, encoding):
    if encoding.startswith("json"):
        numbers = struct.unpack(f"<{rows * width}f", values)
        body, headers = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [rows, width], "data": numbers}],
                                    "parameters": {"digest": True}}).encode(), {}
    else:
        head = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [rows, width], "parameters": {"binary_data_size": len(values)}}],
                           "parameters": {"digest": True, "binary_data_output": encoding == "binary"}}).encode()
        body, headers = head + values, {"Inference-Header-Content-Length": len(head)}
    if encoding == "json gzip":
        body, headers = gzip.compress(body, 1), {"Content-Encoding": "gzip"}
    where = f"/v2/models/{name}" + (f"/versions/{version}" if version else "") + "/infer"
    lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
    return f"POST {where} HTTP/1.1\r\nHost: a\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body


def make_requests(models, rng, count):
    """(the bytes of a request, the digest of its answer)"""
    made = []
    for _ in range(count):
        name = rng.choice(["dense"] * 6 + ["deep", "center"])
        version = rng.choice(["", "1", "2", "3"]) if name == "dense" else ""
        rows, width = rng.choice([1, 1, 1, 2, 3, 5, 8, 13]), WIDTH[name]
        values = struct.pack(f"<{rows * width}f", *(rng.uniform(-3, 3) for _ in range(rows * width)))
        digest = digest_of(model_file(models, name, version), values, rows, width, rng.choice([1, 2, 4]))
        made.append((request_bytes(name, version, values, rows, width, rng.choice(["json", "json gzip", "binary", "binary in"])), digest.encode()))
    return made


class Stream:
    """Responses one after the other from a socket."""

    def __init__(self, port):
        self.socket, self.rest = socket.create_connection(("127.0.0.1", port)), b""

    def response(self):
        while (end := self.rest.find(b"\r\n\r\n")) < 0:
            self.more()
        at = self.rest.index(b"\r\nContent-Length: ") + 18
        whole = end + 4 + int(self.rest[at:self.rest.index(b"\r", at)])
        while len(self.rest) < whole:
            self.more()
        answer, self.rest = self.rest[:whole], self.rest[whole:]
        return answer

    def more(self):
        part = self.socket.recv(1 << 18)
        assert part, "the server hung up"
        self.rest += part


def client(port, made, count, seed, results):
    rng, stream, known, wrong, done = random.Random(seed), Stream(port), {}, [], 0
    while done < count and len(wrong) < 10:
        chosen = [rng.randrange(len(made)) for _ in range(min(rng.randint(1, 24), count - done))]
        stream.socket.sendall(b"".join(made[i][0] for i in chosen))  # pipelined
        for i in chosen:
            answer = stream.response()
            if i not in known:
                if not answer.startswith(b"HTTP/1.1 200") or b'"digest":"' + made[i][1] + b'"' not in answer:
                    wrong.append((i, made[i][1], answer[:2000]))
                known[i] = answer
            elif answer != known[i]:
                wrong.append((i, known[i][:1000], answer[:1000]))
        done += len(chosen)
    results.put((done, wrong))


def digests():
    models = FOLDER / "models"
    models.mkdir()
    make_models(models)
    rng = random.Random(arguments.seed)
    made = make_requests(models, rng, 160)
    widths = [(1, 1, 1, True), (2, 2, 2, True), (2, 4, 1, True), (1, 2, 2, False)]
    total, shared = 0, 0
    for turn, (reactors, workers, threads, batching) in enumerate(widths):
        with load.Server(arguments.program, models, None, reactors=reactors, workers=workers, threads=threads,
                         config={"defaults": {"batching": batching}}) as server:
            results, each = multiprocessing.Queue(), -(-arguments.requests // len(widths) // arguments.clients)
            processes = [multiprocessing.Process(target=client, args=(server.port, made, each, rng.random(), results)) for _ in range(arguments.clients)]
            [process.start() for process in processes]
            for _ in processes:
                done, wrong = results.get(timeout=1200)
                total += done
                if wrong:
                    print(str(wrong[0])[:500])
                    failures.append("digests")
                    break
            [process.join() for process in processes]
            for name in WIDTH:
                requests, runs, _ = server.stats(name)
                shared += requests - runs
    say(f"requests with the digest of the command line ({shared:,} shared a run)", f"{total:,}", "digests" not in failures and total >= arguments.requests)


# ---- idle connections

def idle():
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    count = min(10_000, limit - 100)
    models = FOLDER / "idle"
    models.mkdir()
    (models / "double.onnxtxt").write_text(load.TRIVIAL)
    with load.Server(arguments.program, models, reactors=2, workers=2) as server:
        sockets = []
        for i in range(count):
            client = socket.create_connection(("127.0.0.1", server.port))
            if i % 2:  # half have made a request, half have said nothing
                client.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n")
                assert client.recv(4096).startswith(b"HTTP/1.1 200")
            sockets.append(client)
        time.sleep(0.5)
        answer = json.loads(server.get("/v2/models/double/infer", "POST", load.json_body([1, 2, 3, 4], [1, 4])[0]))
        assert answer["outputs"][0]["data"] == [2, 4, 6, 8]
        mb = server.resident_kb() / 1000
        say(f"{count:,} idle connections: resident memory of the server, MB", f"{mb:.1f}", mb <= 100 and count == 10_000)
        [client.close() for client in sockets]


# ---- reloads

def reloads():
    models = FOLDER / "reloads"
    models.mkdir()

    def publish(factor):
        hidden = models / ".m"
        hidden.write_text(load.TRIVIAL.replace("{2}", "{%d}" % factor))
        os.rename(hidden, models / "m.onnxtxt")
    publish(1)
    body = load.json_body([1, 2, 3, 4], [1, 4])[0]
    request = b"POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    with load.Server(arguments.program, models, reactors=2, workers=2, config={"poll_seconds": 0.02}) as server:
        stop, counts, bad, seen = threading.Event(), [0, 0, 0], [], {}

        def ask(index):
            stream = Stream(server.port)
            while not stop.is_set():
                stream.socket.sendall(request)
                answer = stream.response()
                counts[index] += 1
                if not answer.startswith(b"HTTP/1.1 200"):
                    bad.append(answer)
                seen[index] = json.loads(answer.split(b"\r\n\r\n", 1)[1])["outputs"][0]["data"][0] if not bad else None
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(counts))]
        [thread.start() for thread in threads]
        warm, memory = arguments.reloads // 5, []
        for number in range(arguments.reloads):
            factor = number % 7 + 2
            publish(factor)
            end = time.monotonic() + 30
            while any(seen.get(i) != factor for i in range(len(counts))) and not bad and time.monotonic() < end:
                time.sleep(0.001)
            if time.monotonic() >= end:
                bad.append("a new model does not take over")
            if bad:
                break
            if number >= warm:
                memory.append(server.resident_kb())
        stop.set()
        [thread.join() for thread in threads]
        fifth = max(1, len(memory) // 5)
        first, last = max(memory[:fifth]), max(memory[-fifth:])
        say(f"{arguments.reloads:,} reloads under load: failed of {sum(counts):,} requests", str(len(bad)), not bad)
        say("memory at the end beside that at the start, KB", f"{first:,} -> {last:,}", last <= first * 1.01)
        if bad:
            print(bad[0])


# ---- restart

def restart():
    models = FOLDER / "restart"
    models.mkdir()
    for i in range(4):
        (models / f"m{i}.onnxtxt").write_text(load.dense(512, 512, 64, seed=i))
    for i in range(4):  # binary, as models are; the text was only to make them
        subprocess.run([arguments.program, "convert", models / f"m{i}.onnxtxt", models / f"m{i}.onnx"], check=True, stdout=subprocess.DEVNULL)
        (models / f"m{i}.onnxtxt").unlink()
    times = []
    for _ in range(5):
        server = load.Server(arguments.program, models)
        times.append(server.ready_s * 1000)
        server.get("/v2/models/m0/ready")
        server.stop(signal.SIGKILL)
    say("kill -9 and start again: ready in ms (the first without pack cache)", " ".join(f"{t:.0f}" for t in times), min(times[1:]) <= 200)


ALL = {"digests": digests, "idle": idle, "reloads": reloads, "restart": restart}
try:
    for name in arguments.names or ALL:
        ALL[name]()
finally:
    shutil.rmtree(FOLDER, ignore_errors=True)
if failures:
    print("failed:", "; ".join(failures))
sys.exit(1 if failures else 0)
