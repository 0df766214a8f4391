"""The page of `sardonyx view`, in notebooks and for files."""

import html
import os
import pathlib
import subprocess
import sys
import tempfile

from ._errors import make
from ._model import Model


class View:
    """A page that shows a model. A notebook shows it in place; save() writes it."""

    def __init__(self, page):
        self.html = page

    def save(self, path):
        """Writes the page as a file."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self):
        return (f'<iframe sandbox="allow-scripts" style="width:100%;height:600px;border:1px solid #ccc" '
                f'srcdoc="{html.escape(self.html)}"></iframe>')


def view(source, profile=False, run=False, diff=None, set=None, random=0):
    """A page that shows a model: its graph as written and as it runs, types, weights and findings.

    Args:
        source: a path, bytes, or a Model
        profile: run the model and paint where the time goes
        run: run the model and show the values of every wire
        diff: the path of another model, to mark what differs
        set: sizes of symbolic dimensions by name
        random: the seed that inputs are drawn with
    """
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(source, (str, os.PathLike)):
            path = os.fspath(source)
        else:
            path = os.path.join(folder, "model.onnx")
            data = source.serialized() if isinstance(source, Model) else source
            pathlib.Path(path).write_bytes(data if isinstance(data, (bytes, bytearray)) else data.SerializeToString())
        page = os.path.join(folder, "page.html")
        words = [path, "-o", page, "--random", str(random)]
        words += ["--profile"] * bool(profile) + ["--run"] * bool(run) + (["--diff", os.fspath(diff)] if diff else [])
        for name, size in (set or {}).items():
            words += ["--set", f"{name}={size}"]
        package = str(pathlib.Path(__file__).parent.parent)
        paths = [package] + [part for part in (os.environ.get("PYTHONPATH"),) if part]
        done = subprocess.run([sys.executable, "-m", "sardonyx", "view", *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
        if done.returncode != 0:
            raise make("SDX-P0022", done.stderr.strip() or "the page could not be made", [], "")
        return View(pathlib.Path(page).read_text(encoding="utf-8"))
