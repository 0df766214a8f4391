#!/usr/bin/python3
"""check --format sarif against the schema's parts in data/sarif_2_1_0.json: sarif.py SARDONYX MODEL..."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

KINDS = {"object": dict, "array": list, "string": str, "integer": int}
URI = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")


def validate(value, schema, root, path):
    """Yields what is wrong, as text."""
    if "$ref" in schema:
        schema = root["definitions"][schema["$ref"].rsplit("/", 1)[1]]
    kind = schema.get("type")
    if kind and (not isinstance(value, KINDS[kind]) or isinstance(value, bool)):
        yield f"{path}: not {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{path}: {value} is below {schema['minimum']}"
    if schema.get("format") in ("uri", "uri-reference") and not URI.fullmatch(value):
        yield f"{path}: {value!r} is no URI"
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{path}: no {name}"
        known = schema.get("properties", {})
        for name, inner in value.items():
            if name in known:
                yield from validate(inner, known[name], root, f"{path}.{name}")
            elif schema.get("additionalProperties") is False:
                yield f"{path}: {name} is unknown"
    if isinstance(value, list):
        if schema.get("uniqueItems") and len({json.dumps(x) for x in value}) != len(value):
            yield f"{path}: repeated items"
        for i, inner in enumerate(value):
            yield from validate(inner, schema.get("items", {}), root, f"{path}[{i}]")


def wrong_indices(log):
    for run in log["runs"]:
        rules = run["tool"]["driver"].get("rules", [])
        for result in run["results"]:
            index = result.get("ruleIndex", -1)
            if index >= len(rules) or (index >= 0 and rules[index]["id"] != result["ruleId"]):
                yield f"ruleIndex {index} is not the rule {result['ruleId']}"


def main():
    program, models = sys.argv[1], sys.argv[2:]
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "data", "sarif_2_1_0.json"), encoding="utf-8") as file:
        schema = json.load(file)
    # The validator itself can refuse.
    assert list(validate({"version": "2.1.0"}, schema, schema, "log"))
    assert list(validate({"version": "2.0", "runs": []}, schema, schema, "log"))
    failed = results = 0
    with tempfile.TemporaryDirectory() as folder:
        odd = os.path.join(folder, "a name with spaces \u00e9%.onnx")
        shutil.copy(models[0], odd)
        for model in models + [odd]:
            for profile in ("onnx", "sonnx", "sonnx-full"):
                command = [program, "check", model, "--format", "sarif", "--profile", profile]
                log = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
                results += len(log["runs"][0]["results"])
                for problem in [*validate(log, schema, schema, "log"), *wrong_indices(log)]:
                    print(f"{model} --profile {profile}: {problem}")
                    failed += 1
    print(f"{results} results, {failed} problems")
    return failed > 0 or results == 0


if __name__ == "__main__":
    sys.exit(main())
