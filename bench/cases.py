#!/usr/bin/python3
"""Models ready to run: weights filled, inputs fixed, and onnxruntime's answers beside them.

    bench/cases.py --out DIR [--models DIR] [--only NAME,NAME]

writes DIR/NAME/{model.onnx, test_data_set_0/input_*.pb, output_*.pb}: the layout of ONNX backend tests, which
`sardonyx test DIR/NAME` reads. The inputs are the same on every machine: floats uniform in [-1,1), ids in [0,100),
masks all one.
"""

import argparse
import pathlib
import shutil
import subprocess
import zlib

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEER_PACKAGE = "onnxruntime-node@1.30.0"


def install_peer(folder):
    """Puts onnxruntime-node in folder. Its install script only fetches CUDA libraries, so it is not run."""
    if not (folder / "node_modules/onnxruntime-node/package.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(command + ["--prefix", str(folder), PEER_PACKAGE], check=True)
    return PEER_PACKAGE.split("@")[1]


def fill_models(source, folder, names):
    """Returns a folder where every named model has its weights: source itself, or folder with copies filled in."""
    if all((source / f"{name}.bin").exists() for name in names):
        return source
    folder.mkdir(parents=True, exist_ok=True)
    fill = folder / "fill_weights"
    if not fill.exists():
        subprocess.run(["g++", "-O2", "-std=c++20", str(source / "fill_weights.cc"), "-o", str(fill)], check=True)
    for name in names:
        for suffix in (".onnx", ".csv"):
            shutil.copy(source / (name + suffix), folder)
        if not (folder / f"{name}.bin").exists():
            subprocess.run([str(fill), f"{name}.csv"], cwd=folder, check=True)
    return folder


def model_names(source, only):
    names = sorted(path.stem for path in source.glob("*.onnx"))
    unknown = sorted(set(only) - set(names))
    if unknown:
        raise SystemExit(f"no such model in {source}: {', '.join(unknown)}")
    return [name for name in names if not only or name in only]


def make_input(model, name, dtype, shape):
    rng = np.random.RandomState(zlib.crc32(f"{model}/{name}".encode()))
    if "mask" in name:
        return np.ones(shape, dtype)
    if np.issubdtype(dtype, np.integer):
        return rng.randint(0, 100, shape).astype(dtype)
    return (rng.random_sample(shape) * 2 - 1).astype(dtype)


def make_inputs(model_path, folder):
    """Writes input_0.pb, input_1.pb ... in graph order and returns them as (name, path). Symbolic dimensions are 1."""
    folder.mkdir(parents=True, exist_ok=True)
    graph = onnx.load(str(model_path), load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = []
    for value in graph.input:
        if value.name in weights:
            continue
        tensor = value.type.tensor_type
        shape = [dim.dim_value or 1 for dim in tensor.shape.dim]
        dtype = onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[tensor.elem_type]
        array = make_input(model_path.stem, value.name, dtype, shape)
        path = folder / f"input_{len(inputs)}.pb"
        path.write_bytes(numpy_helper.from_array(array, value.name).SerializeToString())
        inputs.append((value.name, path))
    return inputs


def input_flags(inputs):
    return [word for name, path in inputs for word in ("--input", f"{name}={path}")]


def peer_command(model_path, inputs, *flags, peer):
    script = ROOT / "bench/peer_run.mjs"
    return ["node", str(script), str(model_path), "--peer", str(peer), *input_flags(inputs), *flags]


def read_outputs(folder):
    paths = sorted(folder.glob("output_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    return [onnx.load_tensor(str(path)) for path in paths]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, default=ROOT.parent / "shared/models")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    args = parser.parse_args()
    args.build = args.build.resolve()

    names = model_names(args.models, [name for name in args.only.split(",") if name])
    models = fill_models(args.models.resolve(), args.build / "models", names)
    peer = args.build / "peer"
    install_peer(peer)
    for name in names:
        case = args.out / name
        data = case / "test_data_set_0"
        inputs = make_inputs(models / f"{name}.onnx", data)
        # Copies: external weights must lie beside the model, and a link to a file elsewhere is refused.
        shutil.copyfile(models / f"{name}.onnx", case / "model.onnx")
        shutil.copyfile(models / f"{name}.bin", case / f"{name}.bin")
        flags = ("--optimize", "off", "--output-dir", str(data))  # the model as written: no rewriting
        subprocess.run(peer_command(case / "model.onnx", inputs, *flags, peer=peer), check=True)
        print(f"{name}: {len(inputs)} inputs, {len(read_outputs(data))} outputs")


if __name__ == "__main__":
    main()
