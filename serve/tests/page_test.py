#!/usr/bin/python3
"""The page at /, in headless Chromium: it shows the models, a click chooses one, and a button infers.

Chromium is driven by its own protocol over a pipe. page_test.py [PICTURE.png] also keeps a picture of the page."""
import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import Server


class Browser:
    def __init__(self, url):
        to_read, to_write = os.pipe(), os.pipe()

        def descriptors():  # Chromium reads commands from 3 and writes answers to 4
            a, b = os.dup(to_read[0]), os.dup(to_write[1])
            os.dup2(a, 3)
            os.dup2(b, 4)
        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--window-size=1200,900",
             "--remote-debugging-pipe", "about:blank"], preexec_fn=descriptors, close_fds=False, stderr=subprocess.DEVNULL)
        self.out, self.input = os.fdopen(to_read[1], "wb", 0), os.fdopen(to_write[0], "rb", 0)
        self.numbers, self.rest, self.session = itertools.count(1), b"", None
        target = self.call("Target.createTarget", url=url)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.out.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = self.input.read(65536)
                assert part, "Chromium has gone"
                self.rest += part
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def value(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, script, seconds=30):
        end = time.time() + seconds
        while time.time() < end:
            if self.value(script):
                return
            time.sleep(0.1)
        raise AssertionError(f"never true: {script}; the page says {self.value('document.body.innerText')}")


def main():
    if shutil.which("chromium") is None:
        print("no chromium: the page is not tested in a browser")
        return 77
    server = Server()
    browser = Browser(f"http://127.0.0.1:{server.port}/")
    try:
        browser.until("document.querySelectorAll('tr.model').length == 4")
        browser.until("document.getElementById('state').textContent == 'ready'")
        text = browser.value("document.getElementById('models').innerText")
        assert "row by row" in text and "mean_of_rows" in text, text
        browser.value("[...document.querySelectorAll('tr.model')].find(row => row.innerText.startsWith('double')).click()")
        browser.value("document.getElementById('request').value = JSON.stringify({inputs: [{name: 'x', datatype: 'FP32', shape: [1, 4], "
                      "data: [1, 2, 3, 4]}], parameters: {digest: true}})")
        browser.value("document.getElementById('send').click()")
        browser.until("document.getElementById('answer').textContent.includes('[2,4,6,8]')")
        browser.value("document.getElementById('request').value = '{'; document.getElementById('send').click()")
        browser.until("document.getElementById('answer').className == 'error' && document.getElementById('answer').textContent.includes('SDX-V')")
        browser.value("document.getElementById('request').value = JSON.stringify({inputs: [{name: 'x', datatype: 'FP32', shape: [1, 4], "
                      "data: [0.1, 2, 3, 4]}], parameters: {digest: true}}); document.getElementById('send').click()")
        browser.until("document.getElementById('answer').textContent.includes('0.2')")
        browser.until("Number(document.querySelectorAll('tr.model')[2].cells[2].textContent) >= 2")
        if len(sys.argv) > 1:
            picture = browser.call("Page.captureScreenshot", format="png")["data"]
            with open(sys.argv[1], "wb") as file:
                file.write(base64.b64decode(picture))
    finally:
        browser.process.kill()
    assert server.stop() == 0
    print("the page shows models and infers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
