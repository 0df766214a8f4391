"""ONNX models as bytes, written field by field: the models that attack a reader are made by rule, and
no library stands between the rule and the file."""
import struct


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def blob(field, data):
    if isinstance(data, str):
        data = data.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


FLOAT, INT32, INT64, STRING, BOOL = 1, 6, 7, 8, 9


def tensor(name, elem, dims, raw=None, strings=None):
    out = b"".join(number(1, d) for d in dims) + number(2, elem)
    if strings is not None:
        out += b"".join(blob(6, s) for s in strings)
    out += blob(8, name)
    if raw is not None:
        out += blob(9, raw)
    return out


def ints(name, values):
    return tensor(name, INT64, [len(values)], struct.pack(f"<{len(values)}q", *values))


def floats(name, dims, value=1.0):
    count = 1
    for d in dims:
        count *= d
    return tensor(name, FLOAT, dims, struct.pack("<f", value) * count)


def attr_int(name, value):
    return blob(1, name) + number(3, value) + number(20, 2)


def attr_ints(name, values):
    return blob(1, name) + b"".join(number(8, v) for v in values) + number(20, 7)


def attr_string(name, value):
    return blob(1, name) + blob(4, value) + number(20, 3)


def attr_tensor(name, value):
    return blob(1, name) + blob(5, value) + number(20, 4)


def attr_graph(name, value):
    return blob(1, name) + blob(6, value) + number(20, 5)


def node(op, inputs, outputs, attributes=(), domain="", name=""):
    out = b"".join(blob(1, i) for i in inputs) + b"".join(blob(2, o) for o in outputs)
    if name:
        out += blob(3, name)
    out += blob(4, op) + b"".join(blob(5, a) for a in attributes)
    return out + (blob(7, domain) if domain else b"")


def value_info(name, elem=None, dims=None):
    """A dimension is a number, a symbol's name or None."""
    if elem is None:
        return blob(1, name)
    kind = number(1, elem)
    if dims is not None:
        shape = b""
        for d in dims:
            shape += blob(1, b"" if d is None else number(1, d) if isinstance(d, int) else blob(2, d))
        kind += blob(2, shape)
    return blob(1, name) + blob(2, blob(1, kind))


def graph(nodes, name="g", inputs=(), outputs=(), initializers=(), sparse=(), value_infos=()):
    out = b"".join(blob(1, n) for n in nodes) + blob(2, name)
    out += b"".join(blob(5, i) for i in initializers)
    out += b"".join(blob(11, i) for i in inputs) + b"".join(blob(12, o) for o in outputs)
    out += b"".join(blob(13, v) for v in value_infos)
    return out + b"".join(blob(15, s) for s in sparse)


def function(name, inputs, outputs, nodes, domain="f", opset=17, domains=()):
    out = blob(1, name) + b"".join(blob(4, i) for i in inputs) + b"".join(blob(5, o) for o in outputs)
    out += b"".join(blob(7, n) for n in nodes)
    for d, version in [("", opset), (domain, 1), *domains]:
        out += blob(9, (blob(1, d) if d else b"") + number(2, version))
    return out + blob(10, domain)


def model(main, functions=(), domains=("f",), opset=17, ir=9):
    out = number(1, ir) + blob(7, main)
    out += blob(8, number(2, opset))
    for d in domains if functions else ():
        out += blob(8, blob(1, d) + number(2, 1))
    return out + b"".join(blob(25, f) for f in functions)
