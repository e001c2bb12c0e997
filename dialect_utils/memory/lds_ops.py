# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the passes know of the operations that take a buffer: one table, a row per operation.

A row is an `Access`, a `View`, or a `Bystander` that touches no element. An operation without a row
is one of which nothing is known: no layout is changed below it. To teach all passes a new operation
is to add its row, and the function that reads its footprint.

**Alignment.** Most LDS accesses need no alignment: where a layout takes the alignment of a wide
load away, the backend splits it into narrower ones, which costs cycles and nothing else. Some rows
say otherwise. What those operations do is one instruction, or a promise to the backend, and an
address that is not aligned faults, hangs the GPU, or reads other bytes than meant. No layout may
move such an address to one that is less aligned than the row says, whoever asks for the layout.

Worked example: `nvgpu.ldmatrix` wants rows of 16 bytes that begin at multiples of 16 bytes. Rows of
64 f16 are 128 bytes apart. Padded by 8 bytes they are 136 bytes apart, so that row 1 begins at byte
136 = 8 (mod 16); padded by 16 bytes they are 144 apart, and every row stays aligned.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from math import gcd, prod

from iree.compiler import ir

from ...bank_model.errors import up_to_power_of_two
from ...bank_model.lds_rules import AccessKind
from ...bank_model.lds_tables import copy_instruction, transposing_read
from ...bank_model.quick_tuple import NamedTuple
from ..diagnostics import Refusal
from ..element_types import element_bits, scalar_type
from ..handed_attributes import DESCRIBED
from ..operations import TRANSFER_READ, TRANSFER_WRITE, operations_in, segments_of
from ..swizzle_hint import HINT_NAME
from .memref_types import is_workgroup_memref, type_of, whole_element_bits
from .view_types import cast_type, collapse_type, expand_type, subview_type

ALLOC = "memref.alloc"
DEALLOC = "memref.dealloc"
SUBVIEW = "memref.subview"
CAST = "memref.cast"
ASSUME_ALIGNMENT = "memref.assume_alignment"
COLLAPSE_SHAPE = "memref.collapse_shape"
EXPAND_SHAPE = "memref.expand_shape"
VIEW = "memref.view"
GET_GLOBAL = "memref.get_global"
DYNAMIC_LDS = "gpu.dynamic_shared_memory"
GATHER = "amdgpu.gather_to_lds"
DIRECT_WAITS = ("rocdl.asyncmark", "rocdl.wait.asyncmark")
"""What makes groups of `GATHER`s, and waits for them."""
LDMATRIX = "nvgpu.ldmatrix"

BARRIER = "gpu.barrier"
COPY, COPIES_END = "nvgpu.device_async_copy", "nvgpu.device_async_create_group"
COPIES_WAIT = "nvgpu.device_async_wait"
"""What copies to the LDS while lanes go on, what makes a group of copies, and what waits for it."""
ADDRESS = "memref.extract_aligned_pointer_as_index"

ALLOCATIONS = frozenset({ALLOC, "memref.alloca"})
"""Operations that make memory; only the first one makes LDS."""


class Offset(Enum):
    """Whether an access may go to another offset than the program says."""

    FIXED = auto()
    """No swizzle may be on what it accesses."""
    LOWERED = auto()
    """The compiler lowers it to loads and stores at one flat offset, which can be swizzled."""
    FLAT = auto()
    """The same as `LOWERED`; on a flat buffer its index, behind the buffer, can be replaced."""
    WAVE = auto()
    """The hardware chooses where lanes store: their sources are swizzled instead."""


