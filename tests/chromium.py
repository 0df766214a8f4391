"""A headless Chromium, driven through its debugging pipe: no driver and no package is needed."""
import json
import os
import shutil
import subprocess
import tempfile
import time


class Browser:
    """One page. `errors` collects what the page's console complains of."""

    def __init__(self, width=1200, height=800, dark=False):
        self.folder = tempfile.mkdtemp()
        self.errors, self.number, self.rest = [], 0, b""
        here_out, there_in = os.pipe()   # they write
        there_out, here_in = os.pipe()   # we write

        def wire():
            os.dup2(there_out, 3)
            os.dup2(there_in, 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"]
            + (["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []),
            preexec_fn=wire, pass_fds=(3, 4, there_out, there_in), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there_in)
        os.close(there_out)
        self.reading, self.writing, self.session = here_out, here_in, None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def call(self, method, **params):
        """One command, and its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def read(self):
        """One message; complaints are kept."""
        while b"\0" not in self.rest:
            piece = os.read(self.reading, 1 << 16)
            if not piece:
                raise RuntimeError("Chromium has ended")
            self.rest += piece
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"].get("exception", {}).get("description", "exception"))
        if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.errors.append(message["params"]["entry"]["text"])
        return message

    def open(self, path, hash=""):
        """Loads a file and waits until it has drawn."""
        self.call("Page.navigate", url=f"file://{path}{hash}")
        for _ in range(600):
            if self.value("typeof modelView === 'object' && modelView.drawing.frames > 0"):
                return
            time.sleep(0.05)
        raise RuntimeError(f"{path} was not drawn: {self.errors}")

    def value(self, expression):
        """What an expression gives in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", str(result)))
        return result["result"].get("value")

    def key(self, key, text=None):
        """Presses a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **({"text": text} if text and kind == "keyDown" else {}))

    def click(self, x, y, count=1):
        """Presses the button at a place."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)

    def picture(self, path):
        """Writes a screenshot."""
        import base64

        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        """Ends it."""
        self.process.terminate()
        self.process.wait()
        os.close(self.reading)
        os.close(self.writing)
        shutil.rmtree(self.folder, ignore_errors=True)
