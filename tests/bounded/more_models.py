"""More of each class: bodies in bodies of every kind, copies of what functions hold, operators whose
sizes are numbers in the file, loops without an end, and lists of everything that can be long."""
import struct
import zlib

from onnx_writer import *  # noqa: F403: the writer is this file's language

BYTE = 2


def scalar(name, value):
    return tensor(name, INT64, [], struct.pack("<q", value))


def constants(nodes, initializers, out="y", elem=FLOAT, opset=17):
    """A graph of constants alone: whatever is done, is done before it runs or when it runs."""
    return model(graph(nodes, outputs=[value_info(out, elem)], initializers=initializers), opset=opset)


def given(nodes, inputs, out="y", elem=FLOAT, opset=17, **more):
    return model(graph(nodes, inputs=inputs, outputs=[value_info(out, elem)], **more), opset=opset)


def filled(name, shape):
    """[shape] of zeros, from eight bytes per dimension."""
    return node("ConstantOfShape", [name], [f"{name}_filled"]), ints(name, shape)


# Recursion: bodies of every kind, graphs as arguments, types in types.
def nested_scans(n):
    body = [node("Relu", ["s"], ["r"])]
    for i in range(n):
        inner = graph(body, f"b{i}", inputs=[value_info("s" if i == 0 else f"s{i}", FLOAT)],
                      outputs=[value_info("r" if i == 0 else f"r{i}", FLOAT)])
        body = [node("Scan", [f"s{i + 1}"], [f"r{i + 1}"], [attr_graph("body", inner), attr_int("num_scan_inputs", 1)])]
    return given(body, [value_info(f"s{n}", FLOAT, [1] * n + [2])], f"r{n}")


def nested_sequence_maps(n):
    body = [node("Relu", ["t"], ["u"])]
    for i in range(n):
        inner = graph(body, f"b{i}", inputs=[value_info("t" if i == 0 else f"t{i}", FLOAT)],
                      outputs=[value_info("u" if i == 0 else f"u{i}", FLOAT)])
        body = [node("SequenceConstruct", [f"t{i + 1}"], [f"q{i}"]),
                node("SequenceMap", [f"q{i}"], [f"p{i}"], [attr_graph("body", inner)]),
                node("ConcatFromSequence", [f"p{i}"], [f"u{i + 1}"], [attr_int("axis", 0)])]
    return given(body, [value_info(f"t{n}", FLOAT, [2])], f"u{n}")


def graph_arguments(n):
    """Functions hand a graph on to each other; the last one branches on it."""
    def handed(name):
        return blob(1, name) + number(20, 5) + blob(21, name)

    def taking(name, nodes):
        return function(name, ["c", "a"], ["b"], nodes) + blob(6, "t")

    functions = [taking(f"f{i}", [node(f"f{i + 1}", ["c", "a"], ["b"], [handed("t")], domain="f")]) for i in range(n)]
    other = graph([node("Constant", [], ["e"], [attr_tensor("value", floats("", [2]))])], "e", outputs=[value_info("e", FLOAT)])
    branch = blob(1, "then_branch") + number(20, 5) + blob(21, "t")
    functions.append(taking(f"f{n}", [node("If", ["c"], ["b"], [branch, attr_graph("else_branch", other)])]))
    then = graph([node("Relu", ["x"], ["r"])], "t", outputs=[value_info("r", FLOAT)])
    main = graph([node("f0", ["c", "x"], ["y"], [attr_graph("t", then)], domain="f")],
                 inputs=[value_info("c", BOOL, []), value_info("x", FLOAT, [2])], outputs=[value_info("y", FLOAT)])
    return model(main, functions)


def deep_type(n):
    kind = blob(1, number(1, FLOAT))
    for i in range(n):
        kind = blob(4 if i % 2 else 9, blob(1, kind))
    return model(graph([node("Identity", ["x"], ["y"])], inputs=[blob(1, "x") + blob(2, kind)],
                       outputs=[blob(1, "y") + blob(2, kind)]), opset=18)


def functions_in_loops(n):
    """Each function loops over a call of the next."""
    functions = []
    for i in range(n):
        body = graph([node(f"f{i + 1}", ["v"], ["w"], domain="f"), node("Identity", ["k"], ["d"])], "b",
                     inputs=[value_info("i", INT64, []), value_info("k", BOOL, []), value_info("v", FLOAT)],
                     outputs=[value_info("d", BOOL), value_info("w", FLOAT)])
        functions.append(function(f"f{i}", ["a"], ["b"], [
            node("Constant", [], ["m"], [attr_tensor("value", scalar("", 2))]),
            node("Loop", ["m", "", "a"], ["b"], [attr_graph("body", body)])]))
    functions.append(function(f"f{n}", ["a"], ["b"], [node("Relu", ["a"], ["b"])]))
    return model(graph([node("f0", ["x"], ["y"], domain="f")], inputs=[value_info("x", FLOAT, [2])],
                       outputs=[value_info("y", FLOAT)]), functions)


# Expansion: what the nodes of a function hold, held again by each call.
def doubling(n, leaf):
    functions = [function(f"f{i}", ["a"], ["c"], [node(f"f{i + 1}", ["a"], ["b"], domain="f"),
                                                  node(f"f{i + 1}", ["b"], ["c"], domain="f")]) for i in range(n)]
    functions.append(function(f"f{n}", ["a"], ["c"], leaf))
    return model(graph([node("f0", ["x"], ["y"], domain="f")], inputs=[value_info("x", FLOAT, [2])],
                       outputs=[value_info("y", FLOAT)]), functions)


