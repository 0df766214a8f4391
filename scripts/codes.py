#!/usr/bin/env python3
"""Every error code means one thing: it is made in one room of the tree, and outside the operators, which share their
checks by family, each text of a code stands once."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MADE = re.compile(r'(?:fail|Error)\s*[({]\s*"(SDX-[A-Z]\d{4})",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def room_of(path):
    parts = path.relative_to(ROOT).parts
    if parts[0] != 'src':
        return parts[0]
    return 'operators' if parts[1] in ('op', 'ops') else parts[1]


def main():
    rooms = collections.defaultdict(lambda: collections.defaultdict(list))
    texts = collections.defaultdict(list)
    for folder in ('src', 'cli', 'bindings'):
        for path in sorted((ROOT / folder).rglob('*')):
            if path.suffix not in ('.h', '.cc') or path.name.endswith('_test.cc') or 'test_' in path.name:
                continue
            source = re.sub(r'^\s*//.*$', '', path.read_text(), flags=re.M)
            for code, text in MADE.findall(source):
                room, name = room_of(path), str(path.relative_to(ROOT))
                rooms[code][room].append(name)
                if room != 'operators':
                    texts[code, ''.join(LITERAL.findall(text))].append(name)
    found = [f'{code} is made in several rooms: ' + ', '.join(sorted(name for names in by.values() for name in set(names)))
             for code, by in sorted(rooms.items()) if len(by) > 1]
    found += [f'{code} "{text}" is written {len(names)} times: ' + ', '.join(names)
              for (code, text), names in sorted(texts.items()) if len(names) > 1]
    print('\n'.join(found) if found else f'{len(rooms)} codes, each made in one room')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
