#!/usr/bin/python3
"""Decoding with a past that grows by one each token, in both engines, token by token.

    bench/growing.py --models DIR [--only NAME,NAME] [--steps 64] [--threads 2] [--build build] [--peer build/peer]

DIR holds the shared models with their weights (bench/cases.py fills them in) and, if it is to be measured, the merged
speech decoder as moonshine_tiny_decoder_q.onnx. The shared decoders have a past of 64; here the length is left open
(open_length). Each engine decodes greedily from the same start, and the two take turns of a whole decoding; a token's time
is the least of all rounds. Printed per model: the time of a token, that of the last quarter of the tokens over that of the
first quarter, that of the first run of a length over that of a repeat (right behind it), the total of both engines, and
whether all ids are the same, or the first that is not and how close the choice was. With --ways, the ids of all levels, of
one thread and of the graph as written are compared too.
"""

import argparse
import ctypes
import json
import pathlib
import statistics
import subprocess
import time

import numpy as np
import onnx
from onnx import helper, numpy_helper

import cases
import engines

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAST = 64  # what the shared decoders were exported with
SHARED = ("llama_160m_decode", "llama_160m_decode_q4", "gpt2_decode")
SPEECH = "moonshine_tiny_decoder_q"


def open_length(source, target):
    """The model with its past's length left open: the sizes that the exporter wrote down are taken out again."""
    model = onnx.load(str(source), load_external_data=False)
    graph = model.graph
    for info in list(graph.input) + list(graph.output):
        dims = info.type.tensor_type.shape.dim
        if info.name.startswith("past"):
            dims[2].dim_param, dims[3].dim_value = "past", PAST
        elif len(dims) and any(dim.dim_value == PAST + 1 for dim in dims):
            for dim in dims:
                if dim.dim_value == PAST + 1:
                    dim.dim_param = "total"
    del graph.value_info[:]
    values = {init.name: init for init in graph.initializer}
    made = {}

    def shape(ints):
        name = "shape_" + "_".join(str(i).replace("-", "m") for i in ints)
        if name not in made:
            made[name] = numpy_helper.from_array(np.array(ints, np.int64), name)
        return name
    nodes = []
    masks = {}
    for node in graph.node:
        if node.op_type == "GatherND" and values.get(node.input[1]) is not None and PAST + 1 in values[node.input[1]].dims:
            masks[node.output[0]] = node.input[0]  # picks every element of the mask
            continue
        if node.op_type == "And" and (node.input[0] in masks or node.input[1] in masks):
            mask = masks.get(node.input[0]) or masks.get(node.input[1])
            nodes.append(helper.make_node("Reshape", [mask, shape([1, 1, 1, -1])], list(node.output)))
            continue
        if node.op_type in ("Reshape", "Expand") and node.input[1] in values:
            ints = [int(i) for i in numpy_helper.to_array(values[node.input[1]])]
            if PAST + 1 in ints:
                if node.op_type == "Expand":
                    ints = [1 if i == PAST + 1 else i for i in ints]
                else:
                    ints = [12 if i == -1 else -1 if i == PAST + 1 else i for i in ints]  # both have 12 heads
                node.input[1] = shape(ints)
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend(made.values())
    onnx.save(model, str(target))


def states_of(model):
    """Pairs of (output, input) that go from one step to the next, and the output with the logits."""
    names_in = [info.name for info in model.graph.input if info.name.startswith("past")]
    names_out = [info.name for info in model.graph.output]
    if "logits" in names_out:  # the merged decoder
        return [(name.replace("past_key_values", "present"), name) for name in names_in], "logits"
    return list(zip(names_out[1:], names_in)), names_out[0]


def first_inputs(model, length):
    """The inputs of the first step: a past of `length` drawn once, and the encoder's output for a speech decoder."""
    rng = np.random.default_rng(3)
    feeds = {}

    def size(dim):
        if dim.dim_value:
            return dim.dim_value
        return 1 if "batch" in dim.dim_param else 40 if "encoder_sequence" in dim.dim_param else length
    for info in model.graph.input:
        dims = [size(dim) for dim in info.type.tensor_type.shape.dim]
        if info.name.startswith("past") or info.name == "encoder_hidden_states":
            feeds[info.name] = rng.uniform(-1, 1, dims).astype(np.float32)
        elif info.name == "use_cache_branch":
            feeds[info.name] = np.array([True])
    return feeds