class Footprint(NamedTuple):
    """The elements that one operation touches, before its lanes are known.

    `extents[d]` consecutive indices of memref dimension d from `indices[d]` on.
    """

    indices: tuple[ir.Value, ...]
    extents: tuple[int, ...]
    vector: ir.VectorType | None = None
    """What a lane moves, if that is a vector."""
    assumption: str = ""
    instruction: str = ""
    """The one instruction that can do it, if there is only one."""
    wave_elements: int = 0
    """If not 0, lane l touches this many elements from the wave's first one + l times as many,
    where the hardware puts them: no swizzle applies."""
    lanes: int = 0
    """If not 0, only the first so many lanes of a wave take part."""
    mask: ir.Value | None = None
    """What keeps lanes from elements of their vectors, if something does."""
    masked: tuple[int, ...] = ()
    """The dimensions of the memref along which those of the mask run."""
    cut: tuple[int, ...] = ()
    """Those along which a lane accesses what lies inside the memref alone."""


class Access(NamedTuple):
    """A row of an operation that touches elements of a buffer."""

    buffer: int | Callable[[ir.Operation], int] | None = None
    """The number of the operand that is the buffer; None where any operand may be it."""
    kind: AccessKind | None = None
    """Whether it reads or writes; None if it may do both, or is not followed."""
    footprint: Callable[[ir.Operation], Footprint] | None = None
    """Reads what a lane touches; raises a `Refusal` where that is not known. None: never known."""
    offset: Offset = Offset.FIXED
    takes_strides: bool = False
    """It addresses a memref by indices alone, so that the memref's strides may change."""
    masks_outside: bool = False
    """Lanes that leave the memref's bounds touch nothing there."""
    is_whole: bool = False
    """It is one instruction, so that no swizzle may part what it accesses."""
    states_alignment: bool = False
    """It helps the backend if its attribute `alignment` says how it is aligned."""
    alignment: Callable[[ir.Operation], int] | None = None
    """Computes the bytes of which each lane's address must be a multiple in every layout."""
    source: str = ""
    """Where the alignment is said."""
    why_fixed: str = ""
    """Why it cannot take swizzled memory, where its name alone does not tell."""

    def buffer_operand(self, operation: ir.Operation) -> int | None:
        """Returns the number of the operand that is the buffer; None where any may be it."""
        return self.buffer(operation) if callable(self.buffer) else self.buffer


class View(NamedTuple):
    """A row of an operation whose result is the memory of its operand 0."""

    in_order: bool = False
    """It shows all elements of a row-major memref in their order."""
    same_start: bool = True
    """It begins at the element at which its operand begins."""
    is_traced: bool = True
    """The strides of its result tell where its elements lie in the allocation."""
    folds: bool = False
    """The compiler folds it into the indices of the accesses behind it."""
    keeps_space: bool = True
    """It is in the address space of its operand."""
    retyped: Callable[[ir.Operation, ir.MemRefType], ir.MemRefType] | None = None
    """Gives its type once the strides of its operand have changed; None where they must not."""


class Bystander(Enum):
    """A row of an operation that takes a buffer and touches none of its elements."""

    FREES = auto()
    """It says where the buffer's life ends."""
    ASKS = auto()
    """It reads the buffer's type, not its elements."""
    DESCRIBES = auto()
    """It gives the buffer's address to descriptors, by which matrix units read without conflicts.
    Only an operation that has the attribute `DESCRIBED` does."""


Row = Access | View | Bystander


def row_of(operation: ir.Operation) -> Row | None:
    """Returns the row of an operation; None where nothing is known of it."""
    row = TABLE.get(operation.name)
    is_known = row is not Bystander.DESCRIBES or DESCRIBED in operation.attributes
    return row if is_known else None


def access_row(operation: ir.Operation) -> Access | None:
    """Returns the row of an operation, if it is one of an access."""
    row = TABLE.get(operation.name)
    return row if isinstance(row, Access) else None


def accesses_in(function: ir.Operation) -> list[ir.Operation]:
    """Returns the accesses inside `function` to buffers of any memory, in the order of the text."""
    names = (name for name, row in TABLE.items() if isinstance(row, Access))
    return operations_in(function, *names)


def touches_global_memory(operation: ir.Operation) -> bool:
    """Returns whether an operation has a buffer that does not lie in workgroup memory."""
    buffers = [each.type for each in operation.operands if isinstance(each.type, ir.MemRefType)]
    return not all(is_workgroup_memref(each) for each in buffers)


