"""One model per class of input that costs more than its size, or that once ended the process. Each is
a few lines; the numbers are those at which the class showed."""
import random
import struct

from onnx_writer import *  # noqa: F403: the writer is this file's language


def one_input(nodes, out="y", dims=(2,), elem=FLOAT, out_dims=None, **more):
    return graph(nodes, inputs=[value_info("x", elem, list(dims))], outputs=[value_info(out, elem, out_dims)], **more)


# Recursion: calls in calls, branches in calls, branches in branches.
def function_chain(n):
    functions = [function(f"f{i}", ["a"], ["b"], [node(f"f{i + 1}", ["a"], ["b"], domain="f")]) for i in range(n)]
    functions.append(function(f"f{n}", ["a"], ["b"], [node("Relu", ["a"], ["b"])]))
    return model(one_input([node("f0", ["x"], ["y"], domain="f")]), functions)


def branch_chain(n):
    def branch(op, domain):
        return graph([node(op, ["a"], ["r"], domain=domain)], "t", outputs=[value_info("r", FLOAT)])

    functions = [function(f"f{i}", ["c", "a"], ["b"], [
        node("If", ["c"], ["b"], [attr_graph("then_branch", graph(
            [node(f"f{i + 1}", ["c", "a"], ["r"], domain="f")], "t", outputs=[value_info("r", FLOAT)])),
            attr_graph("else_branch", branch("Neg", ""))])]) for i in range(n)]
    functions.append(function(f"f{n}", ["c", "a"], ["b"], [node("Relu", ["a"], ["b"])]))
    main = graph([node("f0", ["c", "x"], ["y"], domain="f")],
                 inputs=[value_info("c", BOOL, []), value_info("x", FLOAT, [2])], outputs=[value_info("y", FLOAT)])
    return model(main, functions)


def nested_ifs(n):
    body = [node("Relu", ["x"], ["y0"])]
    for i in range(n):
        then = graph(body, f"t{i}", outputs=[value_info(f"y{i}", FLOAT)])
        other = graph([node("Neg", ["x"], [f"z{i}"])], f"e{i}", outputs=[value_info(f"z{i}", FLOAT)])
        body = [node("If", ["c"], [f"y{i + 1}"], [attr_graph("then_branch", then), attr_graph("else_branch", other)])]
    return model(graph(body, inputs=[value_info("c", BOOL, []), value_info("x", FLOAT, [2])],
                       outputs=[value_info(f"y{n}", FLOAT)]))


def nested_loops(n, trips=2):
    """A carried value that grows on its way round makes each Loop type its body again."""
    body = [node("Concat", ["v", "v"], ["w"], [attr_int("axis", 0)])]
    for i in range(n):
        inner = graph([*body, node("Identity", [f"k{i}"], [f"d{i}"])], f"b{i}",
                      inputs=[value_info(f"i{i}", INT64, []), value_info(f"k{i}", BOOL, []),
                              value_info("v" if i == 0 else f"v{i}", FLOAT)],
                      outputs=[value_info(f"d{i}", BOOL), value_info("w" if i == 0 else f"w{i}", FLOAT)])
        body = [node("Loop", ["m", "", f"v{i + 1}"], [f"w{i + 1}"], [attr_graph("body", inner)])]
    main = graph([node("Identity", ["x"], [f"v{n}"]), *body], inputs=[value_info("x", FLOAT, [2])],
                 outputs=[value_info(f"w{n}", FLOAT)], initializers=[tensor("m", INT64, [], struct.pack("<q", trips))])
    return model(main)


# Expansion: each function calls the next one twice, in its body or in the branches of an If.
def doubling_functions(n):
    functions = [function(f"f{i}", ["a"], ["c"], [node(f"f{i + 1}", ["a"], ["b"], domain="f"),
                                                  node(f"f{i + 1}", ["b"], ["c"], domain="f")]) for i in range(n)]
    functions.append(function(f"f{n}", ["a"], ["c"], [node("Relu", ["a"], ["c"])]))
    return model(one_input([node("f0", ["x"], ["y"], domain="f")]), functions)


def long_names(depth, length):
    name = "n" * length
    functions = [function(f"{name}{i}", ["a"], ["b"], [
        node(f"{name}{i + 1}", ["a"], ["b"], domain="f", name=name)]) for i in range(depth)]
    functions.append(function(f"{name}{depth}", ["a"], ["b"], [node("Relu", ["a"], ["b"])]))
    calls = [node(f"{name}0", ["x" if i == 0 else f"t{i}"], [f"t{i + 1}"], domain="f") for i in range(200)]
    return model(one_input(calls, "t200"), functions)


