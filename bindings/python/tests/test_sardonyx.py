#!/usr/bin/python3
"""The package as its users see it."""

import ast
import contextlib
import importlib.util
import inspect
import io
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

import sardonyx as ort
import sardonyx.backend

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOFTMAX = str(ROOT / "tests/data/softmax.onnx")
DIGITS = str(ROOT / "examples/digits/digits.onnx")
THIRDS = np.full((1, 3), 1 / 3, np.float32)


def model(nodes, inputs, outputs, initializers=(), opset=17, ir=8):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
    return made.SerializeToString()


def info(name, kind=TensorProto.FLOAT, shape=("N",)):
    return helper.make_tensor_value_info(name, kind, shape)


def identity(kind, shape=("N",)):
    """A model that gives back what it takes."""
    return model([helper.make_node("Identity", ["x"], ["y"])], [info("x", kind, shape)], [info("y", kind, shape)], opset=19)


def run_in_child(session, queue):
    queue.put(session.run(None, {"x": np.zeros((1, 3), np.float32)})[0])


class Sessions(unittest.TestCase):
    def setUp(self):
        self.session = ort.InferenceSession(SOFTMAX, providers=["CPUExecutionProvider"])
        self.x = np.zeros((1, 3), np.float32)

    def test_signature(self):
        x, = self.session.get_inputs()
        self.assertEqual((x.name, x.type, x.shape), ("x", "tensor(float)", ["N", 3]))
        self.assertEqual(self.session.get_outputs()[0].name, "y")
        self.assertEqual(self.session.get_providers(), ["CPUExecutionProvider"])
        self.assertEqual(ort.InferenceSession(DIGITS).get_modelmeta().graph_name, "digits")

    def test_run_by_name_and_from_bytes(self):
        np.testing.assert_array_equal(self.session.run(["y"], {"x": self.x})[0], THIRDS)
        from_bytes = ort.InferenceSession(pathlib.Path(SOFTMAX).read_bytes())
        np.testing.assert_array_equal(from_bytes.run(None, {"x": self.x})[0], THIRDS)
        np.testing.assert_array_equal(self.session.run(None, {"x": [[0, 0, 0]]})[0], THIRDS)

    def test_arrays_of_every_layout(self):
        wide = np.arange(12, dtype=np.float32).reshape(2, 6)
        expected = self.session.run(None, {"x": wide[:, ::2].copy()})[0]
        for given in (wide[:, ::2], np.asfortranarray(wide[:, ::2]), wide[:, ::2].astype(">f4")):
            np.testing.assert_array_equal(self.session.run(None, {"x": given})[0], expected)

    def test_inputs_are_shared_and_freed(self):
        x = np.zeros((1, 3), np.float32)
        before = sys.getrefcount(x)
        value = ort.OrtValue.ortvalue_from_numpy(x)
        self.assertEqual(value.data_ptr(), x.ctypes.data)
        del value
        for _ in range(10):
            self.session.run(None, {"x": x})
        self.assertEqual(sys.getrefcount(x), before)

    def test_outputs_outlive_the_session(self):
        session = ort.InferenceSession(SOFTMAX)
        y = session.run(None, {"x": self.x})[0]
        session.close()
        del session
        np.testing.assert_array_equal(y, THIRDS)
        y[0, 0] = 1  # they are the caller's

    def test_wrong_calls_are_errors_with_codes(self):
        wrong = {
            "SDX-A0002": {"X": self.x},
            "SDX-A0003": {},
            "SDX-P0001": {"x": object()},
            "SDX-P0003": {"x": np.zeros((1, 3), "M8[s]")},
        }
        for code, feed in wrong.items():
            with self.assertRaises(ort.InvalidArgument, msg=code) as raised:
                self.session.run(None, feed)
            self.assertEqual(raised.exception.code, code)
        for feed in ({"x": np.zeros((1, 3))}, {"x": np.zeros((1, 4), np.float32)}, {"x": np.zeros(3, np.float32)}):
            with self.assertRaises(ValueError) as raised:
                self.session.run(None, feed)
            self.assertTrue(raised.exception.code.startswith("SDX-R"))
        with self.assertRaises(ort.InvalidArgument):
            self.session.run(["z"], {"x": self.x})
        with self.assertRaises(FileNotFoundError):
            ort.InferenceSession("no/such/file.onnx")
        with self.assertRaises(ort.InvalidProtobuf):
            ort.InferenceSession(b"junk")
        with self.assertRaises(ort.InvalidGraph) as raised:
            ort.InferenceSession(str(ROOT / "tests/data/badshape.onnx"))
        self.assertIn("product", raised.exception.place)
        self.session.close()
        with self.assertRaises(ort.Error):
            self.session.run(None, {"x": self.x})

    def test_options(self):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 2
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_free_dimension_override_by_name("N", 2)
        session = ort.InferenceSession(SOFTMAX, options)
        self.assertEqual(session.run(None, {"x": np.zeros((2, 3), np.float32)})[0].shape, (2, 3))
        with self.assertRaises(ort.Error):
            session.run(None, {"x": np.zeros((3, 3), np.float32)})

    def test_unknown_options_and_values_raise(self):
        options = ort.SessionOptions()
        for name, value in (("numerics", "Strict"), ("isa", "mmx"), ("accept", "all"), ("intra_op_num_threads", -1),
                            ("graph_optimization_level", 7), ("enable_profiling", "yes")):
            with self.assertRaises(ort.InvalidArgument, msg=name) as raised:
                setattr(options, name, value)
            self.assertEqual(raised.exception.code, "SDX-P0019")
        with self.assertRaises(AttributeError) as raised:
            options.intra_op_threads = 2
        self.assertIn("intra_op_num_threads", raised.exception.help)
        with self.assertRaises(AttributeError):
            ort.RunOptions().timeout = 2
        with self.assertRaises(ValueError):
            ort.RunOptions().time_limit = -1
        options.graph_optimization_level = 0
        self.assertIs(options.graph_optimization_level, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
        with self.assertRaises(TypeError):
            ort.InferenceSession(SOFTMAX, sess_option=options)

    def test_providers_that_are_not_here(self):
        with self.assertWarnsRegex(UserWarning, "CUDAExecutionProvider"):
            ort.InferenceSession(SOFTMAX, providers=[("CUDAExecutionProvider", {"device_id": 0}), "CPUExecutionProvider"])
        for wrong in (["FooProvider"], "CPUExecutionProvider", [1]):
            with self.assertRaises(ort.InvalidArgument):
                ort.InferenceSession(SOFTMAX, providers=wrong)
        with self.assertRaises(ort.InvalidArgument):
            self.session.set_providers(["FooProvider"])

    def test_dimensions_are_named_as_in_the_model(self):
        for name in ("N", "batch size", "-1", "2*N", "past_sequence_length + 1", "unk__12"):
            session = ort.InferenceSession(identity(TensorProto.FLOAT, (name, 3)))
            self.assertEqual(session.get_inputs()[0].shape, [name, 3])

    def test_external_data_of_a_model_from_bytes(self):
        weight = helper.make_tensor("w", TensorProto.FLOAT, [2], np.float32([3, 4]).tobytes(), raw=True)
        weight.ClearField("raw_data")
        weight.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "w.bin"), ("offset", "0"), ("length", "8")):
            weight.external_data.add(key=key, value=value)
        bytes_ = model([helper.make_node("Mul", ["x", "w"], ["y"])], [info("x", shape=(2,))], [info("y", shape=(2,))], [weight])
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "w.bin").write_bytes(np.float32([3, 4]).tobytes())
            options = ort.SessionOptions()
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
            session = ort.InferenceSession(bytes_, options)
            np.testing.assert_array_equal(session.run(None, {"x": np.ones(2, np.float32)})[0], [3, 4])
        with self.assertRaises(ort.Error):
            ort.InferenceSession(bytes_)

    def test_sparse_tensors(self):
        coo = ort.SparseTensor.sparse_coo_from_numpy([2, 3], np.float32([5, 7]), [1, 5])
        csr = ort.SparseTensor.sparse_csr_from_numpy([2, 3], np.float32([5, 7]), [1, 2], [0, 1, 2])
        for sparse in (coo, csr):
            value = ort.OrtValue.ort_value_from_sparse_tensor(sparse)
            np.testing.assert_array_equal(value.numpy(), [[0, 5, 0], [0, 0, 7]])
            self.assertTrue(value.is_sparse_tensor())
            self.assertEqual(value.as_sparse_tensor().data_type(), "sparse_tensor(float)")
        np.testing.assert_array_equal(csr.as_csrc_view().outer(), [0, 1, 2])
        with self.assertRaises(ort.InvalidArgument):
            coo.as_csrc_view()
        with self.assertRaises(ort.InvalidArgument):
            ort.SparseTensor.sparse_coo_from_numpy([2, 3], np.float32([5]), [6])

    def test_devices_are_the_cpu(self):
        self.assertEqual(ort.OrtDevice.make("cpu", 0).device_type(), "cpu")
        with self.assertRaises(ort.InvalidArgument):
            ort.OrtDevice.make("cuda", 0)
        self.assertEqual(self.session.get_input_memory_infos()[0].name, "Cpu")
        ort.create_and_register_allocator(ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, 0), None)

    def test_a_model_that_deviates_runs_with_a_note(self):
        with open(SOFTMAX, "rb") as file:
            content = file.read()
        self.assertEqual(content[0], 8)
        unversioned = content[2:]  # without ir_version
        session = ort.InferenceSession(unversioned)
        self.assertIn("SDX-K0101", session.notes[0])
        options = ort.SessionOptions()
        options.accept = "strict"
        with self.assertRaises(ort.Error) as caught:
            ort.InferenceSession(unversioned, options)
        self.assertEqual(caught.exception.code, "SDX-K0101")

    def test_threads_share_a_session(self):
        results = []
        def work():
            for _ in range(50):
                results.append(self.session.run(None, {"x": self.x})[0])
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 400)
        for result in results:
            np.testing.assert_array_equal(result, THIRDS)

    def test_run_async(self):
        done, seen = threading.Event(), []
        def callback(results, data, error):
            seen.append((results, data, error))
            done.set()
        self.session.run_async(None, {"x": self.x}, callback, 7)
        self.assertTrue(done.wait(10))
        np.testing.assert_array_equal(seen[0][0][0], THIRDS)
        self.assertEqual(seen[0][1:], (7, ""))
        done.clear()
        self.session.run_async(None, {}, callback, 8)
        self.assertTrue(done.wait(10))
        self.assertIn("SDX-A0003", seen[1][2])

    def test_a_run_can_be_stopped(self):
        options = ort.RunOptions()
        options.terminate = True
        with self.assertRaises(ort.Terminated):
            self.session.run(None, {"x": self.x}, options)
        options.terminate = False
        np.testing.assert_array_equal(self.session.run(None, {"x": self.x}, options)[0], THIRDS)

    def test_a_run_has_limits_and_computes_what_is_asked_for(self):
        options = ort.RunOptions()
        options.time_limit = 0
        with self.assertRaises(ort.Terminated):
            self.session.run(None, {"x": self.x}, options)
        for options.time_limit in (3600, 1e300, None):
            np.testing.assert_array_equal(self.session.run(None, {"x": self.x}, options)[0], THIRDS)
        for wrong in (-1, float("nan")):
            with self.assertRaises(ort.InvalidArgument):
                options.time_limit = wrong
        kind, one = TensorProto.FLOAT, [1]
        body = helper.make_graph(
            [helper.make_node("Identity", ["c"], ["again"]), helper.make_node("Neg", ["s"], ["t"])], "body",
            [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("s", kind, one)],
            [info("again", TensorProto.BOOL, []), info("t", kind, one)])
        nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Loop", ["n", "", "x"], ["z"], body=body)]
        session = ort.InferenceSession(model(nodes, [info("x", kind, one), info("n", TensorProto.INT64, [])],
                                             [info("y", kind, one), info("z", kind, one)]))
        feed = {"x": np.ones(1, np.float32), "n": np.array(10, np.int64)}
        self.assertEqual([float(v[0]) for v in session.run(["z", "y"], feed)], [1, -1])
        limited = ort.RunOptions()
        limited.loop_limit = 3
        with self.assertRaises(ort.Error) as raised:
            session.run(["z"], feed, limited)
        self.assertEqual(raised.exception.code, "SDX-R0610")
        self.assertEqual(session.run(["y"], feed, limited)[0][0], -1)

    def test_state_goes_from_run_to_run_without_copies(self):
        session = ort.InferenceSession(identity(TensorProto.FLOAT))
        state = ort.OrtValue.ortvalue_from_numpy(np.arange(3, dtype=np.float32))
        for _ in range(3):
            state, = session.run_with_ort_values(["y"], {"x": state})
        np.testing.assert_array_equal(state.numpy(), [0, 1, 2])

    def test_io_binding(self):
        binding = self.session.io_binding()
        into = np.empty((1, 3), np.float32)
        binding.bind_cpu_input("x", self.x)
        binding.bind_output("y", "cpu", 0, np.float32, (1, 3), into.ctypes.data)
        self.session.run_with_iobinding(binding)
        np.testing.assert_array_equal(into, THIRDS)
        binding.clear_binding_outputs()
        binding.bind_output("y")
        self.session.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], THIRDS)

    def test_dlpack_both_ways(self):
        y = self.session.run_with_ort_values(None, {"x": ort.OrtValue.from_dlpack(self.x)})[0]
        np.testing.assert_array_equal(np.from_dlpack(y), THIRDS)
        self.assertEqual(np.from_dlpack(y).ctypes.data, y.data_ptr())
        again = ort.OrtValue.from_dlpack(y.to_dlpack())
        np.testing.assert_array_equal(again.numpy(), THIRDS)

    def test_pickle_by_path_and_hash(self):
        again = pickle.loads(pickle.dumps(self.session))
        np.testing.assert_array_equal(again.run(None, {"x": self.x})[0], THIRDS)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            pathlib.Path(path).write_bytes(pathlib.Path(SOFTMAX).read_bytes())
            pickled = pickle.dumps(ort.InferenceSession(path))
            pathlib.Path(path).write_bytes(pathlib.Path(DIGITS).read_bytes())
            with self.assertRaises(ort.Error):
                pickle.loads(pickled)

    def test_fork(self):
        self.session.run(None, {"x": self.x})
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=run_in_child, args=(self.session, queue))
        child.start()
        np.testing.assert_array_equal(queue.get(timeout=20), THIRDS)
        child.join()

    def test_profile(self):
        options = ort.SessionOptions()
        options.enable_profiling = True
        with tempfile.TemporaryDirectory() as folder:
            options.profile_file_prefix = os.path.join(folder, "p_")
            session = ort.InferenceSession(SOFTMAX, options)
            session.run(None, {"x": self.x})
            events = json.loads(pathlib.Path(session.end_profiling()).read_text())
            self.assertEqual([event["name"] for event in events if event["cat"] == "Session"], ["session_initialization", "model_run"])
            node, = [event for event in events if event["cat"] == "Node"]
            self.assertEqual((node["args"]["op_name"], node["ph"], node["name"]), ("Softmax", "X", "soft_kernel_time"))

    def test_overridable_initializers(self):
        two = helper.make_tensor("w", TensorProto.FLOAT, [1], [2.0])
        bytes_ = model([helper.make_node("Mul", ["x", "w"], ["y"])], [info("x"), info("w", shape=(1,))], [info("y")], [two])
        session = ort.InferenceSession(bytes_)
        self.assertEqual([port.name for port in session.get_inputs()], ["x"])
        self.assertEqual([port.name for port in session.get_overridable_initializers()], ["w"])
        one = np.ones(2, np.float32)
        np.testing.assert_array_equal(session.run(None, {"x": one})[0], [2, 2])
        np.testing.assert_array_equal(session.run(None, {"x": one, "w": np.array([5], np.float32)})[0], [5, 5])


