#!/usr/bin/python3
"""Trains the digit classifier of this folder in numpy and writes digits.onnx, pictures.pb and labels.pb.

    examples/digits/train.py        (Debian: python3-numpy python3-sklearn python3-onnx; some seconds)

The data are scikit-learn's bundled 8x8 scans of handwritten digits. A fifth of them is held back for testing; the ten
pictures are the first held-back scan of each digit, none of them seen in training.
"""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = pathlib.Path(__file__).resolve().parent
CHANNELS1, CHANNELS2, HIDDEN, CLASSES = 8, 16, 32, 10
EPOCHS, BATCH, RATE = 60, 64, 2e-3


def patches(x):
    """[N,C,H,W] -> [N,H,W,C*9]: each pixel's 3x3 neighbourhood, zero outside the picture."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


def unpatches(gradient, c):
    """The transpose of patches: adds each neighbourhood's gradient back to its pixels."""
    n, h, w, _ = gradient.shape
    gradient = gradient.reshape(n, h, w, c, 3, 3)
    padded = np.zeros((n, c, h + 2, w + 2), np.float32)
    for i in range(3):
        for j in range(3):
            padded[:, :, i : i + h, j : j + w] += gradient[..., i, j].transpose(0, 3, 1, 2)
    return padded[:, :, 1:-1, 1:-1]


def conv(x, weight, bias):
    columns = patches(x)
    out = columns @ weight.reshape(len(weight), -1).T + bias
    return out.transpose(0, 3, 1, 2), columns


def conv_backward(gradient, columns, weight):
    gradient = gradient.transpose(0, 2, 3, 1)
    flat = gradient.reshape(-1, len(weight))
    d_weight = (flat.T @ columns.reshape(len(flat), -1)).reshape(weight.shape)
    return unpatches(gradient @ weight.reshape(len(weight), -1), weight.shape[1]), d_weight, flat.sum(0)


def forward(p, x):
    """Conv-Relu-MaxPool-Conv-Relu-Flatten-Gemm-Relu-Gemm; returns the logits and what backward needs."""
    a1, columns1 = conv(x, p["conv1.weight"], p["conv1.bias"])
    r1 = np.maximum(a1, 0)
    n, c, h, w = r1.shape
    pooled = r1.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))
    a2, columns2 = conv(pooled, p["conv2.weight"], p["conv2.bias"])
    flat = np.maximum(a2, 0).reshape(n, -1)
    hidden = np.maximum(flat @ p["hidden.weight"].T + p["hidden.bias"], 0)
    logits = hidden @ p["answer.weight"].T + p["answer.bias"]
    return logits, (columns1, r1, pooled, columns2, a2, flat, hidden)


def backward(p, logits, saved, labels):
    """The gradient of the mean cross-entropy."""
    columns1, r1, pooled, columns2, a2, flat, hidden = saved
    n = len(labels)
    d_logits = np.exp(logits - logits.max(1, keepdims=True))
    d_logits /= d_logits.sum(1, keepdims=True)
    d_logits[np.arange(n), labels] -= 1
    d_logits /= n
    g = {"answer.weight": d_logits.T @ hidden, "answer.bias": d_logits.sum(0)}
    d_hidden = (d_logits @ p["answer.weight"]) * (hidden > 0)
    g["hidden.weight"], g["hidden.bias"] = d_hidden.T @ flat, d_hidden.sum(0)
    d_a2 = (d_hidden @ p["hidden.weight"]).reshape(a2.shape) * (a2 > 0)
    d_pooled, g["conv2.weight"], g["conv2.bias"] = conv_backward(d_a2, columns2, p["conv2.weight"])
    spread = lambda t: t.repeat(2, axis=2).repeat(2, axis=3)
    d_a1 = spread(d_pooled) * (r1 == spread(pooled)) * (r1 > 0)
    _, g["conv1.weight"], g["conv1.bias"] = conv_backward(d_a1, columns1, p["conv1.weight"])
    return g


