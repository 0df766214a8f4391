"""Models looked at rather than run: check, infer, explain, and drawings."""

import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from . import _sardonyx
from ._errors import make

_MOST_DRAWN = 400


@dataclass(frozen=True)
class Finding:
    """One thing that a check found."""

    code: str
    severity: str  #: "error", "warning" or "note"
    message: str
    place: str
    inputs: List[str] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)
    help: str = ""
    sonnx: str = ""

    def __str__(self):
        text = f"{self.severity}[{self.code}]: {self.message}\n  --> {self.place}"
        text += "".join(f"\n   |  {line}" for line in self.inputs)
        text += "".join(f"\n   = note: {note}" for note in self.notes)
        return text + (f"\n   = help: {self.help}" if self.help else "")


class Report(list):
    """Findings; true if there is no error among them."""

    @property
    def valid(self):
        """Whether no error was found."""
        return not self.errors

    @property
    def errors(self):
        """The findings that are errors."""
        return [finding for finding in self if finding.severity == "error"]

    def __bool__(self):
        return self.valid

    def __str__(self):
        return "\n".join(map(str, self)) or "valid"


@dataclass(frozen=True)
class Fact:
    """What is known of a wire before anything runs."""

    name: str
    type: str  #: as ONNX writes it
    shape: Optional[list]  #: numbers, expressions over names, None
    text: str  #: "f32[N,3]"
    value: Any = None  #: of a constant

    def __str__(self):
        return f"{self.name}: {self.text}"


@dataclass(frozen=True)
class Explanation:
    """Why a wire is what it is: who makes it, from what."""

    wire: str
    fact: str
    kind: str  #: "input", "constant" or "operator"
    node: str
    op: str
    inputs: List["Explanation"]
    line: str

    def __str__(self):
        return self._text(0)

    def _text(self, depth):
        maker = f"{self.op} \"{self.node}\"" if self.kind == "operator" else self.kind
        text = f"{'  ' * depth}{self.wire or '(constant)'}: {self.fact}   from {maker}"
        return "\n".join([text, *(child._text(depth + 1) for child in self.inputs)])


class Model:
    """A model as it was read. Shown in a notebook, it is drawn."""

    def __init__(self, source):
        if isinstance(source, _sardonyx.Model):
            self._native = source
        elif isinstance(source, (str, os.PathLike)):
            self._native = _sardonyx.Model.load(os.fspath(source))
        elif isinstance(source, (bytes, bytearray, memoryview)):
            self._native = _sardonyx.Model.parse(bytes(source), "")
        elif hasattr(source, "SerializeToString"):
            self._native = _sardonyx.Model.parse(source.SerializeToString(), "")
        else:
            raise make("SDX-P0015", f"a model is a path or bytes, not a {type(source).__name__}", [], "")

    @staticmethod
    def from_text(text) -> "Model":
        """A model in ONNX's text syntax (docs/text.md)."""
        return Model(_sardonyx.Model.from_text(text))

    @property
    def meta(self) -> Dict[str, Any]:
        """What the model says about itself."""
        return self._native.meta()

    def text(self, at="model", **options) -> str:
        """The model at one stage: "model", "inferred", "typed", "optimized" or "plan"."""
        return self._native.text(at, options)

    def svg(self, **options) -> str:
        """A drawing of the typed graph."""
        return self._native.text("svg", options)

    def dot(self, **options) -> str:
        """The same for Graphviz."""
        return self._native.text("dot", options)

    def serialized(self) -> bytes:
        """The model as the bytes of an .onnx file."""
        return self._native.serialized()

    def save(self, path):
        """Writes the model as an .onnx file."""
        with open(path, "wb") as file:
            file.write(self.serialized())

    def __str__(self):
        return self.text()

    def _repr_svg_(self):
        text = self.svg()
        return text if text.count("<rect") <= _MOST_DRAWN else None


def load(source) -> Model:
    """A model from a path, from bytes, or from onnx's ModelProto."""
    return source if isinstance(source, Model) else Model(source)


def check(source, profile="onnx") -> Report:
    """What is wrong with a model: a list of findings, each with code, severity, message and place.

    Args:
        profile: "onnx", "sonnx" or "sonnx-full"
    """
    if profile not in ("onnx", "sonnx", "sonnx-full"):
        raise make("SDX-P0018", f'no profile "{profile}"; there are "onnx", "sonnx" and "sonnx-full"', [], "")
    return Report(Finding(**finding) for finding in load(source)._native.check(profile))


def infer(source, set=None, **options) -> Dict[str, Fact]:
    """The type and shape of every wire of the main graph, by name.

    Args:
        set: sizes of named dimensions
    """
    options["set"] = set or {}
    return {fact[0]: Fact(*fact) for fact in load(source)._native.infer(options)}


def explain(source, wire=None, depth=3, set=None):
    """The rule behind a code ("SDX-K0216"), or why a wire of a model has the type it has.

    Args:
        source: a code, or a model
        wire: the name of a wire of the model
        depth: how many operators to go back
    """
    if wire is None:
        rule = _sardonyx.rule(str(getattr(source, "code", source)))
        if rule is None:
            raise make("SDX-P0019", f'no rule has the code "{getattr(source, "code", source)}"', [], "")
        return rule
    return _explained(load(source)._native, wire, depth, {"set": set or {}})


def _explained(native, wire, depth, options):
    fact, kind, node, op, inputs, line = native.explain(wire, options)
    children = []
    for name, text in inputs:
        if name and depth > 1:
            children.append(_explained(native, name, depth - 1, options))
        else:
            children.append(Explanation(name, text, "wire" if name else "constant", "", "", [], ""))
    return Explanation(wire, fact, kind, node, op, children, line)
