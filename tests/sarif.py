#!/usr/bin/python3
"""check --format sarif against SARIF's schema: sarif.py SCHEMA SARDONYX MODEL...

data/sarif_2_1_0.json has the parts that the program uses; OASIS's own, sarif-schema-2.1.0.json, holds as well.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import jsonschema

URI = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")
FORMATS = jsonschema.FormatChecker(formats=())
for kind in ("uri", "uri-reference"):
    FORMATS.checks(kind)(lambda text: URI.fullmatch(text) is not None)


def validator_of(path):
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft4Validator)
    kind.check_schema(schema)
    return kind(schema, format_checker=FORMATS)


def problems(validator, log):
    for error in validator.iter_errors(log):
        yield f"{'.'.join(map(str, error.absolute_path)) or 'log'}: {error.message}"


def wrong_indices(log):
    for run in log["runs"]:
        rules = run["tool"]["driver"].get("rules", [])
        for result in run["results"]:
            index = result.get("ruleIndex", -1)
            if index >= len(rules) or (index >= 0 and rules[index]["id"] != result["ruleId"]):
                yield f"ruleIndex {index} is not the rule {result['ruleId']}"


def main():
    validator, program, models = validator_of(sys.argv[1]), sys.argv[2], sys.argv[3:]
    # The validator itself can refuse.
    assert list(problems(validator, {"version": "2.1.0"}))
    assert list(problems(validator, {"version": "2.0", "runs": []}))
    assert not list(problems(validator, {"version": "2.1.0", "runs": []}))
    failed = results = 0
    with tempfile.TemporaryDirectory() as folder:
        odd = os.path.join(folder, "a name with spaces \u00e9%.onnx")
        shutil.copy(models[0], odd)
        for model in models + [odd]:
            for profile in ("onnx", "sonnx", "sonnx-full"):
                command = [program, "check", model, "--format", "sarif", "--profile", profile]
                log = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
                results += len(log["runs"][0]["results"])
                for problem in [*problems(validator, log), *wrong_indices(log)]:
                    print(f"{model} --profile {profile}: {problem}")
                    failed += 1
    print(f"{results} results, {failed} problems")
    return failed > 0 or results == 0


if __name__ == "__main__":
    sys.exit(main())