class Ours:
    """Sardonyx through its C interface; values stay in its memory."""

    def __init__(self, build, path, threads, isa="native", optimize=True):
        self.engine = engines.Sardonyx(build, threads, isa)
        self.engine.options.no_optimize = 0 if optimize else 1
        lib = self.lib = self.engine.library
        lib.sardonyx_model_load.restype = ctypes.c_void_p
        lib.sardonyx_tensor_shape.restype = ctypes.c_void_p
        self.model, self.session = ctypes.c_void_p(), ctypes.c_void_p()
        self.engine.check(lib.sardonyx_model_load(str(path).encode(), ctypes.byref(self.model)))
        self.engine.check(lib.sardonyx_session_new(self.model, ctypes.byref(self.engine.options), ctypes.byref(self.session)))

    def tensor(self, array):
        array = np.ascontiguousarray(array)
        dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        value = ctypes.c_void_p()
        kind = {np.dtype(bool): 9, np.dtype(np.float32): 1, np.dtype(np.int64): 7}[array.dtype]
        self.engine.check(self.lib.sardonyx_tensor_over(kind, dims, ctypes.c_size_t(array.ndim),
                                                        ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes),
                                                        None, None, ctypes.byref(value)))
        return value, array

    def run(self, values, outputs):
        names = (ctypes.c_char_p * len(values))(*[name.encode() for name in values])
        given = (ctypes.c_void_p * len(values))(*[value for value, _ in values.values()])
        wanted = (ctypes.c_char_p * len(outputs))(*[name.encode() for name in outputs])
        results = (ctypes.c_void_p * len(outputs))()
        start = time.perf_counter()
        self.engine.check(self.lib.sardonyx_session_run(self.session, names, given, ctypes.c_size_t(len(values)), wanted,
                                                        results, ctypes.c_size_t(len(outputs))))
        spent = time.perf_counter() - start
        return spent, [ctypes.c_void_p(result) for result in results]

    def numbers(self, value, dtype):
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.engine.check(self.lib.sardonyx_tensor_data(value, ctypes.byref(data), ctypes.byref(size)))
        return np.frombuffer(ctypes.string_at(data, size.value), dtype)

    def decode(self, model, feeds, steps):
        """Times of first runs and of repeats, the ids, and how far apart the two best scores of each were."""
        states, logits = states_of(model)
        kept = {name: self.tensor(array) for name, array in feeds.items()}
        length = next(iter(array.shape[2] for name, array in feeds.items() if name.startswith("past")))
        first, again, ids, gaps, token = [], [], [], [], 1
        names = {info.name for info in model.graph.input}
        for step in range(steps):
            values = dict(kept)
            values["input_ids"] = self.tensor(np.array([[token]], np.int64))
            if "position_ids" in names:
                values["position_ids"] = self.tensor(np.array([[length]], np.int64))
            if "mask" in names:
                values["mask"] = self.tensor(np.ones((1, length + 1), np.int64))
            outputs = [logits] + [output for output, _ in states]
            spent, results = self.run(values, outputs)
            first.append(spent)
            for value in results:
                self.lib.sardonyx_value_release(value)
            spent, results = self.run(values, outputs)
            again.append(spent)
            scores = self.numbers(results[0], np.float32)
            token = int(np.argmax(scores))
            ids.append(token)
            gaps.append(float(scores[token] - np.partition(scores, -2)[-2]))
            self.lib.sardonyx_value_release(results[0])
            for (output, name), value in zip(states, results[1:]):
                if name in kept and "encoder" not in name:
                    self.lib.sardonyx_value_release(kept[name][0])
                    kept[name] = (value, None)
                else:
                    self.lib.sardonyx_value_release(value)
            length += 1
        return first, again, ids, gaps

    def close(self):
        self.lib.sardonyx_session_release(self.session)
        self.lib.sardonyx_model_release(self.model)