def doubling_names(n, length):
    return doubling(n, [node("Relu", ["a"], ["c"], name="n" * length)])


def doubling_inner_names(n, length):
    return doubling(n, [node("Relu", ["a"], ["b" * length]), node("Relu", ["b" * length], ["c"])])


def doubling_lists(n, length):
    return doubling(n, [node("Constant", [], ["l"], [attr_ints("value_ints", [1] * length)]),
                        node("Size", ["l"], ["s"]), node("Cast", ["s"], ["t"], [attr_int("to", FLOAT)]),
                        node("Mul", ["a", "t"], ["c"])])


def doubling_weights(n, count, halves):
    typed = number(1, count) + number(2, 10 if halves else FLOAT)
    typed += blob(5, bytes(count)) if halves else blob(4, bytes(4 * count))  # int32_data or float_data
    return doubling(n, [node("Constant", [], ["w"], [attr_tensor("value", typed)]), node("Size", ["w"], ["s"]),
                        node("Cast", ["s"], ["t"], [attr_int("to", FLOAT)]), node("Mul", ["a", "t"], ["c"])])


def doubling_sparse(n, count):
    sparse = blob(1, tensor("", FLOAT, [1], struct.pack("<f", 1))) + blob(2, tensor("", INT64, [1], struct.pack("<q", 0)))
    attribute = blob(1, "sparse_value") + blob(22, sparse + number(3, count)) + number(20, 11)
    return doubling(n, [node("Constant", [], ["w"], [attribute]), node("ReduceSum", ["w"], ["s"]),
                        node("Mul", ["a", "s"], ["c"])])


def tiled(n):
    nodes = [node("Tile", [f"t{i}", "two"], [f"t{i + 1}"]) for i in range(n)]
    return constants(nodes, [floats("t0", [1]), ints("two", [2])], f"t{n}")


def joined_sequences(n):
    """A sequence that doubles: pieces are shared, places are not."""
    nodes = [node("SequenceConstruct", ["w", "w"], ["q0"])]
    for i in range(n):
        nodes += [node("ConcatFromSequence", [f"q{i}"], [f"c{i}"], [attr_int("axis", 0)]),
                  node("SequenceConstruct", [f"c{i}", f"c{i}"], [f"q{i + 1}"])]
    nodes.append(node("ConcatFromSequence", [f"q{n}"], ["y"], [attr_int("axis", 0)]))
    return constants(nodes, [floats("w", [1])])


# Operators whose sizes are numbers in the file.
def operator(op, attributes, values, elem=FLOAT, opset=17, outputs=("y",), fill=()):
    """`values`: initializers in the order of inputs, None for one left out; `fill`: shapes of zeros before them."""
    nodes, made, names = [], [], []
    for i, shape in enumerate(fill):
        one, init = filled(f"z{i}", shape)
        nodes.append(one)
        made.append(init)
        names.append(f"z{i}_filled")
    for i, value in enumerate(values):
        names.append("" if value is None else f"v{i}")
        if value is not None:
            made.append(value(f"v{i}"))
    nodes.append(node(op, names, outputs, attributes))
    return constants(nodes, made, outputs[0], elem, opset)


def i(*values):
    return lambda name: ints(name, list(values))


def f(*values):
    return lambda name: tensor(name, FLOAT, [len(values)], struct.pack(f"<{len(values)}f", *values))


def one(value, elem=INT64):
    return lambda name: tensor(name, elem, [], struct.pack("<q" if elem == INT64 else "<f", value))


def zeros(*shape):
    return lambda name: floats(name, list(shape), 0)


def attr_float(name, value):
    return blob(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)


BIG = 1 << 31
HUGE = 1 << 62

def of_doubles(op, attributes, shapes, through=None, opset=17, more=(), outputs=("y",)):
    """On zeros of doubles, which few kernels take."""
    value = attr_tensor("value", tensor("", 11, [1], bytes(8)))
    nodes = [node("ConstantOfShape", [f"s{k}"], [f"z{k}"], [value]) for k in range(len(shapes))]
    if through:
        nodes.append(node(through, ["z0"], ["w0"]))
    names = ["w0" if through else "z0"] + [f"z{k}" for k in range(1, len(shapes))] + ["k"] * len(more)
    nodes.append(node(op, names, outputs, attributes))
    return constants(nodes, [ints(f"s{k}", shape) for k, shape in enumerate(shapes)] + list(more), outputs[0], 11, opset)


