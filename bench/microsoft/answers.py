"""Runs every case of a folder in onnxruntime's Python package, in one process: what answers.mjs does where that is missing.

    answers.py DIR

DIR/CASE/{model.onnx, input_0.pb ...} gets output_0.pb ... in graph order, or refused.txt with onnxruntime's reason. A case
that has either is left alone, so that after a crash, which refused.txt then tells, the next call goes on.
"""

import pathlib
import sys

import onnx
import onnxruntime
from onnx import numpy_helper


def answer(folder):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    feeds = {}
    for path in folder.glob("input_*.pb"):
        tensor = onnx.load_tensor(str(path))
        feeds[tensor.name] = numpy_helper.to_array(tensor)
    for i, array in enumerate(session.run(None, feeds)):
        (folder / f"output_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def main():
    for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        refused = folder / "refused.txt"
        if not (folder / "model.onnx").exists() or refused.exists() or (folder / "output_0.pb").exists():
            continue
        refused.write_text("onnxruntime crashed")
        try:
            answer(folder)
            refused.unlink()
        except Exception as error:  # whatever onnxruntime does not take
            refused.write_text(str(error))


if __name__ == "__main__":
    main()
