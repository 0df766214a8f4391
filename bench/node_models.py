"""One-node models from the rows of a table of nodes (operator, attributes, types and shapes).

The table has shapes, not values. Integer operands that say how (Reshape's shape, Slice's starts, a reduction's axes) are
found from the shapes of inputs and outputs; indices are drawn within bounds; everything else is uniform in [-1, 1), matrices
of recurrent operators over the root of their rows' length.
"""

import ast
import csv
import itertools
import lzma
import re

import numpy as np
from onnx import helper, numpy_helper

TYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64, "int32": np.int32,
         "int8": np.int8, "uint8": np.uint8, "bool": np.bool_}
ONNX_TYPES = {np.dtype(kind): number for kind, number in (
    (np.float32, 1), (np.uint8, 2), (np.int8, 3), (np.int32, 6), (np.int64, 7), (np.bool_, 9), (np.float16, 10), (np.float64, 11))}
OPSET = 20
RECURRENT = ("RNN", "LSTM", "GRU")


class Unsolved(Exception):
    """The row's shapes do not tell the value of an operand."""


class Port:
    """"const float[3,4]": an operand or a result of a row. "-" is left out."""

    def __init__(self, text):
        match = re.fullmatch(r"(const )?(\w+)\[([\d,]*)\]", text.strip())
        self.present = match is not None
        if not self.present:
            if text.strip() not in ("-", ""):
                raise Unsolved(f"no tensor: {text}")
            return
        self.constant = match[1] is not None
        if match[2] not in TYPES:
            raise Unsolved(f"type {match[2]}")
        self.dtype = TYPES[match[2]]
        self.dims = [int(size) for size in match[3].split(",") if size]


class Row:
    def __init__(self, record):
        self.op, self.count, self.models = record["op"], int(record["nodes"]), record["models"]
        self.text = f'{record["op"]} {record["attrs"]} ({record["inputs"]}) -> ({record["outputs"]})'
        self.attrs = {}
        for item in filter(None, record["attrs"].split(";")):
            name, value = item.split("=", 1)
            self.attrs[name] = ast.literal_eval(value)
        self.inputs = [Port(text) for text in record["inputs"].split("|")] if record["inputs"] else []
        self.outputs = [Port(text) for text in record["outputs"].split("|")]


def rows(path):
    with lzma.open(path, "rt", newline="") as file:
        for record in csv.DictReader(file):
            yield record


def changed_axes(a, b):
    return [axis for axis in range(len(a)) if a[axis] != b[axis]]