# Folding: work and bytes that constants ask for.
def folded_loops(depth, trips):
    inner = graph([node("Identity", ["k0"], ["d0"]), node("Add", ["v0", "one"], ["w0"])], "b0",
                  inputs=[value_info("i0", INT64, []), value_info("k0", BOOL, []), value_info("v0", FLOAT)],
                  outputs=[value_info("d0", BOOL), value_info("w0", FLOAT)])
    for i in range(1, depth):
        inner = graph([node("Identity", [f"k{i}"], [f"d{i}"]),
                       node("Loop", ["m", "", f"v{i}"], [f"w{i}"], [attr_graph("body", inner)])], f"b{i}",
                      inputs=[value_info(f"i{i}", INT64, []), value_info(f"k{i}", BOOL, []), value_info(f"v{i}", FLOAT)],
                      outputs=[value_info(f"d{i}", BOOL), value_info(f"w{i}", FLOAT)])
    main = graph([node("Loop", ["m", "", "one"], ["y"], [attr_graph("body", inner)])], outputs=[value_info("y", FLOAT)],
                 initializers=[tensor("m", INT64, [], struct.pack("<q", trips)), floats("one", [1])])
    return model(main)


def folded_bytes(n):
    """Every node makes a megabyte from twenty bytes."""
    nodes = [node("ConstantOfShape", ["s"], [f"c{i}"]) for i in range(n)]
    nodes.append(node("Sum", ["x", *[f"c{i}" for i in range(n)]], ["y"]))
    return model(one_input(nodes, dims=[512, 512], initializers=[ints("s", [512, 512])]))


def folded_moves(n):
    """Every node turns the same weight round."""
    nodes = [node("Transpose", ["w"], [f"t{i}"], [attr_ints("perm", [1, 0])]) for i in range(n)]
    nodes.append(node("Sum", ["x", *[f"t{i}" for i in range(n)]], ["y"]))
    return model(one_input(nodes, dims=[512, 512], initializers=[floats("w", [512, 512])]))


def folded_window(kernel):
    attributes = [attr_ints("kernel_shape", [kernel]), attr_ints("pads", [kernel - 1, kernel - 1])]
    return model(graph([node("MaxPool", ["w"], ["y"], attributes)], outputs=[value_info("y", FLOAT)],
                       initializers=[floats("w", [1, 1, 4])]))


# Memory: strings, sparse tensors, sequences.
def strings_doubled(n):
    nodes = [node("StringConcat", [f"s{i}", f"s{i}"], [f"s{i + 1}"]) for i in range(n)]
    return model(graph(nodes, inputs=[value_info("s0", STRING, [1])], outputs=[value_info(f"s{n}", STRING)]), opset=20)


def strings_repeated(times):
    return model(graph([node("Tile", ["s", "r"], ["y"])], outputs=[value_info("y", STRING)],
                       initializers=[tensor("s", STRING, [1], strings=[b"x" * 100000]), ints("r", [times])]))


def sparse_tensors(n, dims):
    sparse = [blob(1, tensor(f"w{i}", FLOAT, [1], struct.pack("<f", 1))) +
              blob(2, tensor("", INT64, [1], struct.pack("<q", 0))) + b"".join(number(3, d) for d in dims)
              for i in range(n)]
    nodes = [node("Sum", ["x", *[f"w{i}" for i in range(n)]], ["y"])]
    return model(one_input(nodes, dims=[1], sparse=sparse))


# Symbols: sizes over many of them, lists whose length is one.
def joined_symbols(n):
    nodes = [node("Concat", [f"x{i}" for i in range(n)], ["y"], [attr_int("axis", 0)])]
    return model(graph(nodes, inputs=[value_info(f"x{i}", FLOAT, [f"N{i}"]) for i in range(n)],
                       outputs=[value_info("y", FLOAT)]))


def added_symbols(n):
    nodes = [node("Add", ["x0" if i == 1 else f"t{i - 1}", f"x{i}"], [f"t{i}"]) for i in range(1, n)]
    return model(graph(nodes, inputs=[value_info(f"x{i}", FLOAT, [f"N{i}", f"M{i}"]) for i in range(n)],
                       outputs=[value_info(f"t{n - 1}", FLOAT)]))


def reshapes_by_symbolic_lists(n):
    nodes = [node("Reshape", ["x" if i == 0 else f"t{i - 1}", "s"], [f"t{i}"]) for i in range(n)]
    return model(graph(nodes, inputs=[value_info("x", FLOAT, ["A", "B"]), value_info("s", INT64, ["R"])],
                       outputs=[value_info(f"t{n - 1}", FLOAT)]))


# Width: many wires at once, many outputs of one node, many functions nobody calls, ranks nobody knows.
def chain(n):
    nodes = [node("Relu" if i % 2 else "Sigmoid", ["x" if i == 0 else f"t{i}"], [f"t{i + 1}"], name=f"n{i}")
             for i in range(n)]
    return model(one_input(nodes, f"t{n}", out_dims=[2]))


def parallel_wires(n):
    nodes = [node("Softmax", ["x"], [f"t{i}"], [attr_int("axis", 0)]) for i in range(n)]
    nodes += [node("Max", [f"t{i}" for i in range(n)], ["y"])]
    return model(one_input(nodes, dims=[4], out_dims=[4]))


def wide_split(n):
    nodes = [node("Split", ["x"], [f"t{i}" for i in range(n)], [attr_int("axis", 0)]),
             node("Concat", [f"t{i}" for i in reversed(range(n))], ["y"], [attr_int("axis", 0)])]
    return model(one_input(nodes, dims=[n], out_dims=[n]))


