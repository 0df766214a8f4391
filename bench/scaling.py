#!/usr/bin/python3
"""Does the cost grow as the work does? Tables over batch and over sequence length, with onnxruntime in the same run.

    bench/scaling.py [--models DIR] [--batches 1,2,4,...] [--lengths 16,32,...] [--threads 1] [--rounds N] [--build DIR]

Batch: mobilenet_v2 and resnet50 of the shared models with their batch made free. Length: two layers of a transformer
(384 wide, 12 heads, batch and length free) written here. Each is one model for all sizes. `per item` is Sardonyx's
time divided by the batch or the length; ratios are onnxruntime / Sardonyx. Every batch is also compared with itself: a
row inside it must have the bits that it has alone.
"""

import argparse
import pathlib
import shutil

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import cases
import compare

WIDTH, HEADS, LAYERS = 384, 12, 2


def free_batch(source, folder):
    """The model with a symbolic first dimension: of its inputs and outputs, and of what Reshape gives."""
    model = onnx.load(str(source), load_external_data=False)
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    del model.graph.value_info[:]
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "Reshape" or node.input[1] not in tensors:
            continue
        tensor = tensors[node.input[1]]
        shape = numpy_helper.to_array(tensor).copy()
        if len(shape) > 0 and shape[0] == 1:
            shape[0] = 0 if -1 in shape else -1
            tensor.CopyFrom(numpy_helper.from_array(shape, tensor.name))
    path = folder / source.name
    onnx.save(model, str(path))
    data = folder / f"{source.stem}.bin"
    if not data.exists():
        shutil.copy(source.with_suffix(".bin"), data)
    return path