def solve_slice(row, ints):
    """Starts, ends, axes (and steps) that cut the input down to the output, from the front."""
    given, made = row.inputs[0].dims, row.outputs[0].dims
    axes = changed_axes(given, made)[: ints[1].dims[0]]
    for axis in range(len(given)):
        if len(axes) < ints[1].dims[0] and axis not in axes:
            axes.append(axis)
    step = 1
    values = {1: [0] * len(axes), 2: [], 3: axes, 4: []}
    for axis in axes:
        step = max(1, given[axis] // made[axis]) if 4 in ints and made[axis] else 1
        values[2].append(min(given[axis], made[axis] * step) if step > 1 else made[axis])
        values[4].append(step)
    return values


def solve_reduction(row, ints):
    given, made = row.inputs[0].dims, row.outputs[0].dims
    count = ints[1].dims[0]
    for axes in itertools.combinations(range(len(given) - 1, -1, -1), count):
        kept = [1 if i in axes else size for i, size in enumerate(given)]
        if row.attrs.get("keepdims", 1) == 0:
            kept = [size for i, size in enumerate(given) if i not in axes]
        if kept == made:
            return {1: sorted(axes)}
    raise Unsolved("axes of a reduction")


def solve_unsqueeze(row, ints):
    given, made = row.inputs[0].dims, row.outputs[0].dims
    for axes in itertools.combinations(range(len(made)), ints[1].dims[0]):
        if [size for i, size in enumerate(made) if i not in axes] == given:
            return {1: list(axes)}
    raise Unsolved("axes of Unsqueeze")


def solve_squeeze(row, ints):
    given, made = row.inputs[0].dims, row.outputs[0].dims
    for axes in itertools.combinations(range(len(given)), ints[1].dims[0]):
        if [size for i, size in enumerate(given) if i not in axes] == made:
            return {1: list(axes)}
    raise Unsolved("axes of Squeeze")


def solve_pad(row, ints):
    given, made = row.inputs[0].dims, row.outputs[0].dims
    total = [after - before for before, after in zip(given, made)]
    begin = [t // 2 for t in total]
    return {1: begin + [t - b for t, b in zip(total, begin)]}


def solve_col2im(row, ints):
    channels = row.outputs[0].dims[1]
    side = round((row.inputs[0].dims[1] / channels) ** 0.5)
    return {1: row.outputs[0].dims[2:], 2: [side] * (len(row.outputs[0].dims) - 2)}


def solve_shape_of_output(row, ints):
    return {max(ints): row.outputs[0].dims}


# What an operator's constant integer operands are, by their position.
SOLVERS = {
    "Reshape": solve_shape_of_output, "Expand": solve_shape_of_output, "ConstantOfShape": solve_shape_of_output,
    "Resize": solve_shape_of_output, "Slice": solve_slice, "Unsqueeze": solve_unsqueeze, "Squeeze": solve_squeeze,
    "Pad": solve_pad, "Col2Im": solve_col2im,
    "Split": lambda row, ints: {1: [port.dims[row.attrs.get("axis", 0)] for port in row.outputs]},
    "Tile": lambda row, ints: {1: [b // a for a, b in zip(row.inputs[0].dims, row.outputs[0].dims)]},
    "CumSum": lambda row, ints: {1: len(row.inputs[0].dims) - 1},
    "ReduceMean": solve_reduction, "ReduceSum": solve_reduction, "ReduceL2": solve_reduction, "ReduceMax": solve_reduction,
    "ReduceMin": solve_reduction, "ReduceProd": solve_reduction,
}


def bound_of_indices(row):
    """The least size that an index of this row goes over."""
    data = row.inputs[0].dims
    if row.op in ("Gather", "GatherElements"):
        return data[row.attrs.get("axis", 0)]
    return min(data[: row.inputs[1].dims[-1]] or [1])


def value_of(row, i, rng, solved):
    port = row.inputs[i]
    if i in solved:
        return np.array(solved[i], port.dtype).reshape(port.dims)
    if row.op in ("Gather", "GatherElements", "GatherND", "ScatterND", "ScatterElements") and i == 1:
        if row.op == "ScatterND":  # no index twice
            return np.arange(int(np.prod(port.dims[:-1]))).reshape(port.dims[:-1] + [1]).repeat(port.dims[-1], -1) \
                .clip(0, bound_of_indices(row) - 1).astype(port.dtype)
        return rng.integers(0, bound_of_indices(row), port.dims).astype(port.dtype)
    if port.dtype == np.bool_:
        return rng.integers(0, 2, port.dims).astype(np.bool_)
    if np.issubdtype(port.dtype, np.integer):
        return rng.integers(0, 100, port.dims).astype(port.dtype)
    values = rng.uniform(-1, 1, port.dims).astype(port.dtype)
    if row.op in RECURRENT and i in (1, 2):
        values /= port.dtype(np.sqrt(port.dims[-1]))  # as in trained ones: a last bit must not grow from step to step
    positive = (row.op == "BatchNormalization" and i == 4) or row.op in ("Log", "Sqrt", "Pow")
    return np.asarray(np.abs(values) + port.dtype(0.5) if positive else values)


def build(record, seed=1):
    """The model's bytes, its inputs by name, and its row."""
    row = Row(record)
    rng = np.random.default_rng(seed)
    ints = {i: port for i, port in enumerate(row.inputs)
            if port.present and port.constant and np.issubdtype(port.dtype, np.integer)}
    solved = SOLVERS[row.op](row, ints) if row.op in SOLVERS and ints else {}
    names, feeds, graph_inputs, weights = [], {}, [], []
    for i, port in enumerate(row.inputs):
        if not port.present:
            names.append("")
            continue
        name, value = f"x{i}", value_of(row, i, rng, solved)
        names.append(name)
        if port.constant or i in solved:
            weights.append(numpy_helper.from_array(value, name))
        else:
            feeds[name] = value
            graph_inputs.append(helper.make_tensor_value_info(name, ONNX_TYPES[value.dtype], port.dims))
    outputs = [helper.make_tensor_value_info(f"y{i}", ONNX_TYPES[np.dtype(port.dtype)], port.dims)
               if port.present else None for i, port in enumerate(row.outputs)]
    if not feeds:
        raise Unsolved("nothing but constants")
    node = helper.make_node(row.op, names, [port.name if port else "" for port in outputs], **row.attrs)
    graph = helper.make_graph([node], "node", graph_inputs, [port for port in outputs if port], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    return model.SerializeToString(), feeds, row