OPERATORS = {
    "conv_double": lambda: of_doubles("Conv", [], [[1, 64, 256, 256], [64, 64, 15, 15]]),
    "conv_transpose_double": lambda: of_doubles("ConvTranspose", [], [[1, 64, 256, 256], [64, 64, 15, 15]]),
    "matmul_double": lambda: of_doubles("MatMul", [], [[3000, 3000], [3000, 3000]]),
    "gemm_double": lambda: of_doubles("Gemm", [], [[3000, 3000], [3000, 3000]]),
    "average_pool_double": lambda: of_doubles("AveragePool", [attr_ints("kernel_shape", [1 << 20])], [[1, 1, 1 << 22]]),
    "lrn_double": lambda: of_doubles("LRN", [attr_int("size", 4001)], [[1, 1 << 16, 1, 16]]),
    "det_double": lambda: of_doubles("Det", [], [[2500, 2500]], "EyeLike"),
    "attention_double": lambda: of_doubles("Attention", [], [[1, 4, 20000, 64]] * 3, opset=23),
    "lstm_double": lambda: of_doubles("LSTM", [attr_int("hidden_size", 512)], [[2000, 1, 512], [1, 2048, 512], [1, 2048, 512]]),
    "top_k_double": lambda: of_doubles("TopK", [], [[1 << 24]], more=[ints("k", [1 << 23])], outputs=("y", "z")),
    "range_wide": lambda: operator("Range", [], [one(0), one(HUGE), one(1)], INT64),
    "range_long": lambda: operator("Range", [], [one(0), one(10**10), one(1)], INT64),
    "one_hot": lambda: operator("OneHot", [], [i(0), one(10**10), f(0, 1)]),
    "expand": lambda: operator("Expand", [], [zeros(1), i(10**5, 10**5)]),
    "expand_huge": lambda: operator("Expand", [], [zeros(1), i(HUGE, 4)]),
    "tile_huge": lambda: operator("Tile", [], [zeros(4), i(HUGE)]),
    "pad": lambda: operator("Pad", [], [zeros(1), i(10**9, 10**9)]),
    "pad_reflect": lambda: operator("Pad", [attr_string("mode", "wrap")], [zeros(2), i(10**9, 10**9)], opset=19),
    "resize": lambda: operator("Resize", [attr_string("mode", "cubic")], [zeros(1, 1, 2, 2), None, None, i(1, 1, 60000, 60000)]),
    "resize_line": lambda: operator("Resize", [attr_string("mode", "linear")], [zeros(1, 1, 2), None, None, i(1, 1, 10**10)]),
    "resize_antialias": lambda: operator("Resize", [attr_string("mode", "cubic"), attr_int("antialias", 1)],
                                         [zeros(1, 1, 1 << 16), None, None, i(1, 1, 1 << 16)], opset=18),
    "resize_shrink": lambda: operator("Resize", [attr_string("mode", "cubic"), attr_int("antialias", 1)],
                                      [None, None, i(1, 1, 3)], opset=18, fill=[[1, 1, 1 << 20]]),
    "resize_wide": lambda: operator("Resize", [attr_string("mode", "cubic"), attr_int("antialias", 1)],
                                    [None, None, i(1, 1, 3)], opset=18, fill=[[1, 1, 60 << 20]]),
    "upsample": lambda: operator("Upsample", [], [zeros(1, 1, 2, 2), f(1, 1, 1e6, 1e6)], opset=9),
    "roi_align": lambda: operator("RoiAlign", [attr_int("sampling_ratio", 10**9), attr_int("output_height", 100),
                                               attr_int("output_width", 100)],
                                  [zeros(1, 1, 2, 2), lambda n: floats(n, [1, 4]), i(0)]),
    "roi_align_adaptive": lambda: operator("RoiAlign", [attr_int("output_height", 2), attr_int("output_width", 2)],
                                           [zeros(1, 1, 2, 2), lambda n: tensor(n, FLOAT, [1, 4], struct.pack("<4f", 0, 0, 1e9, 1e9)), i(0)]),
    "max_roi_pool": lambda: operator("MaxRoiPool", [attr_ints("pooled_shape", [60000, 60000])], [zeros(1, 1, 2, 2), lambda n: floats(n, [1, 5], 0)]),
    "grid_sample": lambda: operator("GridSample", [], [], opset=16, fill=[[1, 1, 2, 2], [1, 30000, 30000, 2]]),
    "affine_grid": lambda: operator("AffineGrid", [], [zeros(1, 2, 3), i(1, 1, 60000, 60000)], opset=20),
    "stft": lambda: operator("STFT", [], [lambda n: floats(n, [1, 4096, 1]), one(1), None, one(4096)], opset=17),
    "dft": lambda: operator("DFT", [attr_int("axis", 1)], [zeros(1, 8, 1), one(10**9)]),
    "dft_prime": lambda: operator("DFT", [attr_int("axis", 1)], [None], fill=[[1, 1000003, 1]]),
    "hann": lambda: operator("HannWindow", [], [one(10**11)]),
    "mel": lambda: operator("MelWeightMatrix", [], [one(10**6), one(10**6), one(16000), one(0.0, FLOAT), one(8000.0, FLOAT)]),
    "col2im": lambda: operator("Col2Im", [], [zeros(1, 1, 1), i(60000, 60000), i(1, 1)], opset=18),
    "center_crop_pad": lambda: operator("CenterCropPad", [], [zeros(2, 2), i(60000, 60000)], opset=18),
    "random": lambda: operator("RandomNormal", [attr_ints("shape", [10**5, 10**5])], []),
    "eye": lambda: operator("EyeLike", [], [], fill=[[60000, 60000]]),
    "conv_transpose": lambda: operator("ConvTranspose", [attr_ints("strides", [10**5, 10**5])], [zeros(1, 1, 2, 2), zeros(1, 1, 2, 2)]),
    "conv_transpose_shape": lambda: operator("ConvTranspose", [attr_ints("output_shape", [10**6, 10**6])], [zeros(1, 1, 2, 2), zeros(1, 1, 2, 2)]),
    "conv_pads": lambda: operator("Conv", [attr_ints("pads", [10**5] * 4)], [zeros(1, 1, 2, 2), zeros(1, 1, 2, 2)]),
    "conv_work": lambda: operator("Conv", [], [], fill=[[1, 64, 512, 512], [64, 64, 31, 31]]),
    "average_pool": lambda: operator("AveragePool", [attr_ints("kernel_shape", [10**9]), attr_ints("pads", [10**9 - 1] * 2),
                                                     attr_int("count_include_pad", 1)], [zeros(1, 1, 64)]),
    "lp_pool": lambda: operator("LpPool", [attr_ints("kernel_shape", [10**8]), attr_ints("pads", [10**8 - 1] * 2)], [zeros(1, 1, 64)]),
    "max_unpool": lambda: operator("MaxUnpool", [attr_ints("kernel_shape", [2, 2]), attr_ints("strides", [2, 2])],
                                   [zeros(1, 1, 1, 1), lambda n: tensor(n, INT64, [1, 1, 1, 1], bytes(8)), i(1, 1, 60000, 60000)]),
    "matmul": lambda: operator("MatMul", [], [], fill=[[4000, 4000], [4000, 4000]]),
    "matmul_inner": lambda: operator("MatMul", [], [], fill=[[30, 1 << 21], [1 << 21, 30]]),
    "det": lambda: operator("Det", [], [], fill=[[1500, 1500]]),
    "top_k": lambda: operator("TopK", [], [i(1 << 22)], fill=[[1 << 22]], outputs=("y", "z")),
    "unique": lambda: operator("Unique", [], [], fill=[[1 << 22]], outputs=("y",)),
    "non_zero": lambda: constants([node("ConstantOfShape", ["s"], ["z"], [attr_tensor("value", floats("", [1]))]),
                                   node("NonZero", ["z"], ["y"])], [ints("s", [1] * 60 + [1 << 22])], elem=INT64),
    "suppression": lambda: operator("NonMaxSuppression", [], [one(1 << 40)], INT64, fill=[[1, 30000, 4], [1, 1, 30000]]),
    "cumsum": lambda: operator("CumSum", [], [one(0)], fill=[[1 << 26]]),
    "split_to_sequence": lambda: constants([node("ConstantOfShape", ["s"], ["z"]), node("SplitToSequence", ["z"], ["q"]),
                                            node("ConcatFromSequence", ["q"], ["y"], [attr_int("axis", 0)])], [ints("s", [1 << 22])]),
    "lstm": lambda: given([node("LSTM", ["x", "w", "r"], ["", "y"], [attr_int("hidden_size", 1 << 30)])],
                          [value_info("x", FLOAT, ["S", 1, 1]), value_info("w", FLOAT), value_info("r", FLOAT)]),
    "gru_long": lambda: operator("GRU", [attr_int("hidden_size", 1)], [zeros(1, 3, 1), zeros(1, 3, 1)], fill=[[1 << 22, 1, 1]]),
    "space_to_depth": lambda: operator("DepthToSpace", [attr_int("blocksize", HUGE)], [zeros(1, 4, 1, 1)]),
    "trilu": lambda: operator("Trilu", [], [one(-HUGE)], fill=[[20000, 20000]]),
    "einsum_letters": lambda: operator("Einsum", [attr_string("equation", "abcdefgh,ijklmnop->")], [zeros(*[4] * 8), zeros(*[4] * 8)]),
    "einsum_outer": lambda: operator("Einsum", [attr_string("equation", "a,b->ab")], [], fill=[[100000], [100000]]),
    "gather_wide": lambda: constants(
        [node("ConstantOfShape", ["s"], ["z"]), node("ConstantOfShape", ["t"], ["k"], [attr_tensor("value", ints("", [0]))]),
         node("Gather", ["z", "k"], ["y"])], [ints("s", [2, 1 << 14]), ints("t", [1 << 14])]),
    "where_outer": lambda: constants([node("ConstantOfShape", ["s"], ["a"]), node("ConstantOfShape", ["t"], ["b"]),
                                      node("Add", ["a", "b"], ["y"])], [ints("s", [100000, 1]), ints("t", [1, 100000])]),
    "regex": lambda: model(graph([node("RegexFullMatch", ["x"], ["y"], [attr_string("pattern", "((a{1,9}){1,9}){1,9}$")])],
                                 inputs=[value_info("x", STRING, [1])], outputs=[value_info("y", BOOL)]), opset=20),
    "string_split": lambda: constants([node("StringSplit", ["s"], ["y", "n"])],
                                      [tensor("s", STRING, [2], strings=[b"a " * 200000, b"b"])], elem=STRING, opset=20),
    "string_tile_loop": lambda: constants([node("Tile", ["s", "r"], ["a"]), node("Tile", ["a", "r"], ["b"]),
                                           node("Tile", ["b", "r"], ["y"])],
                                          [tensor("s", STRING, [1], strings=[b"x" * 1000]), ints("r", [1000])], elem=STRING),
    "string_expand": lambda: constants([node("Expand", ["s", "r"], ["y"])],
                                       [tensor("s", STRING, [1], strings=[b"x" * 100000]), ints("r", [1 << 24])], elem=STRING),
    "sequence_at": lambda: constants([node("SequenceEmpty", [], ["q"]), node("SequenceInsert", ["q", "w"], ["r"]),
                                      node("SequenceAt", ["r", "k"], ["y"])], [floats("w", [1]), scalar("k", HUGE)]),
    "slice_steps": lambda: operator("Slice", [], [zeros(4), i(HUGE), i(-HUGE), i(0), i(-1)]),
    "reshape_huge": lambda: operator("Reshape", [], [zeros(4), i(HUGE, HUGE, HUGE, -1)]),
    "unsqueeze_far": lambda: operator("Unsqueeze", [], [zeros(4), i(HUGE)]),
    "split_many": lambda: operator("Split", [], [zeros(4), i(*[0] * 100000)], opset=13),
    "transpose_rank": lambda: operator("Transpose", [], [zeros(*[1] * 200)]),
    "scatter_many": lambda: constants([node("ConstantOfShape", ["s"], ["z"]), node("ConstantOfShape", ["t"], ["k"], [attr_tensor("value", ints("", [0]))]),
                                       node("ConstantOfShape", ["u"], ["v"]), node("ScatterND", ["z", "k", "v"], ["y"])],
                                      [ints("s", [4]), ints("t", [1 << 22, 1]), ints("u", [1 << 22])]),
    "image": lambda: operator("ImageDecoder", [], [png(60000, 60000)], BYTE, opset=20),
}