def other_ways(build, path, model, feeds, steps, expected):
    """The ways to run that do not give the expected ids."""
    wrong = []
    for isa, threads, optimize in (("portable", 2, True), ("avx2", 2, True), ("avx512", 2, True), ("native", 1, True),
                                   ("native", 2, False)):
        try:
            ours = Ours(build, path, threads, isa, optimize)
        except RuntimeError as error:  # this machine has no such level
            print(f"  {isa}: {error}")
            continue
        if ours.decode(model, feeds, steps)[2] != expected:
            wrong.append(f"{isa}, {threads} threads, optimize {'on' if optimize else 'off'}")
        ours.close()
    return wrong


def theirs(peer, path, model, feeds, steps, threads, folder):
    states, logits = states_of(model)
    spec = {"model": str(path), "steps": steps, "threads": threads, "states": states, "logits": logits,
            "names": [info.name for info in model.graph.input], "feeds": []}
    for name, array in feeds.items():
        file = folder / f"{name}.raw"
        file.write_bytes(np.ascontiguousarray(array).tobytes())
        spec["feeds"].append({"name": name, "type": str(array.dtype), "dims": list(array.shape), "file": str(file)})
    done = subprocess.run(["node", str(pathlib.Path(__file__).with_name("growing.mjs")), "--peer", str(peer)],
                          input=json.dumps(spec), capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    answer = json.loads(done.stdout)
    return answer["times"], answer["ids"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", action="store_true", help="compare the ids of all levels, threads and of the graph as written")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--peer", type=pathlib.Path, default=ROOT / "build/peer")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/growing")
    flags = parser.parse_args()
    cases.install_peer(flags.peer)
    flags.out.mkdir(parents=True, exist_ok=True)
    only = set(filter(None, flags.only.split(",")))
    print(f"{'model':<28}{'token ms':>10}{'last/first':>12}{'first/repeat':>14}{'total ms':>10}{'theirs ms':>11}{'ratio':>7}  ids")
    for name in SHARED + (SPEECH,):
        source = flags.models / f"{name}.onnx"
        if (only and name not in only) or not source.exists():
            continue
        path = source
        if name in SHARED:
            path = flags.models / f"{name}_open.onnx"  # beside the weights
            open_length(source, path)
        model = onnx.load(str(path), load_external_data=False)
        feeds = first_inputs(model, 8)
        ours = Ours(flags.build, path, flags.threads)
        first = again = times = None
        least = lambda old, new: new if old is None else [min(pair) for pair in zip(old, new)]
        for _ in range(flags.rounds):
            one, two, ids, gaps = ours.decode(model, feeds, flags.steps)
            three, their_ids = theirs(flags.peer, path, model, feeds, flags.steps, flags.threads, flags.out)
            first, again, times = least(first, one), least(again, two), least(times, three)
        ours.close()
        quarter = max(1, flags.steps // 4)
        flat = statistics.median(first[-quarter:]) / statistics.median(first[1:quarter + 1])
        ratio = statistics.median(a / b for a, b in zip(first[1:], again[1:]))
        for way in other_ways(flags.build, path, model, feeds, flags.steps, ids) if flags.ways else []:
            print(f"OTHER IDS {name}: {way}")
        same = "equal"
        if ids != their_ids:  # behind the first other id, other texts are decoded
            first_other = next(i for i, (a, b) in enumerate(zip(ids, their_ids)) if a != b)
            same = f"equal up to id {first_other} of {len(ids)}, where the two best scores are {gaps[first_other]:.2g} apart"
        print(f"{name:<28}{1e3 * statistics.median(first):>10.2f}{flat:>12.2f}{ratio:>14.2f}{1e3 * sum(first):>10.1f}"
              f"{1e3 * sum(times):>11.1f}{sum(times) / sum(first):>7.2f}  {same}", flush=True)


if __name__ == "__main__":
    main()
