#!/usr/bin/env python3
"""schema.py SARDONYX SOURCE: certificates have the form of docs/certificate.schema.json, and the schema has teeth."""
import copy
import json
import subprocess
import sys

import jsonschema

sardonyx, source = sys.argv[1:]
schema = json.load(open(f'{source}/docs/certificate.schema.json'))
jsonschema.Draft7Validator.check_schema(schema)
judge = jsonschema.Draft7Validator(schema)
models = [('tests/data/loop.onnx',), ('tests/data/static.onnx',), ('tests/data/four_nodes.onnx',),
          ('examples/digits/digits.onnx', '--set', 'N=3'), ('examples/digits/digits.onnx', '--set', 'N=1', '--optimize', 'off')]
kinds = set()
for model, *options in models:
    text = subprocess.run([sardonyx, 'show', f'{source}/{model}', '--at', 'plan', '--format', 'json', *options],
                          check=True, capture_output=True, text=True).stdout
    certificate = json.loads(text)
    for error in judge.iter_errors(certificate):
        sys.exit(f'{model}: {list(error.absolute_path)}: {error.message}')
    assert certificate['version'] == 1, certificate['version']
    kinds |= {step['kind'] for step in certificate['plan']['steps']}
    for break_it in (lambda c: c.pop('version'), lambda c: c['plan'].pop('wires'), lambda c: c['plan']['steps'][0].pop('nodes'),
                     lambda c: c['plan']['memories'][0].update(bytes=-1), lambda c: c['plan'].update(surprise=1)):
        broken = copy.deepcopy(certificate)
        break_it(broken)
        assert not judge.is_valid(broken), 'the schema accepts a broken certificate'
assert {'run', 'view'} <= kinds, kinds
print(f'{len(models)} certificates fit the schema')
