"""Exceptions: each has a stable code, the places where it happened, innermost first, and perhaps a hint."""


class Error(RuntimeError):
    """Whatever the engine refuses.

    Attributes:
        code: stable, such as "SDX-T0102"; `sardonyx.explain(code)` says more where it is the code of a rule
        message: what was found and what was expected
        where: the places, innermost first
        place: the same in one line
        help: what to do about it, or ""
    """

    def __init__(self, message, code="", where=(), help=""):
        self.code, self.message, self.where, self.help = code, message, list(where), help
        super().__init__(message)

    @property
    def place(self):
        """The places in one line, outermost first."""
        return ", ".join(reversed(self.where))

    def __str__(self):
        text = f"[{self.code}] {self.message}" if self.code else self.message
        for place in self.where:
            text += f"\n  --> {place}"
        return text + (f"\n   = help: {self.help}" if self.help else "")

    def __reduce__(self):
        return type(self), (self.message, self.code, self.where, self.help)


class InvalidArgument(Error, ValueError):
    """A value, name or option that does not fit the model."""


class NoSuchFile(Error, FileNotFoundError):
    """A file that cannot be opened."""

    __str__ = Error.__str__


class InvalidGraph(Error):
    """A model that breaks a rule, or whose types do not fit together."""


class InvalidProtobuf(Error):
    """Bytes that are no model."""


class Terminated(Error):
    """A run that was asked to stop."""


# onnxruntime's other names for what can go wrong.
Fail = RuntimeException = NotImplemented = EPFail = Error
ModelLoaded = NoModel = Error
OnnxRuntimeError = Error

_FAMILIES = {"SDX-A": InvalidArgument, "SDX-P": InvalidArgument, "SDX-B": InvalidProtobuf, "SDX-M": InvalidProtobuf,
             "SDX-K": InvalidGraph, "SDX-T": InvalidGraph, "SDX-I": InvalidGraph}
_CODES = {"SDX-R0010": InvalidArgument, "SDX-R0011": InvalidArgument, "SDX-R0012": InvalidArgument,
          "SDX-R0013": InvalidArgument, "SDX-R0015": InvalidArgument, "SDX-B0001": NoSuchFile, "SDX-R0030": Terminated, "SDX-R0031": Terminated}


def make(code, message, where, help):
    """The exception for an error of the engine."""
    kind = _CODES.get(code) or _FAMILIES.get(code[:5], Error)
    return kind(message, code, where, help)
