"""A function for every operator, with the signature and documentation of its declaration.

    ops.conv(x, w, bias, strides=[2, 2])        ops.and_(a, b)        ops.split(x, outputs=3)

Inputs come in the declaration's order, by position or name, attributes by name. Python's numbers, lists and arrays are
constants of the type that the other inputs have. An operator of several outputs gives a list; `outputs` says how many of a
variable number there are.
"""

import inspect
import keyword

from . import _builder, _sardonyx

_NAMES = None


def _identifier(name):
    name = _sardonyx.snake_case(name)
    return name + "_" if keyword.iskeyword(name) else name


def _names():
    global _NAMES
    if _NAMES is None:
        _NAMES = {}
        for full, op in _builder.declared().items():
            if not op["deprecated"]:
                _NAMES.setdefault(_identifier(op["name"]), full)
    return _NAMES


def _document(op, inputs):
    lines = [op["doc"], "", f"{op['name']} of version {op['since']}" + (f" of {op['domain']}" if op["domain"] else "") + ".", ""]
    for (name, kind, option), formal in zip(op["inputs"], inputs):
        lines.append(f"    {formal}: {kind}" + ("" if option == "single" else f", {option}"))
    for name, kind, required, default in op["attributes"]:
        lines.append(f"    {name}: {kind}" + (", required" if required else f", {default!r} unless given"))
    lines.append("    gives " + ", ".join(f"{name}: {kind}" for name, kind, _ in op["outputs"]))
    for variable, types in op["types"].items():
        lines.append(f"    {variable} is one of {', '.join(types)}")
    return "\n".join(lines)


def _function(full):
    op = _builder.declared()[full]
    inputs = [_identifier(name) for name, _, _ in op["inputs"]]
    kinds = [option for _, _, option in op["inputs"]]
    attributes = [name for name, *_ in op["attributes"]]
    Kind = inspect.Parameter
    parameters = []
    for name, option in zip(inputs, kinds):
        if option == "variadic":
            parameters.append(Kind(name, Kind.VAR_POSITIONAL))
        else:
            default = Kind.empty if option == "single" else None
            parameters.append(Kind(name, Kind.POSITIONAL_OR_KEYWORD, default=default))
    for name, _, required, default in op["attributes"]:
        if name not in inputs:
            parameters.append(Kind(name, Kind.KEYWORD_ONLY, default=Kind.empty if required else default))
    fixed = [output for output in op["outputs"] if output[2] == "single"]
    parameters.append(Kind("outputs", Kind.KEYWORD_ONLY, default=len(fixed) or 1))
    signature = inspect.Signature(parameters)

    def function(*args, **kwargs):
        values = signature.bind(*args, **kwargs)
        outputs = values.arguments.pop("outputs", len(fixed) or 1)
        given = []
        for name, option in zip(inputs, kinds):
            value = values.arguments.pop(name, () if option == "variadic" else None)
            if option == "variadic":
                value = value[0] if len(value) == 1 and isinstance(value[0], (list, tuple)) else value
                given.extend(value)
            else:
                given.append(value)
        made = _builder._made(None, full, given, {n: v for n, v in values.arguments.items() if n in attributes}, outputs)
        return made[0] if outputs == 1 else made

    function.__name__ = function.__qualname__ = _identifier(op["name"])
    function.__doc__ = _document(op, inputs)
    function.__signature__ = signature
    return function


def if_(condition, then_branch, else_branch):
    """If: the outputs of one of two functions without arguments, which may use wires from outside."""
    graph = condition._graph

    def branch(function):
        made = function()
        return [_builder._literal(wire, None) for wire in (made if isinstance(made, (list, tuple)) else [made])]

    made = _sardonyx.if_(condition._native, lambda: branch(then_branch), lambda: branch(else_branch), _builder._place())
    return [_builder.Wire(wire, graph) for wire in made]


def loop(trips, condition, initial, body):
    """Loop: body(iteration, carried) gives (carried, scanned) or (carried, scanned, go_on); None for no limit or condition."""
    graph = next(wire._graph for wire in [trips, condition, *initial] if isinstance(wire, _builder.Wire))

    def turn(iteration, carried):
        made = body(_builder.Wire(iteration, graph), [_builder.Wire(wire, graph) for wire in carried])
        next_, scanned, go_on = (*made, None)[:3]
        natives = [[_builder._literal(wire, None) for wire in wires] for wires in (next_, scanned)]
        return natives[0], natives[1], _builder._literal(go_on, None)

    made = _sardonyx.loop(_builder._literal(trips, 7), _builder._literal(condition, 9),
                          [_builder._literal(wire, None) for wire in initial], turn, _builder._place())
    return [_builder.Wire(wire, graph) for wire in made]


def __getattr__(name):
    full = _names().get(name)
    if full is None:
        raise AttributeError(f"no operator {name}")
    globals()[name] = _function(full)
    return globals()[name]


def __dir__():
    return sorted({*_names(), "if_", "loop"})