class Streams(unittest.TestCase):
    MODEL = ROOT / "tests/data/smooth.txt"

    def setUp(self):
        self.x = np.random.RandomState(3).uniform(-1, 1, (1, 2, 41)).astype(np.float32)
        self.whole = ort.InferenceSession(str(self.MODEL)).run(None, {"x": self.x})

    def joined(self, stream, first=0, step=4):
        parts = [stream.push({"x": self.x[:, :, at:at + step]}) for at in range(first, 41, step)]
        self.assertTrue(all(level is None for _, level in parts))
        y, level = stream.finish()
        return np.concatenate([part for part, _ in parts] + [y], 2), level

    def test_pushes_joined_are_the_whole_run(self):
        for step in (1, 3, 41):
            stream = ort.Stream(self.MODEL, axis="T")
            y, level = self.joined(stream, step=step)
            self.assertEqual((y.tobytes(), level.tobytes()), (self.whole[0].tobytes(), self.whole[1].tobytes()))
            self.assertEqual((stream.rows, stream.inputs, stream.outputs), (41, ["x"], ["y", "level"]))

    def test_streams_fork_and_are_saved(self):
        stream = ort.Stream(self.MODEL, axis="T")
        early, _ = stream.push({"x": self.x[:, :, :20]})
        self.assertGreater(stream.state_bytes, 0)
        saved, fork = stream.save(), stream.fork()
        restored = ort.Stream(self.MODEL, axis="T")
        restored.restore(saved)
        for other in (stream, fork, restored):
            y, level = self.joined(other, first=20)
            self.assertEqual(np.concatenate([early, y], 2).tobytes(), self.whole[0].tobytes())
            self.assertEqual(level.tobytes(), self.whole[1].tobytes())
        stream.reset()
        self.assertEqual(self.joined(stream)[0].tobytes(), self.whole[0].tobytes())

    def test_many_streams_at_once(self):
        streams = [ort.Stream(self.MODEL, axis="T") for _ in range(5)]
        feeds = [{"x": self.x[:, :, i:i + 6 + i]} for i in range(5)]
        for (y, _), feed in zip(ort.Stream.push_all(streams, feeds), feeds):
            alone, _ = ort.Stream(self.MODEL, axis="T").push(feed)
            self.assertEqual(y.tobytes(), alone.tobytes())

    def test_errors_leave_the_stream_as_it_was(self):
        with self.assertRaises(ort.Error) as wrong:
            ort.Stream(self.MODEL, axis="U")
        self.assertEqual(wrong.exception.code, "SDX-S0003")
        with self.assertRaises(ort.Error) as wrong:
            ort.Stream(SOFTMAX, axis="x:1")
        self.assertEqual(wrong.exception.code, "SDX-S0010")
        stream, other = ort.Stream(self.MODEL, axis="T"), ort.Stream(SOFTMAX, axis="N")
        for feed, code in (({"x": self.x[:, :1]}, "SDX-S0023"), ({"z": self.x}, "SDX-A0002"), ({}, "SDX-S0022")):
            with self.assertRaises(ort.Error) as wrong:
                stream.push(feed)
            self.assertEqual(wrong.exception.code, code)
        with self.assertRaises(ort.Terminated):
            stream.push({"x": self.x}, time_limit=0)
        other.push({"x": np.zeros((2, 3), np.float32)})
        with self.assertRaises(ort.Error) as wrong:
            stream.restore(other.save())
        self.assertEqual(wrong.exception.code, "SDX-S0042")
        self.assertEqual(self.joined(stream)[0].tobytes(), self.whole[0].tobytes())
        with self.assertRaises(ort.Error) as wrong:
            stream.push({"x": self.x})
        self.assertEqual(wrong.exception.code, "SDX-S0027")


