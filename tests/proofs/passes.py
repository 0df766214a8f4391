#!/usr/bin/env python3
"""passes.py SARDONYX CHECKER SOURCE: of a small classifier, most replacements of the optimiser are proved; and a pass that is
proved whole is not any more once the graph after it was tampered with."""
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


def only(journal, g):
    """The journal with one pass: from graph g - 1 to graph g."""
    made = copy.deepcopy(journal)
    made['replacements']['graphs'] = made['replacements']['graphs'][g - 1:g + 1]
    made['replacements']['epilogues'] = []
    return made


def other_function(node):
    if 'points' not in node:
        return False
    node['points'][0]['function'] = 'another function'
    node['attributes'] += 'another=1;'  # its code
    return True


def other_attributes(node):
    if node.get('operator') not in ('Conv', 'Gemm', 'sardonyx::ConvBlocked', 'sardonyx::ConvChannelsLast'):
        return False
    node['attributes'] += 'another=1;'
    return True


def other_operand(node):
    """Two operands that are not one and the same change places."""
    args = node.get('points', [{}])[0].get('args', [])
    if len(args) != 2 or args[0] == args[1]:
        return False
    args.reverse()
    node['attributes'] += 'another=1;'  # its code
    return True


def other_axes(node):
    if len(node.get('perm', [])) < 2:
        return False
    node['perm'].reverse()
    return True


journal = json.loads(subprocess.run([sardonyx, 'show', f'{source}/examples/digits/digits.onnx', '--at', 'plan', '--journal', '--format', 'json',
                                     '--set', 'N=3'], capture_output=True, text=True, check=True).stdout)
text, total, proved, passes, _ = judged(journal)
assert total > 0 and proved >= 0.8 * total, text
tries = sound = 0
for g in range(1, passes + 1):
    if judged(only(journal, g))[4] == 0:
        continue  # a rule without a proof
    sound += 1
    for change in (other_function, other_attributes, other_operand, other_axes):
        for n, node in enumerate(journal['replacements']['graphs'][g]['nodes']):
            made = only(journal, g)
            if not change(made['replacements']['graphs'][1]['nodes'][n]):
                continue
            tries += 1
            text, *_, whole = judged(made)
            assert whole == 0, f'{change.__name__} of {node} is not noticed:\n{text}'
assert sound > 0 and tries >= 5, (sound, tries)
print(f'{proved} of {total} replacements proved, {sound} of {passes} passes whole; {tries} changes noticed')