def png(width, height):
    """A picture of zeros, whose rows are a few thousand bytes together."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + width * 3)) for _ in range(min(height, 200))) + packer.flush()
    data = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", rows) + chunk(b"IEND", b""))
    return lambda name: tensor(name, BYTE, [len(data)], data)


# Loops that go on, and what they gather.
def loop(trips, body_nodes, carried, out_elem=FLOAT, elem=FLOAT, first=None, scans=(), opset=17, inputs=()):
    body = graph([node("Identity", ["k"], ["d"]), *body_nodes], "b",
                 inputs=[value_info("i", INT64, []), value_info("k", BOOL, []), value_info("v", elem)],
                 outputs=[value_info("d", BOOL), value_info("w", elem)] + [value_info(s, FLOAT) for s in scans])
    outs = ["y"] + [f"scan{j}" for j in range(len(scans))]
    nodes = [node("Loop", ["m", "", carried], outs, [attr_graph("body", body)])]
    inits = [scalar("m", trips)] + ([first] if first else [])
    return model(graph(nodes, inputs=list(inputs), outputs=[value_info(outs[-1], out_elem)], initializers=inits), opset=opset)


def endless(trips=(1 << 63) - 1):
    return loop(trips, [node("Relu", ["v"], ["w"])], "x", inputs=[value_info("x", FLOAT, [2])])


def gathering(trips):
    return loop(trips, [node("Relu", ["v"], ["w"]), node("Relu", ["v"], ["s"])], "x", scans=["s"],
                inputs=[value_info("x", FLOAT, [1000])])


def growing_string(trips):
    return loop(trips, [node("StringConcat", ["v", "v"], ["w"])], "s", STRING, STRING,
                tensor("s", STRING, [1], strings=[b"xy"]), opset=20)


def growing_tensor(trips):
    return loop(trips, [node("Concat", ["v", "v"], ["w"], [attr_int("axis", 0)])], "x", inputs=[value_info("x", FLOAT, [2])])


def growing_sequence(trips):
    body = graph([node("Identity", ["k"], ["d"]), node("SequenceInsert", ["v", "x"], ["w"])], "b",
                 inputs=[value_info("i", INT64, []), value_info("k", BOOL, []), blob(1, "v") + blob(2, blob(4, blob(1, blob(1, number(1, FLOAT)))))],
                 outputs=[value_info("d", BOOL), blob(1, "w") + blob(2, blob(4, blob(1, blob(1, number(1, FLOAT)))))])
    return model(graph([node("SequenceEmpty", [], ["q"]), node("Loop", ["m", "", "q"], ["r"], [attr_graph("body", body)]),
                        node("SequenceLength", ["r"], ["y"])], inputs=[value_info("x", FLOAT, [1000])],
                       outputs=[value_info("y", INT64)], initializers=[scalar("m", trips)]))


def gathering_sequence(trips):
    """A sequence whose items are new in every round."""
    kind = blob(2, blob(4, blob(1, blob(1, number(1, FLOAT)))))
    body = graph([node("Identity", ["k"], ["d"]), node("Cast", ["i"], ["f"], [attr_int("to", FLOAT)]), node("Add", ["x", "f"], ["t"]),
                  node("SequenceInsert", ["v", "t"], ["w"])], "b",
                 inputs=[value_info("i", INT64, []), value_info("k", BOOL, []), blob(1, "v") + kind],
                 outputs=[value_info("d", BOOL), blob(1, "w") + kind])
    return model(graph([node("SequenceEmpty", [], ["q"]), node("Loop", ["m", "", "q"], ["r"], [attr_graph("body", body)]),
                        node("SequenceLength", ["r"], ["y"])], inputs=[value_info("x", FLOAT, [100000])],
                       outputs=[value_info("y", INT64)], initializers=[scalar("m", trips)]))


def large_branch(name, count, inner=None):
    """Needs memory for `count` floats while it runs, and while what is within it does."""
    nodes = [node("Mul", ["x", "x"], [f"{name}x"]), node("Expand", [f"{name}x", "s"], [f"{name}e"]), node("Sigmoid", [f"{name}e"], [f"{name}g"])]
    added = f"{name}x"
    if inner is not None:
        nodes.append(inner)
        added = f"inner{name}"
    nodes += [node("ReduceSum", [f"{name}g"], [f"{name}r"], [attr_int("keepdims", 0)]), node("Add", [f"{name}r", added], [f"{name}o"])]
    return graph(nodes, name, outputs=[value_info(f"{name}o", FLOAT)])


def branches_in_a_row(n, count):
    small = graph([node("Neg", ["x"], ["small"])], "e", outputs=[value_info("small", FLOAT)])
    nodes = [node("If", ["c"], [f"t{k}"], [attr_graph("then_branch", small), attr_graph("else_branch", large_branch(f"b{k}", count))]) for k in range(n)]
    return given([*nodes, node("Max", [f"t{k}" for k in range(n)], ["y"])], [value_info("c", BOOL, []), value_info("x", FLOAT, [1])],
                 initializers=[ints("s", [count])])


def branches_within(n, count):
    inner, small = None, graph([node("Neg", ["x"], ["small"])], "e", outputs=[value_info("small", FLOAT)])
    for k in range(n):
        body = large_branch(f"b{k}", count, inner)
        inner = node("If", ["c"], [f"innerb{k + 1}"], [attr_graph("then_branch", small), attr_graph("else_branch", body)])
    return given([inner], [value_info("c", BOOL, []), value_info("x", FLOAT, [1])], f"innerb{n}", initializers=[ints("s", [count])])


def tree(children):
    """A decision tree whose nodes are each other's children."""
    n = len(children)
    strings = lambda name, value: blob(1, name) + b"".join(blob(9, value) for _ in range(n)) + number(20, 8)  # noqa: E731
    numbers = lambda name: blob(1, name) + b"".join(varint(7 << 3 | 5) + struct.pack("<f", 1) for _ in range(n)) + number(20, 6)  # noqa: E731
    zeros_of = lambda name: attr_ints(name, [0] * n)  # noqa: E731
    attributes = [zeros_of("nodes_treeids"), attr_ints("nodes_nodeids", range(n)), zeros_of("nodes_featureids"),
                  strings("nodes_modes", "BRANCH_LEQ"), numbers("nodes_values"), attr_ints("nodes_truenodeids", children),
                  attr_ints("nodes_falsenodeids", children), attr_ints("target_ids", [0]), attr_ints("target_treeids", [0]),
                  attr_ints("target_nodeids", [0]), blob(1, "target_weights") + varint(7 << 3 | 5) + struct.pack("<f", 1) + number(20, 6),
                  attr_int("n_targets", 1)]
    main = graph([node("TreeEnsembleRegressor", ["x"], ["y"], attributes, domain="ai.onnx.ml")], inputs=[value_info("x", FLOAT, [1, 1])],
                 outputs=[value_info("y", FLOAT)])
    return model(main) + blob(8, blob(1, "ai.onnx.ml") + number(2, 3))


