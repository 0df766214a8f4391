"""Sessions as users of onnxruntime know them."""

import enum
import hashlib
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from . import _dtypes, _providers, _sardonyx
from ._checked import Checked, flag, member, not_negative, one_of, optional, path, text, whole
from ._devices import OrtDevice, OrtMemoryInfo, SparseTensor
from ._errors import InvalidArgument, make

_PROVIDER = _providers.CPU
_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


class GraphOptimizationLevel(enum.IntEnum):
    """How much to rewrite. Every level but the first is the same, and none changes a bit of a result."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Operators run one after the other, each on all threads, whichever is asked for."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """No difference here: the plan's order."""

    DEFAULT = 0
    PRIORITY_BASED = 1


class SessionOptions(Checked):
    """How a model is compiled. Options that onnxruntime has and that mean nothing here are kept and have no effect; others raise.

    Sardonyx's own: `numerics` ("standard" or "strict"), `isa` ("native", "portable", "avx2", "avx512", "neon"), `pack_cache`
    (a folder in which packed weights are kept from one load to the next, or "beside": the model's own) and `accept`
    ("common": a model that deviates from ONNX's rules and has one meaning all the same runs, and the session's notes say
    so; "strict": it is refused).
    """

    _known = {
        "intra_op_num_threads": whole(),
        "inter_op_num_threads": whole(),
        "graph_optimization_level": member(GraphOptimizationLevel),
        "execution_mode": member(ExecutionMode),
        "execution_order": member(ExecutionOrder),
        "enable_profiling": flag,
        "profile_file_prefix": path,
        "optimized_model_filepath": path,
        "enable_cpu_mem_arena": flag,
        "enable_mem_pattern": flag,
        "enable_mem_reuse": flag,
        "use_deterministic_compute": flag,
        "use_per_session_threads": flag,
        "log_severity_level": whole(0, 4),
        "log_verbosity_level": whole(),
        "logid": text,
        "numerics": one_of("standard", "strict"),
        "accept": one_of("common", "strict"),
        "isa": one_of("native", "portable", "avx2", "avx512"),
        "pack_cache": path,
    }

    def __init__(self):
        self.intra_op_num_threads = 0  #: 0: the CPUs this process may use
        self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.execution_order = ExecutionOrder.DEFAULT
        self.enable_profiling = False
        self.profile_file_prefix = "sardonyx_profile"
        self.optimized_model_filepath = ""
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.use_deterministic_compute = True  #: always so
        self.use_per_session_threads = True  #: always so
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.numerics = "standard"
        self.accept = "common"
        self.isa = "native"
        self.pack_cache = ""
        self._entries = {}
        self._sizes = {}
        self._initializers = {}

    def add_session_config_entry(self, key, value):
        """Keeps a setting by its key; none of onnxruntime's keys changes what is computed.

        "session.model_external_initializers_file_folder_path" is where external data of a model lies that comes as bytes.
        """
        self._entries[str(key)] = str(value)

    def get_session_config_entry(self, key):
        """What add_session_config_entry() was given."""
        try:
            return self._entries[key]
        except KeyError:
            raise make("SDX-P0010", f'there is no session configuration entry "{key}"', [], "") from None

    def add_free_dimension_override_by_name(self, name, size):
        """Gives a named dimension of the inputs its size."""
        self._sizes[str(name)] = int(size)

    def add_free_dimension_override_by_denotation(self, denotation, size):
        """Refused: sizes are given by name."""
        raise make("SDX-P0011", "sizes are given by name", [], "add_free_dimension_override_by_name does that")

    def add_initializer(self, name, value):
        """The value of an initializer in place of the model's."""
        self._initializers[str(name)] = value

    def add_external_initializers(self, names, values):
        """The values of several initializers in place of the model's."""
        names, values = list(names), list(values)
        if len(names) != len(values):
            raise make("SDX-P0015", f"{len(names)} names for {len(values)} values", [], "")
        for name, value in zip(names, values):
            self.add_initializer(name, value)

    def has_providers(self):
        """False: providers are given to the session."""
        return False

    def set_load_cancellation_flag(self, is_canceled):
        """Kept without effect: loading is not interrupted."""
        flag(is_canceled)

    def register_custom_ops_library(self, path):
        """Refused: onnxruntime's libraries hold its own interface."""
        raise make("SDX-P0011", f"{path}: libraries of operators for onnxruntime cannot be loaded", [],
                   "operators are registered through sardonyx_c.h")

    def _engine(self):
        return {
            "threads": max(int(self.intra_op_num_threads), 0),
            "optimize": self.graph_optimization_level != GraphOptimizationLevel.ORT_DISABLE_ALL,
            "strict": self.numerics == "strict",
            "accept": self.accept,
            "isa": self.isa,
            "pack_cache": os.fspath(self.pack_cache),
            "set": self._sizes,
        }


