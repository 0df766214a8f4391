#!/usr/bin/python3
"""HAProxy, as serve/packaging/haproxy.cfg sets it up, before three servers that are killed and updated under load.

SARDONYX names the program.
"""

import http.client
import importlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("SARDONYX", str(ROOT / "build/sardonyx"))
if shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin") is None:
    print("skipped: haproxy is not installed (scripts/install_deps.sh scale)")
    sys.exit(77)
if subprocess.run([PROGRAM, "serve", "-h"], capture_output=True).returncode != 0:
    print("skipped: the program was built without its server (make serve)")
    sys.exit(77)

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
m (float[N,1,64,64] x) => (float[N,8] y)
<float[8,1,7,7] w = {%s}>
{
  t = Conv<pads = [3, 3, 3, 3]>(x, w)
  p = GlobalAveragePool(t)
  y = Flatten(p)
}
""" % ", ".join(str((i * 37 % 101) / 101 - 0.5) for i in range(392))
COUNTER = """<ir_version: 8, opset_import: ["" : 17]>
counter (float[1] x, float[1] state) => (float[1] sum) {
  sum = Add (x, state)
}
"""
DATA = struct.pack("<4096f", *((i * 7 % 64) / 64 for i in range(4096)))
BODY = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 1, 64, 64],
                               "parameters": {"binary_data_size": len(DATA)}}]}).encode()
HEADERS = {"Inference-Header-Content-Length": str(len(BODY)), "Content-Type": "application/octet-stream"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Fleet:
    """Three servers and HAProxy."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "models/counter").mkdir(parents=True)
        (folder / "models/m.onnxtxt").write_text(MODEL)
        (folder / "models/counter/model.onnxtxt").write_text(COUNTER)
        (folder / "models/counter/config.json").write_text('{"states": {"sum": "state"}}')
        self.ports = [free_port() for _ in range(3)]
        self.log = open(folder / "log", "a")
        self.servers, self.haproxy = [None] * 3, None

    def begin(self):
        folder = self.folder
        for i in range(3):
            self.start(i)
        for i in range(3):
            self.wait_ready(self.ports[i])
        self.port = free_port()
        text = (ROOT / "serve/packaging/haproxy.cfg").read_text().replace("bind :8000", f"bind 127.0.0.1:{self.port}")
        for i, port in enumerate(self.ports):
            text = text.replace(f"10.0.0.{i + 1}:8000", f"127.0.0.1:{port}")
        text = text.replace("/run/haproxy/sardonyx.sock", str(folder / "haproxy.sock"))
        text = text.replace("127.0.0.1:8404", f"127.0.0.1:{free_port()}")
        (folder / "haproxy.cfg").write_text(text)
        self.haproxy = subprocess.Popen(["haproxy", "-db", "-f", str(folder / "haproxy.cfg")], stdout=self.log, stderr=self.log,
                                        env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"})
        self.wait_ready(self.port)

    def start(self, i):
        self.servers[i] = subprocess.Popen([PROGRAM, "serve", "--models", str(self.folder / "models"), "--port", str(self.ports[i]),
                                            "--threads", "1", "--workers", "1", "--reactors", "1", "--pack-cache", "off"],
                                           stderr=self.log)

    def wait_ready(self, port):
        end = time.time() + 60
        while time.time() < end and (self.haproxy is None or self.haproxy.poll() is None):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", "/v2/health/ready")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            finally:
                connection.close()
            time.sleep(0.02)
        raise AssertionError((self.folder / "log").read_text()[-3000:])

    def close(self):
        for process in [*self.servers, self.haproxy]:
            if process is not None:
                process.kill()
                process.wait(30)
        self.log.close()


class Rest:
    """A client that keeps its connection. An answer is (status, bytes).

    A server that is killed with a request unread resets its connection; HAProxy 2.6 does not send that one again, but closes the client's
    kept connection without a word, which is how HTTP/1.1 asks a client to do so (RFC 9112, 9.3.1). So this one does, once.
    """
    sent_again = 0

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def _ask(self):
        self.connection.request("POST", "/v2/models/m/infer", BODY + DATA, HEADERS)
        return self.connection.getresponse()

    def __call__(self):
        try:
            response = self._ask()
        except http.client.RemoteDisconnected:
            Rest.sent_again += 1
            response = self._ask()
        data = response.read()
        return response.status, re.sub(rb'"id":"[^"]*",?', b"", data)


class Load:
    """Clients that ask at a rate, all together, until told to stop; every answer is compared."""

    def __init__(self, make, threads, rate, expected):
        self.make, self.rate, self.threads, self.expected = make, rate, threads, expected
        self.stop, self.done, self.failures, self.lock = threading.Event(), 0, [], threading.Lock()

    def _client(self, number):
        ask, start, count = self.make(), time.monotonic(), 0
        while not self.stop.is_set():
            if self.rate:
                time.sleep(max(0.0, start + (count + number / self.threads) * self.threads / self.rate - time.monotonic()))
            count += 1
            try:
                answer = ask()
            except Exception as error:  # any is a failed request
                answer, ask = repr(error), self.make()
            with self.lock:
                self.done += 1
                if answer != self.expected:
                    self.failures.append(answer)

    def __enter__(self):
        self.running = [threading.Thread(target=self._client, args=(i,)) for i in range(self.threads)]
        for thread in self.running:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.running:
            thread.join()


class Haproxy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.fleet = Fleet(self.folder)
        self.addCleanup(self.fleet.close)
        self.fleet.begin()

    def under_load(self, make, disturb):
        """Load at 80 % of what the fleet can do while `disturb` runs: 0 failed requests."""
        expected = make()()
        with Load(make, 6, None, expected) as full:
            time.sleep(1)
        capacity = full.done
        with Load(make, 6, 0.8 * capacity, expected) as load:
            time.sleep(0.5)
            disturb()
            time.sleep(0.7)
        self.assertGreater(load.done, 10)
        self.assertEqual(load.failures, [], f"{len(load.failures)} of {load.done} failed")
        print(f"\n{self.id().split('.')[-1]}: capacity {capacity}/s, {load.done} requests at 80 %, {len(load.failures)} failed, "
              f"{Rest.sent_again} sent again by the client")
        self.assertLessEqual(Rest.sent_again, 6)  # at most one for each connection at the moment of a kill
        Rest.sent_again = 0

    def kill_one(self):
        self.fleet.servers[1].send_signal(signal.SIGKILL)
        self.fleet.servers[1].wait()

    def update_all(self):
        for i in range(3):
            self.fleet.servers[i].send_signal(signal.SIGTERM)
            self.assertEqual(self.fleet.servers[i].wait(30), 0)
            self.fleet.start(i)
            self.fleet.wait_ready(self.fleet.ports[i])
            time.sleep(0.6)  # until HAProxy has seen it

    def rest(self):
        return Rest(self.fleet.port)

    def test_a_killed_server_costs_no_rest_request(self):
        self.under_load(self.rest, self.kill_one)

    def test_a_rolling_update_costs_no_rest_request(self):
        self.under_load(self.rest, self.update_all)

    def test_sequences_stay_with_their_server(self):
        sums = {}
        for step in range(4):
            for sequence in range(1, 13):
                body = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [sequence]},
                                              *([{"name": "state", "datatype": "FP32", "shape": [1], "data": [0]}] if step == 0 else [])],
                                   "parameters": {"sequence_id": sequence, "sequence_start": step == 0, "sequence_end": step == 3}})
                connection = http.client.HTTPConnection("127.0.0.1", self.fleet.port, timeout=30)
                connection.request("POST", "/v2/models/counter/infer", body, {"Sardonyx-Sequence": str(sequence)})
                response = connection.getresponse()
                answer = json.loads(response.read())
                self.assertEqual(response.status, 200, answer)
                sums[sequence] = answer["outputs"][0]["data"][0]
                connection.close()
        self.assertEqual(sums, {sequence: 4.0 * sequence for sequence in range(1, 13)})
        # The shares are shares: more than one server had sequences.
        used = 0
        for port in self.fleet.ports:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/v2/models/counter/stats")
            used += json.loads(connection.getresponse().read())["model_stats"][0]["inference_stats"]["success"]["count"] > 0
            connection.close()
        self.assertGreater(used, 1)


