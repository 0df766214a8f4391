#!/usr/bin/python3
"""`sardonyx worker` on a real nats-server; workers and the server are killed in turn.

SARDONYX names the program.
"""

import hashlib
import json
import os
import pathlib
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

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from nats_client import Nats  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("SARDONYX", str(ROOT / "build/sardonyx"))
SERVER = shutil.which("nats-server", path=os.environ["PATH"] + ":/usr/sbin")
if SERVER is None:
    print("skipped: nats-server is not installed (scripts/install_deps.sh scale)")
    sys.exit(77)
if subprocess.run([PROGRAM, "worker", "-h"], capture_output=True).returncode != 0:
    print("skipped: the program was built without its server (make serve)")
    sys.exit(77)
COUNT = int(os.environ.get("SARDONYX_MESSAGES", "10000"))
BIG = """<ir_version: 8, opset_import: ["" : 17]>
big (float[N] x) => (float[N,65536] y) <int64[2] shape = {1, 65536}>
{
  c = Unsqueeze<axes = [1]>(x)
  y = Expand(c, shape)
}
""".replace('"" : 17', '"" : 12')


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Queue(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder, self.port, self.workers = pathlib.Path(folder.name), free_port(), []
        self.log = open(self.folder / "log", "a+")
        self.addCleanup(self.log.close)
        self.models = self.folder / "models"
        self.models.mkdir()
        shutil.copy(ROOT / "examples/digits/digits.onnx", self.models)
        self.server = None
        self.addCleanup(self.end_all)
        self.start_server()

    def end_all(self):
        for process in [*self.workers, self.server]:
            process.kill()
            process.wait(30)

    def start_server(self):
        self.server = subprocess.Popen([SERVER, "-js", "-sd", str(self.folder / "store"), "-a", "127.0.0.1", "-p", str(self.port)],
                                       stdout=self.log, stderr=self.log)
        nats = Nats(self.port)
        self.addCleanup(nats.close)
        end = time.time() + 30
        while "streams" not in nats.call("$JS.API.INFO") and time.time() < end:
            time.sleep(0.05)
        return nats

    def start_worker(self, *flags):
        if "--ack-wait" not in flags:
            flags = ("--ack-wait", "2", *flags)
        process = subprocess.Popen([PROGRAM, "worker", "--nats", f"nats://127.0.0.1:{self.port}", "--stream", "jobs", "--models",
                                    str(self.models), "--workers", "1", *flags], stdout=self.log, stderr=self.log)
        self.workers.append(process)
        return process

    def until_empty(self, *flags):
        process = self.start_worker("--until-empty", *flags)
        self.assertEqual(process.wait(60), 0, (self.folder / "log").read_text()[-2000:])

    def make_stream(self, nats):
        answer = nats.call("$JS.API.STREAM.CREATE.jobs", {"name": "jobs", "subjects": ["jobs"], "storage": "file"})
        self.assertNotIn("error", answer)

    def send(self, nats, name, data, **headers):
        self.assertIn("seq", nats.call("jobs", data, {"Nats-Msg-Id": name, **headers}))

    @staticmethod
    def binary(x, name="picture"):
        head = json.dumps({"inputs": [{"name": name, "datatype": "FP32", "shape": list(x.shape),
                                       "parameters": {"binary_data_size": x.nbytes}}],
                           "parameters": {"binary_data_output": True}}).encode()
        return head + x.tobytes(), {"Inference-Header-Content-Length": len(head)}

    def test_killed_workers_and_servers_leave_one_answer_for_each_id(self):
        x = np.random.default_rng(4).random((COUNT, 1, 8, 8), dtype=np.float32)
        np.save(self.folder / "x.npy", x)
        whole = subprocess.run([PROGRAM, "run", ROOT / "examples/digits/digits.onnx", "--input", f"picture={self.folder}/x.npy",
                                "--digest"], check=True, capture_output=True, text=True).stdout.split()[-1]
        nats = Nats(self.port)
        self.make_stream(nats)
        self.start_worker()
        self.start_worker("--pending", "40")

        def publish():
            """Each message until it is acknowledged, again if the server died meanwhile."""
            sender, window = Nats(self.port), {}
            next_row = 0
            while next_row < COUNT or window:
                try:
                    while next_row < COUNT and len(window) < 200:
                        data, headers = self.binary(x[next_row:next_row + 1])
                        window[sender.send("jobs", data, {"Nats-Msg-Id": f"row-{next_row}", **headers})] = next_row
                        next_row += 1
                    message = sender.next()
                    if message and b'"seq"' in message[2]:
                        window.pop(message[0], None)
                except OSError:
                    sender = Nats(self.port)
                    again, window = sorted(window.values()), {}
                    for row in again:
                        data, headers = self.binary(x[row:row + 1])
                        window[sender.send("jobs", data, {"Nats-Msg-Id": f"row-{row}", **headers})] = row

        publisher = threading.Thread(target=publish)
        publisher.start()
        disturbances = 0

        def answered(nats, count, seconds=60):
            end = time.time() + seconds
            while nats.messages("jobs_results") < count and time.time() < end:
                time.sleep(0.01)
            self.assertGreaterEqual(nats.messages("jobs_results"), count, (self.folder / "log").read_text()[-2000:])

        for share in (0.1, 0.3, 0.5, 0.7):
            answered(nats, int(COUNT * share))
            if disturbances % 2 == 0:
                self.workers[disturbances // 2].send_signal(signal.SIGKILL)
                self.start_worker()
            else:
                self.server.send_signal(signal.SIGKILL)
                self.server.wait(30)
                nats = self.start_server()
            disturbances += 1
        publisher.join(60)
        self.assertFalse(publisher.is_alive())
        answered(nats, COUNT)
        time.sleep(2.5)  # what is delivered again after its time, too
        self.assertEqual(nats.messages("jobs_results"), COUNT)
        self.assertEqual(nats.messages("jobs_dead"), 0)
        results = nats.read("jobs_results")
        rows = {}
        for subject, headers, data in results:
            self.assertNotIn(subject, rows)
            rows[subject] = data[int(headers["Inference-Header-Content-Length"]):]
        self.assertEqual(set(rows), {f"results.jobs.row-{i}" for i in range(COUNT)})
        digest = hashlib.sha256(b"".join(rows[f"results.jobs.row-{i}"] for i in range(COUNT))).hexdigest()
        self.assertEqual(digest, whole)
        for worker in self.workers[2:]:
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(worker.wait(30), 0)

    def test_what_cannot_be_answered_is_a_dead_letter_with_its_reason(self):
        nats = Nats(self.port)
        self.make_stream(nats)
        good, headers = self.binary(np.zeros((1, 1, 8, 8), np.float32))
        wide, wide_headers = self.binary(np.zeros((1, 1, 9, 8), np.float32))
        self.send(nats, "good", good, **headers)
        self.send(nats, "no json", b"{")
        self.send(nats, "wide", wide, **wide_headers)
        self.send(nats, "stranger", good, **headers, **{"Sardonyx-Model": "nobody"})
        self.send(nats, "long", good, **{"Inference-Header-Content-Length": 99999})
        self.send(nats, "last", good, **headers)
        self.until_empty()
        self.assertEqual({headers["Sardonyx-Id"] for _, headers, _ in nats.read("jobs_results")}, {"good", "last"})
        dead = {headers["Sardonyx-Id"]: (subject, headers["Sardonyx-Reason"], data) for subject, headers, data in nats.read("jobs_dead")}
        self.assertEqual(set(dead), {"no json", "wide", "stranger", "long"})
        self.assertEqual(dead["wide"][2], wide)
        self.assertIn("nobody", dead["stranger"][1])
        self.assertIn("SDX-V0630", dead["long"][1])
        self.assertEqual(dead["no json"][0], "dead.jobs.sha256-" + hashlib.sha256(b"no json").hexdigest())

    def test_a_message_that_nobody_survives_is_buried_after_its_tries(self):
        nats = Nats(self.port)
        self.make_stream(nats)
        data, headers = self.binary(np.zeros((1, 1, 8, 8), np.float32))
        self.send(nats, "poison", data, **headers)
        # Two consumers of the same name take it and never answer, as workers do that it kills.
        nats.call("$JS.API.CONSUMER.DURABLE.CREATE.jobs.sardonyx", {"stream_name": "jobs", "config": {
            "durable_name": "sardonyx", "ack_policy": "explicit", "deliver_policy": "all", "replay_policy": "instant",
            "max_ack_pending": 65536, "max_deliver": -1, "ack_wait": 2 * 10**9}})
        for _ in range(2):
            nats.send("$JS.API.CONSUMER.MSG.NEXT.jobs.sardonyx", b'{"batch":1,"expires":4000000000}')
            while not nats.next()[3].startswith("$JS.ACK"):
                pass
        self.until_empty("--tries", "2")
        self.assertEqual(nats.messages("jobs_results"), 0)
        (_, headers, _), = nats.read("jobs_dead")
        self.assertIn("delivered 2 times", headers["Sardonyx-Reason"])

    def test_large_results_go_by_reference(self):
        (self.models / "big.onnxtxt").write_text(BIG)
        objects = self.folder / "objects"
        objects.mkdir()
        nats = Nats(self.port)
        self.make_stream(nats)
        data, headers = self.binary(np.arange(20, dtype=np.float32), "x")
        self.send(nats, "big", data, **headers, **{"Sardonyx-Model": "big"})
        self.until_empty("--objects", str(objects))
        (_, headers, note), = nats.read("jobs_results")
        reference = json.loads(note)["reference"]
        stored = (objects / reference["file"]).read_bytes()
        self.assertEqual((len(stored), hashlib.sha256(stored).hexdigest()), (reference["bytes"], reference["sha256"]))
        y = np.frombuffer(stored[int(headers["Inference-Header-Content-Length"]):], "f4").reshape(20, 65536)
        self.assertTrue((y == np.arange(20, dtype=np.float32)[:, None]).all())
        self.send(nats, "nowhere", data, **{"Inference-Header-Content-Length": headers["Inference-Header-Content-Length"]})
        self.send(nats, "no folder", *self.binary(np.arange(20, dtype=np.float32), "x")[:1],
                  **self.binary(np.arange(20, dtype=np.float32), "x")[1], **{"Sardonyx-Model": "big"})
        self.until_empty()
        dead = {headers["Sardonyx-Id"]: headers["Sardonyx-Reason"] for _, headers, _ in nats.read("jobs_dead")}
        self.assertIn("--objects DIR", dead["no folder"])

    def test_a_message_takes_as_long_as_it_takes(self):
        # Longer than --ack-wait: signs of life keep it from being delivered again.
        shape = ", ".join(["0.01"] * 64)
        (self.models / "slow.onnxtxt").write_text(
            '<ir_version: 8, opset_import: ["" : 17]> slow (float[N,8,8] x) => (float[N,8,8] y) <float[8,8] w = {%s}, int64 n = {400000}> {\n'
            '  y = Loop (n, , x) <body = step (int64 i, bool c, float[N,8,8] s) => (bool d, float[N,8,8] t) {\n'
            '    d = Identity (c)\n    t = MatMul (s, w)\n  }>\n}\n' % shape)
        nats = Nats(self.port)
        self.make_stream(nats)
        data, headers = self.binary(np.ones((64, 8, 8), np.float32), "x")
        self.send(nats, "slow", data, **headers, **{"Sardonyx-Model": "slow"})
        start = time.time()
        self.until_empty("--ack-wait", "0.5")
        self.assertGreater(time.time() - start, 0.5)
        self.assertEqual(nats.messages("jobs_results"), 1)
        info = nats.call("$JS.API.CONSUMER.INFO.jobs.sardonyx")
        self.assertEqual((info["num_redelivered"], info["delivered"]["consumer_seq"]), (0, 1))

    def test_words_that_make_no_sense_are_refused(self):
        def worker(*words):
            result = subprocess.run([PROGRAM, "worker", *words], capture_output=True, text=True, timeout=30)
            return result.returncode, result.stderr

        here = ["--models", str(self.models)]
        for words, text in ((["--nats", "http://x", "--stream", "s", *here], "SDX-V0602"),
                            (["--nats", "nats://:1", "--stream", "s", *here], "SDX-V0602"),
                            (["--nats", f"127.0.0.1:{self.port}", "--stream", "a.b", *here], "SDX-V0603"),
                            (["--nats", f"127.0.0.1:{self.port}", "--stream", "s", "--objects", "/nowhere", *here], "SDX-V0604"),
                            (["--nats", f"127.0.0.1:{self.port}", "--stream", "nothing", *here], "there is no stream"),
                            (["--nats", f"127.0.0.1:{self.port}", "--stream", "s", "--sandbox", *here], "SDX-C0170")):
            code, said = worker(*words)
            self.assertEqual(code, 2, said)
            self.assertIn(text, said)
        self.assertEqual(worker("--nats", f"127.0.0.1:{self.port}", "--stream", "new", "--create", "--until-empty", *here)[0], 0)

    def test_a_server_that_speaks_otherwise_ends_no_worker(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            process = subprocess.Popen([PROGRAM, "worker", "--nats", f"127.0.0.1:{listener.getsockname()[1]}", "--stream", "s", "--models",
                                        str(self.models)], stderr=self.log)
            self.workers.append(process)
            for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"INFO {\r\n", b'INFO {"headers":true}\r\nPONG\r\nMSG a 1 99999999999\r\n',
                           b'INFO {"headers":true}\r\nPONG\r\nHMSG a 1 9 3\r\n', b"x" * 100000, struct.pack("200s", b"INFO")):
                connection, _ = listener.accept()
                connection.sendall(answer)
                time.sleep(0.05)
                connection.close()
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(30), 0)


if __name__ == "__main__":
    unittest.main()
