#!/usr/bin/python3
"""The page of `sardonyx view`, in a headless Chromium: view.py SARDONYX."""
import base64
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from chromium import Browser

ROOT = pathlib.Path(__file__).resolve().parent.parent
SARDONYX = str(pathlib.Path(sys.argv.pop(1)).resolve())
DIGITS, LOOP, BAD = ROOT / "examples/digits/digits.onnx", ROOT / "tests/data/loop.onnx", ROOT / "tests/data/badshape.onnx"


def chain(count):
    """A model of many nodes in blocks that repeat, without names."""
    lines, last = [], "x"
    for i in range(count // 5):
        lines += [f'"a{i}" = Relu("{last}")', f'"b{i}" = Neg("a{i}")', f'"c{i}" = Add("b{i}", "{last}")',
                  f'"d{i}" = Mul("c{i}", "a{i}")', f'"e{i}" = Add("d{i}", "b{i}")']
        last = f"e{i}"
    body = "\n".join(lines)
    return f'<ir_version: 10, opset_import: ["" : 21]>\ng (float[N, 4] x) => (float[N, 4] y) {{\n{body}\ny = Identity("{last}")\n}}\n'


def page(folder, name, *arguments):
    """Writes a page and returns its path and how long that took."""
    path = pathlib.Path(folder) / (name + ".html")
    start = time.monotonic()
    done = subprocess.run([SARDONYX, "view", *map(str, arguments), "-o", str(path)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return path, time.monotonic() - start


@unittest.skipUnless(shutil.which("chromium"), "no Chromium")
class View(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        shutil.rmtree(cls.folder)

    def open(self, name, *arguments, hash=""):
        path, _ = page(self.folder, name, *arguments)
        self.browser.errors.clear()
        self.browser.open(path, hash)
        self.assertEqual(self.browser.errors, [])
        return self.browser

    def text(self):
        return self.browser.value("document.querySelector('aside').innerText")

    def test_one_file_by_a_strict_policy_and_the_same_bytes_each_time(self):
        first, _ = page(self.folder, "one", DIGITS, "--set", "N=1")
        again, _ = page(self.folder, "two", DIGITS, "--set", "N=1")
        self.assertEqual(first.read_bytes(), again.read_bytes())
        html = first.read_text(encoding="utf-8")
        self.assertIn("default-src 'none'", html)
        self.assertNotIn("unsafe-inline", html)
        self.assertEqual(re.findall(r"(?:src|href)=", html), [])

    def test_nodes_types_and_reasons(self):
        browser = self.open("digits", DIGITS, "--set", "N=2")
        self.assertEqual(browser.value("modelView.layout.boxes.filter((b) => b.kind === 'node').length"), 10)
        browser.value("modelView.choose(0)")
        self.assertIn("conv1.weight", self.text())
        browser.value("modelView.chooseWire(modelView.graph.nodes[0].out[0])")
        self.assertIn("f32[2,8,8,8]", self.text())
        self.assertIn("inferred by the rule of Conv", self.text())

    def test_weights_have_statistics(self):
        browser = self.open("digits", DIGITS, "--set", "N=2")
        browser.value("modelView.chooseWire(modelView.graph.nodes[0].in[1])")
        self.assertIn("mean, deviation", self.text())
        self.assertEqual(browser.value("document.querySelectorAll('.bars i').length"), 16)

    def test_boxes_do_not_overlap_and_wires_go_down(self):
        browser = self.open("digits", DIGITS, "--set", "N=2")
        overlaps = browser.value("""(() => { const b = modelView.layout.boxes; let n = 0;
          for (let i = 0; i < b.length; i++) for (let j = 0; j < i; j++)
            if (b[i].row === b[j].row && Math.abs(b[i].x - b[j].x) < (b[i].width + b[j].width) / 2) n++;
          return n; })()""")
        self.assertEqual(overlaps, 0)
        self.assertTrue(browser.value("modelView.layout.edges.every((e) => modelView.layout.boxes[e.from].row < modelView.layout.boxes[e.to].row)"))

    def test_a_click_chooses_and_the_address_leads_back(self):
        browser = self.open("digits", DIGITS, "--set", "N=2")
        x, y = browser.value("""(() => { const d = modelView.drawing, b = modelView.layout.boxes[modelView.layout.boxOfNode[3]], r = d.canvas.getBoundingClientRect();
          return [r.left + d.width / 2 + (b.x - d.x) * d.scale, r.top + d.height / 2 + (b.y - d.y) * d.scale]; })()""")
        browser.click(x, y)
        self.assertIn("Node 3", self.text())
        hash_ = browser.value("location.hash")
        again = self.open("digits2", DIGITS, "--set", "N=2", hash=hash_)
        self.assertIn("Node 3", self.text())
        self.assertEqual(again.value("location.hash"), hash_)

    def test_stages_are_linked(self):
        browser = self.open("digits", DIGITS, "--set", "N=2")
        browser.value("modelView.choose(0)")
        self.assertIn("Runs as", self.text())
        browser.value("modelView.show(1)")
        self.assertGreater(browser.value("modelView.graph.nodes.filter((n) => n.kernel).length"), 3)
        browser.value("modelView.choose(modelView.graph.nodes.findIndex((n) => n.links && n.links.includes(0)))")
        self.assertIn("Stands for", self.text())

    def test_profile_paints_time(self):
        browser = self.open("profile", DIGITS, "--set", "N=8", "--profile")
        self.assertIn("Time:", self.text())
        self.assertTrue(browser.value("modelView.layout.boxes.some((b) => b.heat === 1)"))

    def test_run_shows_values(self):
        browser = self.open("run", DIGITS, "--set", "N=1", "--run", "--random", "3")
        browser.value("modelView.chooseWire(modelView.graph.outputs[0])")
        self.assertIn("Value in the run", self.text())

    def test_bodies_can_be_entered(self):
        browser = self.open("loop", LOOP)
        browser.value("modelView.open(modelView.layout.boxes.findIndex((b) => b.title === 'Loop'))")
        self.assertEqual(browser.value("modelView.graphNumber"), 1)
        self.assertIn("main graph", browser.value("document.querySelector('#way').innerText"))
        browser.value("document.querySelector('#way button').click()")
        self.assertEqual(browser.value("modelView.graphNumber"), 0)

    def test_findings_stand_at_their_node(self):
        browser = self.open("bad", BAD)
        self.assertTrue(browser.value("modelView.layout.boxes.some((b) => b.worst === 'error')"))
        self.assertIn("does not run", self.text())

    def test_differences_are_marked(self):
        text = subprocess.run([SARDONYX, "convert", str(DIGITS), "-"], capture_output=True, check=True).stdout
        other = pathlib.Path(self.folder) / "other.onnx"
        other.write_bytes(text.replace(b"Softmax", b"Hardmax"))
        browser = self.open("diff", DIGITS, "--set", "N=1", "--diff", other)
        self.assertIn("Softmax", self.text())
        self.assertEqual(browser.value("modelView.layout.boxes.filter((b) => b.mark === 'changed').length"), 1)
        browser.value("modelView.show(2)")
        self.assertEqual(browser.value("modelView.graph.nodes.filter((n) => n.mark).length"), 1)

    def test_search_and_keys(self):
        browser = self.open("digits", DIGITS, "--set", "N=2")
        browser.key("/", "/")
        self.assertEqual(browser.value("document.activeElement.type"), "search")
        for letter in "pool":
            browser.key(letter, letter)
        self.assertIn("MaxPool", browser.value("document.querySelector('#found').innerText"))
        browser.key("Enter", "\r")
        self.assertIn("MaxPool", self.text())
        browser.key("ArrowUp")
        self.assertNotIn("Node 4: MaxPool", self.text())
        self.assertNotEqual(browser.value("document.querySelector('[role=status]').textContent"), "")
        browser.key("Escape")
        self.assertIn("Model", self.text())

    def test_dark_mode_has_its_own_colours(self):
        browser = self.open("digits", DIGITS, "--set", "N=2")
        light = browser.value("modelView.drawing.colour.paper")
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        time.sleep(0.5)
        self.assertNotEqual(browser.value("modelView.drawing.colour.paper"), light)
        browser.call("Emulation.setEmulatedMedia", features=[])

    def test_a_report_prints_on_paper(self):
        report = pathlib.Path(self.folder) / "report.html"
        subprocess.run([SARDONYX, "check", DIGITS, "--set", "N=1", "--report", report, "--date", "2026-11-16"], check=True,
                       capture_output=True)
        self.browser.call("Page.navigate", url=report.as_uri())
        time.sleep(1)
        pdf = base64.b64decode(self.browser.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])
        self.assertTrue(pdf.startswith(b"%PDF"))
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
        self.assertGreater(pages, 2)
        width, height = (float(x) for x in re.search(rb"/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]", pdf).groups())
        self.assertGreater(width, height)  # A4, lying
        print(f"a report of digits is {pages} pages")

    def test_large_graphs_are_folded_and_stay_quick(self):
        for count, seconds in ((5000, 1), (20000, 4)):
            model = pathlib.Path(self.folder) / f"chain{count}.txt"
            model.write_text(chain(count), encoding="utf-8")
            path, made = page(self.folder, f"chain{count}", model, "--set", "N=1", "--as-written")
            self.browser.open(path)
            folded = self.browser.value("modelView.layout.boxes.length")
            self.assertLess(folded, 700)
            laid = self.browser.value("(() => { const t = performance.now(); modelView.foldAll(false); return performance.now() - t; })()")
            self.assertGreaterEqual(self.browser.value("modelView.layout.boxes.length"), count)
            draw = self.browser.value("""(() => { const d = modelView.drawing, times = [];
              d.scale = 0.02; for (let i = 0; i < 40; i++) { d.x += 10; const t = performance.now(); d.draw(); times.push(performance.now() - t); }
              d.scale = 0.6; for (let i = 0; i < 40; i++) { d.y += 10; const t = performance.now(); d.draw(); times.push(performance.now() - t); }
              return times.sort((a, b) => a - b)[60]; })()""")
            paint = self.browser.value("performance.getEntriesByType('paint').map((e) => e.startTime).pop() || 0")
            print(f"{count} nodes: page {made:.2f} s, {path.stat().st_size} bytes, first paint {paint:.0f} ms, unfolded in {laid:.0f} ms, "
                  f"a frame takes {draw:.1f} ms")
            self.assertLess(draw, 20 * seconds)
            frames, wall, busy = self.pan(self.browser)
            print(f"  panning: {frames / wall:.0f} frames/s, {busy / frames * 1000:.1f} ms of the page's thread each")
            if count == 5000:
                self.assertLess(busy / frames, 1 / 50)  # the thread's own time: other programs do not count

    @staticmethod
    def pan(browser, frames=100):
        """A finger that drags the unfolded graph, one step a frame; (frames, seconds, seconds of the page's thread)."""
        browser.call("Performance.enable", timeDomain="threadTicks")
        browser.value("modelView.drawing.scale = 0.3, 0")

        def busy():
            metrics = browser.call("Performance.getMetrics")["metrics"]
            return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

        before = busy()
        wall = browser.value("""(() => new Promise((done) => {
          const canvas = modelView.canvas || document.querySelector("canvas"), start = performance.now(); let left = %d;
          const point = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type, {clientX: x, clientY: y, bubbles: true, pointerId: 1,
            button: 0, buttons: type === "pointerup" ? 0 : 1}));
          canvas.setPointerCapture = () => {};  // there is no such pointer
          point("pointerdown", 600, 400);
          const step = () => {
            point("pointermove", 600 + left %% 50, 400 - 4 * left);
            if (--left > 0) requestAnimationFrame(step); else { point("pointerup", 600, 400); done((performance.now() - start) / 1000); }
          };
          requestAnimationFrame(step);
        }))()""" % frames)
        return frames, wall, busy() - before


if __name__ == "__main__":
    unittest.main(verbosity=1)
