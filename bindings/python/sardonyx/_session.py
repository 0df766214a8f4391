"""Sessions as users of onnxruntime know them."""

import hashlib
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from . import _providers, _sardonyx
from ._devices import OrtDevice, OrtMemoryInfo
from ._errors import InvalidArgument, make
from ._options import EXTERNAL_FOLDER, RunOptions, SessionOptions
from ._value import OrtValue, at_address

_PROVIDER = _providers.CPU


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
        self._inputs[name] = at_address(buffer_ptr, element_type, shape)

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """Memory at an address to write into; without one, the engine's own."""
        OrtDevice(device_type, device_id)
        self._outputs[name] = None if not buffer_ptr else OrtValue(at_address(buffer_ptr, element_type, shape))

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
            self._model = _sardonyx.Model.parse(self._bytes, self._options._entries.get(EXTERNAL_FOLDER, ""))
        elif hasattr(path_or_bytes, "SerializeToString") or hasattr(path_or_bytes, "serialized"):
            written = getattr(path_or_bytes, "SerializeToString", None) or path_or_bytes.serialized
            self._path, self._bytes = None, written()
            self._model = _sardonyx.Model.parse(self._bytes, self._options._entries.get(EXTERNAL_FOLDER, ""))
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
