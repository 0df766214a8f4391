"""What the programs of this folder share: a pinned server, bodies of the protocol, and the generators of load, wrk and h2load.

Server and clients have a core each, and the server one thread for input and output and one for runs, so that what is measured is
the server's own time and not the machine's width."""
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TRIVIAL = '<ir_version: 8, opset_import: ["" : 17]> double (float[N, 4] x) => (float[N, 4] y) <float two = {2}> { y = Mul (x, two) }'
# A picture in, one number out: all the time is the way of 602 KB.
PIXELS = """<ir_version: 8, opset_import: ["" : 17]>
pixels (float[N, 3, 224, 224] x) => (float[N, 1, 1, 1] y) <int64[3] zeros = {0, 0, 0}, int64[3] ones = {1, 1, 1}, int64[3] axes = {1, 2, 3}> {
  y = Slice (x, zeros, ones, axes)
}"""


def dense(inputs, hidden, outputs, seed=1):
    """A small classifier's text."""
    rng = random.Random(seed)
    numbers = lambda count: ", ".join(f"{rng.uniform(-0.2, 0.2):.6f}" for _ in range(count))
    return (f'<ir_version: 8, opset_import: ["" : 17]>\ndense (float[N, {inputs}] x) => (float[N, {outputs}] y)\n'
            f"<float[{inputs}, {hidden}] a = {{{numbers(inputs * hidden)}}}, float[{hidden}] b = {{{numbers(hidden)}}},\n"
            f" float[{hidden}, {outputs}] c = {{{numbers(hidden * outputs)}}}>\n"
            "{\n  h = MatMul (x, a)\n  i = Add (h, b)\n  j = Relu (i)\n  k = MatMul (j, c)\n  y = Softmax <axis = -1> (k)\n}\n")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pinned(cores, command):
    return (["taskset", "-c", str(cores)] if cores not in (None, "") else []) + [str(word) for word in command]


def cpu_s(process):
    """Seconds of CPU time that a process's threads have taken, to the nanosecond."""
    total = 0
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


class Server:
    def __init__(self, program, models, core=None, flags=(), reactors=1, workers=1, threads=1, config=None):
        self.folder = tempfile.mkdtemp(prefix="sardonyx-figures-")
        self.log = open(os.path.join(self.folder, "log"), "w+")
        flags = list(flags)
        if config is not None:
            path = os.path.join(self.folder, "config.json")
            with open(path, "w") as file:
                json.dump(config, file)
            flags += ["--config", path]
        self.start = time.monotonic()
        self.process = subprocess.Popen(
            pinned(core, [program, "serve", "--models", models, "--port", 0, "--reactors", reactors, "--workers", workers, "--threads", threads, *flags]),
            stderr=self.log)
        self.port = int(self.wait_for("listening")["port"])
        self.state = self.wait_for("ready", "not ready")
        self.ready_s = time.monotonic() - self.start
        assert self.state["event"] == "ready", open(self.log.name).read()[:2000]

    def wait_for(self, *events):
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            with open(self.log.name) as file:
                for line in file:
                    if line.startswith("{") and line.endswith("\n") and json.loads(line)["event"] in events:
                        return json.loads(line)
            time.sleep(0.002)
        raise SystemExit(f"the server does not say {events}: {open(self.log.name).read()[:2000]}")

    def get(self, path, method="GET", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        assert response.status == 200, (response.status, data[:500])
        return data

    def stats(self, model):
        """Requests that succeeded, runs, and nanoseconds of runs so far."""
        one = json.loads(self.get(f"/v2/models/{model}/stats"))["model_stats"][0]
        times = one["inference_stats"]
        return times["success"]["count"], one["execution_count"], times["compute_infer"]["ns"]

    def resident_kb(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def cpu_s(self):
        return cpu_s(self.process)

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def json_body(values, shape):
    return json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": shape, "data": values}]}).encode(), {"Content-Type": "application/json"}


def json_tensors(tensors):
    """tensors: (name, datatype, shape, bytes), as numbers."""
    codes = {"FP32": "f", "INT64": "q"}
    return json.dumps({"inputs": [{"name": name, "datatype": datatype, "shape": list(shape), "data": [value for value, in struct.iter_unpack("<" + codes[datatype], data)]}
                                  for name, datatype, shape, data in tensors]}).encode(), {"Content-Type": "application/json"}


def binary_body(tensors, outputs=None):
    """tensors: (name, datatype, shape, bytes); outputs: names, all of them binary."""
    head = {"inputs": [{"name": name, "datatype": datatype, "shape": list(shape), "parameters": {"binary_data_size": len(data)}}
                       for name, datatype, shape, data in tensors], "parameters": {"binary_data_output": True}}
    if outputs:
        head["outputs"] = [{"name": name} for name in outputs]
    text = json.dumps(head, separators=(",", ":")).encode()
    return text + b"".join(data for *_, data in tensors), {"Inference-Header-Content-Length": str(len(text)), "Content-Type": "application/octet-stream"}


def varint(number):
    out = b""
    while number >= 128:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def grpc_body(model, tensors):
    """ModelInferRequest behind gRPC's five bytes."""
    message = field(1, model.encode())
    for name, datatype, shape, _ in tensors:
        message += field(5, field(1, name.encode()) + field(2, datatype.encode()) + field(3, b"".join(varint(size) for size in shape)))
    for *_, data in tensors:
        message += field(7, data)
    return b"\0" + struct.pack(">I", len(message)) + message


GRPC_HEADERS = {"content-type": "application/grpc", "te": "trailers"}
GRPC_PATH = "/inference.GRPCInferenceService/ModelInfer"

LUA = """
wrk.method = "POST"
local file = io.open(%s, "rb")
wrk.body = file:read("*a")
file:close()
%s
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('RESULT {"requests":%%d,"us":%%d,"min_us":%%f,"p50_us":%%f,"p99_us":%%f,"errors":%%d}\\n', summary.requests, summary.duration,
    latency.min, latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
"""


def wrk(port, path, body, headers, connections, seconds, core):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "body").write_bytes(body)
        lines = "\n".join(f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}" for name, value in headers.items())
        (pathlib.Path(folder) / "script.lua").write_text(LUA % (json.dumps(folder + "/body"), lines))
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}", "--timeout", "30s", "-s", folder + "/script.lua", f"http://127.0.0.1:{port}{path}"]
        text = subprocess.run(pinned(core, command), capture_output=True, text=True, timeout=seconds + 60).stdout
    found = re.search(r"RESULT (.*)", text)
    assert found, text
    result = json.loads(found[1])
    result["rate"] = result["requests"] / result["us"] * 1e6
    assert result["errors"] == 0, text
    return result


def h2load(port, path, body, headers, clients, streams, count, core):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "body").write_bytes(body)
        command = ["h2load", "-t1", f"-c{clients}", f"-m{streams}", f"-n{count}", "-d", folder + "/body", "--log-file", folder + "/log"]
        for name, value in headers.items():
            command += ["-H", f"{name}: {value}"]
        text = subprocess.run(pinned(core, command + [f"http://127.0.0.1:{port}{path}"]), capture_output=True, text=True, timeout=300).stdout
        times = sorted(int(line.split()[2]) for line in open(folder + "/log"))
    rate = re.search(r"([\d.]+) req/s", text)
    assert rate and f"{count} succeeded" in text, text
    return {"rate": float(rate[1]), "p50_us": times[len(times) // 2], "p99_us": times[len(times) * 99 // 100]}
