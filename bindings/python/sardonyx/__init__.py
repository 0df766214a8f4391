"""Sardonyx: runs ONNX models; the same bits on every machine.

    import sardonyx as ort                                    # most programs for onnxruntime's CPU provider run

    session = ort.InferenceSession("digits.onnx")
    probability, = session.run(None, {"picture": pixels})

    print(sardonyx.check("digits.onnx"))                      # what is wrong with a model, and where
    sardonyx.infer("digits.onnx")["probability"].shape        # what every wire carries
"""

from ._sardonyx import __version__
from ._errors import (
    Error,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    NoSuchFile,
    OnnxRuntimeError,
    Terminated,
)
from ._builder import Graph, Wire
from ._model import Explanation, Fact, Finding, Model, Report, check, explain, infer, load
from ._checked import UnknownOption
from ._devices import (
    OrtAllocatorType,
    OrtArenaCfg,
    OrtDevice,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtMemoryInfo,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
    SparseTensor,
    create_and_register_allocator,
    create_and_register_allocator_v2,
    has_collective_ops,
    set_global_thread_pool_sizes,
)
from ._options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from ._session import InferenceSession, IOBinding, ModelMetadata, NodeArg
from ._operators import Port, operator, register_functions
from ._stream import Stream
from ._value import OrtValue, copy_tensors
from ._view import View, view

SessionIOBinding = IOBinding


def get_device():
    """Where models run."""
    return "CPU"


def get_available_providers():
    """The one provider there is."""
    return ["CPUExecutionProvider"]


get_all_providers = get_available_providers


def get_version_string():
    """This package's version."""
    return __version__


def get_build_info():
    """Name and version."""
    return f"Sardonyx {__version__}"


def set_default_logger_severity(severity):
    """The library prints nothing, whatever the severity."""


set_default_logger_verbosity = set_default_logger_severity


def set_seed(seed):
    """Random operators draw from the seed in the model, so that a model has one answer."""


def disable_telemetry_events():
    """Nothing is ever sent."""


enable_telemetry_events = disable_telemetry_events


def print_debug_info():
    """Prints what this is and where it runs."""
    import platform
    import sys

    print(f"sardonyx {__version__}, Python {sys.version.split()[0]}, {platform.platform()}")


def preload_dlls(cuda=True, cudnn=True, msvc=True, directory=None):
    """Has no effect: nothing is loaded from elsewhere."""


def __getattr__(name):
    from ._refused import refuse

    raise refuse(__name__, name)