# Symbols: sizes made of sizes.
def symbols_chain(ops, n, opset=17):
    """Sizes computed from one another, then used as a shape."""
    nodes = [node("Shape", ["x"], ["s0"])]
    for k in range(n):
        nodes.append(node(ops[k % len(ops)], [f"s{k}", "c" if k % 3 == 2 else f"s{k}"], [f"s{k + 1}"]))
    nodes.append(node("ConstantOfShape", [f"s{n}"], ["y"]))
    return given(nodes, [value_info("x", FLOAT, ["N", "M"])], initializers=[ints("c", [3, 7])], opset=opset)


def symbols_mixed(n):
    """Joined, split, flattened and tiled over and over."""
    nodes, at = [], "x"
    for k in range(n):
        nodes += [node("Concat", [at, at], [f"c{k}"], [attr_int("axis", k % 2)]),
                  node("MatMul", [f"c{k}", f"t{k}"], [f"m{k}"]), node("Transpose", [f"c{k}"], [f"t{k}"])]
        nodes[-2], nodes[-1] = nodes[-1], nodes[-2]
        at = f"m{k}"
    return given(nodes, [value_info("x", FLOAT, ["N", "M"])], at)


def pools(n):
    nodes = [node("MaxPool", ["x" if k == 0 else f"t{k}"], [f"t{k + 1}"],
                  [attr_ints("kernel_shape", [3, 3]), attr_ints("strides", [2, 2]), attr_int("ceil_mode", k % 2)]) for k in range(n)]
    return given(nodes, [value_info("x", FLOAT, [1, 1, "H", "W"])], f"t{n}")


