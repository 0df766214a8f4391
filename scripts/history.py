#!/usr/bin/env python3
"""Prints the history lines of operators for their declaration, from ONNX's schemas as JSON lines.

    scripts/history.py schemas.jsonl Softmax Conv ...
"""
import json
import struct
import sys

SHORT = {"float": "f32", "uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "int32": "i32", "int64": "i64",
         "string": "string", "bool": "bool", "float16": "f16", "double": "f64", "uint32": "u32", "uint64": "u64",
         "complex64": "c64", "complex128": "c128", "bfloat16": "bf16", "uint4": "u4", "int4": "i4", "uint2": "u2",
         "int2": "i2", "float4e2m1": "f4e2m1"}
for name in ("8e4m3fn", "8e4m3fnuz", "8e5m2", "8e5m2fnuz", "8e8m0", "6e2m3", "6e3m2"):
    SHORT["float" + name] = "f" + name
GROUPS = {"all": ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool", "string", "c64", "c128"],
          "num": ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"],
          "ints": ["i8", "i16", "i32", "i64"], "uints": ["u8", "u16", "u32", "u64"], "floats": ["f16", "f32", "f64"],
          "f8": ["f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"]}
ATTR = {"INT": "int", "INTS": "ints", "FLOAT": "float", "FLOATS": "floats", "STRING": "string", "STRINGS": "strings",
        "TENSOR": "tensor", "TENSORS": "tensors", "GRAPH": "graph", "GRAPHS": "graphs", "SPARSE_TENSOR": "sparse_tensor",
        "TYPE_PROTO": "type"}


def short(t):
    for kind in ("seq(", "optional("):
        if t.startswith(kind):
            return kind + short(t[len(kind):-1]) + ")"
    if t.startswith("map("):
        key, value = t[4:-1].split(", ")
        return f"map({SHORT[key]},{SHORT[value]})"
    return SHORT[t[7:-1]]


def words(types):
    """Type words, largest groups first."""
    left, out = set(types), []
    for wrap in ("{}", "seq({})", "optional({})", "optional(seq({}))"):
        for group, members in GROUPS.items():
            wrapped = {wrap.format(m) for m in members}
            if wrapped <= left:
                out.append(wrap.format(group))
                left -= wrapped
    return " ".join(out + sorted(left))


def number(x):
    x = struct.unpack("f", struct.pack("f", x))[0]
    for digits in range(1, 10):
        text = f"{x:.{digits}g}"
        if struct.pack("f", float(text)) == struct.pack("f", x):
            return text


def literal(value, kind):
    if isinstance(value, list):
        return "[" + ", ".join(literal(v, kind.rstrip("S")) for v in value) + "]"
    if kind.startswith("STRING"):
        return f'\\"{value}\\"'
    return number(value) if kind.startswith("FLOAT") else str(value)


def attribute(a):
    default = "" if a["default"] is None else " = " + literal(a["default"], a["type"])
    return f'{a["name"]}{"!" if a["required"] else ""}: {ATTR[a["type"]]}{default}'


def formals(items):
    out = []
    for f in items:
        mark = {"Optional": "?", "Variadic": "..."}.get(f.get("option"), "")
        if mark == "...":
            mark += str(f["min"]) if f.get("min", 1) != 1 else ""
            mark += "" if f.get("homogeneous", True) else "~"
        kind = f["type"] if "(" not in f["type"] else short(f["type"])
        out.append(f'{f["name"]}{mark}: {kind}')
    return "(" + ", ".join(out) + ")"


def delta(old, new):
    parts = []
    if old is None or formals(old["inputs"]) != formals(new["inputs"]):
        parts.append(formals(new["inputs"]))
    if old is None or formals(old["outputs"]) != formals(new["outputs"]):
        parts.append("-> " + formals(new["outputs"]))
    before = {a["name"]: attribute(a) for a in old["attributes"]} if old else {}
    after = {a["name"]: attribute(a) for a in new["attributes"]}
    attrs = [text for name, text in after.items() if before.get(name) != text] + ["-" + n for n in before if n not in after]
    if attrs:
        parts.append("{" + ", ".join(attrs) + "}")
    for var, types in new["types"].items():
        now = {short(t) for t in types}
        was = {short(t) for t in old["types"].get(var, [])} if old else set()
        if now == was:
            continue
        plus, minus = f"{var} += {words(now - was)}", f"{var} -= {words(was - now)}"
        if was and was < now:
            parts.append(plus)
        elif was and now < was:
            parts.append(minus)
        else:
            parts.append(f"{var} in {words(now)}")
    parts += [f"-{var}" for var in (old["types"] if old else {}) if var not in new["types"]]
    parts += ["deprecated"] if new["deprecated"] else []
    parts += ["experimental"] if new["support"] == "EXPERIMENTAL" else []
    return " ".join(parts)


def main():
    schemas = [json.loads(line) for line in open(sys.argv[1])]
    for op in sys.argv[2:]:
        print(f"// {op}")
        old = None
        for s in sorted((s for s in schemas if s["op"] == op), key=lambda s: s["since"]):
            print(f'    {{{s["since"]}, "{delta(old, s)}"}},')
            old = s


main()