try:
    import grpc
except ImportError:
    grpc = None


@unittest.skipIf(grpc is None or shutil.which("protoc") is None, "python3-grpcio or protoc is not installed (install_deps.sh serve)")
class Grpc(Haproxy):
    """The same over gRPC: HTTP/2 on both sides."""

    @classmethod
    def setUpClass(cls):
        cls.generated = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.generated)
        subprocess.run(["protoc", f"-I{ROOT}/serve", f"--python_out={cls.generated}", f"{ROOT}/serve/inference.proto"], check=True)
        sys.path.insert(0, cls.generated)
        cls.pb = importlib.import_module("inference_pb2")

    def rest(self):
        pb = self.pb
        channel = grpc.insecure_channel(f"127.0.0.1:{self.fleet.port}", options=[("grpc.use_local_subchannel_pool", 1),
                                                                                 ("grpc.enable_retries", 0)])
        self.addCleanup(channel.close)
        stub = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer",
                                   request_serializer=pb.ModelInferRequest.SerializeToString,
                                   response_deserializer=pb.ModelInferResponse.FromString)
        request = pb.ModelInferRequest(model_name="m")
        request.inputs.add(name="x", datatype="FP32", shape=[1, 1, 64, 64])
        request.raw_input_contents.append(DATA)

        def ask():
            return list(stub(request, timeout=30).raw_output_contents)

        return ask

    test_sequences_stay_with_their_server = None


if __name__ == "__main__":
    unittest.main()