def slices(n):
    nodes = [node("Slice", ["x" if k == 0 else f"t{k}", "b", "e", "a", "s"], [f"t{k + 1}"]) for k in range(n)]
    return given(nodes, [value_info("x", FLOAT, ["N"])], f"t{n}",
                 initializers=[ints("b", [1]), ints("e", [-1]), ints("a", [0]), ints("s", [2])])


def flattened(n):
    """Products of more and more symbols."""
    nodes = [node("Mul", [f"u{k - 1}" if k else "x0", f"x{k}"], [f"u{k}"]) for k in range(n)]
    nodes.append(node("Flatten", [f"u{n - 1}"], ["y"], [attr_int("axis", 0)]))
    return given(nodes, [value_info(f"x{k}", FLOAT, [1] * k + [f"N{k}"] + [1] * (n - k - 1)) for k in range(n)])


def long_symbol(n):
    return given([node("Concat", ["x", "x"], ["y"], [attr_int("axis", 0)])], [value_info("x", FLOAT, ["N" * n, "M" * n])])


# Lists: of everything that can be long.
def attributes(n):
    return given([node("Relu", ["x"], ["y"], [attr_int(f"a{k}", k) for k in range(n)])], [value_info("x", FLOAT, [2])])


def initializers(n):
    return given([node("Relu", ["x"], ["y"])], [value_info("x", FLOAT, [2])],
                 initializers=[tensor(f"w{k}", FLOAT, [], bytes(4)) for k in range(n)])


