"""Small models of the shared ones, for any number of rows: what their exports fixed at the example's is opened, as `dynamic_axes` would have."""
import struct

import onnx
from onnx import helper, numpy_helper


def open_rows(source, target, outputs=None):
    """`outputs`: those that are kept. Initial states of zeros, whose rows were fixed too, are left to their default."""
    model = onnx.load(source, load_external_data=False)
    graph = model.graph
    kept = [port for port in graph.output if outputs is None or port.name in outputs]
    del graph.output[:], graph.value_info[:]
    graph.output.extend(kept)
    for port in [*graph.input, *graph.output]:
        port.type.tensor_type.shape.dim[0].dim_param = "N"
    shapes = {tensor.name: tensor for tensor in graph.initializer if tensor.data_location == 0}
    for node in graph.node:
        if node.op_type == "Reshape" and node.input[1] in shapes:
            sizes = numpy_helper.to_array(shapes[node.input[1]]).tolist()
            if sizes.count(1) == 1 and -1 not in sizes:
                sizes[sizes.index(1)] = -1
                node.input[1] = node.output[0] + "_shape"
                graph.initializer.append(helper.make_tensor(node.input[1], onnx.TensorProto.INT64, [len(sizes)], sizes))
        if node.op_type in ("LSTM", "GRU"):
            for i in range(5, len(node.input)):
                node.input[i] = ""
    onnx.save(model, target)


def floats(count):
    return struct.pack(f"<{count}f", *(i % 17 / 7 - 1 for i in range(count)))


# Name: the inputs of one row, and the outputs that are asked for.
MODELS = {
    "x_mlp": ([("input", "FP32", (1, 128), floats(128))], None),
    "x_dlrm": ([("d", "FP32", (1, 13), floats(13)), ("s", "INT64", (1, 8), struct.pack("<8q", *range(3, 11)))], None),
    "lstm_lm": ([("input", "FP32", (1, 32, 256), floats(32 * 256))], ["getitem"]),
    "x_crnn": ([("x", "FP32", (1, 1, 40, 200), floats(8000))], None),
}
