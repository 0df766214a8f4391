#!/usr/bin/env python3
"""What a folder must not know, where no include path can say it.

Behind `typed`, an operator's attributes are the struct that its read() resolved (typed::Node::as); raw attributes and
versions stay before it. And what plans and runs knows no operator: it asks what operators declare.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RAW = re.compile(r'(\.|->)(attrs|opset)\b|(\.|->)(i|f|s|has|get<[^>]*>)\("|\b(i_or|f_or|ints_or_empty)\(|\buse\.ints\(')
OPERATORS = re.compile(r'\bops::|"ops/')
RULES = [
    (RAW, ['rewrite', 'gradient', 'plan', 'run'], 'a raw attribute or a version'),
    (OPERATORS, ['plan', 'run'], 'an operator by name'),
]


def code_of(line):
    return line.split('//')[0]


def main():
    found = []
    for pattern, folders, what in RULES:
        for folder in folders:
            for path in sorted((ROOT / 'src' / folder).rglob('*')):
                if path.suffix not in ('.h', '.cc') or path.name.endswith('_test.cc'):
                    continue
                name = str(path.relative_to(ROOT))
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    if not pattern.search(code_of(line)):
                        continue
                    found.append(f'{name}:{number}: {what}: {line.strip()}')
    print('\n'.join(found), end='\n' if found else '')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
