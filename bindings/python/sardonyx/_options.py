"""How a model is compiled and how one run goes, as users of onnxruntime say it."""

import enum
import os

from . import _sardonyx
from ._checked import Checked, flag, member, not_negative, one_of, optional, path, text, whole
from ._errors import make

EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


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
                   "sardonyx.operator makes an operator of a Python function; sardonyx/operators.h of C++ code")

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
