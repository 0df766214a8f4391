#!/usr/bin/env python3
"""proofs_models.py SARDONYX CHECKER FOLDER: the plans of all models of a folder are accepted, those with open sizes at three
bindings; then the share of the optimiser's replacements that are proved, by rule. A model that Sardonyx refuses is named
repaired, or left out."""
import glob
import os
import re
import subprocess
import sys
import tempfile

SHARE = 60  # per cent of the replacements must be proved
sardonyx, checker, folder = sys.argv[1:]


def symbols(path):
    """The names of open sizes, as the typed graph's inputs have them."""
    names = []
    text = subprocess.run([sardonyx, 'show', path, '--at', 'typed'], capture_output=True, text=True).stdout
    for dims in re.findall(r'^ *%\S+ = input : \w+\[([^\]]*)\]', text, flags=re.M):
        names += [name for name in dims.split(',') if name.isidentifier() and name not in names]
    return names


def bindings(names):
    if not names:
        return [[]]
    return [[f'--set={name}={batch if "batch" in name or name == "N" else size}' for name in names]
            for batch, size in ((1, 16), (2, 8), (3, 24))]


def related(names, options):
    """The same sizes, and then one of them larger by one: what is remembered and what is seen of it differ by what is new."""
    yield options
    for k in range(len(names) if len(names) > 1 else 0):
        flag, name, size = options[k].split('=')
        yield [*options[:k], f'{flag}={name}={int(size) + 1}', *options[k + 1:]]


def show(path, *options):
    return subprocess.run([sardonyx, 'show', path, '--at', 'plan', '--format', 'json', '--threads', '1', *options], capture_output=True)


plans = refused = models = left_out = dynamic = 0
with tempfile.TemporaryDirectory() as work:
    for path in sorted(glob.glob(f'{folder}/*.onnx')):
        if subprocess.run([sardonyx, 'show', path, '--at', 'typed'], capture_output=True).returncode != 0:
            repaired = f'{work}/{os.path.basename(path)}'  # some converters leave nodes out of order
            subprocess.run([sardonyx, 'fix', '--profile', 'onnx', path, repaired], capture_output=True)
            path = repaired
        names = symbols(path)
        sizes = []
        for options in bindings(names):
            for tried in related(names, options):
                shown = show(path, *tried)
                if shown.returncode == 0:
                    sizes.append(tried)
                    break
        if len(sizes) < (3 if names else 1):
            print(os.path.basename(path), 'is left out:', shown.stderr.decode().splitlines()[0])
            left_out += 1
            continue
        models += 1
        dynamic += bool(names)
        for options in sizes:
            shown = show(path, *options)
            judged = subprocess.run([checker, '--quiet', '-'], input=shown.stdout, capture_output=True, text=False)
            plans += 1
            refused += shown.returncode != 0 or judged.returncode != 0
            print(os.path.basename(path), *options, (judged.stdout or judged.stderr or shown.stderr).decode().splitlines()[-1])
        with open(f'{work}/{models}.json', 'wb') as file:
            file.write(show(path, '--journal', *sizes[0]).stdout)
    print(f'{plans} plans of {models} models ({dynamic} with open sizes), {refused} refused; {left_out} models left out')
    report = subprocess.run([checker, *sorted(glob.glob(f'{work}/*.json'))], capture_output=True, text=True, check=True).stdout
print(report)
share = float(re.search(r'proved \(([0-9.]+) %\)', report).group(1))
sys.exit(refused != 0 or share < SHARE)