def used_initializers(n):
    nodes = [node("Add", ["x" if k == 0 else f"t{k}", f"w{k}"], [f"t{k + 1}"]) for k in range(n)]
    return given(nodes, [value_info("x", FLOAT, [2])], f"t{n}", initializers=[tensor(f"w{k}", FLOAT, [], bytes(4)) for k in range(n)])


def inputs(n):
    return given([node("Sum", [f"x{k}" for k in range(n)], ["y"])], [value_info(f"x{k}", FLOAT, [1]) for k in range(n)])


def outputs(n):
    return model(graph([node("Relu", ["x"], [f"y{k}"]) for k in range(n)], inputs=[value_info("x", FLOAT, [1])],
                       outputs=[value_info(f"y{k}", FLOAT, [1]) for k in range(n)]))


def same_input(n):
    return given([node("Sum", ["x"] * n, ["y"])], [value_info("x", FLOAT, [1])])


def value_infos(n):
    return given([node("Relu", ["x"], ["y"])], [value_info("x", FLOAT, [2])],
                 value_infos=[value_info(f"v{k}", FLOAT, [1, f"N{k}"]) for k in range(n)])


def same_names(n):
    nodes = [node("Relu", ["x"], [f"t{k}"], name="same") for k in range(n)]
    return given([*nodes, node("Max", [f"t{k}" for k in range(n)], ["y"])], [value_info("x", FLOAT, [2])])


def backwards(n):
    nodes = [node("Relu", ["x" if k == 0 else f"t{k}"], [f"t{k + 1}"]) for k in range(n)]
    return given(nodes[::-1], [value_info("x", FLOAT, [2])], f"t{n}")


def branches(n, captured):
    """Many branches, each of which sees many names."""
    def side(op, k):
        inner = [node(op, ["x"], [f"i{k}"]), node("Sum", [f"i{k}", *[f"w{j}" for j in range(captured)]], [f"o{op}{k}"])]
        return graph(inner, f"g{op}{k}", outputs=[value_info(f"o{op}{k}", FLOAT)])

    nodes = [node("If", ["c"], [f"t{k}"], [attr_graph("then_branch", side("Relu", k)), attr_graph("else_branch", side("Neg", k))])
             for k in range(n)]
    return given([*nodes, node("Max", [f"t{k}" for k in range(n)], ["y"])], [value_info("c", BOOL, []), value_info("x", FLOAT, [2])],
                 initializers=[floats(f"w{j}", [2]) for j in range(captured)])


def function_branches(n):
    """A function of many names, and of many branches that may use them."""
    def side(op, k):
        return graph([node(op, [f"t{k}"], [f"{op}{k}"])], op, outputs=[value_info(f"{op}{k}", FLOAT)])

    body = [node("Relu", ["a"], [f"t{k}"]) for k in range(n)]
    body += [node("If", ["c"], [f"u{k}"], [attr_graph("then_branch", side("Abs", k)), attr_graph("else_branch", side("Neg", k))]) for k in range(n)]
    body.append(node("Max", [f"u{k}" for k in range(n)], ["b"]))
    main = graph([node("f", ["c", "x"], ["y"], domain="f")], inputs=[value_info("c", BOOL, []), value_info("x", FLOAT, [2])],
                 outputs=[value_info("y", FLOAT)])
    return model(main, [function("f", ["c", "a"], ["b"], body)])


def branch_outputs(n):
    def side(op):
        return graph([node(op, ["x"], [f"{op}{k}"]) for k in range(n)], op, outputs=[value_info(f"{op}{k}", FLOAT) for k in range(n)])

    return given([node("If", ["c"], [f"t{k}" for k in range(n)], [attr_graph("then_branch", side("Relu")), attr_graph("else_branch", side("Neg"))]),
                  node("Max", [f"t{k}" for k in range(n)], ["y"])], [value_info("c", BOOL, []), value_info("x", FLOAT, [2])],
                 value_infos=[value_info(f"t{k}", FLOAT, [2]) for k in range(n)])


def imports(n):
    return model(graph([node("Relu", ["x"], ["y"])], inputs=[value_info("x", FLOAT, [2])], outputs=[value_info("y", FLOAT)])) + b"".join(
        blob(8, blob(1, f"d{k}") + number(2, 1)) for k in range(n))


