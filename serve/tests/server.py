"""A server under test: started on a free port over a copy of the test models, and stopped."""
import atexit
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ.get("SARDONYX", os.path.join(HERE, "../../build/sardonyx"))


class Server:
    def __init__(self, *flags, models=None, config=None, wait=True):
        self.folder = tempfile.mkdtemp(prefix="sardonyx-serve-")
        self.models = os.path.join(self.folder, "models")
        shutil.copytree(models or os.path.join(HERE, "models"), self.models)
        os.makedirs(os.path.join(self.models, "counter"), exist_ok=True)
        if os.path.exists(os.path.join(self.models, "counter.onnxtxt")):
            shutil.move(os.path.join(self.models, "counter.onnxtxt"), os.path.join(self.models, "counter", "model.onnxtxt"))
            with open(os.path.join(self.models, "counter", "config.json"), "w") as file:
                json.dump({"states": {"sum": "state"}}, file)
        flags = list(flags)
        if config is not None:
            path = os.path.join(self.folder, "config.json")
            with open(path, "w") as file:
                json.dump(config, file)
            flags += ["--config", path]
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.process = subprocess.Popen([PROGRAM, "serve", "--models", self.models, "--port", "0", *flags], stderr=self.log)
        atexit.register(self.process.kill)  # a test that fails leaves no server behind
        self.port = int(self.wait_for("listening")["port"])
        if wait:
            self.wait_for("ready", "not ready")

    def lines(self):
        self.log.flush()
        with open(self.log.name) as file:
            return [json.loads(line) for line in file if line.startswith("{")]

    def wait_for(self, *events, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            for line in self.lines():
                if line["event"] in events:
                    return line
            if self.process.poll() is not None:
                break
            time.sleep(0.005)
        with open(self.log.name) as file:
            raise AssertionError(f"the server does not say {events}: {file.read()}")

    def call(self, method, path, body=None, headers=None):
        """Status, headers and body of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body=json.dumps(body) if isinstance(body, dict) else body, headers=headers or {})
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, dict((k.lower(), v) for k, v in response.getheaders()), data

    def json(self, method, path, body=None, headers=None):
        status, _, data = self.call(method, path, body, headers)
        return status, json.loads(data) if data else None

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
        code = self.process.returncode
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return code


def digest_of(model, inputs):
    """NAME -> SHA-256 as `sardonyx run --digest` prints it, for inputs given as NAME -> numpy array."""
    import numpy
    with tempfile.TemporaryDirectory() as folder:
        flags = []
        for name, array in inputs.items():
            path = os.path.join(folder, name + ".npy")
            numpy.save(path, array)
            flags += ["--input", f"{name}={path}"]
        text = subprocess.run([os.environ.get("SARDONYX_RUN", PROGRAM), "run", model, "--digest", *flags], check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: line.split()[-1] for line in text.splitlines()}
