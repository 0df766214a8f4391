#!/usr/bin/env python3
"""passes.py SARDONYX CHECKER SOURCE: of a small classifier, every replacement of the optimiser is proved; and none of them is
any more once the graph after it was tampered with where it stands."""
import copy
import json
import re
import subprocess
import sys

sardonyx, checker, source = sys.argv[1:]


def judged(journal):
    text = subprocess.run([checker, '-'], input=json.dumps(journal), capture_output=True, text=True, check=True).stdout
    total, proved, passes, whole = map(int, re.search(r'(\d+) replacements, (\d+) proved .*; (\d+) passes, (\d+) proved whole', text).groups())
    return text, total, proved, passes, whole


def tampered(journal, change):
    """Copies of the journal with one node changed in the graph after the pass, where `change` finds something to change."""
    for g, graph in enumerate(journal['replacements']['graphs'][1:], 1):
        for n, node in enumerate(graph['nodes']):
            made = copy.deepcopy(journal)
            if change(made['replacements']['graphs'][g]['nodes'][n]):
                del made['replacements']['graphs'][g + 1:]
                yield f"{graph['pass']}: {node.get('operator')}", made


def other_function(node):
    if 'points' not in node:
        return False
    node['points'][0]['function'] = 'another function'
    return True


def other_attributes(node):
    if 'operator' not in node or 'points' in node:
        return False
    node['attributes'] += 'another=1;'
    return True


def other_operand(node):
    """Two operands that are not one and the same change places."""
    args = node.get('points', [{}])[0].get('args', [])
    if len(args) != 2 or args[0] == args[1]:
        return False
    args.reverse()
    return True


def other_axes(node):
    if len(node.get('perm', [])) < 2:
        return False
    node['perm'].reverse()
    return True


journal = json.loads(subprocess.run([sardonyx, 'show', f'{source}/examples/digits/digits.onnx', '--at', 'plan', '--journal', '--format', 'json',
                                     '--set', 'N=3'], capture_output=True, text=True, check=True).stdout)
text, total, proved, passes, whole = judged(journal)
assert total == proved > 0 and passes == whole > 0, text
tries = 0
for change in (other_function, other_attributes, other_operand, other_axes):
    for what, made in tampered(journal, change):
        text, _, _, passes, whole = judged(made)
        assert whole < passes, f'{change.__name__} of {what} is not noticed:\n{text}'
        tries += 1
assert tries >= 5, tries
print(f'{total} replacements proved in {passes} passes; {tries} changes noticed')
