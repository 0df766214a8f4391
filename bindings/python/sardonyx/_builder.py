"""Graphs built in Python: types and shapes are checked as each operator is made."""

import os
import sys
import tempfile

import numpy as np

from . import _dtypes, _sardonyx
from ._errors import make
from ._model import Model
from ._session import InferenceSession

_HERE = os.path.dirname(os.path.abspath(__file__))
_SHORT = " f32 u8 i8 u16 i16 i32 i64 string bool f16 f64 u32 u64 c64 c128 bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz u4 i4 " \
         "f4e2m1 f8e8m0 u2 i2 f6e2m3 f6e3m2"
_NUMBERS = {name: number for number, name in enumerate(_SHORT.split(" ")) if name}


def _number(type):
    """ONNX's number of a type given as "f32", a dtype, or that number."""
    if isinstance(type, int):
        return type
    if type in _NUMBERS:
        return _NUMBERS[type]
    if type in _dtypes.BY_ONNX_NAME:
        return _sardonyx.dtype_number(_dtypes.BY_ONNX_NAME[type])
    return _sardonyx.dtype_number(np.dtype(type))


def _place():
    """The line of the program that called this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


class Wire:
    """A value in a graph. `+`, `-`, `*`, `/`, `@` and unary `-` make operators."""

    __slots__ = ("_native", "_graph")

    def __init__(self, native, graph):
        self._native, self._graph = native, graph

    @property
    def name(self):
        """The name of the value."""
        return self._native.name

    @property
    def type(self):
        """ "f32", "i64" ... """
        return _SHORT.split(" ")[self._native.type]

    @property
    def shape(self):
        """Numbers, names and expressions, None; None where the rank is not known."""
        return self._native.shape

    def named(self, name):
        """The same wire under a name of its own, which a saved model shows."""
        return Wire(self._native.named(name, _place()), self._graph)

    def __repr__(self):
        return self._native.text

    def _binary(op, swapped=False):
        def method(self, other):
            from . import ops

            return getattr(ops, op)(other, self) if swapped else getattr(ops, op)(self, other)

        return method

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", True)
    __truediv__, __rtruediv__ = _binary("div"), _binary("div", True)
    __matmul__ = _binary("matmul")
    del _binary

    def __neg__(self):
        from . import ops

        return ops.neg(self)


class Graph:
    """A graph that is being built.

    >>> g = Graph("swish")
    >>> x = g.parameter("x", "f32", ["N", 64])
    >>> g.result("y", x * ops.sigmoid(x))
    >>> session = g.compile()
    """

    def __init__(self, name="graph"):
        self._native = _sardonyx.Graph(name)

    def parameter(self, name, type, shape):
        """An input. Sizes are numbers, names that a run binds, or None."""
        return Wire(self._native.parameter(name, _number(type), list(shape), _place()), self)

    def constant(self, name, value, type=0):
        """A constant with a name: weights."""
        return Wire(self._native.constant(name, np.asarray(value), _number(type), _place()), self)

    def node(self, op, inputs, outputs=1, **attributes):
        """Any operator by its name ("Softmax", "ai.onnx.ml::Scaler"); a list of its outputs."""
        return _made(self, op, inputs, attributes, outputs)

    def result(self, name, wire):
        """An output. Any wire can be one."""
        self._native.result(name, _literal(wire, None), _place())

    def model(self):
        """What was built, as a model that has passed the checker."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            self._native.save(path)
            with open(path, "rb") as file:
                return Model(file.read())

    def compile(self, sess_options=None):
        """A session that runs it."""
        return InferenceSession(self.model().serialized(), sess_options)

    def save(self, path):
        """Writes the model as an .onnx file."""
        self._native.save(os.fspath(path))

    def __str__(self):
        return self._native.text()

    def _repr_svg_(self):
        return self.model()._repr_svg_()


def _literal(value, type):
    """A wire of the engine from a Wire, None, or whatever is a constant."""
    if isinstance(value, Wire):
        return value._native
    if value is None:
        return _sardonyx.Wire()
    if type is None:
        array = np.asarray(value)
        if not isinstance(value, (np.ndarray, np.generic)) and array.dtype == np.float64:
            array = array.astype(np.float32)
        return _sardonyx.Wire(array, 0)
    return _sardonyx.Wire(value if isinstance(value, np.ndarray) else np.asarray(value, _dtypes.TABLE[type]), type)


_DECLARED = None


def declared():
    """Every operator's newest declaration, by full name ("Softmax", "ai.onnx.ml::Scaler")."""
    global _DECLARED
    if _DECLARED is None:
        _DECLARED = {(f"{op['domain']}::" if op["domain"] else "") + op["name"]: op for op in _sardonyx.operators()}
    return _DECLARED


def _made(graph, op, inputs, attributes, outputs):
    declaration = declared().get(op)
    if declaration is None:
        raise make("SDX-P0022", f'no operator "{op}"', [], "")
    formals = declaration["inputs"]
    flat, bound = [], {}
    for i, value in enumerate(inputs):
        variable = formals[min(i, len(formals) - 1)][1] if formals else None
        flat.append((value, variable))
        if isinstance(value, Wire):
            bound.setdefault(variable, value._native.type)
            graph = graph or value._graph
    while flat and flat[-1][0] is None:
        flat.pop()
    if graph is None:
        raise make("SDX-P0023", f"{op}: none of its inputs is a wire of a graph", [], "g.constant makes one of an array")
    types = {name: kind for name, kind, _, _ in declaration["attributes"]}
    given = []
    for name, value in attributes.items():
        if value is None:
            continue
        if name not in types:
            known = ", ".join(sorted(types)) or "none"
            raise make("SDX-P0024", f'{op} has no attribute "{name}"; it has {known}', [], "")
        given.append((name, types[name], _number(value) if name in ("to", "dtype") else value))
    native = [_literal(value, bound.get(variable)) for value, variable in flat]
    made = graph._native.node(op, native, given, outputs, _place())
    return [Wire(wire, graph) for wire in made]
