"""Devices, memory and sparse tensors as users of onnxruntime know them. All memory is the CPU's."""

import enum

import numpy as np

from ._errors import make


class OrtAllocatorType(enum.IntEnum):
    """How memory is got; no difference here."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(enum.IntEnum):
    """What memory is for; no difference on a CPU."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtDeviceMemoryType(enum.IntEnum):
    """Whose memory it is; no difference on a CPU."""

    DEFAULT = 0
    HOST_ACCESSIBLE = 5


class OrtMemoryInfoDeviceType(enum.IntEnum):
    """Kinds of devices, of which the CPU is here."""

    CPU = 0
    GPU = 1
    FPGA = 2
    NPU = 3


class OrtDeviceVendorId(enum.IntEnum):
    """Who made a device."""

    NONE = 0


class OrtDevice:
    """Where values live: the CPU."""

    def __init__(self, kind="cpu", device_id=0):
        if not isinstance(kind, str) and kind != OrtMemoryInfoDeviceType.CPU or isinstance(kind, str) and kind.lower() != "cpu":
            raise make("SDX-P0012", f'there is no device "{kind}"; there is "cpu"', [], "")
        if device_id != 0:
            raise make("SDX-P0012", f"there is no cpu {device_id}; there is 0", [], "")
        self._id = device_id

    @staticmethod
    def make(kind, device_id=0, vendor_id=0):
        """The device of a kind."""
        del vendor_id  # of whichever CPU
        return OrtDevice(kind, device_id)

    @staticmethod
    def cpu():
        """The number of this kind of device."""
        return int(OrtMemoryInfoDeviceType.CPU)

    @staticmethod
    def default_memory():
        """The number of this kind of memory."""
        return int(OrtDeviceMemoryType.DEFAULT)

    def device_type(self):
        """Its kind: "cpu"."""
        return "cpu"

    def device_id(self):
        """Which one of its kind."""
        return self._id

    def device_vendor_id(self):
        """0: whoever made the CPU."""
        return int(OrtDeviceVendorId.NONE)

    def device_mem_type(self):
        """The kind of its memory."""
        return int(OrtDeviceMemoryType.DEFAULT)

    def __eq__(self, other):
        return isinstance(other, OrtDevice)

    def __hash__(self):
        return 0

    def __repr__(self):
        return "OrtDevice('cpu', 0)"


class OrtMemoryInfo:
    """A piece of memory's kind; always the CPU's."""

    def __init__(self, name="Cpu", allocator_type=OrtAllocatorType.ORT_ARENA_ALLOCATOR, device_id=0, mem_type=OrtMemType.DEFAULT):
        if name.lower() != "cpu":
            raise make("SDX-P0012", f'there is no memory "{name}"; there is "Cpu"', [], "")
        self._fields = (name, OrtAllocatorType(allocator_type), int(device_id), OrtMemType(mem_type))

    @staticmethod
    def create_v2(name, device_type, vendor_id, device_id, device_mem_type, alignment, allocator_type):
        """The same, said in more words."""
        del vendor_id, alignment, device_mem_type
        if OrtMemoryInfoDeviceType(device_type) != OrtMemoryInfoDeviceType.CPU:
            raise make("SDX-P0012", f'there is no device "{device_type!r}"; there is "cpu"', [], "")
        return OrtMemoryInfo(name, allocator_type, device_id)

    @property
    def name(self):
        """ "Cpu"."""
        return self._fields[0]

    @property
    def allocator_type(self):
        """An OrtAllocatorType."""
        return self._fields[1]

    @property
    def device_id(self):
        """0."""
        return self._fields[2]

    @property
    def mem_type(self):
        """An OrtMemType."""
        return self._fields[3]

    @property
    def device_mem_type(self):
        """An OrtDeviceMemoryType."""
        return OrtDeviceMemoryType.DEFAULT

    @property
    def device_vendor_id(self):
        """0."""
        return int(OrtDeviceVendorId.NONE)

    def __eq__(self, other):
        return isinstance(other, OrtMemoryInfo) and self._fields == other._fields

    def __hash__(self):
        return hash(self._fields)