def reads_global_memory(operation: ir.Operation) -> bool:
    """Returns whether an operation reads a buffer that does not lie in workgroup memory."""
    row = access_row(operation)
    reads = row is not None and row.kind is AccessKind.READ
    return reads and touches_global_memory(operation)


def view_row(operation: ir.Operation | None) -> View | None:
    """Returns the row of an operation, if it is one of a view."""
    row = None if operation is None else row_of(operation)
    return row if isinstance(row, View) else None


def is_view_in_order(operation: ir.Operation | None) -> bool:
    """Returns whether it is a view of all the elements of a row-major memref in their order."""
    row = view_row(operation)
    return row is not None and row.in_order


def footprint_of(operation: ir.Operation, operand_number: int) -> Footprint:
    """Returns what an operation touches of the buffer that is one of its operands.

    Raises:
        Refusal: the table does not tell it.
    """
    row = access_row(operation)
    if row is None or row.footprint is None or row.buffer_operand(operation) != operand_number:
        raise Refusal(f"used by {operation.name}", operation.location)
    return row.footprint(operation)


def required_alignment(operation: ir.Operation) -> int:
    """Returns the bytes of which LDS addresses of `operation` must be multiples; or 1.

    The requirement holds in every layout.
    """
    row = access_row(operation)
    return 1 if row is None or row.alignment is None else max(row.alignment(operation), 1)


def is_masked(transfer: ir.Operation) -> bool:
    """Returns whether a mask may keep lanes from elements of a `vector.transfer_*`."""
    return mask_of(transfer) is not None


def mask_of(transfer: ir.Operation) -> ir.Value | None:
    """Returns the mask of a `vector.transfer_*`, its own or that of the region around it."""
    parent, own = transfer.parent, segments_of(transfer)[-1]
    if own:
        return own[0]
    return parent.operands[0] if parent is not None and parent.name == "vector.mask" else None


def is_in_bounds(transfer: ir.Operation) -> bool:
    """Returns whether a `vector.transfer_*` says that it does not leave its memref."""
    return all(ir.BoolAttr(each).value for each in ir.ArrayAttr(transfer.attributes["in_bounds"]))


class Misaligned(Refusal):
    """An address that is less aligned than its instruction needs."""

    def __init__(
        self, what: str, alignment: int, location: ir.Location | str, more: str = ""
    ) -> None:
        """Says that `what` needs an alignment to so many bytes."""
        reason = f"{what} needs addresses that are multiples of {alignment} bytes"
        super().__init__(f"{reason}{more}", location)


def check_moved(operation: ir.Operation, moved_bytes: int) -> None:
    """Makes sure that an operation can take addresses moved by multiples of `moved_bytes`.

    Raises:
        Misaligned: it cannot.
    """
    needed = required_alignment(operation)
    if moved_bytes % needed:
        raise Misaligned(operation.name, needed, operation.location)


def in_elements(alignment_bytes: int, bits: int) -> int:
    """Returns the number of elements of `bits` bits whose multiples lie at multiples of some bytes.

    8 elements of 16 bits fill 16 bytes; with elements of 24 bits only every 16th begins at one.
    """
    return alignment_bytes * 8 // gcd(alignment_bytes * 8, bits)


# Footprints.


def _static(kind: ir.Type) -> ir.VectorType:
    if not isinstance(kind, ir.VectorType):
        raise Refusal(f"value of type {kind} instead of a vector")
    if kind.scalable:
        raise Refusal(f"scalable vector {kind}")
    return kind


def _transfer_read(operation: ir.Operation) -> Footprint:
    _, indices, *_ = segments_of(operation)
    return _transfer(operation, operation.results[0], indices, broadcasts=True)


def _transfer_write(operation: ir.Operation) -> Footprint:
    (vector,), _, indices, _ = segments_of(operation)
    return _transfer(operation, vector, indices, broadcasts=False)


