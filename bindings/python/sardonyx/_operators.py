"""Operators of a program's own, written in Python."""

from typing import NamedTuple, Optional, Tuple, Union

import numpy

from . import _sardonyx


class Port(NamedTuple):
    """What is known of an input, or said of an output, before anything runs.

    `type` is as "f32" or "i64" (None: the input is left out). A size of `shape` is a number, the name of an input's
    size, or None if only running tells it; `shape` itself is None if not even the rank is known. `value` is that of an
    input known before running.
    """

    type: Optional[str]
    shape: Optional[Tuple[Union[int, str, None], ...]] = None
    value: Optional[numpy.ndarray] = None


def _history(signature):
    return [(1, signature)] if isinstance(signature, str) else sorted(signature.items())


def operator(domain, name, signature, *, infer=None, deterministic=True, doc=None):
    """Makes an operator of a function: models may use it from then on, until the process ends.

        @sardonyx.operator("my.ops", "Scale", "(x: T) -> (y: T) {by: float = 2.0} T in f32 f64")
        def scale(x, *, by):
            return x * x.dtype.type(by)

    The function gets one array per input (None for one that is left out; any number where the signature says so) and
    the attributes as keywords (None for one that is not given and has no default); it returns the output, or a tuple
    of them. `signature` is a string, or one per version: {1: "...", 2: "..."}, each a delta on the one before; the
    language is that of docs/adding_an_operator.md. `infer(*ports, **attributes)` gives a Port, or a list of them, for
    the outputs; without it each output is like the first input. An operator that may give other outputs for equal
    inputs says deterministic=False. What the function raises ends the run with sardonyx.Error.
    """

    def register(function):
        def compute(inputs, attributes):
            return function(*inputs, **attributes)

        def inferred(inputs, attributes):
            found = infer(*(Port(*known) for known in inputs), **attributes)
            ports = [found] if isinstance(found, Port) else list(found)
            return [(port.type, port.shape) for port in ports]

        _sardonyx.register_operator(domain, name, doc or (function.__doc__ or "").strip(), _history(signature),
                                    None if infer is None else inferred, compute, deterministic)
        return function

    return register


def register_functions(text):
    """Makes operators of functions in ONNX's text syntax: a node that names one is replaced by its body.

        sardonyx.register_functions('''
            <domain: "my.ops", opset_import: ["" : 21]>
            Twice (x) => (y) { y = Add (x, x) }''')
    """
    _sardonyx.register_functions(text)
