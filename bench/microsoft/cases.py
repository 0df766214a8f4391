"""Small models with one node of com.microsoft each, for compare.py: the same on every machine."""

import itertools
import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft"


def proto(array, name):
    if isinstance(array, np.ndarray):
        return numpy_helper.from_array(array, name)
    array.name = name
    return array


class Case:
    """A node with its inputs: arrays, or None where one is left out. Inputs in `const` are initializers."""

    def __init__(self, op, inputs, attrs=None, outputs=1, const=(), domain=DOMAIN, opset=17, note="", tolerance=None,
                 wanted=None, types=None):
        self.op, self.inputs, self.attrs, self.domain, self.opset = op, list(inputs), dict(attrs or {}), domain, opset
        self.outputs, self.const, self.note, self.tolerance = outputs, set(const), note, tolerance
        self.wanted = wanted if wanted is not None else [True] * outputs
        self.types = types or {}  # of outputs that the inputs leave open
        self.folder = None

    def names(self):
        return ["" if array is None else f"i{i}" for i, array in enumerate(self.inputs)]

    def fed(self):
        return [(f"i{i}", array) for i, array in enumerate(self.inputs) if array is not None and i not in self.const]

    def half(self):
        return any(isinstance(a, np.ndarray) and a.dtype == np.float16 for a in self.inputs)

    def model(self):
        outs = [f"o{i}" if want else "" for i, want in enumerate(self.wanted)]
        node = helper.make_node(self.op, self.names(), outs, domain=self.domain, **self.attrs)
        values = [helper.make_tensor_value_info(name, proto(array, name).data_type, list(array.shape))
                  for name, array in self.fed()]
        consts = [proto(array, f"i{i}") for i, array in enumerate(self.inputs) if array is not None and i in self.const]
        results = [helper.make_tensor_value_info(name, self.types[i], None) if i in self.types else
                   helper.make_empty_tensor_value_info(name) for i, name in enumerate(outs) if name]
        graph = helper.make_graph([node], "case", values, results, consts)
        imports = [helper.make_opsetid("", self.opset)]
        if self.domain:
            imports.append(helper.make_opsetid(self.domain, 1))
        return helper.make_model(graph, opset_imports=imports, ir_version=8)


GENERATORS = []


def cases_of(function):
    """A generator yields (inputs, attrs) or Case arguments; its name is the operator's."""
    GENERATORS.append(function)
    return function


class Random:
    def __init__(self, *seed):
        self.rng = np.random.RandomState(zlib.crc32(repr(seed).encode()))

    def f(self, *shape, low=-1.0, high=1.0, dtype=np.float32):
        return (self.rng.random_sample(shape) * (high - low) + low).astype(dtype)

    def i(self, *shape, low=0, high=100, dtype=np.int64):
        return self.rng.randint(low, high, shape).astype(dtype)

    def bytes_(self, *shape, dtype=np.uint8):
        info = np.iinfo(dtype)
        return self.rng.randint(info.min, info.max + 1, shape).astype(dtype)

    def scale(self, *shape):
        return self.f(*shape, low=0.005, high=0.05)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


FLOATS = [np.float32, np.float16]
SHAPES = [(4,), (2, 16), (1, 3, 32), (2, 3, 4, 8), (1, 1), (0, 4), (5, 64)]


@cases_of
def Gelu(r):
    for shape, dtype in itertools.product(SHAPES[:5] + SHAPES[6:], [np.float32, np.float16, np.float64, np.float32]):
        yield [r.f(*shape, low=-4, high=4, dtype=dtype)], {}


@cases_of
def QuickGelu(r):
    for shape, alpha in itertools.product(SHAPES, [1.702, 1.0, -0.5]):
        yield [r.f(*shape, low=-4, high=4)], {"alpha": alpha}
    yield [r.f(2, 8, dtype=np.float16)], {}


@cases_of
def FastGelu(r):
    for shape, dtype, bias in itertools.product(SHAPES[:4] + SHAPES[6:], FLOATS, [False, True]):
        yield [r.f(*shape, low=-4, high=4, dtype=dtype)] + ([r.f(shape[-1], dtype=dtype)] if bias else []), {}
    yield [r.f(2, 8), r.f(8)], {}, {"const": {1}}


@cases_of
def BiasGelu(r):
    for shape, const in itertools.product(SHAPES * 2, [False, True]):
        yield [r.f(*shape, low=-3, high=3), r.f(shape[-1])], {}, {"const": {1} if const else ()}


@cases_of
def BiasSplitGelu(r):
    for n in range(20):
        width = 2 * (n + 1) * 8
        yield [r.f(1 + n % 3, 2 + n % 5, width), r.f(width)], {}, {"const": {1} if n % 2 else ()}


@cases_of
def BiasAdd(r):
    for n in range(20):
        shape = (1 + n % 3, 2 + n % 5, 8 + n)
        dtype = FLOATS[n % 2]
        yield [r.f(*shape, dtype=dtype), r.f(shape[-1], dtype=dtype), r.f(*shape, dtype=dtype)], {}


@cases_of
def BiasSoftmax(r):
    for n in range(24):
        axis = [1, 2, 3, -1][n % 4]
        shape = (2, 3, 4, 5 + n)
        inner = n % 2
        bias = (1, 1) + shape[2:] if axis not in (1,) else (1,) + shape[1:]
        yield [r.f(*shape, dtype=FLOATS[0]), r.f(*bias)], {"axis": axis, "is_inner_broadcast": inner}


@cases_of
def BiasDropout(r):
    for n in range(20):
        shape = (2, 3 + n % 4, 8)
        inputs = [r.f(*shape), r.f(8)]
        if n % 3:
            inputs.append(r.f(*shape))
        yield inputs, {"seed": n} if n % 2 else {}


@cases_of
def GatedAdd(r):
    for n in range(20):
        shape = (2, 3 + n % 4, 8)
        yield [r.f(*shape), r.f(*shape), r.f(*shape)], {}