class RunOptions(Checked):
    """What holds for one run. Setting `terminate` from another thread ends the run soon.

    Sardonyx's own: `time_limit`, in seconds, and `loop_limit`, the most iterations of one Loop. Outputs that a run is
    not asked for are never computed, whatever `only_execute_path_to_fetches` says.
    """

    _known = {
        "terminate": flag,
        "time_limit": optional(not_negative),
        "loop_limit": optional(whole()),
        "log_severity_level": whole(-1, 4),
        "log_verbosity_level": whole(),
        "logid": text,
        "only_execute_path_to_fetches": flag,
        "training_mode": flag,
    }

    def __init__(self):
        self._stop = _sardonyx.Stop()
        self.time_limit = None  #: None: as long as it takes
        self.loop_limit = None  #: None: a billion
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self.training_mode = False
        self._entries = {}

    @property
    def terminate(self):
        """Whether runs with these options shall end."""
        return self._stop.asked

    @terminate.setter
    def terminate(self, value):
        self._stop.asked = bool(value)

    def add_run_config_entry(self, key, value):
        """Keeps a setting by its key, without effect."""
        self._entries[str(key)] = str(value)

    def get_run_config_entry(self, key):
        """What add_run_config_entry() was given."""
        try:
            return self._entries[key]
        except KeyError:
            raise make("SDX-P0010", f'there is no run configuration entry "{key}"', [], "") from None


def _verbatim(size):
    """A name of a dimension as the model has it: expressions set names of other characters in backticks."""
    quoted = isinstance(size, str) and len(size) > 2 and size[0] == size[-1] == "`" and "`" not in size[1:-1]
    return size[1:-1] if quoted else size


class NodeArg:
    """An input or output: its name, its type as ONNX writes it, and its shape."""

    __slots__ = ("name", "type", "shape")

    def __init__(self, name, type, shape):
        #: sizes are numbers, names of symbolic dimensions, or None; the shape is None where the rank is not known
        self.name, self.type, self.shape = name, type, None if shape is None else [_verbatim(size) for size in shape]

    def __repr__(self):
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"

    __str__ = __repr__


class ModelMetadata:
    """What a model says about itself."""

    def __init__(self, fields):
        self.__dict__.update(fields)

    def __repr__(self):
        return f"ModelMetadata({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"


