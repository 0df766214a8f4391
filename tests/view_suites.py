#!/usr/bin/python3
"""Models of the official suites open in `view`: view_suites.py SARDONYX [--every K] FOLDER|FILE.tar.xz...

Each model's page is made, opened in one Chromium, must draw a box for every node or group and complain of nothing.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

from chromium import Browser


def models(suites, work):
    for suite in suites:
        folder = pathlib.Path(suite)
        if folder.is_file():
            folder = pathlib.Path(work) / folder.name.split(".")[0]
            with tarfile.open(suite) as archive:
                archive.extractall(folder)
        yield from sorted(folder.rglob("model.onnx"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sardonyx")
    parser.add_argument("suites", nargs="+")
    parser.add_argument("--every", type=int, default=1)
    flags = parser.parse_args()
    if not shutil.which("chromium"):
        print("no Chromium")
        return 0
    program = os.path.abspath(flags.sardonyx)
    opened, wrong = 0, []
    browser = Browser()
    with tempfile.TemporaryDirectory() as work:
        page = pathlib.Path(work) / "page.html"
        for i, model in enumerate(models(flags.suites, work)):
            if i % flags.every != 0:
                continue
            made = subprocess.run([program, "view", model, "-o", page, "--as-written"], capture_output=True, text=True, check=False)
            if made.returncode != 0:
                wrong.append(f"{model.parent.name}: {made.stderr.strip()[:200]}")
                continue
            browser.errors.clear()
            browser.open(page)
            boxes = browser.value("modelView.layout.boxes.length")
            if browser.errors or not boxes:
                wrong.append(f"{model.parent.name}: {boxes} boxes; {browser.errors[:2]}")
                continue
            opened += 1
    browser.close()
    print("\n".join(wrong[:20]))
    print(f"{opened} models opened, {len(wrong)} did not")
    return 1 if wrong else 0


sys.exit(main())