@cases_of
def SimplifiedLayerNormalization(r):
    for n, (shape, eps) in enumerate(itertools.product([(2, 8), (1, 3, 32), (2, 3, 4, 16), (5, 77), (1, 1)],
                                                       [1e-5, 1e-6, 1e-3, 1e-12])):
        dtype = np.float32
        yield [r.f(*shape, dtype=dtype), r.f(shape[-1], dtype=dtype)], {"epsilon": eps, "axis": -1}, \
            {"domain": "", "outputs": 1 + n % 2, "const": {1} if n % 3 else ()}
    yield [r.f(3, 4, 5), r.f(4, 5)], {"axis": 1}, {"domain": ""}
    yield [r.f(3, 8, dtype=np.float16), r.f(8, dtype=np.float16)], {}, {"domain": ""}
    yield [r.f(3, 8, dtype=np.float64), r.f(8, dtype=np.float64)], {}, {"domain": ""}


@cases_of
def LayerNormalization(r):
    for n, (shape, opset) in enumerate(itertools.product([(2, 8), (1, 3, 32), (2, 3, 16), (5, 77)], [9, 11, 13, 14, 16])):
        inputs = [r.f(*shape), r.f(shape[-1])] + ([r.f(shape[-1])] if n % 2 else [])
        yield inputs, {"epsilon": [1e-5, 1e-3][n % 2]}, {"domain": "", "opset": opset, "const": {1} if n % 3 else ()}


@cases_of
def SkipLayerNormalization(r):
    shapes = [(1, 3, 8), (2, 5, 32), (2, 2, 77), (4, 16)]
    for n, (shape, beta, bias) in enumerate(itertools.product(shapes, [0, 1], [0, 1])):
        for dtype in FLOATS:
            inputs = [r.f(*shape, dtype=dtype), r.f(*shape, dtype=dtype), r.f(shape[-1], dtype=dtype)]
            inputs.append(r.f(shape[-1], dtype=dtype) if beta else None)
            if bias:
                inputs.append(r.f(shape[-1], dtype=dtype))
            while inputs[-1] is None:
                inputs.pop()
            four = {"outputs": 4, "wanted": [True, False, False, True]} if n % 2 else {}
            yield inputs, {"epsilon": [1e-12, 1e-5][n % 2]}, four
    yield [r.f(2, 5, 32), r.f(1, 5, 32), r.f(32), r.f(32)], {"epsilon": 1e-5}
    yield [r.f(2, 5, 32), r.f(5, 32), r.f(32), r.f(32)], {"epsilon": 1e-5}


@cases_of
def SkipSimplifiedLayerNormalization(r):
    shapes = [(1, 3, 8), (2, 5, 32), (2, 2, 77), (4, 16), (1, 1, 64)]
    for n, (shape, bias) in enumerate(itertools.product(shapes, [0, 1])):
        for dtype in FLOATS:
            inputs = [r.f(*shape, dtype=dtype), r.f(*shape, dtype=dtype), r.f(shape[-1], dtype=dtype)]
            if bias:
                inputs.append(r.f(shape[-1], dtype=dtype))
            four = {"outputs": 4, "wanted": [True, False, False, True]} if n % 2 else {}
            yield inputs, {"epsilon": [1e-12, 1e-5][n % 2]}, four
    yield [r.f(2, 5, 32), r.f(1, 5, 32), r.f(32)], {"epsilon": 1e-5}
    yield [r.f(2, 5, 32), r.f(5, 32), r.f(32)], {"epsilon": 1e-5}


@cases_of
def GatedRMSNorm(r):
    for n in range(20):
        shape = (2, 3 + n % 4, 8 + n)
        yield [r.f(*shape), r.f(shape[-1]), r.f(*shape)], {"epsilon": [1e-5, 1e-3][n % 2]}


