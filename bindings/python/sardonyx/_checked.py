"""Objects of options that take no attribute they do not know, and no value that an attribute does not have."""

import difflib
import os

from ._errors import make


class Checked:
    """Its subclass lists in `_known` what each attribute may be: a function that returns the value or raises ValueError."""

    _known = {}

    def __setattr__(self, name, value):
        if name.startswith("_") or isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
            return
        check = self._known.get(name)
        if check is None:
            near = difflib.get_close_matches(name, self._known, 1)
            error = make("SDX-P0018", f'{type(self).__name__} has no option "{name}"', [],
                         f'did you mean "{near[0]}"?' if near else "there are " + ", ".join(sorted(self._known)))
            raise UnknownOption(error.message, error.code, error.where, error.help)
        try:
            object.__setattr__(self, name, check(value))
        except (TypeError, ValueError) as wrong:
            raise make("SDX-P0019", f"{type(self).__name__}.{name}: {value!r} {wrong}", [], "") from None


class UnknownOption(type(make("SDX-P0018", "", [], "")), AttributeError):
    """An option that there is not."""


def one_of(*words):
    """One of these words."""

    def check(value):
        if value not in words:
            raise ValueError("is none of " + ", ".join(map(repr, words)))
        return value

    return check


def whole(least=0, most=None):
    """A whole number."""

    def check(value):
        if isinstance(value, bool) or int(value) != value or value < least or (most is not None and value > most):
            raise ValueError(f"is no whole number of at least {least}" + ("" if most is None else f" and at most {most}"))
        return int(value)

    return check


def member(kind):
    """A member of an enumeration, or its number."""

    def check(value):
        try:
            return kind(value)
        except ValueError:
            raise ValueError(f"is no {kind.__name__}: " + ", ".join(one.name for one in kind)) from None

    return check


def flag(value):
    """True or False."""
    if value not in (True, False):
        raise ValueError("is neither True nor False")
    return bool(value)


def text(value):
    """A string."""
    if not isinstance(value, str):
        raise ValueError("is no string")
    return value


def path(value):
    """A path, as a string or as pathlib has it."""
    return os.fspath(value)


def optional(check):
    """None, or what `check` takes."""
    return lambda value: None if value is None else check(value)


def not_negative(value):
    """A number of at least zero."""
    if isinstance(value, bool) or not value >= 0:
        raise ValueError("is no number of at least zero")
    return value
