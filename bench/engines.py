"""The two engines, called from one process in alternation, for models too small to start a process each.

Sardonyx through its C interface (build/libsardonyx.so), so that any Python can measure it. onnxruntime through its Python
package where there is one, else through onnxruntime-node in a process that stays (peer_loop.mjs).
"""

import base64
import ctypes
import json
import pathlib
import subprocess
import time

import numpy as np

import cases
import node_models

ISAS = {"native": 0, "portable": 1, "avx2": 2, "avx512": 3}


def measured(call, seconds, least=3):
    """Seconds of each call until `seconds` have passed; one call goes before, untimed."""
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("isa", ctypes.c_int32),
                ("no_optimize", ctypes.c_int32), ("strict", ctypes.c_int32), ("set", ctypes.c_void_p),
                ("set_count", ctypes.c_size_t), ("plans", ctypes.c_size_t), ("arena_bytes", ctypes.c_size_t),
                ("pack_cache", ctypes.c_char_p)]


class Sardonyx:
    def __init__(self, build, threads=1, isa="native"):
        self.library = ctypes.CDLL(str(pathlib.Path(build) / "libsardonyx.so"))
        self.options = Options(size=ctypes.sizeof(Options), threads=threads, isa=ISAS[isa])
        self.library.sardonyx_error_text.restype = ctypes.c_char_p
        self.library.sardonyx_version.restype = ctypes.c_char_p
        self.version = self.library.sardonyx_version().decode()
        for name in ("model_parse", "session_new", "tensor_over", "session_run", "tensor_data"):
            getattr(self.library, f"sardonyx_{name}").restype = ctypes.c_void_p
        for name in ("error", "value", "session", "model"):
            getattr(self.library, f"sardonyx_{name}_release").argtypes = [ctypes.c_void_p]

    def check(self, error):
        if error:
            text = self.library.sardonyx_error_text(ctypes.c_void_p(error)).decode(errors="replace")
            self.library.sardonyx_error_release(error)
            raise RuntimeError(text.splitlines()[0])

    def session(self, model, feeds, outputs):
        return SardonyxSession(self, model, feeds, outputs)


class SardonyxSession:
    def __init__(self, engine, model, feeds, outputs):
        self.engine, lib = engine, engine.library
        handle = ctypes.c_void_p()
        engine.check(lib.sardonyx_model_parse(model, ctypes.c_size_t(len(model)), None, ctypes.byref(handle)))
        self.model, self.handle = handle, ctypes.c_void_p()
        engine.check(lib.sardonyx_session_new(handle, ctypes.byref(engine.options), ctypes.byref(self.handle)))
        self.arrays = [np.ascontiguousarray(value) for value in feeds.values()]
        self.values = (ctypes.c_void_p * len(feeds))()
        for i, array in enumerate(self.arrays):
            dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
            value = ctypes.c_void_p()
            engine.check(lib.sardonyx_tensor_over(node_models.ONNX_TYPES[array.dtype], dims,
                                                  ctypes.c_size_t(array.ndim), ctypes.c_void_p(array.ctypes.data),
                                                  ctypes.c_size_t(array.nbytes), None, None, ctypes.byref(value)))
            self.values[i] = value
        self.names = (ctypes.c_char_p * len(feeds))(*[name.encode() for name in feeds])
        self.output_names = (ctypes.c_char_p * len(outputs))(*[name.encode() for name, _, _ in outputs])
        self.outputs, self.results = outputs, (ctypes.c_void_p * len(outputs))()

    def call(self):
        lib = self.engine.library
        self.engine.check(lib.sardonyx_session_run(self.handle, self.names, self.values, ctypes.c_size_t(len(self.values)),
                                                   self.output_names, self.results, ctypes.c_size_t(len(self.results))))
        for i, value in enumerate(self.results):
            lib.sardonyx_value_release(value)
            self.results[i] = None  # a value that is left here would be written into

    def answers(self):
        lib = self.engine.library
        self.engine.check(lib.sardonyx_session_run(self.handle, self.names, self.values, ctypes.c_size_t(len(self.values)),
                                                   self.output_names, self.results, ctypes.c_size_t(len(self.results))))
        arrays = []
        for value, (_, dtype, dims) in zip(self.results, self.outputs):
            data, size = ctypes.c_void_p(), ctypes.c_size_t()
            self.engine.check(lib.sardonyx_tensor_data(ctypes.c_void_p(value), ctypes.byref(data), ctypes.byref(size)))
            arrays.append(np.frombuffer(ctypes.string_at(data, size.value), dtype).reshape(dims))
            lib.sardonyx_value_release(value)
        self.results = (ctypes.c_void_p * len(self.outputs))()
        return arrays

    def times(self, seconds):
        return measured(self.call, seconds)

    def close(self):
        lib = self.engine.library
        for value in self.values:
            lib.sardonyx_value_release(value)
        lib.sardonyx_session_release(self.handle)
        lib.sardonyx_model_release(self.model)


class PythonPeer:
    """onnxruntime's Python package."""

    def __init__(self, threads):
        import onnxruntime
        self.ort, self.version = onnxruntime, onnxruntime.__version__
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 3

    def session(self, model, feeds, outputs):
        return PythonPeerSession(self.ort.InferenceSession(model, self.options, providers=["CPUExecutionProvider"]), feeds)


class PythonPeerSession:
    def __init__(self, session, feeds):
        self.session, self.feeds = session, feeds

    def answers(self):
        return self.session.run(None, self.feeds)

    def times(self, seconds):
        return measured(lambda: self.session.run(None, self.feeds), seconds)

    def close(self):
        self.session = None


class NodePeer:
    """onnxruntime-node in a process that stays; models and inputs go there, times and outputs come back."""

    def __init__(self, threads, folder):
        self.version = cases.install_peer(folder)
        loop = pathlib.Path(__file__).with_name("peer_loop.mjs")
        self.process = subprocess.Popen(["node", str(loop), str(folder), str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("onnxruntime-node ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"].splitlines()[0])
        return answer

    def session(self, model, feeds, outputs):
        tensors = [{"name": name, "type": str(value.dtype), "dims": list(value.shape),
                    "data": base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()}
                   for name, value in feeds.items()]
        self.ask(model=base64.b64encode(model).decode(), feeds=tensors)
        return NodePeerSession(self, outputs)


class NodePeerSession:
    def __init__(self, peer, outputs):
        self.peer, self.outputs = peer, outputs

    def answers(self):
        answer = self.peer.ask(run=True)
        return [np.frombuffer(base64.b64decode(answer["outputs"][name]), dtype).reshape(dims)
                for name, dtype, dims in self.outputs]

    def times(self, seconds):
        return self.peer.ask(seconds=seconds)["times"]

    def close(self):
        pass


def peer(threads, folder):
    try:
        return PythonPeer(threads)
    except ImportError:
        return NodePeer(threads, folder)
