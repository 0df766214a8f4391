"""The exceptions, under the path where programs for onnxruntime look for them."""

from .._errors import (  # noqa: F401
    EPFail,
    Error,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoaded,
    NoModel,
    NoSuchFile,
    NotImplemented,
    OnnxRuntimeError,
    RuntimeException,
)
from .._options import *  # noqa: F401, F403
from .._session import *  # noqa: F401, F403
from .._value import *  # noqa: F401, F403
from .._devices import *  # noqa: F401, F403
