#!/usr/bin/python3
"""The protocol over REST, call by call, with http.client, raw sockets and curl."""
import gzip
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import Server


def tensor(name, datatype, shape, data, **parameters):
    return {"name": name, "datatype": datatype, "shape": shape, "data": data, **({"parameters": parameters} if parameters else {})}


class Rest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--model-control", "--record", "/tmp/sardonyx-records-%d" % os.getpid())

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def infer(self, model, body, **headers):
        return self.server.json("POST", f"/v2/models/{model}/infer", body, headers)

    def raw(self, data, seconds=10):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=seconds) as s:
            s.sendall(data)
            answer = b""
            try:
                while True:
                    part = s.recv(65536)
                    if not part:
                        break
                    answer += part
            except socket.timeout:
                pass
            return answer

    def test_health(self):
        self.assertEqual(self.server.json("GET", "/v2/health/live"), (200, {"live": True}))
        self.assertEqual(self.server.json("GET", "/v2/health/ready"), (200, {"ready": True}))
        self.assertEqual(self.server.json("GET", "/v2/models/double/ready"), (200, {"name": "double", "ready": True}))
        self.assertEqual(self.server.json("GET", "/v2/models/none/ready")[0], 404)

    def test_server_metadata(self):
        status, body = self.server.json("GET", "/v2")
        self.assertEqual((status, body["name"]), (200, "sardonyx"))
        self.assertIn("binary_tensor_data", body["extensions"])

    def test_model_metadata(self):
        for path in ("/v2/models/double", "/v2/models/double/versions/1"):
            status, body = self.server.json("GET", path)
            self.assertEqual(status, 200)
            self.assertEqual(body["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}])
            self.assertEqual(body["versions"], ["1"])

    def test_unknown_model_and_version(self):
        status, body = self.server.json("GET", "/v2/models/none")
        self.assertEqual(status, 404)
        self.assertIn("SDX-V0430", body["error"])
        self.assertEqual(self.server.json("GET", "/v2/models/double/versions/7")[0], 404)

    def test_infer_json(self):
        status, body = self.infer("double", {"id": "7", "inputs": [tensor("x", "FP32", [2, 4], [1, 2, 3, 4, 5, 6, 7, 8.5])]})
        self.assertEqual(status, 200)
        self.assertEqual(body, {"model_name": "double", "model_version": "1", "id": "7", "outputs": [
            {"name": "y", "datatype": "FP32", "shape": [2, 4], "data": [2, 4, 6, 8, 10, 12, 14, 17]}]})

    def test_infer_nested_rows(self):
        status, body = self.infer("double", {"inputs": [tensor("x", "FP32", [2, 4], [[1, 2, 3, 4], [5, 6, 7, 8]])]})
        self.assertEqual(body["outputs"][0]["data"], [2, 4, 6, 8, 10, 12, 14, 16])
        status, body = self.infer("double", {"inputs": [tensor("x", "FP32", [2, 4], [[1, 2, 3], [4, 5, 6, 7, 8]])]})
        self.assertEqual(status, 400)

    def test_fields_in_any_order(self):
        text = b'{"outputs":[{"name":"y"}],"inputs":[{"data":[1,2,3,4],"shape":[1,4],"datatype":"FP32","name":"x"}],"id":"a"}'
        status, body = self.infer("double", text)
        self.assertEqual((status, body["outputs"][0]["data"]), (200, [2, 4, 6, 8]))

    def test_floats_keep_their_bits(self):
        values = [1e-45, -0.0, 3.4028234663852886e38, 0.1]
        status, _, data = self.server.call("POST", "/v2/models/double/infer", {"inputs": [tensor("x", "FP32", [1, 4], values)]})
        self.assertIn(b'"data":[3e-45,-0.0,"Infinity",0.2]', data)
        status, body = self.infer("double", {"inputs": [tensor("x", "FP32", [1, 4], ["NaN", "Infinity", "-Infinity", 1])]})
        self.assertEqual(body["outputs"][0]["data"], ["NaN", "Infinity", "-Infinity", 2])

    def test_all_types_in_json(self):
        inputs = [tensor("i", "INT64", [2], [9007199254740993, -1]), tensor("s", "BYTES", [2], ["a\"b", "ü\n"]),
                  tensor("b", "BOOL", [2], [True, False]), tensor("d", "FP64", [2], [0.1, 1e300]),
                  tensor("h", "FP16", [2], [0.5, 65504]), tensor("u", "UINT8", [2], [0, 255])]
        status, body = self.infer("types", {"inputs": inputs})
        self.assertEqual(status, 200, body)
        got = {o["name"]: o["data"] for o in body["outputs"]}
        self.assertEqual(got, {"i2": [9007199254740993, -1], "s2": ["a\"b", "ü\n"], "b2": [False, True], "d2": [0.1, 1e300],
                               "h2": [0.5, 65504], "u2": [0, 255]})

    def test_element_out_of_range(self):
        inputs = [tensor("i", "INT64", [1], [1]), tensor("s", "BYTES", [1], ["a"]), tensor("b", "BOOL", [1], [True]),
                  tensor("d", "FP64", [1], [1]), tensor("h", "FP16", [1], [1]), tensor("u", "UINT8", [1], [256])]
        status, body = self.infer("types", {"inputs": inputs})
        self.assertEqual(status, 400)
        self.assertIn("SDX-V0310", body["error"])

    def binary(self, head, *parts, path="/v2/models/double/infer"):
        text = json.dumps(head).encode()
        return self.server.call("POST", path, text + b"".join(parts), {"Inference-Header-Content-Length": str(len(text))})

    def test_infer_binary(self):
        head = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "parameters": {"binary_data_size": 16}}],
                "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}
        status, headers, data = self.binary(head, struct.pack("<4f", 1, 2, 3, 4))
        self.assertEqual(status, 200, data)
        size = int(headers["inference-header-content-length"])
        self.assertEqual(json.loads(data[:size])["outputs"][0]["parameters"], {"binary_data_size": 16})
        self.assertEqual(struct.unpack("<4f", data[size:]), (2, 4, 6, 8))

    def test_binary_strings(self):
        strings = b"".join(struct.pack("<I", len(s)) + s for s in (b"", b"\x00\xff"))
        head = {"parameters": {"binary_data_output": True}, "outputs": [{"name": "s2"}], "inputs": [
            tensor("i", "INT64", [2], [1, 2]), {"name": "s", "datatype": "BYTES", "shape": [2], "parameters": {"binary_data_size": len(strings)}},
            tensor("b", "BOOL", [2], [True, False]), tensor("d", "FP64", [2], [1, 2]), tensor("h", "FP16", [2], [1, 2]), tensor("u", "UINT8", [2], [1, 2])]}
        status, headers, data = self.binary(head, strings, path="/v2/models/types/infer")
        self.assertEqual(status, 200, data)
        self.assertEqual(data[int(headers["inference-header-content-length"]):], strings)

    def test_binary_of_wrong_size(self):
        head = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "parameters": {"binary_data_size": 12}}]}
        self.assertEqual(self.binary(head, bytes(12))[0], 400)
        self.assertEqual(self.binary(head, bytes(8))[0], 400)
        head["inputs"][0]["parameters"]["binary_data_size"] = 16
        self.assertEqual(self.binary(head, bytes(20))[0], 400)

    def test_raw_body(self):
        status, headers, data = self.server.call("POST", "/v2/models/double/infer", struct.pack("<8f", *range(8)), {"Content-Type": "application/octet-stream"})
        self.assertEqual(status, 200, data)
        size = int(headers["inference-header-content-length"])
        self.assertEqual(struct.unpack("<8f", data[size:]), tuple(2.0 * i for i in range(8)))

    def test_gzip(self):
        body = gzip.compress(json.dumps({"inputs": [tensor("x", "FP32", [100, 4], list(range(400)))]}).encode())
        status, headers, data = self.server.call("POST", "/v2/models/double/infer", body, {"Content-Encoding": "gzip", "Accept-Encoding": "gzip"})
        self.assertEqual((status, headers.get("content-encoding")), (200, "gzip"))
        self.assertEqual(json.loads(gzip.decompress(data))["outputs"][0]["data"][399], 798)
        self.assertEqual(self.server.call("POST", "/v2/models/double/infer", body[:30], {"Content-Encoding": "gzip"})[0], 400)

    def test_digest_is_that_of_the_command_line(self):
        import numpy
        from server import digest_of
        array = numpy.arange(8, dtype=numpy.float32).reshape(2, 4) / 3
        status, body = self.infer("double", {"parameters": {"digest": True}, "inputs": [tensor("x", "FP32", [2, 4], [float(v) for v in array.ravel()])]})
        self.assertEqual(body["outputs"][0]["parameters"]["digest"], digest_of(os.path.join(self.server.models, "double.onnxtxt"), {"x": array})["y"])

    def test_errors_of_requests(self):
        good = tensor("x", "FP32", [1, 4], [1, 2, 3, 4])
        for body, code in (
                (b"{", "SDX-V0320"), (b"[]", "SDX-V0320"), ({}, "SDX-V0320"), ({"inputs": [{}]}, "SDX-V0320"),
                ({"inputs": [dict(good, datatype="FP33")]}, "SDX-V0320"), ({"inputs": [dict(good, shape=[1, 5])]}, "SDX-V0310"),
                ({"inputs": [dict(good, shape=[-1, 4])]}, "SDX-V0310"), ({"inputs": [dict(good, shape=[1 << 40, 1 << 40])]}, "SDX-V0310"),
                ({"inputs": [dict(good, shape=[1 << 30, 4])]}, "SDX-V0310"),
                ({"inputs": [dict(good, data=[1, 2, 3, "x"])]}, "SDX-V0310"), ({"inputs": [dict(good, name="z")]}, "SDX-V0410"),
                ({"inputs": [tensor("x", "INT32", [1, 4], [1, 2, 3, 4])]}, "SDX-V0411"),
                ({"inputs": [tensor("x", "FP32", [1, 3], [1, 2, 3])]}, "SDX-"), ({"inputs": []}, "SDX-"),
                ({"inputs": [good], "outputs": [{"name": "q"}]}, "SDX-"), ({"inputs": [good], "parameters": {"timeout": "x"}}, "SDX-V0306")):
            status, answer = self.infer("double", body)
            self.assertEqual(status, 400, (body, answer))
            self.assertIn(code, answer["error"])

    def test_deep_nesting_is_refused(self):
        body = b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":' + b"[" * 100000 + b"]" * 100000 + b"}]}"
        self.assertEqual(self.infer("double", body)[0], 400)

    def test_wrong_method_and_path(self):
        status, headers, _ = self.server.call("GET", "/v2/models/double/infer")
        self.assertEqual((status, headers["allow"]), (405, "POST"))
        self.assertEqual(self.server.call("GET", "/nothing")[0], 404)
        self.assertEqual(self.server.call("HEAD", "/v2/health/live")[0], 200)

    def test_malformed_http(self):
        for request, status in (
                (b"GET / HTTP/1.1\r\n\r\n", b"400"), (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", b"505"), (b"G@T / HTTP/1.1\r\nHost: a\r\n\r\n", b"400"),
                (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", b"400"), (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"400"),
                (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400"),
                (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", b"400"), (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n", b"400"),
                (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
                (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", b"501"),
                (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
                (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
                (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(b"x%d: y\r\n" % i for i in range(200)) + b"\r\n", b"431"),
                (b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b"431"), (b"GET / HTTP/1.1\r\nHost: a\r\nx: a\x00b\r\n\r\n", b"400")):
            answer = self.raw(request)
            self.assertTrue(answer.startswith(b"HTTP/1.1 " + status), (request[:80], answer[:80]))
        self.assertEqual(self.server.json("GET", "/v2/health/live")[0], 200)

    def test_pipelined_chunked_and_cut_anywhere(self):
        body = json.dumps({"inputs": [tensor("x", "FP32", [1, 4], [1, 2, 3, 4])]}).encode()
        chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:50], body[50:])) + b"0\r\nTrailer: x\r\n\r\n"
        request = b"POST /v2/models/double/infer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
        last = b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        answer = self.raw(request + request + last)
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK"), 3, answer)
        self.assertEqual(answer.count(b"[2,4,6,8]"), 2)
        with socket.create_connection(("127.0.0.1", self.server.port)) as s:
            for byte in request + last:
                s.sendall(bytes([byte]))
            got = b""
            while part := s.recv(65536):
                got += part
        self.assertEqual(got.count(b"HTTP/1.1 200 OK"), 2)

    def test_expect_continue(self):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=10) as s:
            s.sendall(b"POST /v2/models/double/infer HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 100 Continue"))
            s.sendall(b"{}")
            self.assertIn(b"400 Bad Request", s.recv(1000))

    def test_curl(self):
        url = f"http://127.0.0.1:{self.server.port}"
        body = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}'
        for flags in ([], ["--http2-prior-knowledge"], ["--compressed"]):
            out = subprocess.run(["curl", "-sf", *flags, "-d", body, url + "/v2/models/double/infer"], capture_output=True, check=True).stdout
            self.assertEqual(json.loads(out)["outputs"][0]["data"], [2, 4, 6, 8])

    def test_large_tensor(self):
        rows = 50000
        data = struct.pack("<4f", 1, 2, 3, 4) * rows
        for path in ("/v2/models/double/infer", "/v2/models/double/versions/1/infer"):
            status, headers, answer = self.server.call("POST", path, data, {"Content-Type": "application/octet-stream"})
            self.assertEqual(status, 200)
            self.assertEqual(answer[int(headers["inference-header-content-length"]):], struct.pack("<4f", 2, 4, 6, 8) * rows)

    def test_sequences_keep_state(self):
        for name, start in (("a", 0), ("b", 100)):
            for i in range(3):
                inputs = [tensor("x", "FP32", [1], [1])] + ([tensor("state", "FP32", [1], [start])] if i == 0 else [])
                status, body = self.infer("counter", {"inputs": inputs, "parameters": {"sequence_id": name, "sequence_start": i == 0, "sequence_end": i == 2}})
                self.assertEqual(status, 200, body)
                self.assertEqual(body["outputs"][0]["data"], [start + i + 1])
        self.assertEqual(self.infer("counter", {"inputs": [tensor("x", "FP32", [1], [1])], "parameters": {"sequence_id": "a"}})[0], 400)

    def test_config_statistics_and_index(self):
        self.infer("double", {"inputs": [tensor("x", "FP32", [1, 4], [1, 2, 3, 4])]})
        status, body = self.server.json("GET", "/v2/models/double/stats")
        self.assertEqual(status, 200)
        self.assertGreaterEqual(body["model_stats"][0]["inference_stats"]["success"]["count"], 1)
        self.assertEqual(len(self.server.json("GET", "/v2/models/stats")[1]["model_stats"]), 4)
        status, body = self.server.json("GET", "/v2/models/double/config")
        self.assertEqual((status, body["batched"]), (200, True))
        status, body = self.server.json("GET", "/v2/models/center/config")
        self.assertFalse(body["batched"])
        self.assertIn("mean_of_rows", body["not_batched_because"])
        status, body = self.server.json("POST", "/v2/repository/index", {})
        self.assertEqual({m["name"] for m in body}, {"double", "center", "types", "counter"})
        self.assertTrue(all(m["state"] == "READY" for m in body))

    def test_metrics(self):
        self.infer("double", {"inputs": [tensor("x", "FP32", [1, 4], [1, 2, 3, 4])]})
        text = self.server.call("GET", "/metrics")[2].decode()
        self.assertIn('sardonyx_inference_requests_total{model="double",version="1",result="success"}', text)
        self.assertIn('sardonyx_inference_request_seconds_bucket{model="double",version="1",le="+Inf"}', text)

    def test_logging_and_trace_settings(self):
        self.assertEqual(self.server.json("POST", "/v2/logging", {"level": "warning"})[1]["level"], "warning")
        self.assertEqual(self.server.json("POST", "/v2/logging", {"level": "loud"})[0], 400)
        self.assertEqual(self.server.json("POST", "/v2/logging", {"level": "info"})[1]["level"], "info")
        self.assertEqual(self.server.json("GET", "/v2/trace/setting")[1]["trace_level"], "OFF")
        for body, level in (({"log_info": False}, "warning"), ({"log_warning": False}, "error"), ({"log_error": False}, "off"),
                            ({"log_verbose_level": 1}, "debug"), ({"log_verbose_level": 0}, "info")):
            status, answer = self.server.json("POST", "/v2/logging", body)
            self.assertEqual((status, answer["level"]), (200, level), body)
        self.assertEqual(answer["log_info"], True)
        for body in ({"log_info": 1}, {"log_file": "/etc/passwd"}, {"log_verbose_level": -1}):
            self.assertEqual(self.server.json("POST", "/v2/logging", body)[0], 400, body)
        self.assertEqual(self.server.json("POST", "/v2/logging", "[]")[0], 400)

    def test_load_and_unload(self):
        self.assertEqual(self.server.json("POST", "/v2/repository/models/center/unload")[0], 200)
        self.assertEqual(self.server.json("GET", "/v2/models/center")[0], 404)
        self.assertEqual(self.server.json("POST", "/v2/repository/models/center/load")[0], 200)
        self.assertEqual(self.server.json("GET", "/v2/models/center")[0], 200)
        self.assertEqual(self.server.json("POST", "/v2/repository/models/none/load")[0], 404)

    def test_timeout_of_a_request(self):
        status, body = self.infer("double", {"inputs": [tensor("x", "FP32", [1, 4], [1, 2, 3, 4])], "parameters": {"timeout": 60000000}})
        self.assertEqual(status, 200)

    def test_record_and_verify(self):
        folder = "/tmp/sardonyx-records-%d" % os.getpid()
        self.infer("double", {"inputs": [tensor("x", "FP32", [1, 4], [1, 2, 3, 4])], "parameters": {"record": True}})
        files = [os.path.join(folder, f) for f in os.listdir(folder)]
        self.assertEqual(len(files), 1)
        from server import PROGRAM
        run = subprocess.run([PROGRAM, "verify", files[0]], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        text = open(files[0]).read()
        digest = json.loads(text)["outputs"][0]["digest"]
        open(files[0], "w").write(text.replace(digest, "0" * 64))
        self.assertEqual(subprocess.run([PROGRAM, "verify", files[0]], capture_output=True).returncode, 1)
        open(files[0], "w").write(text[:100])
        self.assertEqual(subprocess.run([PROGRAM, "verify", files[0]], capture_output=True).returncode, 2)
        os.remove(files[0])

    def test_page(self):
        status, headers, data = self.server.call("GET", "/")
        self.assertEqual((status, headers["content-type"]), (200, "text/html; charset=utf-8"))
        self.assertIn(b"Sardonyx", data)
        self.assertEqual(len(self.server.json("GET", "/status")[1]["models"]), 4)

    def test_shared_memory_is_off_unless_asked_for(self):
        for path in ("status", "region/r/register", "unregister"):
            method = "GET" if path == "status" else "POST"
            body = json.dumps({"key": "/k", "byte_size": 1}) if method == "POST" else None
            self.assertEqual(self.server.json(method, f"/v2/systemsharedmemory/{path}", body)[0], 501, path)
        place = {"shared_memory_region": "r", "shared_memory_byte_size": 16}
        self.assertEqual(self.infer("double", {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "parameters": place}]})[0], 501)

    def test_many_clients_at_once(self):
        wrong = []

        def client(k):
            import http.client
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
            for i in range(50):
                connection.request("POST", "/v2/models/double/infer", json.dumps({"inputs": [tensor("x", "FP32", [1, 4], [k, i, 0, 1])]}))
                data = json.loads(connection.getresponse().read())["outputs"][0]["data"]
                if data != [2 * k, 2 * i, 0, 2]:
                    wrong.append((k, i, data))
        threads = [threading.Thread(target=client, args=(k,)) for k in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(wrong, [])


class SharedMemory(unittest.TestCase):
    KEY = f"sardonyx-test-{os.getpid()}"

    def setUp(self):
        self.server = Server("--shared-memory")
        self.memory = open(f"/dev/shm/{self.KEY}", "w+b")
        self.memory.write(struct.pack("<4f", 1, 2, 3, 4) + bytes(112))
        self.memory.flush()

    def tearDown(self):
        os.unlink(f"/dev/shm/{self.KEY}")
        self.memory.close()
        self.assertEqual(self.server.stop(), 0)

    def register(self, name="r", **more):
        return self.server.json("POST", f"/v2/systemsharedmemory/region/{name}/register", {"key": "/" + self.KEY, "offset": 0, "byte_size": 128, **more})

    def infer(self, source=None, target=None, datatype="FP32"):
        source = source or {"shared_memory_region": "r", "shared_memory_byte_size": 16}
        body = {"inputs": [{"name": "x", "datatype": datatype, "shape": [1, 4], "parameters": source}], "parameters": {"digest": True}}
        if target:
            body["outputs"] = [{"name": "y", "parameters": target}]
        return self.server.json("POST", "/v2/models/double/infer", body)

    def test_tensors_come_from_it_and_go_to_it(self):
        self.assertEqual(self.register()[0], 200)
        self.assertEqual(self.server.json("GET", "/v2/systemsharedmemory/region/r/status"),
                         (200, [{"name": "r", "key": "/" + self.KEY, "offset": 0, "byte_size": 128}]))
        status, plain = self.infer()
        self.assertEqual((status, plain["outputs"][0]["data"]), (200, [2, 4, 6, 8]))
        status, answer = self.infer(target={"shared_memory_region": "r", "shared_memory_offset": 64, "shared_memory_byte_size": 64})
        output = answer["outputs"][0]
        self.assertEqual(status, 200)
        self.assertNotIn("data", output)
        self.assertEqual(output["parameters"], {"shared_memory_region": "r", "shared_memory_offset": 64, "shared_memory_byte_size": 16,
                                                "digest": plain["outputs"][0]["parameters"]["digest"]})
        self.memory.seek(64)
        self.assertEqual(struct.unpack("<4f", self.memory.read(16)), (2, 4, 6, 8))

    def test_a_region_within_the_memory(self):
        self.assertEqual(self.register("part", offset=4, byte_size=32)[0], 200)
        status, answer = self.infer({"shared_memory_region": "part", "shared_memory_offset": 4, "shared_memory_byte_size": 16})
        self.assertEqual((status, answer["outputs"][0]["data"]), (200, [6, 8, 0, 0]))
        self.assertEqual(self.infer({"shared_memory_region": "part", "shared_memory_offset": 20, "shared_memory_byte_size": 16})[0], 400)

    def test_what_is_not_there_is_refused(self):
        for more in ({"key": "/none-such"}, {"key": "../etc/passwd"}, {"key": "/a/b"}, {"key": ""}, {"byte_size": 129}, {"byte_size": 0},
                     {"offset": 2**63}, {"byte_size": 2**64 - 1, "offset": 64}, {"key": 1}, {"byte_size": -1}):
            self.assertEqual(self.register(**more)[0], 400, more)
        self.assertEqual(self.infer()[0], 400)
        self.assertEqual(self.register()[0], 200)
        self.assertEqual(self.register()[0], 400)  # the name is taken
        self.assertEqual(self.infer({"shared_memory_region": "r", "shared_memory_byte_size": 15})[0], 400)
        self.assertEqual(self.infer(datatype="FP64")[0], 400)
        self.assertEqual(self.infer(target={"shared_memory_region": "r", "shared_memory_byte_size": 15})[0], 400)
        self.assertEqual(self.infer({"shared_memory_region": "r", "shared_memory_byte_size": 2**62, "shared_memory_offset": 2**62})[0], 400)
        self.assertEqual(self.server.json("GET", "/v2/systemsharedmemory/region/none/status")[0], 404)
        self.assertEqual(self.server.json("POST", "/v2/systemsharedmemory/region/r/unregister")[0], 200)
        self.assertEqual(self.infer()[0], 400)
        self.assertEqual(self.server.json("GET", "/v2/systemsharedmemory/status"), (200, []))

    def test_memory_that_is_cut_short_ends_a_request_and_not_the_server(self):
        self.assertEqual(self.register()[0], 200)
        self.memory.truncate(8)
        self.assertEqual(self.infer()[0], 400)
        target = {"shared_memory_region": "r", "shared_memory_offset": 64, "shared_memory_byte_size": 64}
        body = {"inputs": [tensor("x", "FP32", [1, 4], [1, 2, 3, 4])], "outputs": [{"name": "y", "parameters": target}]}
        self.assertEqual(self.server.json("POST", "/v2/models/double/infer", body)[0], 400)
        self.assertEqual(os.path.getsize(f"/dev/shm/{self.KEY}"), 8)  # and nothing has grown
        self.assertEqual(self.server.json("GET", "/v2/health/live")[0], 200)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
