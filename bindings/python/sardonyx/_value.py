"""Values in the engine's memory, as users of onnxruntime know them."""

import numpy as np

from . import _dtypes, _sardonyx
from ._devices import OrtDevice, SparseTensor
from ._errors import make


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


def at_address(address, element_type, shape):
    dtype = _dtypes.TABLE[element_type] if isinstance(element_type, int) else np.dtype(element_type)
    count = int(np.prod(shape, dtype=np.int64))
    import ctypes

    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype, count).reshape(shape)


def copy_tensors(source, target, stream=None):
    """Copies OrtValues into others of the same types and shapes."""
    del stream
    if len(source) != len(target):
        raise make("SDX-P0015", f"{len(source)} values for {len(target)}", [], "")
    for value, into in zip(source, target):
        into.update_inplace(value.numpy())