def initial(rng):
    def he(*shape):
        return (rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)

    p = {
        "conv1.weight": he(CHANNELS1, 1, 3, 3),
        "conv2.weight": he(CHANNELS2, CHANNELS1, 3, 3),
        "hidden.weight": he(HIDDEN, CHANNELS2 * 16),
        "answer.weight": he(CLASSES, HIDDEN),
    }
    for name in list(p):
        p[name.replace("weight", "bias")] = np.zeros(len(p[name]), np.float32)
    return p


def train(x, y, rng):
    """Adam, a rate that falls to zero, and pictures shifted by up to a pixel, since few are there."""
    p = initial(rng)
    m = {name: np.zeros_like(value) for name, value in p.items()}
    v = {name: np.zeros_like(value) for name, value in p.items()}
    steps_per_epoch = -(-len(x) // BATCH)
    step, steps = 0, EPOCHS * steps_per_epoch
    for _ in range(EPOCHS):
        for chosen in np.array_split(rng.permutation(len(x)), steps_per_epoch):
            dy, dx = rng.integers(-1, 2, 2)
            batch = np.pad(x[chosen], ((0, 0), (0, 0), (1, 1), (1, 1)))[:, :, 1 + dy : 9 + dy, 1 + dx : 9 + dx]
            logits, saved = forward(p, batch)
            step += 1
            rate = RATE * (1 - step / (steps + 1))
            for name, gradient in backward(p, logits, saved, y[chosen]).items():
                m[name] = 0.9 * m[name] + 0.1 * gradient
                v[name] = 0.999 * v[name] + 0.001 * gradient**2
                corrected = (m[name] / (1 - 0.9**step)) / (np.sqrt(v[name] / (1 - 0.999**step)) + 1e-8)
                p[name] = (p[name] - rate * (corrected + 1e-2 * p[name])).astype(np.float32)
    return p


def to_onnx(p):
    node = helper.make_node
    nodes = [
        node("Conv", ["picture", "conv1.weight", "conv1.bias"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"], "relu1"),
        node("MaxPool", ["r1"], ["p1"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p1", "conv2.weight", "conv2.bias"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        node("Relu", ["c2"], ["r2"], "relu2"),
        node("Flatten", ["r2"], ["flat"], "flatten", axis=1),
        node("Gemm", ["flat", "hidden.weight", "hidden.bias"], ["h"], "hidden", transB=1),
        node("Relu", ["h"], ["r3"], "relu3"),
        node("Gemm", ["r3", "answer.weight", "answer.bias"], ["logits"], "answer", transB=1),
        node("Softmax", ["logits"], ["probability"], "softmax", axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["N", CLASSES])],
        [numpy_helper.from_array(value, name) for name, value in p.items()],
        doc_string="Handwritten digits: 8x8 pictures, ink from 0 (paper) to 1, to the probability of each digit.",
    )
    opset = helper.make_opsetid("", 21)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10, producer_name="examples/digits/train.py")


def save_tensor(path, name, array):
    path.write_bytes(numpy_helper.from_array(array, name).SerializeToString())


def main():
    data = load_digits()
    x = (data.images / 16).astype(np.float32)[:, None]
    train_x, test_x, train_y, test_y = train_test_split(x, data.target, test_size=0.2, random_state=0, stratify=data.target)
    p = train(train_x, train_y, np.random.default_rng(0))
    right = forward(p, test_x)[0].argmax(1) == test_y
    print(f"{len(train_x)} pictures trained on; {right.sum()} of {len(test_x)} held back are right ({right.mean():.1%})")
    onnx.save(to_onnx(p), str(HERE / "digits.onnx"))
    first = [int(np.argmax(test_y == digit)) for digit in range(CLASSES)]
    save_tensor(HERE / "pictures.pb", "picture", test_x[first])
    save_tensor(HERE / "labels.pb", "label", test_y[first].astype(np.int64))


if __name__ == "__main__":
    main()