def unused_functions(n):
    functions = [function(f"f{i}", ["a"], ["b"], [node("Relu", ["a"], ["b"])]) for i in range(n)]
    return model(one_input([node("Relu", ["x"], ["y"])]), functions)


def unknown_ranks(n):
    nodes = [node("Add" if i % 2 else "Relu", ["x" if i == 0 else f"t{i}"] + (["x"] if i % 2 else []), [f"t{i + 1}"])
             for i in range(n)]
    return model(graph(nodes, inputs=[value_info("x", FLOAT)], outputs=[value_info(f"t{n}", FLOAT)]))


# Tables: keys that a hash function without a secret takes to one place. The first is the one of GNU's library for strings (Murmur's,
# by words of eight bytes): of two blocks that follow each other, the second makes up for what the first has changed, so that
# N pairs of blocks make 2^N names of one value. The second takes numbers as they are, by the number of places.
def colliding_names(bits):
    whole, mul = (1 << 64) - 1, 0xC6A4A7935BD1E995
    back = pow(mul, -1, 1 << 64)
    text = bytes(c for c in range(33, 127) if chr(c) not in '"\\')
    allowed, draw = frozenset(text), random.Random(1)

    def mixed(word):
        word = int.from_bytes(word, "little") * mul & whole
        return (word ^ word >> 47) * mul & whole

    def unmixed(word):
        word = word * back & whole
        return ((word ^ word >> 47) * back & whole).to_bytes(8, "little")

    state, names = 0xC70F6907 ^ (16 * bits * mul & whole), [b""]
    for _ in range(bits):
        first, second = bytes(draw.choices(text, k=8)), bytes(draw.choices(text, k=8))
        after = ((state ^ mixed(first)) * mul & whole ^ mixed(second)) * mul & whole
        while True:
            other = bytes(draw.choices(text, k=8))
            rest = unmixed((state ^ mixed(other)) * mul & whole ^ (after * back & whole))
            if allowed.issuperset(rest) and other != first:
                break
        names = [name + pair for name in names for pair in (first + second, other + rest)]
        state = after
    nodes = [node("Relu", [names[i - 1] if i else "x"], [names[i]]) for i in range(len(names))]
    return model(one_input(nodes, out=names[-1], out_dims=[2]))


def colliding_tokens(n, places=172933):
    grams = node("TfIdfVectorizer", ["x"], ["y"], [
        attr_int("max_gram_length", 1), attr_int("min_gram_length", 1), attr_int("max_skip_count", 0), attr_string("mode", "TF"),
        attr_ints("ngram_counts", [0]), attr_ints("ngram_indexes", range(n)),
        attr_ints("pool_int64s", [i * places for i in range(n)])])
    return model(graph([grams], inputs=[value_info("x", INT64, [2])], outputs=[value_info("y", FLOAT, [n])]))


# Text: names that a terminal would obey, or that are no text at all.
def rude_names():
    name = b"\x1b[2J\x1b]0;owned\x07\xff\xfe<script>alert(1)</script>\"\n"
    return model(graph([node("Relu", ["x"], [name], name=name), node("Nope", [name], ["y"], name=name)], name=name,
                       inputs=[value_info("x", FLOAT, [2])], outputs=[value_info("y", FLOAT)]))


HOSTILE = {
    "function_chain": lambda: function_chain(10000),
    "branch_chain": lambda: branch_chain(1000),
    "branch_chain_allowed": lambda: branch_chain(60),
    "function_chain_allowed": lambda: function_chain(120),
    "nested_ifs": lambda: nested_ifs(30),
    "nested_loops": lambda: nested_loops(28),
    "doubling_functions": lambda: doubling_functions(40),
    "doubling_functions_allowed": lambda: doubling_functions(14),
    "long_names": lambda: long_names(100, 60000),
    "folded_loops": lambda: folded_loops(4, 10000),
    "folded_bytes": lambda: folded_bytes(3000),
    "folded_moves": lambda: folded_moves(300),
    "folded_window": lambda: folded_window(1000000000),
    "folded_window_refused": lambda: folded_window(2000000000),
    "strings_doubled": lambda: strings_doubled(60),
    "strings_repeated": lambda: strings_repeated(10**9),
    "sparse_tensors": lambda: sparse_tensors(20, [1 << 24]),
    "sparse_tensor": lambda: sparse_tensors(1, [1 << 20, 1 << 20]),
    "joined_symbols": lambda: joined_symbols(500),
    "added_symbols": lambda: added_symbols(300),
    "symbolic_lists": lambda: reshapes_by_symbolic_lists(4),
    "parallel_wires": lambda: parallel_wires(20000),
    "wide_split": lambda: wide_split(20000),
    "unused_functions": lambda: unused_functions(50000),
    "unknown_ranks": lambda: unknown_ranks(1000),
    "colliding_names": lambda: colliding_names(13),
    "colliding_tokens": lambda: colliding_tokens(120000),
    "rude_names": rude_names,
}
