"""The two engines, called from one process in alternation, for models too small to start a process each.

Sardonyx through its C interface (build/libsardonyx.so), so that any Python can measure it. onnxruntime through its Python
package where there is one, else through the library inside onnxruntime-node by its C interface.
"""

import ctypes
import pathlib
import platform
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
        for name in ("model_load", "model_parse", "session_new", "tensor_over", "session_run", "tensor_data"):
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
    """`model`: its bytes, or the path of its file, beside which its weights may lie. The same in the others."""

    def __init__(self, engine, model, feeds, outputs):
        self.engine, lib = engine, engine.library
        handle = ctypes.c_void_p()
        if isinstance(model, pathlib.Path):
            engine.check(lib.sardonyx_model_load(str(model).encode(), ctypes.byref(handle)))
        else:
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
        model = str(model) if isinstance(model, pathlib.Path) else model
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


class LibraryPeer:
    """The library inside the npm package onnxruntime-node, by onnxruntime's C interface: a table of functions whose
    places never change."""

    PLACES = {"GetErrorMessage": 2, "CreateEnv": 3, "CreateSession": 7, "CreateSessionFromArray": 8, "Run": 9, "CreateSessionOptions": 10,
              "SetSessionGraphOptimizationLevel": 23, "SetIntraOpNumThreads": 24, "SetInterOpNumThreads": 25,
              "CreateTensorWithDataAsOrtValue": 49, "GetTensorMutableData": 51, "CreateCpuMemoryInfo": 69,
              "ReleaseStatus": 93, "ReleaseSession": 95, "ReleaseValue": 96}
    VERSION, ERRORS_ONLY, ALL_OPTIMISATIONS, ARENA = 13, 3, 99, 1

    def __init__(self, threads, folder):
        self.version = cases.install_peer(folder)
        machine = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
        library, = folder.glob(f"node_modules/onnxruntime-node/bin/napi-*/linux/{machine}/libonnxruntime.so.1")
        base = ctypes.CDLL(str(library)).OrtGetApiBase
        base.restype = ctypes.POINTER(ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32))
        table = ctypes.cast(base()[0](self.VERSION), ctypes.POINTER(ctypes.c_void_p))
        of_pointer = ctypes.CFUNCTYPE(ctypes.c_void_p)
        self.functions = {name: of_pointer(table[place]) for name, place in self.PLACES.items()}
        self.functions["GetErrorMessage"].restype = ctypes.c_char_p
        environment = self.made("CreateEnv", ctypes.c_int(self.ERRORS_ONLY), b"bench")
        self.environment, self.options = environment, self.made("CreateSessionOptions")
        self.call("SetSessionGraphOptimizationLevel", self.options, ctypes.c_int(self.ALL_OPTIMISATIONS))
        self.call("SetIntraOpNumThreads", self.options, ctypes.c_int(threads))
        self.call("SetInterOpNumThreads", self.options, ctypes.c_int(1))
        self.memory = self.made("CreateCpuMemoryInfo", ctypes.c_int(self.ARENA), ctypes.c_int(0))

    def call(self, name, *arguments):
        status = self.functions[name](*arguments)
        if status:
            text = self.functions["GetErrorMessage"](ctypes.c_void_p(status)).decode(errors="replace")
            self.functions["ReleaseStatus"](ctypes.c_void_p(status))
            raise RuntimeError(text.splitlines()[0])

    def made(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle

    def session(self, model, feeds, outputs):
        return LibraryPeerSession(self, model, feeds, outputs)


class LibraryPeerSession:
    def __init__(self, peer, model, feeds, outputs):
        self.peer, self.outputs = peer, outputs
        if isinstance(model, pathlib.Path):
            self.handle = peer.made("CreateSession", peer.environment, str(model).encode(), peer.options)
        else:
            self.handle = peer.made("CreateSessionFromArray", peer.environment, model, ctypes.c_size_t(len(model)), peer.options)
        self.arrays = [np.ascontiguousarray(value) for value in feeds.values()]
        self.values = (ctypes.c_void_p * len(feeds))()
        for i, array in enumerate(self.arrays):
            dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
            self.values[i] = peer.made("CreateTensorWithDataAsOrtValue", peer.memory, ctypes.c_void_p(array.ctypes.data),
                                       ctypes.c_size_t(array.nbytes), dims, ctypes.c_size_t(array.ndim),
                                       ctypes.c_int(node_models.ONNX_TYPES[array.dtype]))
        self.names = (ctypes.c_char_p * len(feeds))(*[name.encode() for name in feeds])
        self.output_names = (ctypes.c_char_p * len(outputs))(*[name.encode() for name, _, _ in outputs])
        self.results = (ctypes.c_void_p * len(outputs))()

    def run(self):
        self.peer.call("Run", self.handle, None, self.names, self.values, ctypes.c_size_t(len(self.values)),
                       self.output_names, ctypes.c_size_t(len(self.results)), self.results)

    def release(self):
        for i, value in enumerate(self.results):
            self.peer.functions["ReleaseValue"](ctypes.c_void_p(value))
            self.results[i] = None  # a value that is left here would be written into

    def call(self):
        self.run()
        self.release()

    def answers(self):
        self.run()
        arrays = []
        for value, (_, dtype, dims) in zip(self.results, self.outputs):
            data = self.peer.made("GetTensorMutableData", ctypes.c_void_p(value))
            size = int(np.prod(dims, dtype=np.int64)) * np.dtype(dtype).itemsize
            arrays.append(np.frombuffer(ctypes.string_at(data, size), dtype).reshape(dims))
        self.release()
        return arrays

    def times(self, seconds):
        return measured(self.call, seconds)

    def close(self):
        for value in self.values:
            self.peer.functions["ReleaseValue"](ctypes.c_void_p(value))
        self.peer.functions["ReleaseSession"](self.handle)


def peer(threads, folder):
    try:
        return PythonPeer(threads)
    except ImportError:
        return LibraryPeer(threads, folder)