def _transfer(
    operation: ir.Operation,
    vector: ir.Value,
    indices: list[ir.Value],
    broadcasts: bool,
) -> Footprint:
    """Returns the footprint of a vector.transfer.

    Vector dimension k runs along the memref dimension that its map names. A mask has the dimensions
    of the memref that the map names, in their order there.
    """
    moved = _static(vector.type)
    attribute = operation.attributes["permutation_map"]
    assert isinstance(attribute, ir.AffineMapAttr)
    extents = [1] * len(indices)
    named, cut = list[int](), list[int]()
    inside = [ir.BoolAttr(each).value for each in ir.ArrayAttr(operation.attributes["in_bounds"])]
    for expression, size, stays in zip(attribute.value.results, moved.shape, inside, strict=True):
        if isinstance(expression, ir.AffineDimExpr):
            extents[expression.position] = size
            named.append(expression.position)
            cut += [] if stays else [expression.position]
        elif not broadcasts or not isinstance(expression, ir.AffineConstantExpr):
            raise Refusal(f"{operation.name} by {attribute.value}")
    mask = mask_of(operation)
    assumption = "" if mask is None else f"every element of a masked {operation.name} is accessed"
    found = Footprint(tuple(indices), tuple(extents), moved, assumption)
    return found._replace(mask=mask, masked=tuple(sorted(named)), cut=tuple(cut))


def _minor(operation: ir.Operation, vector: ir.Value, indices: list[ir.Value]) -> Footprint:
    """Returns the footprint of a vector.load or store.

    The vector covers the innermost memref dimensions in order.
    """
    moved = _static(vector.type)
    if moved.rank > len(indices):
        raise Refusal(f"{operation.name} of a vector of higher rank than its memref")
    extents = (*[1] * (len(indices) - moved.rank), *moved.shape)
    return Footprint(tuple(indices), extents, moved)


def _vector_load(operation: ir.Operation) -> Footprint:
    _, *indices = operation.operands
    return _minor(operation, operation.results[0], indices)


def _vector_store(operation: ir.Operation) -> Footprint:
    vector, _, *indices = operation.operands
    return _minor(operation, vector, indices)


def _masked_load(operation: ir.Operation) -> Footprint:
    _, *indices, mask, _ = operation.operands
    return _masked(operation, operation.results[0], indices, mask)


def _masked_store(operation: ir.Operation) -> Footprint:
    _, *indices, mask, vector = operation.operands
    return _masked(operation, vector, indices, mask)


def _masked(
    operation: ir.Operation, vector: ir.Value, indices: list[ir.Value], mask: ir.Value
) -> Footprint:
    assumption = f"every element of a {operation.name} is accessed"
    found = _minor(operation, vector, indices)
    rank = _static(vector.type).rank
    masked = tuple(range(len(indices) - rank, len(indices)))
    return found._replace(assumption=assumption, mask=mask, masked=masked)


def _load(operation: ir.Operation) -> Footprint:
    _, *indices = operation.operands
    return Footprint(tuple(indices), (1,) * len(indices))


def _store(operation: ir.Operation) -> Footprint:
    _, _, *indices = operation.operands
    return Footprint(tuple(indices), (1,) * len(indices))


def _transpose_load(operation: ir.Operation) -> Footprint:
    """Returns the footprint of a transposing load.

    Every lane reads a vector at its own address; what the lanes then swap costs nothing.
    """
    memory, *indices = operation.operands
    moved = _static(operation.results[0].type)
    bits = element_bits(moved.element_type)
    if bits is None or moved.element_type != type_of(memory).element_type:
        raise Refusal(f"{operation.name} of {moved} from {memory.type}")
    count = prod(moved.shape)
    extents = (*[1] * (len(indices) - 1), count)
    name = transposing_read(bits * count, bits)
    return Footprint(tuple(indices), extents, moved, instruction=name)


