#!/usr/bin/python3
"""The JSON that commands print is what docs/cli.schema.json says: json_schema.py SARDONYX.

Every definition of the schema is used by a command here, and no object has a field that the schema does not know.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

ROOT = pathlib.Path(__file__).parent.parent
SARDONYX = os.path.abspath(sys.argv[1])
SCHEMA = json.loads((ROOT / "docs/cli.schema.json").read_text(encoding="utf-8"))
DATA, DIGITS = ROOT / "tests/data", ROOT / "examples/digits/digits.onnx"
STATIC, LOOP, SIZE = DATA / "static.onnx", DATA / "loop.onnx", ("--set", "N=2")


def cases(work):
    """(definition, exit code, arguments)"""
    wires, packs = f"{work}/wires", f"{work}/packs"
    yield "info", 0, ("info", DIGITS, "--json")
    yield "info", 0, ("info", LOOP, "--json")
    yield "info", 2, ("info", DATA / "badshape.onnx", "--json")
    yield "check", 0, ("check", DIGITS, "--format", "json")
    yield "check", 1, ("check", DATA / "badshape.onnx", "--format", "json", "--profile", "sonnx")
    yield "check", 2, ("check", ROOT / "CMakeLists.txt", "--format", "json")
    yield "run", 0, ("run", STATIC, "--random", "1", "--json", "--outputs", "h,y", "--dump", wires)
    yield "bench", 0, ("bench", STATIC, "--runs", "2", "--json")
    yield "bench", 0, ("bench", DIGITS, "--runs", "2", "--json", "--pack-cache", packs, *SIZE)
    yield "profile", 0, ("profile", DIGITS, "--runs", "2", "--json", *SIZE)
    yield "compare", 0, ("compare", STATIC, "--json")
    yield "compare_with", 0, ("compare", STATIC, STATIC, "--json")
    yield "compare_with", 1, ("compare", STATIC, "--against", wires, "--random", "2", "--json")
    yield "diff", 0, ("diff", STATIC, STATIC, "--json")
    yield "diff", 1, ("diff", STATIC, DIGITS, "--json")
    yield "inputs", 0, ("inputs", DIGITS, "--json")
    yield "inputs", 0, ("inputs", DIGITS, "--json", "--random", "1", "--output-dir", f"{work}/inputs", *SIZE)
    yield "fix", 0, ("fix", DATA / "untidy.onnx", f"{work}/tidy.onnx", "--json")
    yield "simplify", 0, ("simplify", DIGITS, f"{work}/simple.onnx", "--json", *SIZE)
    yield "journal", 0, ("show", DIGITS, "--at", "plan", "--journal", "--format", "json", *SIZE)
    yield "journal", 0, ("show", LOOP, "--at", "plan", "--journal", "--format", "json")
    yield "ops", 0, ("ops", "--json")
    yield "version", 0, ("version", "--json")
    yield "attest", 0, ("attest", STATIC, "--random", "1")
    other = f"{work}/other.onnx"
    pathlib.Path(other).write_bytes(STATIC.read_bytes() + b"\x32\x00")
    subprocess.run([SARDONYX, "attest", STATIC, "--random", "1", "-o", f"{work}/attested.json"], stdout=subprocess.DEVNULL, check=True)
    yield "verify", 0, ("verify", f"{work}/attested.json", "--json")
    yield "verify", 1, ("verify", f"{work}/attested.json", "--json", "--model", other)
    yield "test", 0, ("test", one_test(work), "--json", "--opset", "11", "--opset", "21")
    yield "test", 1, ("test", one_test(work, wrong=True), "--json")


def one_test(work, wrong=False):
    """A folder as ONNX's suites have them: a model, one input, what is expected for it."""
    folder = pathlib.Path(f"{work}/test_{'wrong' if wrong else 'right'}")
    data = folder / "test_data_set_0"
    if not folder.exists():
        data.mkdir(parents=True)
        (folder / "model.txt").write_text(
            '<ir_version: 8, opset_import: ["" : 13]> g (float[2, 3] x) => (float[2, 3] y) { y = Softmax (x) }')
        for command in (("convert", folder / "model.txt", folder / "model.onnx"),
                        ("inputs", folder / "model.onnx", "--random", "1", "--output-dir", data),
                        ("run", folder / "model.onnx", "--random", "2" if wrong else "1", "--output-dir", data)):
            subprocess.run([SARDONYX, *map(str, command)], check=True, capture_output=True)
    return folder


def problems(name, value):
    schema = {"$ref": f"#/definitions/{name}", "definitions": SCHEMA["definitions"]}
    for error in jsonschema.Draft7Validator(schema).iter_errors(value):
        yield f"{name}: {'.'.join(map(str, error.absolute_path)) or 'object'}: {error.message}"


def main():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    found, used = [], {"wires"}
    with tempfile.TemporaryDirectory() as work:
        for name, code, arguments in cases(work):
            command = [SARDONYX, *map(str, arguments)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != code:
                found.append(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[:500]}")
                continue
            used.add(name)
            found += problems(name, json.loads(done.stdout))
        for model, code in ((LOOP, 0), (DIGITS, 1), (DATA / "badshape.onnx", 1), (DATA / "four_nodes.onnx", 1)):
            page = pathlib.Path(f"{work}/report.json")
            done = subprocess.run([SARDONYX, "check", model, "--profile", "sonnx", "--report", page, "--date", "2026-11-16"],
                                  capture_output=True, text=True, check=False)
            found += [] if done.returncode == code else [f"check --report {model}: {done.returncode} {done.stderr[:300]}"]
            found += problems("report", json.loads(page.read_text(encoding="utf-8")))
        used.add("report")
        found += problems("wires", json.loads(pathlib.Path(f"{work}/wires/wires.json").read_text(encoding="utf-8")))
    found += [f"no command prints {name}" for name in SCHEMA["definitions"] if name not in used]
    print("\n".join(found[:20]))
    return 1 if found else 0


sys.exit(main())