class Values(unittest.TestCase):
    def there_and_back(self, kind, array):
        y, = ort.InferenceSession(identity(kind)).run(None, {"x": array})
        self.assertEqual(y.dtype, array.dtype)
        np.testing.assert_array_equal(y, array)

    def test_every_type_of_numpy(self):
        for kind, dtype in onnx.mapping.TENSOR_TYPE_TO_NP_TYPE.items():
            if kind in (TensorProto.BFLOAT16, TensorProto.STRING):
                continue
            self.there_and_back(kind, np.array([0, 1, 1], dtype))

    def test_strings(self):
        self.there_and_back(TensorProto.STRING, np.array(["a", "", "grüße", "\udc80"], object))
        y, = ort.InferenceSession(identity(TensorProto.STRING)).run(None, {"x": np.array(["ab", "c"])})
        self.assertEqual(list(y), ["ab", "c"])

    def test_types_that_numpy_lacks(self):
        from sardonyx import _dtypes

        bits = np.array([0x3F80, 0x4000], np.uint16)
        y, = ort.InferenceSession(identity(TensorProto.BFLOAT16)).run(None, {"x": bits.view(_dtypes.TABLE[16])})
        self.assertEqual(y.dtype, _dtypes.TABLE[16])
        np.testing.assert_array_equal(y.view(np.uint16), bits)
        for number, (_, _, _, storage) in _dtypes._EXTRA.items():
            given = np.array([1, 0, 1], storage).view(_dtypes.TABLE[number])
            value = ort.OrtValue(given)
            self.assertEqual(value.element_type(), number)
            np.testing.assert_array_equal(value.numpy().view(storage), given.view(storage))
        minus = ort.OrtValue(np.array([-8, 7], np.int8).view(_dtypes.TABLE[22]))
        np.testing.assert_array_equal(minus.numpy().view(np.int8), [-8, 7])

    def test_sequences_and_optionals(self):
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N"])
        sequence = helper.make_sequence_type_proto(tensor)
        session = ort.InferenceSession(model([helper.make_node("Identity", ["x"], ["y"])],
                                             [helper.make_value_info("x", sequence)], [helper.make_value_info("y", sequence)]))
        self.assertEqual(session.get_inputs()[0].type, "seq(tensor(float))")
        items = [np.ones(2, np.float32), np.zeros(3, np.float32)]
        y, = session.run(None, {"x": items})
        self.assertEqual([list(a) for a in y], [[1, 1], [0, 0, 0]])
        optional = helper.make_optional_type_proto(tensor)
        session = ort.InferenceSession(model([helper.make_node("OptionalHasElement", ["x"], ["y"])],
                                             [helper.make_value_info("x", optional)], [info("y", TensorProto.BOOL, ())], opset=18))
        self.assertFalse(session.run(None, {"x": None})[0])
        self.assertTrue(session.run(None, {"x": items[0]})[0])

    def test_maps(self):
        node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["a", "b"])
        graph = helper.make_graph([node], "g", [info("x", shape=("N", 2))], [onnx.ValueInfoProto(name="y")])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 13)])
        y, = ort.InferenceSession(made.SerializeToString()).run(None, {"x": np.array([[1, 2]], np.float32)})
        self.assertEqual(y, [{"a": 1.0, "b": 2.0}])

    def test_a_bool_array_of_other_bytes_is_refused(self):
        with self.assertRaises(ort.InvalidArgument):
            ort.OrtValue(np.array([2], np.uint8).view(np.bool_))


