#!/usr/bin/python3
"""The module of JavaScript, in node and in a headless Chromium: module.py PICTURES PUBLISHED, the digests that
the digits' pictures and the published inputs must give."""
import functools
import http.server
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from chromium import Browser  # noqa: E402

PUBLISHED, PICTURES = (sys.argv.pop() for _ in range(2))
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the tree, and does not say so."""

    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}

    def log_message(self, *_):
        pass


class InNode(unittest.TestCase):
    def run_module(self, script):
        """What a module that imports sardonyx.mjs prints."""
        with tempfile.NamedTemporaryFile("w", suffix=".mjs") as file:
            file.write(f'import {{ Sardonyx, SardonyxError }} from "{ROOT}/build-wasm/module/sardonyx.mjs";\n'
                       'import { readFileSync } from "node:fs";\n'
                       "const engine = await Sardonyx.load();\n" + script)
            file.flush()
            done = subprocess.run(["node", file.name], capture_output=True, text=True, cwd=ROOT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_the_digits_have_their_digests(self):
        done = subprocess.run(["node", ROOT / "examples/browser/node.mjs"], capture_output=True, text=True, check=True)
        self.assertIn("10 of 10 are right", done.stdout)
        self.assertIn(f"pictures {PICTURES}\n", done.stdout)
        self.assertIn(f"published {PUBLISHED}\n", done.stdout)

    def test_a_session_says_what_it_takes(self):
        lines = self.run_module(
            'const session = engine.open(readFileSync("examples/digits/digits.onnx"), { set: { N: 2 } });\n'
            "console.log(JSON.stringify(session.inputs), JSON.stringify(session.outputs));\n")
        self.assertEqual(lines, ['[{"name":"picture","text":"f32[2,1,8,8]","type":"f32","dims":[2,1,8,8]}] '
                                 '[{"name":"probability","text":"f32[2,10]","type":"f32","dims":[2,10]}]'])

    def test_errors_have_codes_and_the_engine_goes_on(self):
        lines = self.run_module(
            "const failed = (body) => {\n"
            "  try { body(); console.log('no error'); } catch (error) {\n"
            "    console.log(error instanceof SardonyxError, error.code, error.message.split('\\n')[0]);\n"
            "  }\n"
            "};\n"
            "failed(() => engine.open(new Uint8Array([1, 2, 3])));\n"
            'const session = engine.open(readFileSync("examples/digits/digits.onnx"));\n'
            "const picture = { type: 'f32', dims: [1, 1, 8, 8], data: new Float32Array(64) };\n"
            "failed(() => session.run({ picture: { ...picture, data: new Float32Array(3) } }));\n"
            "failed(() => session.run({ picture: { ...picture, dims: [2 ** 28, 1, 8, 8] } }));\n"
            "failed(() => session.run({ picture: { ...picture, dims: [2 ** 33, 0, 8, 8], data: new Float32Array(0) } }));\n"
            "failed(() => session.run({ nothing: picture }));\n"
            "console.log(session.run({ picture }).probability.data.length);\n")
        for line, code in zip(lines, ["SDX-B", "SDX-A0101", "SDX-B0102", "SDX-B0102", "SDX-"]):
            self.assertTrue(line.startswith(f"true {code}"), line)
        self.assertIn("2^27 elements", lines[2])
        self.assertIn("32 bits", lines[3])
        self.assertEqual(lines[5], "10")

    def test_every_session_gives_its_memory_back(self):
        lines = self.run_module(
            'const bytes = readFileSync("examples/digits/digits.onnx");\n'
            "const picture = { type: 'f32', dims: [1, 1, 8, 8], data: new Float32Array(64) };\n"
            "const digests = new Set();\n"
            "for (let i = 0; i < 2000; ++i) {\n"
            "  const session = engine.open(bytes);\n"
            "  digests.add(session.run({ picture }).probability.digest);\n"
            "  session.release();\n"
            "}\n"
            "console.log(digests.size, process.memoryUsage().arrayBuffers < 2 ** 28);\n")
        self.assertEqual(lines, ["1 true"])


class InChromium(unittest.TestCase):
    def test_the_page_shows_pictures_answers_and_digests(self):
        handler = functools.partial(Quiet, directory=ROOT)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = Browser()
        try:
            browser.call("Page.navigate", url=f"http://127.0.0.1:{server.server_address[1]}/examples/browser/index.html")
            for _ in range(600):
                if browser.value("document.body?.dataset.done ?? ''"):
                    break
                time.sleep(0.05)
            self.assertEqual(browser.value("document.body.dataset.done"), "yes", browser.value("document.body.innerText"))
            self.assertEqual(browser.value("document.getElementById('digest').textContent"), PICTURES)
            self.assertEqual(browser.value("document.getElementById('published').textContent"), PUBLISHED)
            self.assertEqual(browser.value("document.querySelectorAll('#digits canvas').length"), 10)
            self.assertEqual(browser.value("document.querySelectorAll('#digits .right').length"), 10)
            self.assertIn("10 of 10 are right", browser.value("document.getElementById('said').textContent"))
            self.assertEqual(browser.errors, [])
        finally:
            browser.close()
            server.shutdown()
            server.server_close()


if __name__ == "__main__":
    unittest.main()