@cases_of
def GroupNorm(r):
    for n in range(20):
        c = [8, 16, 32][n % 3]
        yield [r.f(2, 4, 5, c), r.f(c), r.f(c)], {"groups": [2, 4][n % 2], "activation": n // 2 % 2, "channels_last": 1}


@cases_of
def SkipGroupNorm(r):
    for n in range(20):
        c = [8, 16, 32][n % 3]
        skip = [(2, 4, 5, c), (2, c), (2, 1, 1, c)][n % 3]
        inputs = [r.f(2, 4, 5, c), r.f(c), r.f(c), r.f(*skip)] + ([r.f(c)] if n % 2 else [])
        yield inputs, {"groups": [2, 4][n % 2], "activation": n // 2 % 2, "channels_last": 1}, {"outputs": 1 + n % 2}


@cases_of
def FusedMatMul(r):
    for n, (ta, tb, alpha) in enumerate(itertools.product([0, 1], [0, 1], [1.0, 0.125, -2.0])):
        for batch in [(), (2,), (2, 3)]:
            a = r.f(*batch, *((7, 5) if ta else (5, 7)))
            b = r.f(*batch, *((4, 7) if tb else (7, 4)))
            yield [a, b], {"transA": ta, "transB": tb, "alpha": alpha}, {"const": {1} if n % 2 else ()}
    yield [r.f(5, 2, 3, 8), r.f(8, 2, 3, 4)], {"transBatchA": 1, "transBatchB": 1}
    yield [r.f(5, 2, 8), r.f(2, 8, 4)], {"transBatchA": 1}
    yield [r.f(8), r.f(8, 4)], {}
    yield [r.f(3, 8), r.f(8)], {}


@cases_of
def TransposeMatMul(r):
    for ta, tb, alpha, batch in itertools.product([0, 1], [0, 1], [1.0, 0.5], [(), (2,), (2, 3)]):
        a = r.f(*batch, *((7, 5) if ta else (5, 7)))
        b = r.f(*batch, *((4, 7) if tb else (7, 4)))
        yield [a, b], {"transA": ta, "transB": tb, "alpha": alpha}


@cases_of
def FusedMatMulActivation(r):
    for n, act in enumerate(["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Softplus"] * 4):
        extra = {"activation_alpha": 0.1} if act == "LeakyRelu" else {}
        yield [r.f(2, 3, 5), r.f(5, 4 + n)], {"activation": act, "alpha": [1.0, 0.5][n % 2], **extra}


@cases_of
def FusedGemm(r):
    acts = [("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Softsign", {}),
            ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}), ("Elu", {"activation_alpha": 0.7}),
            ("Softplus", {}), ("ThresholdedRelu", {"activation_alpha": 0.3}), ("Selu", {})]
    for n, ((act, extra), tb) in enumerate(itertools.product(acts, [0, 1])):
        inputs = [r.f(3, 7), r.f(*((5, 7) if tb else (7, 5)))]
        if n % 3:
            inputs.append([r.f(5), r.f(3, 1), r.f(3, 5), r.f(1)][n % 4])
        yield inputs, {"activation": act, "transB": tb, "alpha": [1.0, 0.5][n % 2], "beta": [1.0, 2.0][n // 2 % 2], **extra}


@cases_of
def GemmFastGelu(r):
    for n in range(20):
        yield [r.f(2, 3, 8 + n), r.f(8 + n, 5)] + ([r.f(5)] if n % 2 else []), {}


@cases_of
def FusedConv(r):
    acts = [("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.5]),
            ("HardSigmoid", [0.3, 0.4])]
    for n, (act, params) in enumerate(acts * 5):
        group = [1, 2][n % 2]
        attrs = {"activation": act, "group": group, "pads": [n % 2] * 4, "strides": [1 + n % 2] * 2}
        if params:
            attrs["activation_params"] = params
        inputs = [r.f(1, 4, 8, 8), r.f(6, 4 // group, 3, 3)]
        inputs.append(r.f(6) if n % 3 else None)
        size = (8 + 2 * (n % 2) - 3) // (1 + n % 2) + 1
        if n % 5 == 0:
            inputs.append(r.f(1, 6, size, size))
        while inputs[-1] is None:
            inputs.pop()
        yield inputs, attrs, {"const": {1, 2} if n % 4 else ()}


@cases_of
def NhwcFusedConv(r):
    for n in range(20):
        attrs = {"pads": [n % 2] * 4, "strides": [1 + n % 2] * 2}
        if n % 3:
            attrs["activation"] = "Relu"
        yield [r.f(1, 8, 8, 4, dtype=np.float16), r.f(6, 4, 3, 3, dtype=np.float16)] + \
            ([r.f(6, dtype=np.float16)] if n % 2 else []), attrs, {"const": {1, 2}}


@cases_of
def NhwcMaxPool(r):
    for n in range(20):
        dtype = [np.uint8, np.int8][n % 2]
        attrs = {"kernel_shape": [2 + n % 2] * 2, "strides": [1 + n // 2 % 2] * 2, "pads": [n % 2] * 4}
        if n % 5 == 0:
            attrs["ceil_mode"] = 1
        yield [r.bytes_(1 + n % 2, 7 + n % 3, 8, 3, dtype=dtype)], attrs


def quantised(r, op, n, unary):
    dtype = [np.uint8, np.int8][n % 2]
    zero = (lambda: r.bytes_(dtype=dtype)) if n % 3 else (lambda: None)
    shape = [(16,), (2, 3, 8), (2, 3, 4, 5)][n % 3]
    inputs = [r.bytes_(*shape, dtype=dtype), scalar(r.scale()), zero()]
    if not unary:
        other = [shape, shape[-1:], (1,)][n // 3 % 3]
        inputs += [r.bytes_(*other, dtype=dtype), scalar(r.scale()), zero()]
    return inputs, dtype, zero


@cases_of
def QLinearAdd(r):
    for n in range(30):
        inputs, _, zero = quantised(r, "QLinearAdd", n, False)
        const = {1, 2, 4, 5, 6, 7} if n % 4 else ()
        yield inputs + [scalar(r.scale()), zero()], {}, {"const": const}


@cases_of
def QLinearMul(r):
    for n in range(30):
        inputs, _, zero = quantised(r, "QLinearMul", n, False)
        const = {1, 2, 4, 5, 6, 7} if n % 4 else ()
        yield inputs + [scalar(r.scale()), zero()], {}, {"const": const}


@cases_of
def QLinearSigmoid(r):
    for n in range(24):
        inputs, dtype, zero = quantised(r, "QLinearSigmoid", n, True)
        yield inputs + [scalar(1 / 256), scalar(0 if dtype == np.uint8 else -128, dtype)], {}, \
            {"const": {1, 2, 3, 4} if n % 4 else ()}


@cases_of
def QLinearLeakyRelu(r):
    for n in range(24):
        inputs, _, zero = quantised(r, "QLinearLeakyRelu", n, True)
        yield inputs + [scalar(r.scale()), zero()], {"alpha": [0.01, 0.2, 0.5][n % 3]}, {"const": {1, 2, 3, 4} if n % 4 else ()}


@cases_of
def QLinearSoftmax(r):
    for n in range(24):
        inputs, dtype, _ = quantised(r, "QLinearSoftmax", n, True)
        inputs[2] = r.bytes_(dtype=dtype)
        zero = scalar(0 if dtype == np.uint8 else -128, dtype)
        rank = inputs[0].ndim
        yield inputs + [scalar(1 / 256), zero], {"axis": [-1, rank - 1, 0][n // 2 % 3], "opset": [13, 12][n // 6 % 2]}, \
            {"const": {1, 2, 3, 4}}


@cases_of
def QLinearWhere(r):
    for n in range(20):
        dtype = [np.uint8, np.int8][n % 2]
        shape = [(16,), (2, 3, 8)][n // 2 % 2]
        yield [r.i(*shape, high=2).astype(bool), r.bytes_(*shape, dtype=dtype), scalar(r.scale()), r.bytes_(dtype=dtype),
               r.bytes_(*shape[-1:], dtype=dtype), scalar(r.scale()), r.bytes_(dtype=dtype), scalar(r.scale()),
               r.bytes_(dtype=dtype)], {}, {"const": {2, 3, 5, 6, 7, 8}}


@cases_of
def QLinearConcat(r):
    for n in range(24):
        dtype = [np.uint8, np.int8][n % 2]
        axis = [0, 1, -1][n % 3]
        scale, zero = scalar(r.scale()), r.bytes_(dtype=dtype)
        inputs, const = [scale, zero], {0, 1}
        for k in range(2 + n % 3):
            shape = [2, 3, 4]
            shape[axis] += k
            own = (scale, zero) if k == 1 else (scalar(r.scale()), r.bytes_(dtype=dtype))
            inputs += [r.bytes_(*shape, dtype=dtype), *own]
            const |= {len(inputs) - 1, len(inputs) - 2}
        yield inputs, {"axis": axis}, {"const": const if n % 4 else ()}


@cases_of
def QLinearAveragePool(r):
    for n in range(30):
        dtype = [np.uint8, np.int8][n % 2]
        last = n // 2 % 2
        shape = (1, 7, 8, 3) if last else (1, 3, 7, 8)
        attrs = {"kernel_shape": [2 + n % 2] * 2, "strides": [1 + n // 3 % 2] * 2, "channels_last": last,
                 "pads": [n % 2] * 4, "count_include_pad": n // 4 % 2}
        # A window that hangs over the padding is divided by its size there, by what it covers of the padded image here,
        # as ai.onnx says.
        if n % 7 == 0 and not attrs["count_include_pad"]:
            attrs["ceil_mode"] = 1
        yield [r.bytes_(*shape, dtype=dtype), scalar(r.scale()), r.bytes_(dtype=dtype), scalar(r.scale()),
               r.bytes_(dtype=dtype)], attrs, {"const": {1, 2, 3, 4}}


@cases_of
def QLinearGlobalAveragePool(r):
    for n in range(20):
        dtype = [np.uint8, np.int8][n % 2]
        last = n // 2 % 2
        shape = (1 + n % 2, 7, 8, 5) if last else (1 + n % 2, 5, 7, 8)
        yield [r.bytes_(*shape, dtype=dtype), scalar(r.scale()), r.bytes_(dtype=dtype), scalar(r.scale()),
               r.bytes_(dtype=dtype)], {"channels_last": last}, {"const": {1, 2, 3, 4}}


@cases_of
def QLinearReduceMean(r):
    for n in range(20):
        dtype = [np.uint8, np.int8][n % 2]
        axes = [[1], [-1], [2, 3], [0, 2]][n % 4]
        yield [r.bytes_(2, 3, 4, 5, dtype=dtype), scalar(r.scale()), r.bytes_(dtype=dtype), scalar(r.scale()),
               r.bytes_(dtype=dtype)], {"axes": axes, "keepdims": n // 2 % 2}, {"const": {1, 2, 3, 4}}


@cases_of
def QLinearConv(r):
    for n in range(40):
        xt, wt = [np.uint8, np.int8][n % 2], [np.int8, np.uint8][n // 2 % 2]
        if xt == np.int8:
            wt = np.int8
        last = n // 4 % 2
        per = n // 3 % 2
        group = [1, 2][n // 6 % 2]
        x = r.bytes_(*((1, 8, 8, 4) if last else (1, 4, 8, 8)), dtype=xt)
        w = r.bytes_(6, 4 // group, 3, 3, dtype=wt)
        wz = scalar(0, wt) if wt == np.int8 else r.bytes_(dtype=wt)
        scales = r.scale(6) if per else scalar(r.scale())
        zeros = np.full(6, wz, wt) if per else wz
        inputs = [x, scalar(r.scale()), r.bytes_(dtype=xt), w, scales, zeros, scalar(0.3), r.bytes_(dtype=xt)]
        if n % 3:
            inputs.append(r.i(6, low=-500, high=500, dtype=np.int32))
        yield inputs, {"channels_last": last, "group": group, "pads": [n % 2] * 4}, {"const": set(range(1, 9))}


@cases_of
def QGemm(r):
    for n in range(48):
        at, bt = [np.uint8, np.int8][n % 2], [np.int8, np.uint8][n // 2 % 2]
        if at == np.int8:
            bt = np.int8
        ta, tb = n // 3 % 2, n // 5 % 2
        per = n // 4 % 2
        inputs = [r.bytes_(*((9, 3) if ta else (3, 9)), dtype=at), scalar(r.scale()), r.bytes_(dtype=at),
                  r.bytes_(*((5, 9) if tb else (9, 5)), dtype=bt), r.scale(5) if per else scalar(r.scale()),
                  np.zeros(5, bt) if per else r.bytes_(dtype=bt)]
        inputs.append(r.i(5, low=-500, high=500, dtype=np.int32) if n % 2 else None)
        if n % 3:
            inputs += [scalar(0.5), r.bytes_(dtype=at)]
        while inputs[-1] is None:
            inputs.pop()
        yield inputs, {"transA": ta, "transB": tb, "alpha": [1.0, 0.5][n % 2]}, {"const": {1, 2, 3, 4, 5, 6, 7, 8} if n % 4 else ()}


@cases_of
def MatMulIntegerToFloat(r):
    for n in range(30):
        at, bt = [np.uint8, np.int8][n % 2], [np.int8, np.uint8][n // 2 % 2]
        if at == np.int8:
            bt = np.int8
        per = n // 4 % 2
        batch = [(), (2,)][n // 3 % 2]
        inputs = [r.bytes_(*batch, 3, 9, dtype=at), r.bytes_(9, 5, dtype=bt), scalar(r.scale()),
                  r.scale(5) if per else scalar(r.scale()), r.bytes_(dtype=at) if n % 3 else None,
                  (r.bytes_(5, dtype=bt) if per else r.bytes_(dtype=bt)) if n % 5 else None]
        if n % 2:
            inputs.append(r.f(5))
        while inputs[-1] is None:
            inputs.pop()
        yield inputs, {}, {"const": {1, 3, 5, 6} if n % 4 else ()}


@cases_of
def DynamicQuantizeMatMul(r):
    for n in range(24):
        bt = [np.int8, np.uint8][n % 2]
        per = n // 2 % 2
        batch = [(), (2,)][n // 3 % 2]
        inputs = [r.f(*batch, 3, 9), r.bytes_(9, 5, dtype=bt), r.scale(5) if per else scalar(r.scale()),
                  (r.bytes_(5, dtype=bt) if per else r.bytes_(dtype=bt)) if n % 5 else None]
        if n % 3:
            inputs.append(r.f(5))
        while inputs[-1] is None:
            inputs.pop()
        yield inputs, {}, {"const": {1, 2, 3, 4} if n % 4 else ()}


@cases_of
def MulInteger(r):
    for n in range(20):
        dtype = [np.uint8, np.int8][n % 2]
        zero = (lambda: r.bytes_(dtype=dtype)) if n % 3 else (lambda: None)
        yield [r.bytes_(2, 5, dtype=dtype), zero(), r.bytes_(*[(2, 5), (5,)][n // 2 % 2], dtype=dtype), zero()], {}


@cases_of
def ReduceSumInteger(r):
    for n in range(20):
        yield [r.bytes_(2, 3, 4, dtype=[np.uint8, np.int8][n % 2])], {"axes": [[0], [1], [-1], [1, 2]][n % 4],
                                                                     "keepdims": n // 2 % 2}


@cases_of
def QuantizeLinear(r):
    for n in range(24):
        zt = [np.uint8, np.int8, np.uint16, np.int16][n % 4]
        per = n // 4 % 2
        scale = r.scale(5) if per else scalar(r.scale())
        zero = (r.bytes_(5, dtype=zt) if per else r.bytes_(dtype=zt)) if n % 5 else None
        if zero is None and zt != np.uint8:
            zero = r.bytes_(5, dtype=zt) if per else r.bytes_(dtype=zt)
        yield [r.f(3, 5, low=-3, high=3), scale] + ([] if zero is None else [zero]), {"axis": 1} if per else {}


@cases_of
def DequantizeLinear(r):
    for n in range(24):
        zt = [np.uint8, np.int8, np.uint16, np.int16][n % 4]
        per = n // 4 % 2
        scale = r.scale(5) if per else scalar(r.scale())
        zero = (r.bytes_(5, dtype=zt) if per else r.bytes_(dtype=zt)) if n % 5 else None
        yield [r.bytes_(3, 5, dtype=zt), scale] + ([] if zero is None else [zero]), {"axis": 1} if per else {}


@cases_of
def MatMulNBits(r):
    for n in range(80):
        bits = [4, 4, 8, 2][n % 4]
        block = [16, 32, 64, 128][n // 4 % 4]
        k, cols = [(64, 8), (96, 5), (256, 12), (40, 3)][n // 2 % 4]
        blocks = -(-k // block)
        dtype = np.float32 if n % 5 or bits == 2 else np.float16
        scales = r.scale(cols * blocks).astype(dtype)
        inputs = [r.f(*[(3, k), (1, k), (2, 2, k)][n % 3], dtype=dtype), r.bytes_(cols, blocks, block * bits // 8), scales]
        inputs.append(r.bytes_(cols * (-(-blocks * bits // 8))) if n % 3 else None)
        inputs.append(None)
        if n // 3 % 2:
            inputs.append(r.f(cols, dtype=dtype))
        while inputs[-1] is None:
            inputs.pop()
        yield inputs, {"K": k, "N": cols, "bits": bits, "block_size": block, "accuracy_level": [0, 1][n % 2]}, \
            {"const": {1, 2, 3, 5} if n % 4 < 3 else {1, 2, 3}}


@cases_of
def EmbedLayerNormalization(r):
    for n in range(24):
        batch, length, hidden = 1 + n % 3, 3 + n % 4, 16
        ids = r.i(batch, length, high=10, dtype=np.int32)
        segments = n % 2
        inputs = [ids, r.i(batch, length, high=2, dtype=np.int32) if segments else None, r.f(10, hidden), r.f(12, hidden),
                  r.f(2, hidden) if segments else None, r.f(hidden), r.f(hidden)]
        inputs.append(r.i(batch, length, high=2, dtype=np.int32) if n % 3 else None)
        inputs.append(r.i([1, batch][n % 2], length, high=12, dtype=np.int32) if n % 4 == 3 else None)
        while inputs[-1] is None:
            inputs.pop()
        yield inputs, {"epsilon": [1e-12, 1e-5][n % 2]}, {"outputs": 2 + n % 2, "const": {2, 3, 4, 5, 6}}


@cases_of
def RotaryEmbedding(r):
    for n in range(24):
        batch, length, heads, size = 1 + n % 2, 3 + n % 3, 2, 8
        dtype = FLOATS[n // 6 % 2]
        whole = n % 4 != 3
        rotated = size if whole else 4
        x = r.f(batch, length, heads * size, dtype=dtype) if n % 2 else r.f(batch, heads, length, size, dtype=dtype)
        ids = r.i(1, high=4) if n % 3 == 0 else r.i(batch, length, high=10)
        attrs = {"interleaved": n // 3 % 2}
        if not whole:
            attrs.update(num_heads=heads, rotary_embedding_dim=rotated)
        yield [x, ids, r.f(12, rotated // 2, dtype=dtype), r.f(12, rotated // 2, dtype=dtype)], attrs, {"const": {2, 3} if n % 2 else ()}


def mask_of(r, kind, batch, length, total):
    if kind == 1:
        return r.i(batch, low=1, high=total + 1, dtype=np.int32)
    if kind == 2:
        return r.i(batch, total, high=2, dtype=np.int32)
    if kind == 3:
        return r.i(batch, length, total, high=2, dtype=np.int32)
    if kind == 4:
        ends = r.i(batch, low=total // 2, high=total + 1, dtype=np.int32)
        return np.concatenate([ends, r.i(batch, high=total // 2, dtype=np.int32)])
    return None


@cases_of
def Attention(r):
    for n in range(36):
        batch, length, heads, size = 1 + n % 2, 2 + n % 4, 2, 8
        hidden = heads * size
        past = 3 if n // 2 % 2 else 0
        value = [hidden, 12][n // 5 % 2] if not past else hidden
        wide = 2 * hidden + value
        inputs = [r.f(batch, length, hidden), r.f(hidden, wide), r.f(wide) if n % 3 else None]
        inputs.append(mask_of(r, n % 5, batch, length, past + length))
        inputs.append(r.f(2, batch, heads, past, size) if past else None)
        if n % 4 == 3:
            inputs.append(r.f([1, batch][n % 2], heads, length, past + length))
        while inputs[-1] is None:
            inputs.pop()
        attrs = {"num_heads": heads, "unidirectional": n // 3 % 2}
        if value != hidden:
            attrs["qkv_hidden_sizes"] = [hidden, hidden, value]
        if n % 7 == 0:
            attrs["scale"] = 0.3
        if n % 6 == 0:
            attrs["mask_filter_value"] = -5000.0
        present = past > 0 or (n % 2 and value == hidden)
        yield inputs, attrs, {"outputs": 2 if present else 1, "const": {1, 2} if n % 4 else ()}


@cases_of
def QAttention(r):
    for n in range(36):
        batch, length, heads, size = 1 + n % 2, 2 + n % 4, 2, 8
        hidden = heads * size
        past = 3 if n // 2 % 2 else 0
        wt = [np.int8, np.uint8][n // 3 % 2]
        per = n // 4 % 2
        inputs = [r.bytes_(batch, length, hidden), r.bytes_(hidden, 3 * hidden, dtype=wt), r.f(3 * hidden), scalar(r.scale()),
                  r.scale(3 * hidden) if per else scalar(r.scale()), mask_of(r, n % 3, batch, length, past + length),
                  r.bytes_(), (np.full(3 * hidden, 3, wt) if per else r.bytes_(dtype=wt))]
        if past:
            inputs.append(r.f(2, batch, heads, past, size))
        yield inputs, {"num_heads": heads, "unidirectional": n // 3 % 2}, {"outputs": 2 if past else 1, "const": {1, 2, 3, 4, 6, 7}}


@cases_of
def MultiHeadAttention(r):
    for n in range(40):
        batch, length, heads, size = 1 + n % 2, 2 + n % 4, 2, 8
        hidden = heads * size
        keys = length if n % 3 else 5
        past = 3 if n // 2 % 2 and n % 3 else 0
        value = hidden if past or n % 5 else 12
        four = not past and n % 7 == 6
        key = r.f(batch, heads, keys, size) if four else r.f(batch, keys, hidden)
        val = r.f(batch, heads, keys, size) if four else r.f(batch, keys, value)
        inputs = [r.f(batch, length, hidden), key, val]
        inputs.append(r.f(2 * hidden + value) if n % 4 == 1 and not four else None)
        inputs.append(mask_of(r, [0, 2, 1, 3][n // 4 % 4], batch, length, past + keys))
        inputs.append(r.f([1, batch][n % 2], [1, heads][n // 2 % 2], length, past + keys) if n % 6 == 5 else None)
        if past:
            inputs += [r.f(batch, heads, past, size), r.f(batch, heads, past, size)]
        while inputs[-1] is None:
            inputs.pop()
        attrs = {"num_heads": heads}
        if n % 3 and not four and n // 3 % 2:
            attrs["unidirectional"] = 1
        if n % 8 == 0:
            attrs["scale"] = 0.4
        yield inputs, attrs, {"outputs": 3 if past else 1}
    for n in range(6):  # scores beside the answer, and places of a past that is not there
        batch, keys = 1 + n % 2, 4 + n
        inputs = [r.f(batch, 1, 16), r.f(batch, 2, keys, 8), r.f(batch, 2, keys, 8), r.f(48), None,
                  r.f(1, 2, 1, keys) if n % 3 else None, None, None, np.array([1], np.int32),
                  np.zeros((batch, 1, keys + 2), np.int32)]
        yield inputs, {"num_heads": 2}, \
            {"outputs": 4, "wanted": [True, False, False, True], "types": {3: TensorProto.FLOAT}}


@cases_of
def DecoderMaskedMultiHeadAttention(r):
    for n in range(20):
        batch, heads, size = 1 + n % 2, 2, 8
        hidden = heads * size
        if n % 3 == 2:
            yield [r.f(batch, 1, hidden), r.f(batch, heads, 6, size), r.f(batch, heads, 6, size)], {"num_heads": heads}
            continue
        room, past = 9, 2 + n % 5
        inputs = [r.f(batch, 1, hidden), r.f(batch, 1, hidden), r.f(batch, 1, hidden), None, None,
                  r.f(batch, heads, room, size), r.f(batch, heads, room, size), np.array([past], np.int32)]
        yield inputs, {"num_heads": heads, "past_present_share_buffer": 1}, {"outputs": 3}


@cases_of
def GroupQueryAttention(r):
    for n in range(48):
        batch, heads, kv, size = 1 + n % 2, 4, [4, 2, 1][n % 3], 16
        dtype = FLOATS[1 if n % 11 == 10 else 0]
        prompt = n % 4 == 0
        length = 4 if prompt else 1
        past = 0 if prompt else 3 + n % 5
        total = past + length
        room = total - length if n // 2 % 2 else total + 4
        packed = n // 3 % 2
        if packed:
            inputs = [r.f(batch, length, (heads + 2 * kv) * size, dtype=dtype), None, None]
        else:
            inputs = [r.f(batch, length, heads * size, dtype=dtype), r.f(batch, length, kv * size, dtype=dtype),
                      r.f(batch, length, kv * size, dtype=dtype)]
        lengths = np.full(batch, total - 1, np.int32)
        if prompt and n % 8 == 0:
            inputs += [None, None]
        else:
            inputs += [r.f(batch, kv, room, size, dtype=dtype), r.f(batch, kv, room, size, dtype=dtype)]
            if batch > 1 and not prompt and n % 3:
                lengths[1] -= 1
        inputs += [lengths, np.array([total], np.int32)]
        attrs = {"num_heads": heads, "kv_num_heads": kv}
        if n % 5 == 0:
            attrs["scale"] = 0.2
        if n % 7 == 1:
            attrs["softcap"] = 3.0
        if n % 6 == 5:
            attrs["local_window_size"] = 3
        if n // 5 % 2:
            attrs.update(do_rotary=1, rotary_interleaved=n % 2)
            half = [size // 2, size // 4][n % 7 == 2]
            inputs += [r.f(32, half, dtype=dtype), r.f(32, half, dtype=dtype)]
        elif n % 9 == 8:
            inputs += [None, None]
        if n % 9 == 8:
            inputs += [None, r.f(1, [1, heads][n % 2], length, total, dtype=dtype)]
        yield inputs, attrs, {"outputs": 3, "const": {6} if n % 2 else ()}
    for n in range(4):
        yield [r.f(1, 3, 32), r.f(1, 3, 32), r.f(1, 3, 32), None, None, np.array([2], np.int32), np.array([3], np.int32), None, None,
               None, None, r.f(2)], {"num_heads": 2, "kv_num_heads": 2}, {"outputs": 3}
        yield [r.f(1, 3, 32), r.f(1, 3, 32), r.f(1, 3, 32), None, None, np.array([2], np.int32), np.array([3], np.int32)], \
            {"num_heads": 2, "kv_num_heads": 2, "smooth_softmax": 1}, {"outputs": 3}


@cases_of
def GatherBlockQuantized(r):
    for n in range(24):
        bits = [4, 8, 2][n % 3]
        block = [16, 32][n // 3 % 2]
        rows, width = 6, 64
        per = 8 // bits
        blocks = width // block
        inputs = [r.bytes_(rows, width // per), r.i(*[(3,), (2, 2), ()][n % 3], low=-rows, high=rows, dtype=[np.int64, np.int32][n % 2]),
                  r.scale(rows, blocks).astype(FLOATS[n // 6 % 2])]
        if n % 2:
            inputs.append(r.bytes_(rows, -(-blocks // per)))
        yield inputs, {"bits": bits, "block_size": block, "quantize_axis": 1, "gather_axis": 0}, {"const": {0, 2, 3}}


@cases_of
def MatMulBnb4(r):
    for n in range(24):
        block = [16, 32, 64][n % 3]
        k, cols = [(64, 8), (96, 5), (128, 12)][n // 3 % 3]
        inputs = [r.f(*[(3, k), (1, k), (2, 2, k)][n % 3]), r.bytes_(k * cols // 2), r.scale(-(-k * cols // block))]
        yield inputs, {"K": k, "N": cols, "block_size": block, "quant_type": n % 2}, {"const": {1, 2} if n % 4 else ()}


# onnxruntime rounds inputs and states to bytes by a scale of all rows that a thread has, so that its answer depends on the
# batch and on the number of threads. Here they stay floats: each answer is as far from the other as such bytes are coarse.
@cases_of
def DynamicQuantizeLSTM(r):
    for n in range(20):
        dirs, hidden, size = 1 + n % 2, 4, 6
        wt = [np.int8, np.uint8][n // 2 % 2]
        per = n // 3 % 2
        shape = (dirs, 4 * hidden) if per else (dirs,)
        zero = np.zeros(shape, wt) if wt == np.int8 else np.full(shape, 128, wt)
        inputs = [r.f(5, 2, size), r.bytes_(dirs, size, 4 * hidden, dtype=wt), r.bytes_(dirs, hidden, 4 * hidden, dtype=wt),
                  r.f(dirs, 8 * hidden) if n % 3 else None, None, r.f(dirs, 2, hidden) if n % 4 else None,
                  r.f(dirs, 2, hidden) if n % 4 else None, None, r.f(*shape, low=0.002, high=0.01), zero,
                  r.f(*shape, low=0.002, high=0.01), zero]
        yield inputs, {"hidden_size": hidden, "direction": ["forward", "bidirectional"][n % 2]}, \
            {"outputs": 3, "const": {1, 2, 8, 9, 10, 11}, "tolerance": 3e-2}


@cases_of
def MoE(r):
    for n in range(24):
        act = ["relu", "gelu", "silu", "swiglu", "identity"][n % 5]
        experts, hidden, inner, tokens = 4, 8, 12, 5
        wide = inner * 2 if act == "swiglu" else inner
        inputs = [r.f(*[(tokens, hidden), (1, tokens, hidden)][n % 2]), r.f(tokens, experts, low=-2, high=2),
                  r.f(experts, wide, hidden), r.f(experts, wide) if n % 2 else None, r.f(experts, hidden, inner),
                  r.f(experts, hidden) if n % 3 else None]
        while inputs[-1] is None:
            inputs.pop()
        attrs = {"k": 1 + n % 3, "activation_type": act, "normalize_routing_weights": n // 2 % 2}
        if act == "swiglu":
            attrs.update(swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=7.0)
        yield inputs, attrs


@cases_of
def QMoE(r):
    for n in range(24):
        bits = [4, 8][n % 2]
        act = ["relu", "silu", "swiglu", "identity"][n % 4]
        experts, hidden, inner, tokens = 4, 32, 32, 5
        wide = inner * 2 if act == "swiglu" else inner
        per = 8 // bits
        block = [0, 16][n // 4 % 2]
        scales = lambda rows, depth: r.scale(experts, rows, depth // block) if block else r.scale(experts, rows)
        inputs = [r.f(tokens, hidden), r.f(tokens, experts, low=-2, high=2), r.bytes_(experts, wide, hidden // per),
                  scales(wide, hidden), r.f(experts, wide) if n % 3 else None, r.bytes_(experts, hidden, inner // per),
                  scales(hidden, inner), r.f(experts, hidden) if n % 3 else None]
        while inputs[-1] is None:
            inputs.pop()
        attrs = {"k": 1 + n % 3, "activation_type": act, "expert_weight_bits": bits, "normalize_routing_weights": n // 2 % 2}
        if block:
            attrs["block_size"] = block
        if act == "swiglu":
            attrs.update(swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=7.0)
        yield inputs, attrs, {"const": {2, 3, 5, 6}}


@cases_of
def Trilu(r):
    for n in range(20):
        dtype = [np.float32, np.int64, np.float64, np.float16][n % 4]
        x = r.f(2, 4, 5, low=1, high=9).astype(dtype)
        yield [x] + ([np.array(n % 5 - 2, np.int64)] if n % 3 else []), {"upper": n // 2 % 2}


@cases_of
def Range(r):
    for n in range(20):
        dtype = [np.float32, np.int64, np.float64, np.int32, np.int16][n % 5]
        yield [np.array(n % 3, dtype), np.array(10 + n, dtype)] + ([np.array(1 + n % 4, dtype)] if n % 2 else []), {}, \
            {"const": {0, 1, 2} if n % 4 else ()}


@cases_of
def Pad(r):
    for n in range(20):
        mode = ["constant", "reflect", "edge"][n % 3]
        inputs = [r.f(3, 4), np.array([1, 0, n % 3, 2], np.int64)]
        if n % 2 and mode == "constant":
            inputs.append(np.array([n], np.float32))
        yield inputs, {"mode": mode}, {"const": {1} if n % 4 else ()}


@cases_of
def GatherND(r):
    for n in range(20):
        index = [np.int64, np.int32][n % 2]
        depth = 1 + n % 3
        yield [r.f(3, 4, 5), np.stack([r.i(2, high=h, dtype=index) for h in (3, 4, 5)[:depth]], -1)], {}


@cases_of
def Unique(r):
    for n in range(20):
        yield [r.i(5 + n, high=6).astype(np.float32)], {}, {"outputs": 3}


@cases_of
def ExpandDims(r):
    for n in range(20):
        yield [r.f(2, 3), np.array(n % 6 - 3, np.int32)], {}, {"const": {1} if n % 4 else ()}


@cases_of
def Inverse(r):
    for n in range(20):
        size = 1 + n % 5
        dtype = [np.float32, np.float64, np.float16][n % 3]
        x = r.f(2, size, size) + 3 * np.eye(size, dtype=np.float32)
        yield [x.astype(dtype)], {}


@cases_of
def GridSample(r):
    for n in range(20):
        attrs = {"mode": ["bilinear", "nearest", "bicubic"][n % 3], "padding_mode": ["zeros", "border", "reflection"][n // 3 % 3],
                 "align_corners": n // 2 % 2}
        yield [r.f(1, 2, 5, 6), r.f(1, 3, 4, 2, low=-1.2, high=1.2)], attrs


@cases_of
def TorchEmbedding(r):
    for n in range(20):
        yield [r.f(6, 4), r.i(2, 1 + n % 4, high=6)], {}


@cases_of
def ComplexMul(r):
    for n in range(20):
        yield [r.f(3, 4, 2), r.f(*[(3, 4, 2), (4, 2)][n % 2])], {}


@cases_of
def ComplexMulConj(r):
    for n in range(20):
        yield [r.f(3, 4, 2), r.f(*[(3, 4, 2), (4, 2)][n % 2])], {}


@cases_of
def CDist(r):
    for n in range(20):
        dtype = [np.float32, np.float64][n % 2]
        yield [r.f(3 + n % 3, 6, dtype=dtype), r.f(4, 6, dtype=dtype)], {"metric": ["sqeuclidean", "euclidean"][n // 2 % 2]}


@cases_of
def UnfoldTensor(r):
    for n in range(20):
        yield [r.f(4, 6, 5)], {"dim": n % 3 - 1, "size": 1 + n % 3, "step": 1 + n // 3 % 2}


@cases_of
def LinearAttention(r):
    for n in range(24):
        rule = ["linear", "gated", "delta", "gated_delta"][n % 4]
        batch, length, heads, kv, dk, dv = 1 + n % 2, 1 + n % 4, [2, 4][n // 4 % 2], 2, 8, 8
        gated, delta = "gated" in rule, "delta" in rule
        inputs = [r.f(batch, length, heads * dk), r.f(batch, length, kv * dk), r.f(batch, length, kv * dv),
                  r.f(batch, kv, dk, dv) if n % 3 else None,
                  r.f(batch, length, [kv, kv * dk][n // 5 % 2], low=-1, high=0) if gated else None,
                  r.f(batch, length, kv, low=0, high=1) if delta else None]
        while inputs[-1] is None:
            inputs.pop()
        yield inputs, {"q_num_heads": heads, "kv_num_heads": kv, "update_rule": rule, "scale": [0.0, 0.5][n // 2 % 2]}, {"outputs": 2}


@cases_of
def CausalConvWithState(r):
    for n in range(20):
        batch, channels, length, k = 1 + n % 2, 4, 1 + n % 5, 2 + n % 3
        inputs = [r.f(batch, channels, length), r.f(channels, 1, k), r.f(channels) if n % 2 else None,
                  r.f(batch, channels, k - 1) if n % 3 else None]
        while inputs[-1] is None:
            inputs.pop()
        yield inputs, {"activation": ["none", "silu", "swish"][n % 3]}, {"outputs": 2}


@cases_of
def LinearAttentionGate(r):
    for n in range(20):
        inputs = [r.f(1 + n % 2, 3, 4), r.f(4), r.f(4)] + ([r.f(1 + n % 2, 3, 4)] if n % 2 else [])
        yield inputs, {}, {"outputs": 1 + n % 2}


@cases_of
def Affine(r):
    for n in range(20):
        yield [r.f(2, 3)], {"alpha": 0.5 + n, "beta": 0.1 * n}, {"domain": "", "opset": 8}


@cases_of
def ScaledTanh(r):
    for n in range(20):
        yield [r.f(2, 3)], {"alpha": 0.5 + n, "beta": 0.1 * n}, {"domain": "", "opset": 8}


@cases_of
def ParametricSoftplus(r):
    for n in range(20):
        yield [r.f(2, 3)], {"alpha": 0.5 + n, "beta": 0.1 * n}, {"domain": "", "opset": 8}


@cases_of
def ThresholdedRelu(r):
    for n in range(20):
        yield [r.f(2, 3)], {"alpha": 0.05 * n}, {"domain": "", "opset": 8 + n % 2}


@cases_of
def ImageScaler(r):
    for n in range(20):
        yield [r.f(1 + n % 2, 3, 4, 5)], {"scale": 0.5 + n, "bias": [0.1, 0.2, 0.3 * n]}, {"domain": "", "opset": 8}


@cases_of
def Crop(r):
    for n in range(20):
        attrs = {"border": [1, n % 3, 1 + n % 2, 1]}
        if n % 4 == 3:
            attrs["scale"] = [2, 3]
        yield [r.f(1, 2, 6, 7)], attrs, {"domain": "", "opset": 8}


def all_cases():
    for generator in GENERATORS:
        op = generator.__name__
        for n, made in enumerate(generator(Random(op))):
            inputs, attrs, *rest = made
            options = dict(rest[0]) if rest else {}
            options["const"] = {i for i in options.get("const", ()) if i < len(inputs) and inputs[i] is not None}
            yield Case(op, inputs, attrs, note=f"case {n} {attrs}", **options)


# Declared by onnxruntime to ignore attributes that they do not know.
LENIENT = {"LayerNormalization", "SimplifiedLayerNormalization", "BiasDropout"}


def damaged_cases():
    """Models that mean nothing: a required input left out, a wrong type or rank, an unknown attribute."""
    for generator in GENERATORS:
        op = generator.__name__
        inputs, attrs, *rest = next(iter(generator(Random(op))))
        options = dict(rest[0]) if rest else {}
        options.pop("const", None)

        def damaged(note, inputs=inputs, attrs=attrs):
            return Case(op, inputs, attrs, note=note, **options)

        yield damaged("without input 0", [None] + inputs[1:])
        if op not in LENIENT:
            yield damaged("an unknown attribute", attrs={**attrs, "no_such_attribute": 1})
        if op not in ("ExpandDims", "GatherND", "GridSample", "UnfoldTensor", "Unique"):  # these take them
            yield damaged("complex numbers", [inputs[0].astype(np.complex64)] + inputs[1:])
        yield damaged("too many inputs", inputs + [inputs[0]] * 30)