class Models(unittest.TestCase):
    def test_check(self):
        self.assertTrue(ort.check(SOFTMAX))
        report = ort.check(ROOT / "tests/data/badshape.onnx")
        self.assertFalse(report)
        self.assertIn("MatMul", report[0].message)
        self.assertIn("product", report[0].place)

    def test_infer_and_explain(self):
        facts = ort.infer(DIGITS, set={"N": 2})
        self.assertEqual(facts["probability"].shape, [2, 10])
        why = ort.explain(DIGITS, "probability")
        self.assertEqual((why.op, why.inputs[0].op), ("Softmax", "Gemm"))
        self.assertIn("identifier", ort.explain("SDX-K0216")["text"])
        with self.assertRaises(ort.Error):
            ort.explain(DIGITS, "nowhere")

    def test_notebooks_draw(self):
        svg = ort.load(DIGITS)._repr_svg_()
        self.assertIn("<svg", svg)
        self.assertIn("Softmax", svg)
        self.assertIn("f32[N,10]", svg)
        self.assertIn("->", ort.load(DIGITS).dot())
        self.assertIn("Softmax", str(ort.load(DIGITS)))

    def test_view(self):
        shown = ort.view(DIGITS, set={"N": 1}, run=True)
        self.assertIn("default-src 'none'", shown.html)
        self.assertIn("<iframe sandbox", shown._repr_html_())
        with self.assertRaises(ort.Error):
            ort.view("no-such-file.onnx")

    def test_command_line(self):
        done = subprocess.run([sys.executable, "-m", "sardonyx", "check", SOFTMAX], capture_output=True, text=True)
        self.assertEqual((done.returncode, "valid" in done.stdout), (0, True))
        done = subprocess.run([sys.executable, "-m", "sardonyx", "run"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)

    def test_stubs_name_what_there_is(self):
        for module in (ort, sardonyx.backend):
            stub = pathlib.Path(module.__file__).with_suffix(".pyi").read_text()
            for node in ast.parse(stub).body:
                names = [node.name] if hasattr(node, "name") else []
                for name in names:
                    self.assertTrue(hasattr(module, name), name)
                    for member in getattr(node, "body", []):
                        if isinstance(member, ast.FunctionDef):
                            self.assertTrue(hasattr(getattr(module, name), member.name), f"{name}.{member.name}")
            stubbed = set(re.findall(r"^(?:class|def) (\w+)|^(\w+)(?: =|:)", stub, re.MULTILINE))
            stubbed = {a or b for a, b in stubbed}
            public = {name for name, value in vars(module).items()
                      if not name.startswith("_") and getattr(value, "__module__", "").startswith(module.__name__)}
            self.assertEqual(public - stubbed, set())

    def test_public_things_have_docstrings(self):
        missing = []
        for name, thing in vars(ort).items():
            if name.startswith("_") or not getattr(thing, "__module__", "").startswith("sardonyx"):
                continue
            if not thing.__doc__:
                missing.append(name)
            if isinstance(thing, type):
                missing += [f"{name}.{member}" for member, value in vars(thing).items()
                            if not member.startswith("_") and (callable(value) or isinstance(value, (property, staticmethod)))
                            and not getattr(getattr(value, "__func__", value), "__doc__", None)]
        self.assertEqual(missing, [])

    def test_stubs_satisfy_mypy(self):
        try:
            from mypy import api
        except ImportError:
            self.skipTest("no mypy")
        program = """
import numpy as np
import sardonyx as ort
options = ort.SessionOptions()
options.intra_op_num_threads = 2
session = ort.InferenceSession("model.onnx", options, providers=["CPUExecutionProvider"])
names: list[str] = [port.name for port in session.get_inputs()]
session.run(None, {names[0]: np.zeros((1, 3), np.float32)})
digest: int = session.get_outputs()[0].name
"""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "program.py")
            path.write_text(program)
            package = str(pathlib.Path(ort.__file__).parent)
            os.environ["MYPYPATH"] = str(pathlib.Path(package).parent)
            said, complaints, code = api.run(["--strict", "--ignore-missing-imports", "--cache-dir", folder, str(path)])
        self.assertEqual((code, complaints), (1, ""))
        self.assertEqual(len([line for line in said.splitlines() if "error:" in line]), 1, said)
        self.assertIn("program.py:9", said)

    def test_every_name_of_onnxruntime_is_here_or_refused(self):
        spec = importlib.util.spec_from_file_location("names", ROOT / "scripts/onnxruntime_names.py")
        names = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(names)
        self.assertEqual([row for row in names.rows() if row[1] == "absent"], [])
        self.assertEqual(names.page(), (ROOT / "docs/onnxruntime.md").read_text(encoding="utf-8"))
        with self.assertRaisesRegex(AttributeError, "adapters"):
            ort.LoraAdapter

    def test_documentation_runs(self):
        for name in ("docs/index.md", "docs/python.md"):
            blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
            self.assertGreater(len(blocks), 0)
            with contextlib.chdir(ROOT), contextlib.redirect_stdout(io.StringIO()):
                shared = {}
                for block in blocks:
                    exec(compile(block, name, "exec"), shared)

    def test_run_node(self):
        node = helper.make_node("Add", ["a", "b"], ["c"])
        c, = sardonyx.backend.run_node(node, [np.float32([1, 2]), np.float32([3, 4])])
        np.testing.assert_array_equal(c, [4, 6])