class _Capsule:
    """A DLPack capsule as something that numpy imports."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, **_):
        return self._capsule

    def __dlpack_device__(self):
        return (1, 0)


class OrtValue:
    """A tensor, sequence, map or empty optional in the engine's memory, or over memory shared with numpy."""

    def __init__(self, value):
        self._held = value if isinstance(value, _sardonyx.Value) else _sardonyx.Value(value)
        self._sparse = None

    @staticmethod
    def ortvalue_from_numpy(array, device_type="cpu", device_id=0):
        """Shares the array's memory if it is contiguous."""
        OrtDevice(device_type, device_id)
        return OrtValue(array)

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(array, onnx_element_type):
        """An array of bits as elements of a type that numpy lacks."""
        dtype = _dtypes.TABLE[onnx_element_type]
        return OrtValue(array if array.dtype == dtype and array.dtype.names == dtype.names else array.view(dtype))

    @staticmethod
    def ortvalue_from_shape_and_type(shape, element_type, device_type="cpu", device_id=0):
        """Zeros. The type is one of numpy's, or ONNX's number."""
        OrtDevice(device_type, device_id)
        dtype = _dtypes.TABLE[element_type] if isinstance(element_type, int) else np.dtype(element_type)
        return OrtValue(np.zeros(shape, dtype))

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor):
        """The tensor with all its zeros, as models take it."""
        value = OrtValue(sparse_tensor.to_dense())
        value._sparse = sparse_tensor
        return value

    def as_sparse_tensor(self):
        """The SparseTensor that the value was made of."""
        if self._sparse is None:
            raise make("SDX-P0021", "the value was not made of a sparse tensor", [], "")
        return self._sparse

    @staticmethod
    def from_dlpack(data, is_bool_tensor=False):
        """Shares the memory of a DLPack capsule, or of an object that gives one."""
        array = np.from_dlpack(data if hasattr(data, "__dlpack__") else _Capsule(data))
        return OrtValue(array.view(np.bool_) if is_bool_tensor else array)

    def __dlpack__(self, stream=None):
        return self.numpy().__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return (1, 0)

    def to_dlpack(self):
        """A DLPack capsule that shares the memory."""
        return self.__dlpack__()

    def numpy(self):
        """The value as Python sees it: an array that shares the memory, a list, a dictionary or None."""
        return self._held.python()

    def shape(self):
        """The sizes of a tensor."""
        return self._held.shape()

    def data_type(self):
        """As ONNX writes it: "tensor(float)"."""
        return self._held.onnx_type()

    def element_type(self):
        """ONNX's number of the element type."""
        return self._held.element_type()

    def data_ptr(self):
        """The address of a tensor's first element."""
        return self._held.data_ptr()

    def tensor_size_in_bytes(self):
        """What a tensor's elements take."""
        return self._held.bytes()

    def has_value(self):
        """False for an optional without a value."""
        return self._held.kind() != "none"

    def is_tensor(self):
        """Whether it is a tensor."""
        return self._held.kind() == "tensor"

    def is_tensor_sequence(self):
        """Whether it is a list of values."""
        return self._held.kind() == "sequence"

    def is_sparse_tensor(self):
        """Whether it was made of a SparseTensor."""
        return self._sparse is not None

    def __array__(self, dtype=None, copy=None):
        array = np.asarray(self.numpy(), dtype)
        return array.copy() if copy else array

    def device_name(self):
        """Where it lives: "cpu"."""
        return "cpu"

    def update_inplace(self, array):
        """Copies the elements of an array of the same shape and type here."""
        into = self.numpy()
        if not isinstance(into, np.ndarray) or into.shape != array.shape or into.dtype != array.dtype:
            raise make("SDX-P0013", f"an array of {array.dtype}{list(array.shape)} cannot replace {self!r}", [], "")
        if not into.flags.writeable:
            raise make("SDX-P0013", "the value's memory is read-only", [], "")
        into[...] = array

    def __repr__(self):
        return f"OrtValue({self.data_type()}, {self.shape()})" if self.is_tensor() else f"OrtValue({self.data_type()})"