class OrtArenaCfg:
    """Settings of an arena, which are kept and have no effect: a plan knows what memory it needs."""

    def __init__(self, *values, **settings):
        names = ("max_mem", "arena_extend_strategy", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk")
        more = ("initial_growth_chunk_size_bytes", "max_power_of_two_extend_bytes")
        given = dict(values[0]) if len(values) == 1 and isinstance(values[0], dict) else dict(zip(names, values))
        given.update(settings)
        unknown = set(given) - set(names) - set(more)
        if unknown:
            raise make("SDX-P0018", f'OrtArenaCfg has no setting "{min(unknown)}"', [], "")
        for name in names + more:
            setattr(self, name, given.get(name, -1))


def create_and_register_allocator(memory_info, arena_cfg=None):
    """Takes the CPU's memory and has no effect: each session plans its own."""
    if not isinstance(memory_info, OrtMemoryInfo):
        raise make("SDX-P0012", f"{memory_info!r} is no OrtMemoryInfo", [], "")
    del arena_cfg


def create_and_register_allocator_v2(provider_type, memory_info, provider_options, arena_cfg=None):
    """The same for a provider, of which the CPU's is here."""
    if provider_type != "CPUExecutionProvider":
        raise make("SDX-P0020", f'there is no provider "{provider_type}"', [], "")
    del provider_options
    create_and_register_allocator(memory_info, arena_cfg)


def set_global_thread_pool_sizes(intra_op=0, inter_op=0):
    """Has no effect: each session has the threads that its options ask for."""
    del intra_op, inter_op


def has_collective_ops():
    """False: a model runs on one machine."""
    return False


class OrtSparseFormat(enum.IntEnum):
    """How a sparse tensor names its elements."""

    ORT_SPARSE_UNDEFINED = 0
    ORT_SPARSE_COO = 1
    ORT_SPARSE_CSRC = 2
    ORT_SPARSE_BLOCK_SPARSE = 4


class _CooView:
    """The places of the elements, row-major numbers or one row of coordinates each."""

    def __init__(self, indices):
        self._indices = indices

    def indices(self):
        """As they were given."""
        return self._indices


class _CsrView:
    """The elements' columns, and where each row begins."""

    def __init__(self, inner, outer):
        self._inner, self._outer = inner, outer

    def inner(self):
        """Columns, element by element."""
        return self._inner

    def outer(self):
        """Where each row begins, and the end."""
        return self._outer


class SparseTensor:
    """A tensor of which only some elements are named; the others are zero. Models take it as a dense one."""

    def __init__(self, values, places, dense_shape, format):
        self._values, self._places, self._shape, self._format = values, places, tuple(int(d) for d in dense_shape), format

    @staticmethod
    def sparse_coo_from_numpy(dense_shape, values, coo_indices, ort_device=None):
        """Elements by their row-major numbers, or by one row of coordinates each."""
        del ort_device
        values, indices = np.asarray(values), np.asarray(coo_indices, np.int64)
        size = int(np.prod(np.asarray(dense_shape, np.int64)))
        if indices.ndim == 2 and indices.shape != (len(values), len(dense_shape)) or indices.ndim == 1 and len(indices) != len(values):
            raise make("SDX-P0021", f"{indices.shape} places for {len(values)} values of {list(dense_shape)}", [], "")
        flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), tuple(dense_shape), mode="clip")
        if len(flat) and (flat.min() < 0 or flat.max() >= size):
            raise make("SDX-P0021", f"a place lies outside of {list(dense_shape)}", [], "")
        return SparseTensor(values, (flat, indices), dense_shape, OrtSparseFormat.ORT_SPARSE_COO)

    @staticmethod
    def sparse_csr_from_numpy(dense_shape, values, inner_indices, outer_indices, ort_device=None):
        """Elements of a matrix row by row: their columns, and where each row begins."""
        del ort_device
        values = np.asarray(values)
        inner, outer = np.asarray(inner_indices, np.int64), np.asarray(outer_indices, np.int64)
        if len(dense_shape) != 2 or len(outer) != dense_shape[0] + 1 or len(inner) != len(values) or outer[-1] != len(values):
            raise make("SDX-P0021", f"{len(values)} values do not fit {list(dense_shape)} rows of these lengths", [], "")
        rows = np.repeat(np.arange(dense_shape[0]), np.diff(outer))
        if len(inner) and (inner.min() < 0 or inner.max() >= dense_shape[1]):
            raise make("SDX-P0021", f"a column lies outside of {list(dense_shape)}", [], "")
        return SparseTensor(values, (rows * dense_shape[1] + inner, (inner, outer)), dense_shape, OrtSparseFormat.ORT_SPARSE_CSRC)

    def values(self):
        """The elements that are named."""
        return self._values

    def as_coo_view(self):
        """Their places, of a tensor in that format."""
        self._must_be(OrtSparseFormat.ORT_SPARSE_COO)
        return _CooView(self._places[1])

    def as_csrc_view(self):
        """Their columns and rows, of a tensor in that format."""
        self._must_be(OrtSparseFormat.ORT_SPARSE_CSRC)
        return _CsrView(*self._places[1])

    def as_blocksparse_view(self):
        """Blocks are not held here."""
        self._must_be(OrtSparseFormat.ORT_SPARSE_BLOCK_SPARSE)

    def to_cuda(self, ort_device):
        """There is no such device."""
        raise make("SDX-P0012", 'there is no device "cuda"; there is "cpu"', [], "")

    def format(self):
        """An OrtSparseFormat."""
        return self._format

    def dense_shape(self):
        """The shape of the tensor with all its zeros."""
        return list(self._shape)

    def data_type(self):
        """As ONNX writes it: "sparse_tensor(float)"."""
        from ._value import OrtValue

        return "sparse_" + OrtValue(self._values[:0]).data_type()

    def device_name(self):
        """ "cpu"."""
        return "cpu"

    def to_dense(self):
        """The tensor with all its zeros."""
        dense = np.zeros(int(np.prod(self._shape, dtype=np.int64)), self._values.dtype)
        dense[self._places[0]] = self._values
        return dense.reshape(self._shape)

    def _must_be(self, format):
        if self._format != format:
            raise make("SDX-P0021", f"the tensor's format is {self._format.name}, not {format.name}", [], "")