def one_node(text, types="float[N] x", outputs="float[M] y"):
    return sardonyx.Model.from_text(
        f'<ir_version: 10, opset_import: ["" : 21, "py" : 2]> g ({types}) => ({outputs}) {{ {text} }}')


class OwnOperators(unittest.TestCase):
    def test_a_function_is_an_operator(self):
        @sardonyx.operator("py", "Scale", {1: "(x: T) -> (y: T) {by: float = 2.0} T in f32 f64",
                                           2: "{by: float = 3.0}"})
        def scale(x, *, by):
            """x times by."""
            return x * x.dtype.type(by)

        session = sardonyx.InferenceSession(one_node("y = py.Scale (x)"))
        given = np.array([1, 2, 3], np.float32)
        self.assertEqual(session.run(None, {"x": given})[0].tolist(), [3, 6, 9])  # version 2 is imported
        session = sardonyx.InferenceSession(one_node("y = py.Scale <by = 0.5> (x)"))
        self.assertEqual(session.run(None, {"x": given})[0].tolist(), [0.5, 1, 1.5])
        with self.assertRaisesRegex(sardonyx.Error, "attribute"):
            sardonyx.InferenceSession(one_node("y = py.Scale <with = 0.5> (x)"))
        with self.assertRaisesRegex(sardonyx.Error, "Scale"):  # once for all
            sardonyx.operator("py", "Scale", "(x: T) -> (y: T) T in f32")(scale)

    def test_shapes_are_inferred_and_outputs_may_be_several(self):
        def infer(x, k):
            self.assertEqual(x.type, "f32")
            return [sardonyx.Port(x.type, (k.value.item() if k.value is not None else None,)), sardonyx.Port("i64", ())]

        @sardonyx.operator("py", "First", "(x: T, k: i64) -> (y: T, n?: i64) T in f32", infer=infer)
        def first(x, k):
            return x[:k.item()], np.array(len(x), np.int64)

        model = one_node("k = Constant <value_int = 2> () y, n = py.First (x, k)", outputs="float[M] y, int64 n")
        self.assertEqual(list(sardonyx.infer(model)["y"].shape), [2])
        y, n = sardonyx.InferenceSession(model).run(None, {"x": np.arange(5, dtype=np.float32)})
        self.assertEqual((y.tolist(), n.item()), ([0, 1], 5))

    def test_inputs_that_are_left_out_are_none(self):
        @sardonyx.operator("py", "Or", "(x: T, other?: T) -> (y: T) T in f32")
        def either(x, other=None):
            return x if other is None else other

        given = {"x": np.ones(2, np.float32)}
        self.assertEqual(sardonyx.InferenceSession(one_node('y = py.Or (x, "")')).run(None, given)[0].tolist(), [1, 1])

    def test_what_it_raises_is_the_error_of_the_run(self):
        @sardonyx.operator("py", "Picky", "(x: T) -> (y: T) T in f32")
        def picky(x):
            raise ValueError("not today")

        session = sardonyx.InferenceSession(one_node("[n] y = py.Picky (x)"))
        with self.assertRaisesRegex(sardonyx.Error, "py.Picky: ValueError: not today"):
            session.run(None, {"x": np.ones(2, np.float32)})

    def test_an_output_of_another_type_or_shape_is_refused(self):
        sardonyx.operator("py", "Wide", "(x: T) -> (y: T) T in f32")(lambda x: x.astype(np.float64))
        sardonyx.operator("py", "Long", "(x: T) -> (y: T) T in f32")(lambda x: np.concatenate([x, x]))
        for name in ("Wide", "Long"):
            session = sardonyx.InferenceSession(one_node(f"y = py.{name} (x)"))
            with self.assertRaisesRegex(sardonyx.Error, "was inferred"):
                session.run(None, {"x": np.ones(2, np.float32)})

    def test_many_threads_may_run_it(self):
        sardonyx.operator("py", "Negative", "(x: T) -> (y: T) T in f32")(lambda x: -x)
        model = one_node("y = py.Negative (x)")
        sessions = [sardonyx.InferenceSession(model) for _ in range(4)]
        found = [None] * 4

        def run(i):
            for _ in range(50):
                found[i] = sessions[i].run(None, {"x": np.full(3, i, np.float32)})[0].tolist()

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [[-float(i)] * 3 for i in range(4)])

    def test_functions_in_text_are_operators(self):
        sardonyx.register_functions('''
            <domain: "py", opset_import: ["" : 21]>
            Twice (x) => (y) { y = Add (x, x) }''')
        session = sardonyx.InferenceSession(one_node("y = py.Twice (x)"))
        self.assertEqual(session.run(None, {"x": np.ones(2, np.float32)})[0].tolist(), [2, 2])


