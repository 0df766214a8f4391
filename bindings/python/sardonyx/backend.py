"""The interface onnx.backend: prepare, run_model, run_node, for the test runner of onnx and programs written to it."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from . import _dtypes
from ._errors import Error
from ._options import SessionOptions
from ._session import InferenceSession

_EXTRA = {f"tensor({name})": number for number, (name, *_) in _dtypes._EXTRA.items()}


def _taken(value, onnx_type):
    """An input in the form that onnx has for types that numpy lacks."""
    if onnx_type == "tensor(bfloat16)" and isinstance(value, np.ndarray) and value.dtype == np.float32:
        # onnx up to 1.18 hands bfloat16 over as float32 of the same value.
        return (value.view(np.uint32) >> 16).astype(np.uint16).view(_dtypes.TABLE[TensorProto.BFLOAT16])
    return value


def _given(value, onnx_type):
    """An output in the form that this version of onnx has for its type."""
    number = _EXTRA.get(onnx_type)
    if number is None or not isinstance(value, np.ndarray) or not hasattr(TensorProto, "BFLOAT16"):
        return value
    if number == TensorProto.BFLOAT16:
        raw = np.ascontiguousarray(value).tobytes()
        proto = TensorProto(data_type=number, dims=value.shape, raw_data=raw)
        return numpy_helper.to_array(proto)
    return value


class SardonyxBackendRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, session):
        self._session = session
        self._inputs, self._outputs = session.get_inputs(), session.get_outputs()

    def run(self, inputs, **kwargs):
        """Runs on a list, a dictionary, or one array; returns a named tuple."""
        if isinstance(inputs, dict):
            feed = inputs
        else:
            if isinstance(inputs, np.ndarray) and len(self._inputs) == 1:
                inputs = [inputs]
            names = [port.name for port in self._inputs]
            if len(inputs) > len(names):
                names += [port.name for port in self._session.get_overridable_initializers()]
            feed = dict(zip(names, inputs))
        types = {port.name: port.type for port in self._inputs}
        feed = {name: _taken(value, types.get(name)) for name, value in feed.items()}
        results = self._session.run(None, feed)
        names = [port.name for port in self._outputs]
        given = [_given(value, port.type) for value, port in zip(results, self._outputs)]
        return namedtupledict("Outputs", names)(*given)


class SardonyxBackend(Backend):
    """Sardonyx behind onnx's interface."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        """Whether the model can be compiled here."""
        if not cls.supports_device(device):
            return False
        try:
            cls.prepare(model, device, **kwargs)
        except Error:
            return False
        return True

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        """Compiles a ModelProto, the path of a model or its bytes."""
        if not cls.supports_device(device):
            raise ValueError(f"there is no device {device}")
        options = SessionOptions()
        for name, value in kwargs.items():
            setattr(options, name, value)
        return SardonyxBackendRep(InferenceSession(model, options))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one NodeProto on arrays."""
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        arrays = [np.asarray(value) for value in inputs]
        names = [name for name in node.input if name]
        infos = [
            helper.make_tensor_value_info(name, helper.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype], array.shape)
            for name, array in zip(names, arrays)
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "node", infos, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, opset)])
        return cls.prepare(model, device, **kwargs).run(dict(zip(names, arrays)))

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] == "CPU"


is_compatible = SardonyxBackend.is_compatible
prepare = SardonyxBackend.prepare
run = run_model = SardonyxBackend.run_model
run_node = SardonyxBackend.run_node
supports_device = SardonyxBackend.supports_device