def metadata(n):
    return model(graph([node("Relu", ["x"], ["y"])], inputs=[value_info("x", FLOAT, [2])], outputs=[value_info("y", FLOAT)])) + b"".join(
        blob(14, blob(1, "k") + blob(2, f"{k}")) for k in range(n))


def unknown_operators(n):
    nodes = [node(f"Op{k}", ["x" if k == 0 else f"t{k}"], [f"t{k + 1}"], domain=f"d{k}") for k in range(n)]
    return given(nodes, [value_info("x", FLOAT, [2])], f"t{n}")


def many_strings(n):
    return constants([node("Identity", ["s"], ["y"])], [tensor("s", STRING, [n], strings=[b""] * n)], elem=STRING)


def loops_in_a_row(n):
    """Each is folded, or not, for itself."""
    body = graph([node("Identity", ["k"], ["d"]), node("Add", ["v", "v"], ["w"])], "b",
                 inputs=[value_info("i", INT64, []), value_info("k", BOOL, []), value_info("v", FLOAT)],
                 outputs=[value_info("d", BOOL), value_info("w", FLOAT)])
    nodes = [node("Loop", ["m", "", "w0" if k == 0 else f"t{k}"], [f"t{k + 1}"], [attr_graph("body", body)]) for k in range(n)]
    return constants(nodes, [scalar("m", 9999), floats("w0", [1])], f"t{n}")


def claims(dims):
    """A tensor that says it is large, and is not there."""
    return given([node("Add", ["x", "w"], ["y"])], [value_info("x", FLOAT, [2])], initializers=[tensor("w", FLOAT, dims, bytes(4))])


def external(length, offset=0):
    entries = [("location", "absent.bin"), ("offset", str(offset)), ("length", str(length))]
    data = number(1, 1 << 20) + number(2, FLOAT) + blob(8, "w") + b"".join(blob(13, blob(1, k) + blob(2, v)) for k, v in entries) + number(14, 1)
    return given([node("Add", ["x", "w"], ["y"])], [value_info("x", FLOAT, [1])], initializers=[data])


MORE = {
    "nested_scans": lambda: nested_scans(40),
    "nested_sequence_maps": lambda: nested_sequence_maps(28),
    "graph_arguments": lambda: graph_arguments(3000),
    "graph_arguments_allowed": lambda: graph_arguments(100),
    "deep_type": lambda: deep_type(40),
    "deeper_type": lambda: deep_type(20000),
    "functions_in_loops": lambda: functions_in_loops(40),
    "functions_in_many_loops": lambda: functions_in_loops(2000),
    "doubling_names": lambda: doubling_names(15, 60000),
    "doubling_inner_names": lambda: doubling_inner_names(14, 60000),
    "doubling_lists": lambda: doubling_lists(13, 100000),
    "doubling_weights": lambda: doubling_weights(13, 250000, False),
    "doubling_halves": lambda: doubling_weights(13, 250000, True),
    "doubling_sparse": lambda: doubling_sparse(10, 1 << 23),
    "tiled": lambda: tiled(60),
    "tiled_allowed": lambda: tiled(25),
    "joined_sequences": lambda: joined_sequences(40),
    **OPERATORS,
    "endless": endless,
    "gathering": lambda: gathering(1 << 40),
    "growing_string": lambda: growing_string(60),
    "growing_tensor": lambda: growing_tensor(60),
    "growing_sequence": lambda: growing_sequence(1 << 40),
    "gathering_sequence": lambda: gathering_sequence(1 << 40),
    "branches_in_a_row": lambda: branches_in_a_row(60, 50 << 20),
    "branches_within": lambda: branches_within(20, 50 << 20),
    "tree_circle": lambda: tree([1, 2, 0]),
    "tree_shared": lambda: tree([min(k + 1, 99) for k in range(100)]),
    "symbols_divided": lambda: symbols_chain(["Mul", "Add", "Div"], 200),
    "symbols_left_over": lambda: symbols_chain(["Mul", "Mul", "Mod"], 200),
    "symbols_extremes": lambda: symbols_chain(["Add", "Max", "Min", "Mul"], 200),
    "symbols_mixed": lambda: symbols_mixed(60),
    "pools": lambda: pools(200),
    "slices": lambda: slices(300),
    "flattened": lambda: flattened(60),
    "long_symbol": lambda: long_symbol(60000),
    "attributes": lambda: attributes(100000),
    "initializers": lambda: initializers(100000),
    "used_initializers": lambda: used_initializers(10000),
    "inputs": lambda: inputs(20000),
    "outputs": lambda: outputs(20000),
    "same_input": lambda: same_input(100000),
    "value_infos": lambda: value_infos(100000),
    "same_names": lambda: same_names(20000),
    "backwards": lambda: backwards(20000),
    "branches": lambda: branches(200, 200),
    "function_branches": lambda: function_branches(3000),
    "branch_outputs": lambda: branch_outputs(3000),
    "imports": lambda: imports(100000),
    "metadata": lambda: metadata(100000),
    "unknown_operators": lambda: unknown_operators(20000),
    "many_strings": lambda: many_strings(500000),
    "loops_in_a_row": lambda: loops_in_a_row(500),
    "claims": lambda: claims([1 << 20, 1 << 20]),
    "claims_overflow": lambda: claims([HUGE, 4]),
    "external_length": lambda: external(HUGE),
    "external_offset": lambda: external(4, (1 << 63) - 4),
}
