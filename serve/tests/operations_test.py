#!/usr/bin/python3
"""What an operator relies on: reloads without loss, refusals, draining, TLS, tokens, limits, batching that changes nothing."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import HERE, Server

BODY = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}]})
MODEL = '<ir_version: 8, opset_import: ["" : 17]> m (float[N, 4] x) => (float[N, 4] y) <float k = {%d}> {{ y = Mul (x, k) }}'.replace("{{", "{").replace("}}", "}")


def publish(folder, name, factor, text=None):
    """As a person should: written beside, then renamed."""
    hidden = os.path.join(folder, "." + name)
    with open(hidden, "w") as file:
        file.write(text or MODEL % factor)
    os.rename(hidden, os.path.join(folder, name + ".onnxtxt"))


def until(condition, seconds=30):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Reload(unittest.TestCase):
    def setUp(self):
        self.server = Server(config={"poll_seconds": 0.05})

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0)

    def value(self, name="m"):
        status, body = self.server.json("POST", f"/v2/models/{name}/infer", BODY)
        return body["outputs"][0]["data"][0] if status == 200 else status

    def test_a_new_file_takes_over_and_no_request_fails(self):
        publish(self.server.models, "m", 1)
        self.assertTrue(until(lambda: self.value() == 1))
        seen, stop = [], threading.Event()

        def client():
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
            while not stop.is_set():
                connection.request("POST", "/v2/models/m/infer", BODY)
                response = connection.getresponse()
                data = response.read()
                seen.append(json.loads(data)["outputs"][0]["data"][0] if response.status == 200 else response.status)
        threads = [threading.Thread(target=client) for _ in range(3)]
        [t.start() for t in threads]
        for factor in range(2, 12):
            publish(self.server.models, "m", factor)
            self.assertTrue(until(lambda: seen and seen[-1] == factor), (factor, seen[-1:]))
        stop.set()
        [t.join() for t in threads]
        self.assertEqual(sorted(set(seen)), list(range(1, 12)))

    def test_a_bad_file_leaves_the_old_model(self):
        publish(self.server.models, "m", 1)
        self.assertTrue(until(lambda: self.value() == 1))
        publish(self.server.models, "m", 0, text='<ir_version: 8, opset_import: ["" : 17]> m (float[N, 4] x) => (float y) { y = Nonsense (x) }')
        self.assertTrue(until(lambda: any(m["name"] == "m" and "SDX-" in m["reason"] for m in self.server.json("POST", "/v2/repository/index")[1])))
        self.assertEqual(self.value(), 1)
        publish(self.server.models, "m", 3)
        self.assertTrue(until(lambda: self.value() == 3))

    def test_versions_labels_and_removal(self):
        for version in (1, 2, 3):
            os.makedirs(os.path.join(self.server.models, ".v", str(version)))
            with open(os.path.join(self.server.models, ".v", str(version), "model.onnxtxt"), "w") as file:
                file.write(MODEL % version)
        with open(os.path.join(self.server.models, ".v", "config.json"), "w") as file:
            json.dump({"versions": {"latest": 2}, "labels": {"stable": "2"}}, file)
        os.rename(os.path.join(self.server.models, ".v"), os.path.join(self.server.models, "v"))
        self.assertTrue(until(lambda: self.value("v") == 3))
        self.assertEqual(self.value("v/versions/2"), 2)
        self.assertEqual(self.value("v/versions/stable"), 2)
        self.assertEqual(self.value("v/versions/1"), 404)
        os.rename(os.path.join(self.server.models, "v", "3"), os.path.join(self.server.models, ".gone"))
        self.assertTrue(until(lambda: self.value("v") == 2))
        self.assertTrue(until(lambda: self.value("v/versions/1") == 1))
        os.rename(os.path.join(self.server.models, "v"), os.path.join(self.server.models, ".gone2"))
        self.assertTrue(until(lambda: self.value("v") == 404))

    def test_a_pinned_model_of_another_content_is_refused(self):
        os.makedirs(os.path.join(self.server.models, "pinned"))
        with open(os.path.join(self.server.models, "pinned", "config.json"), "w") as file:
            json.dump({"sha256": "0" * 64}, file)
        with open(os.path.join(self.server.models, "pinned", "model.onnxtxt"), "w") as file:
            file.write(MODEL % 1)
        self.assertTrue(until(lambda: self.value("pinned") == 503))
        self.assertEqual(self.server.json("GET", "/v2/health/ready")[0], 503)


class Configuration(unittest.TestCase):
    def test_settings_in_yaml(self):
        models = tempfile.mkdtemp()
        os.makedirs(os.path.join(models, "y"))
        with open(os.path.join(models, "y", "model.onnxtxt"), "w") as file:
            file.write(MODEL % 3)
        with open(os.path.join(models, "y", "config.yaml"), "w") as file:
            file.write("# of this model\nqueue: 7\nlabels:\n  stable: 1\n")
        path = os.path.join(models, ".server.yaml")
        with open(path, "w") as file:
            file.write("model_control: true\nlimits: {body_bytes: 2000}\ndefaults:\n  most_rows: 5\n")
        server = Server("--config", path, models=models)
        config = server.json("GET", "/v2/models/y/config")[1]
        self.assertEqual((config["queue"], config["most_rows"], config["labels"]), (7, 5, {"stable": "1"}))
        self.assertEqual(server.call("POST", "/v2/models/y/infer", b"x" * 3000)[0], 413)
        self.assertEqual(server.json("POST", "/v2/repository/models/y/load")[0], 200)
        self.assertEqual(server.stop(), 0)
        with open(path, "w") as file:
            file.write("model_control: true\nlimit: 3\n")
        from server import PROGRAM
        run = subprocess.run([PROGRAM, "serve", "--models", models, "--port", "0", "--config", path], capture_output=True, text=True, timeout=20)
        self.assertEqual(run.returncode, 2)
        self.assertIn('"limit"', run.stderr)
        shutil.rmtree(models)

    def test_working_memory_is_counted_before_it_is_made(self):
        """Two rows fit in the budget, nine do not; what fits is answered however many ask, and memory is given back."""
        models = tempfile.mkdtemp()
        width = 20000  # a value of a row is 80 KB
        steps = "\n".join(f"  t{i + 1} = {'Tanh' if i % 2 else 'Sin'} ({f't{i}' if i else 'x'})" for i in range(3))
        for name in ("a", "b"):
            with open(os.path.join(models, name + ".onnxtxt"), "w") as file:
                file.write(f'<ir_version: 8, opset_import: ["" : 17]> m (float[N, {width}] x) => (float[N, {width}] y) {{\n{steps}\n'
                           '  s = Softmax (t3)\n  u = Transpose (s)\n  v = Transpose (u)\n  y = Add (v, t1)\n}')

        def ask(server, model, rows):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            connection.request("POST", f"/v2/models/{model}/infer", bytes(rows * width * 4), {"Content-Type": "application/octet-stream"})
            response = connection.getresponse()
            return response.status, response.read()

        def gauge(server, name):
            text = server.call("GET", "/metrics")[2].decode()
            return int(float([line.split()[1] for line in text.splitlines() if line.startswith(name + " ")][0]))
        server = Server("--workers", "4", models=models, config={"defaults": {"batching": False}, "working_memory_bytes": 10**9})
        needs = []
        for rows in (1, 2, 9):
            self.assertEqual(ask(server, "a", rows)[0], 200)
            needs.append(gauge(server, "sardonyx_working_memory_bytes"))
        self.assertEqual(server.stop(), 0)
        self.assertGreater(needs[1], needs[0])
        self.assertGreater(needs[2], needs[1])
        limit = (needs[1] + needs[2]) // 2
        server = Server("--workers", "4", models=models, config={"defaults": {"batching": False, "warm_up": False}, "working_memory_bytes": limit})
        status, body = ask(server, "a", 9)
        self.assertNotEqual(status, 200)
        self.assertIn(b"SDX-", body)
        statuses = []

        def client(k):
            for i in range(10):
                status, answer = ask(server, "ab"[(i + k) % 2], 1 + (i + k) % 2)
                statuses.append(status if status == 200 else (status, answer))
                used = gauge(server, "sardonyx_working_memory_bytes")
                if used > limit:
                    statuses.append(("over the budget", used))
        threads = [threading.Thread(target=client, args=(k,)) for k in range(6)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(set(statuses), {200})
        self.assertEqual(server.stop(), 0)
        shutil.rmtree(models)


class Draining(unittest.TestCase):
    def test_sigterm_answers_what_is_at_hand(self):
        server = Server()
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("POST", "/v2/models/double/infer", BODY)
        self.assertEqual(connection.getresponse().read()[:1], b"{")
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            head = f"POST /v2/models/double/infer HTTP/1.1\r\nHost: a\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()
            s.sendall(head + BODY[:10].encode())
            time.sleep(0.1)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
            s.sendall(BODY[10:].encode())
            answer = b""
            while part := s.recv(65536):
                answer += part
        self.assertIn(b"200 OK", answer)
        self.assertIn(b"Connection: close", answer)
        self.assertEqual(server.stop(), 0)


class Security(unittest.TestCase):
    def certificate(self, folder, name, authority=None):
        key, cert = os.path.join(folder, name + ".key"), os.path.join(folder, name + ".pem")
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                   "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert]
        if authority:
            command += ["-CA", authority[0], "-CAkey", authority[1]]
        subprocess.run(command, check=True, capture_output=True)
        return cert, key

    def test_tls_both_protocols_and_a_new_certificate(self):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = self.certificate(folder, "one")
            server = Server("--tls-cert", cert, "--tls-key", key, config={"poll_seconds": 0.05})
            url = f"https://127.0.0.1:{server.port}/v2/models/double/infer"
            for flags, version in ((["--http1.1"], "1.1"), (["--http2"], "2")):
                out = subprocess.run(["curl", "-sf", "--cacert", cert, *flags, "-w", "\n%{http_version}", "-d", BODY, url], capture_output=True, text=True)
                self.assertEqual(out.returncode, 0, out)
                self.assertTrue(out.stdout.endswith("\n" + version), out.stdout)
                self.assertIn("[2,4,6,8]", out.stdout)
            self.assertNotEqual(subprocess.run(["curl", "-s", "--tls-max", "1.1", "--cacert", cert, url], capture_output=True).returncode, 0)
            self.assertNotEqual(subprocess.run(["curl", "-s", url], capture_output=True).returncode, 0)
            before = ssl.get_server_certificate(("127.0.0.1", server.port))
            fresh = self.certificate(folder, "two")
            os.rename(fresh[1], key)
            os.rename(fresh[0], cert)
            self.assertTrue(until(lambda: ssl.get_server_certificate(("127.0.0.1", server.port)) != before))
            self.assertEqual(server.stop(), 0)

    def test_mutual_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = self.certificate(folder, "server")
            ca = self.certificate(folder, "authority")
            client = self.certificate(folder, "client", authority=ca)
            server = Server("--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ca[0])
            url = f"https://127.0.0.1:{server.port}/v2/health/live"
            self.assertNotEqual(subprocess.run(["curl", "-sf", "--cacert", cert, url], capture_output=True).returncode, 0)
            out = subprocess.run(["curl", "-sf", "--cacert", cert, "--cert", client[0], "--key", client[1], url], capture_output=True)
            self.assertEqual(out.stdout, b'{"live":true}')
            self.assertEqual(server.stop(), 0)

    def test_tokens_by_group_of_calls(self):
        import hashlib
        server = Server("--model-control", config={"tokens": [{"token": "asker", "calls": ["infer"]},
                                                              {"sha256": hashlib.sha256(b"boss").hexdigest(), "calls": ["infer", "manage", "look"]}]})

        def status(method, path, token=None, body=None):
            return server.call(method, path, body, {"Authorization": "Bearer " + token} if token else {})[0]
        self.assertEqual(status("GET", "/v2/health/live"), 200)
        self.assertEqual(status("POST", "/v2/models/double/infer", None, BODY), 401)
        self.assertEqual(status("POST", "/v2/models/double/infer", "wrong", BODY), 401)
        self.assertEqual(status("POST", "/v2/models/double/infer", "asker", BODY), 200)
        self.assertEqual(status("GET", "/metrics", "asker"), 403)
        self.assertEqual(status("POST", "/v2/repository/models/double/unload", "asker"), 403)
        self.assertEqual(status("GET", "/metrics", "boss"), 200)
        self.assertEqual(status("POST", "/v2/repository/models/double/unload", "boss"), 200)
        self.assertEqual(server.stop(), 0)

    def test_model_control_is_off_unless_asked_for(self):
        server = Server()
        self.assertEqual(server.call("POST", "/v2/repository/models/double/unload")[0], 403)
        self.assertEqual(server.stop(), 0)

    def test_in_the_sandbox_it_answers_and_uses_shared_memory(self):
        key = f"sardonyx-sandbox-{os.getpid()}"
        with open(f"/dev/shm/{key}", "wb") as file:
            file.write(struct.pack("<4f", 1, 2, 3, 4))
        try:
            server = Server("--sandbox", "--shared-memory")
        except AssertionError as error:
            os.unlink(f"/dev/shm/{key}")
            if "landlock" in str(error) or "SDX-C008" in str(error):
                self.skipTest("this system has no sandbox")
            raise
        self.assertEqual(server.json("POST", "/v2/models/double/infer", BODY)[1]["outputs"][0]["data"], [2, 4, 6, 8])
        self.assertEqual(server.json("POST", "/v2/systemsharedmemory/region/r/register", {"key": key, "byte_size": 16})[0], 200)
        place = {"shared_memory_region": "r", "shared_memory_byte_size": 16}
        status, answer = server.json("POST", "/v2/models/double/infer", {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "parameters": place}]})
        self.assertEqual((status, answer["outputs"][0]["data"]), (200, [2, 4, 6, 8]))
        os.unlink(f"/dev/shm/{key}")
        self.assertEqual(server.stop(), 0)

    def test_limits(self):
        server = Server(config={"limits": {"body_bytes": 1000, "head_seconds": 0.3, "connections": 5}})
        self.assertEqual(server.call("POST", "/v2/models/double/infer", b"x" * 2000)[0], 413)
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as s:
            s.sendall(b"GET / HTTP/1.1\r\n")  # and nothing more
            self.assertIn(b"408", s.recv(1000))
        many = [socket.create_connection(("127.0.0.1", server.port), timeout=5) for _ in range(12)]
        time.sleep(0.2)
        refused = 0
        for s in many:
            s.settimeout(0.05)
            try:
                refused += s.recv(10) == b""
            except (socket.timeout, ConnectionResetError):
                pass
            s.close()
        self.assertGreaterEqual(refused, 6)
        self.assertTrue(until(lambda: server.call("GET", "/v2/health/live")[0] == 200))
        self.assertEqual(server.stop(), 0)


class Batching(unittest.TestCase):
    def model(self, folder, size=1536):
        """Two layers whose weights take longer to read than one row takes to compute."""
        import numpy
        import onnx
        from onnx import TensorProto, helper, numpy_helper
        weights = (numpy.arange(size * size, dtype=numpy.int64) * 37 % 101 - 50).reshape(size, size).astype(numpy.float32) / 2048
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Tanh", ["a"], ["b"]),
             helper.make_node("MatMul", ["b", "w"], ["c"]), helper.make_node("Softmax", ["c"], ["y"])],
            "wide", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", size])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", size])], [numpy_helper.from_array(weights, "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), os.path.join(folder, "wide.onnx"))
        return size

    def bodies(self, size):
        """Requests of one to three rows, each another, which ask for their answers' digests."""
        bodies = []
        for i in range(24):
            rows = 1 + i % 3
            head = json.dumps({"parameters": {"digest": True}, "inputs": [{"name": "x", "datatype": "FP32", "shape": [rows, size],
                                                                          "parameters": {"binary_data_size": rows * size * 4}}]}).encode()
            data = struct.pack(f"<{rows * size}f", *(((i * 7 + j * 13) % 29 - 14) / 8 for j in range(rows * size)))
            bodies.append((head + data, {"Inference-Header-Content-Length": str(len(head))}))
        return bodies

    def counts(self, server):
        stats = server.json("GET", "/v2/models/wide/stats")[1]["model_stats"][0]
        return stats["inference_stats"]["success"]["count"], stats["execution_count"]

    def test_quick_requests_that_are_read_together_share_a_run(self):
        """Also those sent ahead on one connection, and beside clients that leave: each gets its own answer, in order, that of a lone run."""
        models = tempfile.mkdtemp()
        size = self.model(models, 384)
        bodies = self.bodies(size)

        def text(which, last):
            body, headers = bodies[which]
            lines = [f"{name}: {value}" for name, value in headers.items()] + ["Connection: close"] * last
            return "\r\n".join(["POST /v2/models/wide/infer HTTP/1.1", "Host: a", f"Content-Length: {len(body)}", *lines, "", ""]).encode() + body

        def digests(client):
            answer = b""
            while part := client.recv(1 << 16):
                answer += part
            client.close()
            return re.findall(rb'"digest":"([^"]+)"', answer)
        alone = None
        for batching in (True, False):
            server = Server("--workers", "1", "--reactors", "1", models=models, config={"defaults": {"batching": batching}})

            def burst(asked):
                """All is sent before the server reads any of it: a client per list of requests, which leaves if the last one is None."""
                clients = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in asked]
                server.process.send_signal(signal.SIGSTOP)
                for client, which in zip(clients, asked):
                    client.sendall(b"".join(text(one, last=one == which[-1]) for one in which if one is not None))
                    if which[-1] is None:
                        client.close()
                server.process.send_signal(signal.SIGCONT)
                return [digests(client) for client, which in zip(clients, asked) if which[-1] is not None]
            for _ in range(2):  # what they take is known then
                lone = [burst([[which]])[0][0] for which in range(len(bodies))]
            self.assertEqual(len(set(lone)), len(bodies))
            self.assertEqual(alone or lone, lone)
            alone = lone
            before = self.counts(server)
            for turn in range(20):
                asked = [[(turn + 5 * k + i) % len(bodies) for i in range(1 + (k == 3) * 4)] + [None] * (k % 5 == 4) for k in range(16)]
                wanted = [[alone[one] for one in which] for which in asked if which[-1] is not None]
                self.assertEqual(burst(asked), wanted)
            inferences, executions = (after - first for after, first in zip(self.counts(server), before))
            self.assertGreaterEqual(inferences, 20 * (13 + 4))
            if batching:
                self.assertLess(executions, inferences / 1.5)
            else:
                self.assertEqual(executions, inferences)
            self.assertEqual(server.stop(), 0)
        shutil.rmtree(models)

    def test_no_answer_depends_on_its_batch(self):
        models = tempfile.mkdtemp()
        size = self.model(models)
        server = Server("--workers", "1", "--reactors", "1", models=models)
        bodies = self.bodies(size)

        def digest(connection, which):
            connection.request("POST", "/v2/models/wide/infer", bodies[which][0], bodies[which][1])
            return json.loads(connection.getresponse().read())["outputs"][0]["parameters"]["digest"]
        first = http.client.HTTPConnection("127.0.0.1", server.port)
        alone = [digest(first, which) for which in range(len(bodies))]
        self.assertEqual(len(set(alone)), len(bodies))
        wrong = []

        def client(k):
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            for i in range(20):
                which = (i * 7 + k * 3) % len(bodies)
                if digest(connection, which) != alone[which]:
                    wrong.append(which)
        threads = [threading.Thread(target=client, args=(k,)) for k in range(12)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(wrong, [])
        inferences, executions = self.counts(server)
        self.assertEqual(inferences, 24 + 240)
        self.assertLess(executions, 200)  # they did share runs
        self.assertEqual(server.stop(), 0)
        shutil.rmtree(models)

    def test_overload_is_answered_with_429_and_nothing_is_lost(self):
        models = tempfile.mkdtemp()
        size = self.model(models)
        server = Server("--workers", "1", "--reactors", "1", models=models, config={"defaults": {"queue": 2, "batching": False}})
        body = struct.pack(f"<{size}f", *([0.5] * size))
        statuses = []

        def client():
            for _ in range(10):
                status, headers, _ = server.call("POST", "/v2/models/wide/infer", body, {"Content-Type": "application/octet-stream"})
                statuses.append(status)
                if status == 429:
                    assert int(headers["retry-after"]) >= 1
        threads = [threading.Thread(target=client) for _ in range(12)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(len(statuses), 120)
        self.assertEqual(set(statuses), {200, 429})
        self.assertEqual(server.stop(), 0)
        shutil.rmtree(models)

    def test_a_request_whose_time_is_over_is_answered_504(self):
        models = tempfile.mkdtemp()
        size = self.model(models)
        server = Server("--workers", "1", "--reactors", "1", models=models, config={"defaults": {"timeout_us": 1}})
        body = struct.pack(f"<{size}f", *([0.5] * size))
        self.assertEqual(server.call("POST", "/v2/models/wide/infer", body, {"Content-Type": "application/octet-stream"})[0], 504)
        self.assertEqual(server.stop(), 0)
        shutil.rmtree(models)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
