#!/usr/bin/python3
"""Writes the small models of tests/data/run: control flow, open shapes, state and defaults.

    scripts/make_run_models.py tests/data/run
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper


def value(name, kind, dims):
    return h.make_tensor_value_info(name, kind, dims)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def save(folder, name, nodes, inputs, outputs, initializers=()):
    graph = h.make_graph(nodes, name, inputs, outputs, list(initializers))
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8, producer_name="make_run_models")
    onnx.checker.check_model(model)
    onnx.save(model, folder / f"{name}.onnx")


def weights(rows, columns, seed):
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


def grow(folder):
    """A carried value that is longer after each iteration, and rows that are scanned."""
    body = h.make_graph(
        [
            h.make_node("Cast", ["i"], ["f"], to=T.FLOAT),
            h.make_node("Mul", ["f", "scale"], ["next"]),
            h.make_node("Concat", ["v", "next"], ["v_out"], axis=0),
            h.make_node("ReduceSum", ["v_out"], ["row"]),
            h.make_node("Identity", ["go"], ["go_out"]),
        ],
        "grow_body",
        [value("i", T.INT64, []), value("go", T.BOOL, []), value("v", T.FLOAT, ["L"])],
        [value("go_out", T.BOOL, []), value("v_out", T.FLOAT, ["L1"]), value("row", T.FLOAT, [1])],
    )
    save(
        folder, "grow",
        [h.make_node("Loop", ["times", "", "x"], ["longer", "sums"], body=body)],
        [value("x", T.FLOAT, ["N"]), value("times", T.INT64, []), value("scale", T.FLOAT, [1])],
        [value("longer", T.FLOAT, ["M"]), value("sums", T.FLOAT, ["K", 1])],
    )


def nested(folder):
    """A Loop in a Loop with an If inside; each level uses wires of all levels around it."""
    branch = lambda name, op: h.make_graph(
        [h.make_node(op, ["w", "x"], [f"{name}_a"]), h.make_node("Add", [f"{name}_a", "v"], [f"{name}_out"])],
        name, [], [value(f"{name}_out", T.FLOAT, ["N"])])
    inner = h.make_graph(
        [
            h.make_node("Add", ["i", "j"], ["ij"]),
            h.make_node("Mod", ["ij", "two"], ["odd"]),
            h.make_node("Cast", ["odd"], ["is_odd"], to=T.BOOL),
            h.make_node("If", ["is_odd"], ["w_out"], then_branch=branch("odd_branch", "Mul"),
                        else_branch=branch("even_branch", "Sub")),
            h.make_node("Identity", ["go2"], ["go2_out"]),
        ],
        "inner", [value("j", T.INT64, []), value("go2", T.BOOL, []), value("w", T.FLOAT, ["N"])],
        [value("go2_out", T.BOOL, []), value("w_out", T.FLOAT, ["N"])])
    outer = h.make_graph(
        [
            h.make_node("Loop", ["three", "", "v"], ["v_out"], body=inner),
            h.make_node("Identity", ["go"], ["go_out"]),
            h.make_node("ReduceMax", ["v_out"], ["peak"], keepdims=0),
        ],
        "outer", [value("i", T.INT64, []), value("go", T.BOOL, []), value("v", T.FLOAT, ["N"])],
        [value("go_out", T.BOOL, []), value("v_out", T.FLOAT, ["N"]), value("peak", T.FLOAT, [])])
    save(
        folder, "nested",
        [h.make_node("Loop", ["times", "", "start"], ["end", "peaks"], body=outer)],
        [value("x", T.FLOAT, ["N"]), value("start", T.FLOAT, ["N"]), value("times", T.INT64, [])],
        [value("end", T.FLOAT, ["N"]), value("peaks", T.FLOAT, ["K"])],
        [constant("two", np.int64(2)), constant("three", np.int64(3))],
    )


def forever(folder):
    """A Loop without an end."""
    body = h.make_graph(
        [h.make_node("MatMul", ["v", "w"], ["m"]), h.make_node("Tanh", ["m"], ["v_out"]),
         h.make_node("Identity", ["go"], ["go_out"])],
        "forever_body", [value("i", T.INT64, []), value("go", T.BOOL, []), value("v", T.FLOAT, [16, 16])],
        [value("go_out", T.BOOL, []), value("v_out", T.FLOAT, [16, 16])])
    save(
        folder, "forever",
        [h.make_node("Loop", ["times", "", "x"], ["y"], body=body)],
        [value("x", T.FLOAT, [16, 16]), value("times", T.INT64, [])], [value("y", T.FLOAT, [16, 16])],
        [constant("w", weights(16, 16, 1))],
    )


def lengths(folder):
    """Products, a normalisation and a branch, at any length and batch."""
    save(
        folder, "lengths",
        [
            h.make_node("MatMul", ["x", "w1"], ["a"]),
            h.make_node("Add", ["a", "b1"], ["b"]),
            h.make_node("Relu", ["b"], ["c"]),
            h.make_node("MatMul", ["c", "w2"], ["d"]),
            h.make_node("Add", ["d", "x"], ["e"]),
            h.make_node("LayerNormalization", ["e", "scale"], ["f"]),
            h.make_node("Softmax", ["f"], ["y"], axis=-1),
            h.make_node("ReduceMean", ["f"], ["mean"], axes=[1], keepdims=0),
        ],
        [value("x", T.FLOAT, ["B", "L", 32])],
        [value("y", T.FLOAT, ["B", "L", 32]), value("mean", T.FLOAT, ["B", 32])],
        [constant("w1", weights(32, 64, 2)), constant("w2", weights(64, 32, 3)),
         constant("b1", weights(1, 64, 4)[0]), constant("scale", weights(1, 32, 5)[0])],
    )


def from_data(folder):
    """Sizes that only the data tells, and operators after them."""
    save(
        folder, "from_data",
        [
            h.make_node("ReduceSum", ["x", "last"], ["sum"], keepdims=0),
            h.make_node("Greater", ["sum", "zero"], ["positive"]),
            h.make_node("Compress", ["x", "positive"], ["rows"], axis=0),
            h.make_node("MatMul", ["rows", "w"], ["products"]),
            h.make_node("Softmax", ["products"], ["y"], axis=-1),
            h.make_node("NonZero", ["positive"], ["where"]),
            h.make_node("Shape", ["where"], ["shape"]),
            h.make_node("Gather", ["shape", "one"], ["count"]),
            h.make_node("Range", ["start", "count", "step"], ["range"]),
            h.make_node("Unsqueeze", ["range", "zero_axis"], ["row"]),
            h.make_node("Add", ["where", "row"], ["z"]),
            h.make_node("Cast", ["z"], ["zf"], to=T.FLOAT),
            h.make_node("MatMul", ["zf", "y"], ["mixed"]),
            h.make_node("Unique", ["z"], ["distinct"]),
        ],
        [value("x", T.FLOAT, ["N", 8])],
        [value("y", T.FLOAT, ["K", 4]), value("mixed", T.FLOAT, [1, 4]), value("distinct", T.INT64, ["D"])],
        [constant("last", np.array([1], np.int64)), constant("zero", np.float32(0)), constant("w", weights(8, 4, 6)),
         constant("one", np.int64(1)), constant("start", np.int64(0)), constant("step", np.int64(1)),
         constant("zero_axis", np.array([0], np.int64))],
    )


def defaults(folder):
    """Initializers that are inputs too: a caller may give other values."""
    save(
        folder, "defaults",
        [h.make_node("MatMul", ["x", "w"], ["a"]), h.make_node("Mul", ["gain", "gain"], ["gain2"]),
         h.make_node("Mul", ["a", "gain2"], ["y"])],
        [value("x", T.FLOAT, ["N", 2]), value("w", T.FLOAT, [2, 2]), value("gain", T.FLOAT, [1])],
        [value("y", T.FLOAT, ["N", 2])],
        [constant("w", np.eye(2, dtype=np.float32)), constant("gain", np.array([2], np.float32))],
    )


def state(folder):
    """A running sum and its mean: the outputs sum_out and count_out are the next inputs."""
    save(
        folder, "state",
        [h.make_node("Add", ["sum_in", "x"], ["sum_out"]), h.make_node("Add", ["count_in", "one"], ["count_out"]),
         h.make_node("Div", ["sum_out", "count_out"], ["mean"]), h.make_node("Exp", ["mean"], ["exp"])],
        [value("x", T.FLOAT, [3]), value("sum_in", T.FLOAT, [3]), value("count_in", T.FLOAT, [1])],
        [value("mean", T.FLOAT, [3]), value("sum_out", T.FLOAT, [3]), value("count_out", T.FLOAT, [1]),
         value("exp", T.FLOAT, [3])],
        [constant("one", np.array([1], np.float32))],
    )


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for write in (grow, nested, forever, lengths, from_data, defaults, state):
        write(target)