def _ldmatrix(operation: ir.Operation) -> Footprint:
    """Returns the footprint of ldmatrix.

    Lanes 8 m to 8 m + 7 give the addresses of the 16-byte rows of matrix m.
    """
    memory, *indices = operation.operands
    bits = element_bits(type_of(memory).element_type)
    if bits is None or 128 % bits:
        raise Refusal(f"{operation.name} from {memory.type}")
    matrices = ir.IntegerAttr(operation.attributes["numTiles"]).value
    return Footprint(
        tuple(indices),
        (*[1] * (len(indices) - 1), 128 // bits),
        instruction="ldmatrix",
        lanes=8 * matrices,
    )


def _gather_to_lds(operation: ir.Operation) -> Footprint:
    """Returns the footprint of a gather_to_lds.

    Lane l writes its part of memory behind the wave's address, wherever it has read it.
    """
    _, _, (destination,), indices = segments_of(operation)
    transfer = ir.TypeAttr(operation.attributes["transferType"]).value
    element = type_of(destination).element_type
    if scalar_type(transfer) != element:
        raise Refusal(f"{operation.name} of {transfer} to elements of {element}")
    count = prod(_static(transfer).shape) if isinstance(transfer, ir.VectorType) else 1
    extents = (1,) * len(indices)
    return Footprint(tuple(indices), extents, wave_elements=count)


def _device_async_copy(operation: ir.Operation) -> Footprint:
    """Returns what a lane of nvgpu.device_async_copy writes: a row of `dstElements` elements."""
    (memory,), indices, *_ = segments_of(operation)
    count = ir.IntegerAttr(operation.attributes["dstElements"]).value
    vector = ir.VectorType.get([count], type_of(memory).element_type, loc=operation.location)
    name = copy_instruction(_copied_bytes(operation), "bypassL1" in operation.attributes)
    extents = (*[1] * (len(indices) - 1), count)
    return Footprint(tuple(indices), extents, vector, instruction=name)


def _gathered_to(operation: ir.Operation) -> int:
    return sum(map(len, segments_of(operation)[:2]))


# Alignments.


def promised_alignment(operation: ir.Operation) -> int:
    """Returns the bytes of the access's `alignment`; 0 if it has none."""
    if "alignment" not in operation.attributes:
        return 0
    return ir.IntegerAttr(operation.attributes["alignment"]).value


def _element_bytes(operation: ir.Operation) -> int:
    memref = next(o.type for o in operation.operands if isinstance(o.type, ir.MemRefType))
    return (element_bits(memref.element_type) or 8) // 8


def _copied_bytes(operation: ir.Operation) -> int:
    """Returns the bytes of `dstElements` elements that `nvgpu.device_async_copy` copies."""
    elements = ir.IntegerAttr(operation.attributes["dstElements"]).value
    return _element_bytes(operation) * elements


def _transferred_bytes(operation: ir.Operation) -> int:
    """Returns the bytes that an `amdgpu.gather_to_lds` moves at once.

    Of a lane's 12 bytes these are the 4 of a word.
    """
    size = _type_bytes(ir.TypeAttr(operation.attributes["transferType"]).value)
    return size & -size


def _vector_bytes(operation: ir.Operation) -> int:
    return up_to_power_of_two(_type_bytes(operation.results[0].type))


def _type_bytes(kind: ir.Type) -> int:
    return (whole_element_bits(kind) or 8) // 8


# The table.


def _promise(
    buffer: int,
    kind: AccessKind,
    footprint: Callable[[ir.Operation], Footprint],
    offset: Offset = Offset.FLAT,
    *,
    stated: bool = False,
) -> Access:
    """Returns a load or store that may promise an alignment."""
    return Access(
        buffer,
        kind,
        footprint,
        offset,
        takes_strides=True,
        states_alignment=stated,
        alignment=promised_alignment,
        source="the backend takes the `alignment` attribute for a fact",
    )


_READ, _WRITE = AccessKind.READ, AccessKind.WRITE
_INDEXED = Access(takes_strides=True)
_ATOMIC = Access(
    takes_strides=True,
    is_whole=True,
    alignment=_element_bytes,
    source="LDS atomics fault unless their address is naturally aligned",
)
_ONE_STRIDE = Access(why_fixed="wants rows that are one stride apart")
_LATER = Access(why_fixed="becomes amdgpu.gather_to_lds, which can be swizzled then")
_IN_ORDER = View(in_order=True, folds=True)

TABLE: dict[str, Row] = {
    # Accesses whose elements are known.
    "memref.load": _promise(0, _READ, _load),
    "memref.store": _promise(1, _WRITE, _store),
    "vector.load": _promise(0, _READ, _vector_load, stated=True),
    "vector.store": _promise(1, _WRITE, _vector_store, stated=True),
    "vector.maskedload": _promise(0, _READ, _masked_load, Offset.FIXED),
    "vector.maskedstore": _promise(0, _WRITE, _masked_store, Offset.FIXED),
    TRANSFER_READ: Access(
        0, _READ, _transfer_read, Offset.LOWERED, takes_strides=True, masks_outside=True
    ),
    TRANSFER_WRITE: Access(
        1, _WRITE, _transfer_write, Offset.LOWERED, takes_strides=True, masks_outside=True
    ),
    "amdgpu.transpose_load": Access(
        0,
        _READ,
        _transpose_load,
        Offset.FLAT,
        takes_strides=True,
        is_whole=True,
        alignment=_vector_bytes,
        source="assumed, on the safe side: no source says what one that is not aligned does",
    ),
    LDMATRIX: Access(
        0,
        _READ,
        _ldmatrix,
        Offset.FLAT,
        takes_strides=True,
        is_whole=True,
        alignment=lambda _: 16,
        source="PTX ISA, ldmatrix: every row's address is aligned to 16 bytes",
    ),
    GATHER: Access(
        _gathered_to,
        _WRITE,
        _gather_to_lds,
        Offset.WAVE,
        is_whole=True,
        alignment=_transferred_bytes,
        source="CDNA3 and CDNA4 ISA, 9.1.9: M0 holds a dword-aligned offset",
    ),
    # Accesses of which the memref alone is known.
    "affine.load": _INDEXED,
    "affine.store": _INDEXED,
    "affine.vector_load": _INDEXED,
    "affine.vector_store": _INDEXED,
    "linalg.copy": _INDEXED,
    "linalg.fill": _INDEXED,
    "linalg.generic": _INDEXED,
    "linalg.transpose": _INDEXED,
    "memref.copy": _INDEXED,
    "memref.prefetch": _INDEXED,
    "memref.atomic_rmw": _ATOMIC,
    "memref.generic_atomic_rmw": _ATOMIC,
    COPY: Access(
        0,
        _WRITE,
        _device_async_copy,
        Offset.FLAT,
        takes_strides=True,
        is_whole=True,
        alignment=_copied_bytes,
        source="PTX ISA, cp.async: both addresses are aligned to the copy's size",
    ),
    "gpu.subgroup_mma_load_matrix": _ONE_STRIDE,
    "gpu.subgroup_mma_store_matrix": _ONE_STRIDE,
    "iree_gpu.async_dma": _LATER,
    "iree_gpu.coalesced_gather_dma": _LATER,
    # Views.
    ASSUME_ALIGNMENT: _IN_ORDER,
    CAST: _IN_ORDER._replace(retyped=cast_type),
    COLLAPSE_SHAPE: _IN_ORDER._replace(retyped=collapse_type),
    EXPAND_SHAPE: _IN_ORDER._replace(retyped=expand_type),
    "memref.memory_space_cast": _IN_ORDER._replace(keeps_space=False),
    HINT_NAME: View(),
    "memref.transpose": View(),
    SUBVIEW: View(same_start=False, folds=True, retyped=subview_type),
    "memref.reinterpret_cast": View(same_start=False),
    VIEW: View(same_start=False, is_traced=False),
    "amdgpu.fat_raw_buffer_cast": View(same_start=False, is_traced=False, keeps_space=False),
    # The rest.
    DEALLOC: Bystander.FREES,
    "memref.dim": Bystander.ASKS,
    ADDRESS: Bystander.DESCRIBES,
}

VIEWS = frozenset(name for name, row in TABLE.items() if isinstance(row, View))
"""The operations whose result is the memory of their operand 0."""
