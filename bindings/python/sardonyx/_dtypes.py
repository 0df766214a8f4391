"""The dtype of each of ONNX's element types, by ONNX's number.

Types that numpy lacks are those of ml_dtypes where it is installed, and otherwise integers that hold the bits under a
field named as ONNX names them (the way of onnx 1.13 to 1.18). Elements of less than a byte stand one to a byte.
"""

import numpy as np

try:
    import ml_dtypes as _ml
except ImportError:
    _ml = None

#: number: (name in ONNX, name in ml_dtypes, name of the field, storage)
_EXTRA = {
    16: ("bfloat16", "bfloat16", "bfloat16", np.uint16),
    17: ("float8e4m3fn", "float8_e4m3fn", "e4m3fn", np.uint8),
    18: ("float8e4m3fnuz", "float8_e4m3fnuz", "e4m3fnuz", np.uint8),
    19: ("float8e5m2", "float8_e5m2", "e5m2", np.uint8),
    20: ("float8e5m2fnuz", "float8_e5m2fnuz", "e5m2fnuz", np.uint8),
    21: ("uint4", "uint4", "uint4", np.uint8),
    22: ("int4", "int4", "int4", np.int8),
    23: ("float4e2m1", "float4_e2m1fn", "float4e2m1", np.uint8),
    24: ("float8e8m0", "float8_e8m0fnu", "e8m0", np.uint8),
    25: ("uint2", "uint2", "uint2", np.uint8),
    26: ("int2", "int2", "int2", np.int8),
    27: ("float6e2m3", "float6_e2m3fn", "float6e2m3", np.uint8),
    28: ("float6e3m2", "float6_e3m2fn", "float6e3m2", np.uint8),
}


def _extra(number):
    _, in_ml, field, storage = _EXTRA[number]
    if _ml is not None and hasattr(_ml, in_ml):
        return np.dtype(getattr(_ml, in_ml))
    return np.dtype((storage, {field: (storage, 0)}))


#: By ONNX's number; 0 is no type.
TABLE = [
    np.dtype(name)
    for name in "V1 f4 u1 i1 u2 i2 i4 i8 O ? f2 f8 u4 u8 c8 c16".split()
] + [_extra(number) for number in range(16, 29)]

_BY_FIELD = {field: number for number, (_, _, field, _) in _EXTRA.items()}
_BY_NAME = {TABLE[number].name: number for number in _EXTRA if TABLE[number].names is None}

#: "tensor(float)" is an array of this dtype.
BY_ONNX_NAME = {
    name: TABLE[number]
    for number, name in enumerate(
        " float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128".split(" ")
    )
    if name
}
BY_ONNX_NAME.update({entry[0]: TABLE[number] for number, entry in _EXTRA.items()})


def number_of(dtype):
    """ONNX's number of a dtype that is not one of numpy's own; 0 if it has none."""
    if dtype.names is not None and len(dtype.names) == 1:
        return _BY_FIELD.get(dtype.names[0], 0)
    return _BY_NAME.get(dtype.name, 0)
