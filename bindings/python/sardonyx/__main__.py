"""`python3 -m sardonyx` is the command line."""

import signal
import sys

from . import _sardonyx


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the engine runs outside of the interpreter
    sys.stdout.flush()
    return _sardonyx.program(["sardonyx", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