class Builder(unittest.TestCase):
    def test_operators_come_from_their_declarations(self):
        from sardonyx import ops

        self.assertIn("a + b", ops.add.__doc__)
        self.assertIn("axis", inspect.signature(ops.softmax).parameters)
        self.assertIn("conv", dir(ops))

    def test_builds_checks_and_runs(self):
        from sardonyx import ops

        g = ort.Graph("swish")
        x = g.parameter("x", "f32", ["N", 3])
        w = g.constant("w", np.full((3, 3), 0.5, np.float32))
        g.result("y", x @ w * 2.0 + ops.sigmoid(x))
        self.assertEqual(x.shape, ["N", 3])
        y, = g.compile().run(None, {"x": np.zeros((1, 3), np.float32)})
        np.testing.assert_array_equal(y, np.full((1, 3), 0.5))
        self.assertIn("<svg", g._repr_svg_())
        self.assertIn("Sigmoid", str(g))

    def test_errors_name_the_line(self):
        from sardonyx import ops

        g = ort.Graph()
        a, b = g.parameter("a", "f32", [2, 3]), g.parameter("b", np.float32, [4, 5])
        with self.assertRaises(ort.Error) as raised:
            ops.add(a, b)
        self.assertIn("test_sardonyx.py", str(raised.exception))
        with self.assertRaises(ort.InvalidArgument):
            g.node("Softmax", [a], axle=1)

    def test_subgraphs(self):
        from sardonyx import ops

        g = ort.Graph()
        x, c = g.parameter("x", "f32", [2]), g.parameter("c", "bool", [])
        y, = ops.if_(c, lambda: ops.neg(x), lambda: ops.abs(x))
        g.result("y", y)
        session = g.compile()
        one = np.float32([1, -2])
        np.testing.assert_array_equal(session.run(None, {"x": one, "c": np.array(True)})[0], [-1, 2])
        np.testing.assert_array_equal(session.run(None, {"x": one, "c": np.array(False)})[0], [1, 2])


if __name__ == "__main__":
    unittest.main()