class IOBinding:
    """Inputs and outputs tied to memory, for runs that move nothing."""

    def __init__(self, session):
        self._session = session
        self._inputs, self._outputs, self._results = {}, {}, None

    def bind_cpu_input(self, name, array):
        """The array is the input's value at each run."""
        self._inputs[name] = array

    def bind_ortvalue_input(self, name, value):
        """The same for an OrtValue."""
        self._inputs[name] = value

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        """Memory at an address, which must stay as long as the binding."""
        OrtDevice(device_type, device_id)
        self._inputs[name] = _at_address(buffer_ptr, element_type, shape)

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """Memory at an address to write into; without one, the engine's own."""
        OrtDevice(device_type, device_id)
        self._outputs[name] = None if not buffer_ptr else OrtValue(_at_address(buffer_ptr, element_type, shape))

    def bind_ortvalue_output(self, name, value):
        """The value that an output is copied into."""
        self._outputs[name] = value

    def synchronize_inputs(self):
        """Nothing to wait for on a CPU."""

    synchronize_outputs = synchronize_inputs

    def clear_binding_inputs(self):
        """Forgets the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self):
        """Forgets the outputs."""
        self._outputs.clear()
        self._results = None

    def get_outputs(self):
        """The results of the last run as OrtValues, in the order in which outputs were bound."""
        if self._results is None:
            raise make("SDX-P0014", "nothing has been run with this binding", [], "")
        return list(self._results)

    get_outputs_as_ortvaluevector = get_outputs

    def copy_outputs_to_cpu(self):
        """The results as arrays."""
        return [value.numpy() for value in self.get_outputs()]

    def _run(self, options):
        names = list(self._outputs) or None
        results = self._session.run_with_ort_values(names, self._inputs, options)
        for i, bound in enumerate(self._outputs.values()):
            if bound is not None:
                bound.update_inplace(results[i].numpy())
                results[i] = bound
        self._results = results


def _at_address(address, element_type, shape):
    dtype = _dtypes.TABLE[element_type] if isinstance(element_type, int) else np.dtype(element_type)
    count = int(np.prod(shape, dtype=np.int64))
    import ctypes

    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype, count).reshape(shape)


class InferenceSession:
    """A model, compiled and ready to run.

    Args:
        path_or_bytes: the path of an .onnx file, or its bytes
        sess_options: a SessionOptions
        providers, provider_options: taken as onnxruntime takes them; the CPU is the one provider there is

    A session may be used by many threads at once, is pickled by its file's path and hash (or its bytes), and works in a
    child of fork().
    """

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise make("SDX-P0015", f"sess_options is a {type(sess_options).__name__}, not a SessionOptions", [], "")
        if kwargs.keys() - {"disabled_optimizers", "enable_fallback", "read_config_from_model"}:
            raise TypeError(f"InferenceSession takes no argument {min(kwargs)!r}")
        _providers.check(providers, provider_options)
        self._options = sess_options or SessionOptions()
        self._bytes = None
        self._compiled = {}
        self._lock = threading.Lock()
        if isinstance(path_or_bytes, (str, os.PathLike)):
            self._path = os.fspath(path_or_bytes)
            self._model = _sardonyx.Model.load(self._path)
        elif isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._path, self._bytes = None, bytes(path_or_bytes)
            self._model = _sardonyx.Model.parse(self._bytes, self._options._entries.get(_EXTERNAL_FOLDER, ""))
        elif hasattr(path_or_bytes, "SerializeToString"):
            self._path, self._bytes = None, path_or_bytes.SerializeToString()
            self._model = _sardonyx.Model.parse(self._bytes, self._options._entries.get(_EXTERNAL_FOLDER, ""))
        else:
            raise make("SDX-P0015", f"a model is a path or bytes, not a {type(path_or_bytes).__name__}", [], "")
        self._set = set(self._options._initializers)
        self._start()

    def _start(self):
        self._profile_start = time.monotonic_ns()
        self._runs = []  # (start, duration) in microseconds, while profiling
        self._overridable = {port[0] for port in self._model.ports("overridable")}
        self._native = self._session_for(frozenset(self._set))
        self._names = {port[0] for port in self._model.ports("inputs")}
        self._executor = None
        if self._options.enable_profiling:
            self._initialised = (time.monotonic_ns() - self._profile_start) // 1000
            self.run = self._profiled_run
        if self._options.optimized_model_filepath:
            with open(self._options.optimized_model_filepath, "wb") as file:
                file.write(self._model.serialized())

    def _session_for(self, overridden):
        """The model compiled so that these initializers are given at each run."""
        with self._lock:
            session = self._compiled.get(overridden)
            if session is None:
                model = self._model.with_inputs(set(overridden)) if overridden else self._model
                session = _sardonyx.Session(model, self._options._engine())
                session.profiling = bool(self._options.enable_profiling)
                self._compiled[overridden] = session
            return session

    def run(self, output_names, input_feed, run_options=None):
        """Runs the model.

        Args:
            output_names: which outputs, in this order; None: all of them
            input_feed: a dictionary of arrays (lists, dictionaries, OrtValues) by the inputs' names; initializers that
                are also inputs may be given too
            run_options: a RunOptions
        Returns:
            a list with an array (list, dictionary, None) for each output
        """
        try:
            return self._native.run(output_names or None, input_feed, run_options)
        except InvalidArgument as error:
            if error.code != "SDX-A0002" and not self._set:
                raise
            session, feed = self._with_initializers(input_feed, error)
        except AttributeError:
            if self._native is None:
                raise make("SDX-P0016", "the session is closed", [], "") from None
            raise
        return session.run(output_names or None, feed, run_options)

    def _profiled_run(self, output_names, input_feed, run_options=None):
        start = time.monotonic_ns()
        try:
            return type(self).run(self, output_names, input_feed, run_options)
        finally:
            self._runs.append(((start - self._profile_start) // 1000, (time.monotonic_ns() - start) // 1000))

    def _with_initializers(self, feed, error):
        given = {name for name in feed if name in self._overridable}
        if not given - self._set and not self._set or not given <= self._overridable:
            raise error
        return self._session_for(frozenset(given | self._set)), {**self._options._initializers, **feed}

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        """As run, with OrtValues in and out."""
        self._open()
        return [OrtValue(value) for value in self._native.run_values(output_names or None, input_dict_ort_values, run_options)]

    def run_async(self, output_names, input_feed, callback, user_data, run_options=None):
        """Runs in another thread, then calls callback(results, user_data, error): error is "" if there was none."""
        self._open()
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(max_workers=os.cpu_count() or 1, thread_name_prefix="sardonyx")

        def work():
            try:
                results, error = self.run(output_names, input_feed, run_options), ""
            except Exception as raised:  # noqa: BLE001: it is the callback's to judge
                results, error = [], str(raised)
            callback(results, user_data, error)

        self._executor.submit(work)

    def io_binding(self):
        """An IOBinding for this session."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding, run_options=None):
        """Runs with what is bound."""
        self._open()
        iobinding._run(run_options)

    def get_inputs(self):
        """The inputs that a caller gives, as NodeArgs."""
        return [NodeArg(*port) for port in self._model.ports("inputs")]

    def get_outputs(self):
        """The outputs, as NodeArgs."""
        return [NodeArg(*port) for port in self._model.ports("outputs")]

    def get_overridable_initializers(self):
        """Inputs that have a default in the model, as NodeArgs."""
        return [NodeArg(*port) for port in self._model.ports("overridable")]

    def get_modelmeta(self):
        """What the model says about itself, as ModelMetadata."""
        return ModelMetadata(self._model.meta())

    def get_session_options(self):
        """The SessionOptions that it was made with."""
        return self._options

    def get_providers(self):
        """The one provider."""
        return [_PROVIDER]

    def get_provider_options(self):
        """The one provider's options, of which there are none."""
        return {_PROVIDER: {}}

    def set_providers(self, providers=None, provider_options=None):
        """There is one provider, so this changes nothing but to warn of others."""
        _providers.check(providers, provider_options)

    def get_input_memory_infos(self):
        """An OrtMemoryInfo for each input."""
        return [OrtMemoryInfo() for _ in self.get_inputs()]

    def get_output_memory_infos(self):
        """An OrtMemoryInfo for each output."""
        return [OrtMemoryInfo() for _ in self.get_outputs()]

    def run_with_ortvaluevector(self, run_options, feed_names, feeds, fetch_names, fetches, fetch_devices=None):
        """Runs with lists of names and OrtValues; results are appended to `fetches`."""
        del fetch_devices
        fetches.extend(self.run_with_ort_values(list(fetch_names), dict(zip(feed_names, feeds)), run_options))

    def disable_fallback(self):
        """There is nothing to fall back to."""

    enable_fallback = disable_fallback

    def get_profiling_start_time_ns(self):
        """When the session was made, by time.monotonic_ns()."""
        return self._profile_start

    def end_profiling(self):
        """Writes what was measured, in the form of onnxruntime's files (Chrome's traces), and returns the file's name."""
        self._open()
        events = [event for session in self._compiled.values() for event in session.take_events()]
        name = f"{self._options.profile_file_prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"

        def entry(kind, what, start, duration, **args):
            return {"cat": kind, "pid": os.getpid(), "tid": 0, "dur": int(duration), "ts": int(start), "ph": "X", "name": what,
                    "args": args}

        trace = []
        if self._options.enable_profiling:
            trace.append(entry("Session", "session_initialization", 0, self._initialised))
            trace += [entry("Session", "model_run", start, duration) for start, duration in self._runs]
        trace += [entry("Node", f"{node or op}_kernel_time", start, duration, op_name=op, provider=_PROVIDER, node_index=str(i))
                  for i, (node, op, start, duration) in enumerate(events)]
        self._runs = []
        with open(name, "w", encoding="utf-8") as file:
            json.dump(trace, file)
        return name

    @property
    def notes(self):
        """What did not go as asked and is no error: deviations of the model that were accepted, say."""
        self._open()
        return self._native.notes

    @property
    def arena_bytes(self):
        """Bytes of working memory of the last run."""
        self._open()
        return self._native.arena_bytes

    def close(self):
        """Frees what the session holds; running it afterwards is an error."""
        self._native, self._compiled = None, {}

    def _open(self):
        if self._native is None:
            raise make("SDX-P0016", "the session is closed", [], "")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __getstate__(self):
        state = {"path": self._path and os.path.abspath(self._path), "bytes": self._bytes, "options": self._options}
        if self._path:
            state["sha256"] = _sardonyx.sha256_of_file(self._path)
        return state

    def __setstate__(self, state):
        if state["path"]:
            found = _sardonyx.sha256_of_file(state["path"])
            if found != state["sha256"]:
                raise make("SDX-P0017", f"{state['path']} is another model than the one that was pickled", [], "")
        self.__init__(state["path"] or state["bytes"], state["options"])


def sha256(array):
    """The digest of an array as `sardonyx run --digest` prints it."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def copy_tensors(source, target, stream=None):
    """Copies OrtValues into others of the same types and shapes."""
    del stream
    if len(source) != len(target):
        raise make("SDX-P0015", f"{len(source)} values for {len(target)}", [], "")
    for value, into in zip(source, target):
        into.update_inplace(value.numpy())
