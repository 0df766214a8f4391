"""GPT-2's decoding step for any number of rows, from the one for one row: the sizes 1 that its export wrote into reshapes are opened."""
import sys

import onnx
from onnx import helper, numpy_helper


def open_rows(source, target):
    model = onnx.load(source, load_external_data=False)
    graph = model.graph
    for port in list(graph.input) + list(graph.output):
        dims = port.type.tensor_type.shape.dim
        dims[0].dim_param = "N"
        if port.name.startswith("past"):
            dims[2].dim_param = "past"
        elif len(dims) == 4:
            dims[2].dim_param = "total"
        elif port.name == "mask":
            dims[1].dim_param = "total"
    small = {tensor.name: tensor for tensor in graph.initializer if tensor.data_location == 0 and len(tensor.dims) == 1}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            small[node.output[0]] = node.attribute[0].t
    del graph.value_info[:]
    makers = {node.output[0]: node for node in graph.node}
    # What is seen is what the mask says, without the export's way of looking each place up.
    seen = {node.input[0] for node in graph.node if node.op_type == "Where" and makers[node.input[0]].op_type != "IsNaN"}
    kept, shapes = [], {(0, 1, 1, -1): "rows_0_1_1_m1"}
    kept.append(helper.make_node("Cast", ["mask"], ["seen_flat"], to=onnx.TensorProto.BOOL))
    kept += [helper.make_node("Reshape", ["seen_flat", "rows_0_1_1_m1"], [name]) for name in sorted(seen)]
    for node in graph.node:
        if node.output[0] in seen:
            continue
        if node.op_type == "Reshape" and node.input[1] in small:
            old = tuple(numpy_helper.to_array(small[node.input[1]]).tolist())
            first = graph_rows(node, old, makers)
            if first is not None:
                kind, value = first
                if kind == "transpose":  # keys: [N, 12, T, 64] to [N, 12, 64, T] in one step
                    kept.append(helper.make_node("Transpose", [value], list(node.output), perm=[0, 1, 3, 2]))
                    continue
                name = shapes.setdefault(value, "rows_" + "_".join(str(size).replace("-", "m") for size in value))
                node.input[1] = name
                del node.attribute[:]
        kept.append(node)
    used = {name for node in kept for name in node.input} | {port.name for port in graph.output}
    while unused := [node for node in kept if not used.intersection(node.output)]:
        kept = [node for node in kept if node not in unused]
        used = {name for node in kept for name in node.input} | {port.name for port in graph.output}
    del graph.node[:]
    graph.node.extend(kept)
    for value, name in shapes.items():
        graph.initializer.append(helper.make_tensor(name, onnx.TensorProto.INT64, [len(value)], value))
    onnx.save(model, target)


def graph_rows(node, old, makers):
    """What a reshape becomes: None as it is, ("shape", sizes) or ("transpose", input)."""
    if old[0] == 1 and len(old) == 4 and old[2] == 64:
        middle = makers[node.input[0]]  # of the keys' transposition, whose first reshape goes unused
        return "transpose", makers[middle.input[0]].input[0]
    if old[0] == 1 and len(old) == 4:
        return "shape", (-1, 1, 12, 64)
    if old[0] == 1:
        return "shape", (-1, *old[1:])
    return None


if __name__ == "__main__":
    open_rows(sys.argv[1], sys.argv[2])