def transformer(path):
    """Self-attention and a widened layer, each with its residual and normalisation, on x: [N, S, WIDTH]."""
    rng = np.random.default_rng(1)
    weights, nodes = [], []

    def weight(name, *shape):
        values = (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
        weights.append(numpy_helper.from_array(values, name))
        return name

    def constant(name, values, dtype):
        weights.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def node(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    split = constant("split", [0, 0, HEADS, WIDTH // HEADS], np.int64)
    joined = constant("joined", [0, 0, WIDTH], np.int64)
    scale = constant("scale", (WIDTH // HEADS) ** -0.5, np.float32)
    root = constant("root", 2**0.5, np.float32)
    one, half = constant("one", 1, np.float32), constant("half", 0.5, np.float32)

    def linear(x, name, inner, outer):
        product = node("MatMul", [x, weight(f"{name}.w", inner, outer)], f"{name}.product")
        return node("Add", [product, weight(f"{name}.b", outer)], f"{name}.sum")

    x = "x"
    for layer in range(LAYERS):
        name = f"layer{layer}"
        heads = {}
        for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            flat = linear(x, f"{name}.{part}", WIDTH, WIDTH)
            cut = node("Reshape", [flat, split], f"{name}.{part}.cut")
            heads[part] = node("Transpose", [cut], f"{name}.{part}.heads", perm=order)
        scores = node("MatMul", [heads["q"], heads["k"]], f"{name}.scores")
        scaled = node("Mul", [scores, scale], f"{name}.scaled")
        mixed = node("MatMul", [node("Softmax", [scaled], f"{name}.weights", axis=-1), heads["v"]], f"{name}.mixed")
        turned = node("Transpose", [mixed], f"{name}.turned", perm=[0, 2, 1, 3])
        out = linear(node("Reshape", [turned, joined], f"{name}.joined"), f"{name}.out", WIDTH, WIDTH)
        scale_of = lambda which: [weight(f"{name}.{which}.scale", WIDTH), weight(f"{name}.{which}.bias", WIDTH)]
        x = node("LayerNormalization", [node("Add", [out, x], f"{name}.first"), *scale_of("norm1")], f"{name}.norm1", axis=-1)
        wide = linear(x, f"{name}.wide", WIDTH, 4 * WIDTH)
        error = node("Erf", [node("Div", [wide, root], f"{name}.divided")], f"{name}.erf")
        gate = node("Mul", [wide, node("Add", [error, one], f"{name}.plus")], f"{name}.gate")
        back = linear(node("Mul", [gate, half], f"{name}.gelu"), f"{name}.back", 4 * WIDTH, WIDTH)
        x = node("LayerNormalization", [node("Add", [back, x], f"{name}.second"), *scale_of("norm2")], f"{name}.norm2", axis=-1)
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", "S", WIDTH])
    graph = helper.make_graph(nodes, "transformer", [value("x")], [value(x)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def input_of(model, folder, shape):
    """One input of this shape, whose rows do not depend on how many there are."""
    name = onnx.load(str(model), load_external_data=False).graph.input[0].name
    array = cases.make_input(model.stem, name, np.float32, shape)
    path = folder / ("x".join(map(str, shape)) + ".pb")
    path.write_bytes(numpy_helper.from_array(array, name).SerializeToString())
    return [(name, path)], array


def rows_keep_their_bits(engine, model, folder, array):
    """Whether the last row alone gives the bits that it gives inside of the batch."""
    inputs, _ = input_of(model, folder, array.shape)
    together = compare.outputs(engine, model, inputs, folder / "together")[0]
    path = folder / "row.pb"
    path.write_bytes(numpy_helper.from_array(array[-1:], inputs[0][0]).SerializeToString())
    alone = compare.outputs(engine, model, [(inputs[0][0], path)], folder / "alone")[0]
    return together[-1:].tobytes() == alone.tobytes()


def table(title, model, shapes, engines, threads, rounds, folder):
    folder.mkdir(parents=True, exist_ok=True)
    print(f"\n{title}, {threads} thread(s)\n")
    print("| size | sardonyx ms | per item ms | onnxruntime ms | ratio | error | rows keep their bits |")
    print("|---|---|---|---|---|---|---|")
    for size, shape in shapes:
        inputs, array = input_of(model, folder, shape)
        record = compare.measure_model(model, inputs, engines, [threads], rounds, folder)
        for engine, error in record["failures"].items():
            raise SystemExit(f"{engine} at {size}: {error}")
        result = record["threads"][str(threads)]
        ours, theirs = result["sardonyx"]["min_ms"], result["onnxruntime"]["min_ms"]
        same = "-" if shape[0] == 1 else "yes" if rows_keep_their_bits(engines[1], model, folder, array) else "NO"
        print(f"| {size} | {ours:.3f} | {ours / size:.4f} | {theirs:.3f} | {theirs / ours:.2f} | "
              f"{record['relative_error']['sardonyx']:.1e} | {same} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(word) for word in text.split(",") if word]
    parser.add_argument("--models", type=pathlib.Path, default=cases.ROOT.parent / "shared/models")
    parser.add_argument("--batches", type=numbers, default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--lengths", type=numbers, default=[16, 32, 64, 128, 256, 512, 1024])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--build", type=pathlib.Path, default=cases.ROOT / "build")
    args = parser.parse_args()
    build = args.build.resolve()
    scratch = build / "scaling"
    scratch.mkdir(parents=True, exist_ok=True)
    engines = [compare.Peer(build / "peer"), compare.Sardonyx(build / "sardonyx")]
    names = ["mobilenet_v2", "resnet50"] if args.batches else []
    models = cases.fill_models(args.models.resolve(), build / "models", names)
    for name in names:
        model = free_batch(models / f"{name}.onnx", scratch)
        shapes = [(batch, (batch, 3, 224, 224)) for batch in args.batches]
        table(f"{name} by batch", model, shapes, engines, args.threads, args.rounds, scratch / name)
    if args.lengths:
        model = transformer(scratch / "transformer.onnx")
        shapes = [(length, (1, length, WIDTH)) for length in args.lengths]
        table("transformer by length", model, shapes, engines, args.threads, args.rounds, scratch / "length")
        shapes = [(batch, (batch, 64, WIDTH)) for batch in args.batches]
        table("transformer of length 64 by batch", model, shapes, engines, args.threads, args.rounds, scratch / "batch")


if __name__ == "__main__":
    main()
