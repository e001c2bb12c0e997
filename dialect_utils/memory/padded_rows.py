# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of an LDS allocation with padding behind them: which types its views get, and how to pad.

    %a = memref.alloc() : memref<64x64xf16, #ws>

becomes, with 8 bytes of padding,

    %p = memref.alloc() : memref<64x68xf16, #ws>
    %a = memref.subview %p[0, 0] [64, 64] [1, 1] : ... to memref<64x64xf16, strided<[68, 1]>, #ws>

and every view of `%a` gets the type that follows from the new strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm, prod

from iree.compiler import ir

from ...bank_model.layout_counts import STOCK_PADDING_BITS
from ..dynamic_sizes import DYNAMIC
from ..element_types import element_bits
from ..index.lane_values import Unknown
from .allocations import reach_of
from .lds_accesses import SWIZZLE_HINT
from .required_alignment import in_elements, required_alignment, why_not_aligned


@dataclass(frozen=True)
class PaddedRows:
    """A padding that is known to be possible: the new types of the allocation's views."""

    padding_elements: int
    new_types: tuple[tuple[ir.Value, ir.MemRefType], ...]


def type_of(allocation: ir.Operation) -> ir.MemRefType:
    return ir.MemRefType(allocation.results[0].type)


def bits_of_element(allocation: ir.Operation) -> int:
    """Bits of an element; for vectors and complex numbers of all their parts."""
    return _type_bits(type_of(allocation).element_type)


def _type_bits(kind: ir.Type) -> int:
    if isinstance(kind, ir.VectorType):
        return prod(kind.shape) * _type_bits(kind.element_type)
    if isinstance(kind, ir.ComplexType):
        return 2 * _type_bits(kind.element_type)
    return element_bits(kind) or 0


def lds_bytes_of(allocations: Sequence[ir.Operation]) -> int | None:
    """LDS of all allocations, each rounded up to its alignment; None when one is dynamic."""
    total = 0
    for allocation in allocations:
        kind = type_of(allocation)
        if not kind.has_static_shape:
            return None
        size = bits_of_element(allocation) // 8 * prod(kind.shape)
        alignment = alignment_of(allocation)
        total += -(-size // alignment) * alignment
    return total


def alignment_of(allocation: ir.Operation) -> int:
    if "alignment" not in allocation.attributes:
        return 1
    return ir.IntegerAttr(allocation.attributes["alignment"]).value


def elements_of_bits(allocation: ir.Operation, padding_bits: int) -> int:
    """The elements that the stock pass appends: as many as fit into the bits."""
    bits = bits_of_element(allocation)
    return padding_bits // bits if bits else 0


def needed_alignment(allocation: ir.Operation) -> int:
    """Bytes of which the addresses of everything that accesses it must be multiples."""
    return lcm(*(required_alignment(user) for user, _ in reach_of(allocation.results[0]).uses))


def aligned_padding(allocation: ir.Operation, padding_elements: int) -> int:
    """As many elements or more that keep every row as aligned as its accesses need it.

    A single row stays where it is, whatever is behind it.
    """
    if not bits_of_element(allocation) or prod(type_of(allocation).shape[:-1]) == 1:
        return padding_elements
    unit = in_elements(needed_alignment(allocation), bits_of_element(allocation))
    return -(-padding_elements // unit) * unit


def why_misaligned(allocation: ir.Operation, padding_elements: int) -> str | None:
    """Which access such padding would leave with an address that it cannot take; or None."""
    if prod(type_of(allocation).shape[:-1]) == 1:
        return None
    moved = padding_elements * bits_of_element(allocation) // 8
    reasons = (why_not_aligned(user, moved) for user, _ in reach_of(allocation.results[0]).uses)
    return next((reason for reason in reasons if reason is not None), None)


def extra_bytes(allocation: ir.Operation, padding_elements: int) -> int:
    shape = type_of(allocation).shape
    if not shape:
        return 0
    return prod(shape[:-1]) * padding_elements * (bits_of_element(allocation) // 8)


def extra_bytes_before_hints(allocation: ir.Operation) -> int:
    """What the stock padding would add to a hinted allocation, had it no hint.

    An allocation is flattened for its hints; the shape it had is what the first expand_shape
    gives back.
    """
    elements = elements_of_bits(allocation, STOCK_PADDING_BITS)
    pending: list[ir.Value] = [allocation.results[0]]
    while pending:
        for use in pending.pop(0).uses:
            user = use.owner.operation
            if user.name == "memref.expand_shape":
                shape = ir.MemRefType(user.results[0].type).shape
                return prod(shape[:-1]) * elements * (bits_of_element(allocation) // 8)
            if user.name == SWIZZLE_HINT:
                pending.append(user.results[0])
    return extra_bytes(allocation, elements)


_STRIDED_USERS = frozenset(
    {
        "affine.load",
        "affine.store",
        "affine.vector_load",
        "affine.vector_store",
        "linalg.copy",
        "linalg.fill",
        "linalg.generic",
        "linalg.transpose",
        "memref.atomic_rmw",
        "memref.copy",
        "memref.dealloc",
        "memref.generic_atomic_rmw",
        "memref.load",
        "memref.prefetch",
        "memref.store",
        "nvgpu.device_async_copy",
        "nvgpu.ldmatrix",
        "vector.load",
        "vector.maskedload",
        "vector.maskedstore",
        "vector.store",
        "vector.transfer_read",
        "vector.transfer_write",
    }
)
"""Operations that address a memref by indices alone, so that its strides may change."""


def row_major_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def strides_and_offset(kind: ir.MemRefType) -> tuple[tuple[int, ...] | None, int]:
    """Strides and offset; (None, 0) for a layout that is not strided."""
    try:
        strides, offset = kind.get_strides_and_offset()
    except (RuntimeError, ValueError):
        return None, 0
    return tuple(strides), offset


def padded_rows(allocation: ir.Operation, padding_elements: int) -> PaddedRows | Unknown:
    """The types of all views once the rows are padded; Unknown when a user forbids it."""
    old = type_of(allocation)
    if old.rank == 0:
        return Unknown("it has rank 0")
    if not old.has_static_shape:
        return Unknown("its shape is dynamic")
    misaligned = why_misaligned(allocation, padding_elements)
    if misaligned is not None:
        return Unknown(misaligned)
    pitches = (*old.shape[:-1], old.shape[-1] + padding_elements)
    root = _strided(old, tuple(old.shape), row_major_strides(pitches), 0)
    types: list[tuple[ir.Value, ir.MemRefType]] = []
    pending: list[tuple[ir.Value, ir.MemRefType | None]] = [(allocation.results[0], root)]
    while pending:
        value, kind = pending.pop()
        if kind is not None and value.type == kind:
            # Such as a view of the first row: neither its type nor its views' types change.
            kind = None
        if kind is not None:
            types.append((value, kind))
        for use in value.uses:
            user = use.owner.operation
            if user.name in _VIEW_TYPES:
                result = None if kind is None else _VIEW_TYPES[user.name](user, kind)
                if isinstance(result, Unknown):
                    return result
                pending.append((user.results[0], result))
            elif user.name not in _STRIDED_USERS:
                return Unknown(f"{user.name} cannot take padded rows")
    return PaddedRows(padding_elements, tuple(types))


def _is_identity(kind: ir.MemRefType) -> bool:
    """Whether reshaping such a memref yields a type without a layout attribute.

    MLIR asks whether the layout's affine map is the identity, which it is without a layout and,
    of the strided ones, only for `strided<[1]>`.
    """
    if not isinstance(kind.layout, ir.StridedLayoutAttr):
        return True
    return strides_and_offset(kind) == ((1,), 0)


def _row_major(like: ir.MemRefType, shape: Sequence[int]) -> ir.MemRefType:
    with like.context, ir.Location.unknown():
        return ir.MemRefType.get(list(shape), like.element_type, memory_space=like.memory_space)


def _strided(
    like: ir.MemRefType, shape: Sequence[int], strides: Sequence[int], offset: int
) -> ir.MemRefType:
    with like.context, ir.Location.unknown():
        layout = ir.StridedLayoutAttr.get(offset, list(strides))
        return ir.MemRefType.get(list(shape), like.element_type, layout, like.memory_space)


def _cast_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType | Unknown:
    """A cast keeps its shape and takes the layout of its operand."""
    if not isinstance(operation.results[0].type, ir.MemRefType):
        return Unknown("memref.cast to an unranked memref cannot take padded rows")
    shape = ir.MemRefType(operation.results[0].type).shape
    strides, offset = strides_and_offset(source)
    return _strided(source, shape, strides or (), offset)


def _subview_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType | Unknown:
    """A subview multiplies strides and adds up its offset; unit dimensions may be dropped."""
    offsets = list(ir.DenseI64ArrayAttr(operation.attributes["static_offsets"]))
    sizes = list(ir.DenseI64ArrayAttr(operation.attributes["static_sizes"]))
    steps = list(ir.DenseI64ArrayAttr(operation.attributes["static_strides"]))
    source_strides, offset = strides_and_offset(source)
    assert source_strides is not None
    for start, stride in zip(offsets, source_strides, strict=True):
        offset = _plus(offset, _times(start, stride))
    strides = [_times(step, stride) for step, stride in zip(steps, source_strides, strict=True)]
    wanted = list(ir.MemRefType(operation.results[0].type).shape)
    kept: list[int] = []
    for dimension, size in enumerate(sizes):
        # As MLIR does: a dimension stays if it matches the next one of the result.
        if len(kept) < len(wanted) and size == wanted[len(kept)]:
            kept.append(dimension)
    if len(kept) != len(wanted):
        return Unknown("memref.subview that drops dimensions cannot take padded rows")
    return _strided(source, wanted, [strides[d] for d in kept], offset)


def _times(a: int, b: int) -> int:
    if a == 0 or b == 0:
        return 0
    return DYNAMIC if DYNAMIC in (a, b) else a * b


def _plus(a: int, b: int) -> int:
    return DYNAMIC if DYNAMIC in (a, b) else a + b


def _groups(operation: ir.Operation) -> list[list[int]]:
    groups = ir.ArrayAttr(operation.attributes["reassociation"])
    return [[ir.IntegerAttr(d).value for d in ir.ArrayAttr(group)] for group in groups]


def _expand_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType | Unknown:
    """Each source dimension's stride belongs to the innermost of those it is split into."""
    kind = ir.MemRefType(operation.results[0].type)
    if not kind.has_static_shape:
        return Unknown("memref.expand_shape to a dynamic shape cannot take padded rows")
    if _is_identity(source):
        return _row_major(source, kind.shape)
    source_strides, offset = strides_and_offset(source)
    strides: list[int] = []
    for group, stride in zip(_groups(operation), source_strides or (), strict=True):
        strides += [
            _times(stride, prod(kind.shape[inner] for inner in group[position + 1 :]))
            for position in range(len(group))
        ]
    return _strided(source, kind.shape, strides, offset)


def _collapse_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType | Unknown:
    """Dimensions collapse only where the outer stride continues the inner one without a gap."""
    refusal = Unknown("memref.collapse_shape across the padded rows")
    source_strides, offset = strides_and_offset(source)
    assert source_strides is not None
    shape = ir.MemRefType(operation.results[0].type).shape
    if not source.has_static_shape:
        return refusal
    if _is_identity(source):
        return _row_major(source, shape)
    strides: list[int] = []
    for group in _groups(operation):
        dimensions = list(group)
        while len(dimensions) > 1 and source.shape[dimensions[-1]] == 1:
            dimensions.pop()
        stride = source_strides[dimensions[-1]]
        strides.append(stride)
        for outer, inner in zip(reversed(dimensions[:-1]), reversed(dimensions), strict=False):
            stride = _times(stride, source.shape[inner])
            if source.shape[outer] == 1:
                continue
            if DYNAMIC in (stride, source_strides[outer]) or stride != source_strides[outer]:
                return refusal
    return _strided(source, shape, strides, offset)


_VIEW_TYPES = {
    "memref.cast": _cast_type,
    "memref.subview": _subview_type,
    "memref.expand_shape": _expand_type,
    "memref.collapse_shape": _collapse_type,
}


def pad_rows(allocation: ir.Operation, rows: PaddedRows, keep_alignment: bool) -> None:
    """Replaces the allocation by one with padded rows, which `padded_rows` has found possible."""
    old = type_of(allocation)
    shape = list(old.shape)
    padded_shape = [*shape[:-1], shape[-1] + rows.padding_elements]
    with allocation.context, allocation.location:
        padded_type = ir.MemRefType.get(
            padded_shape, old.element_type, memory_space=old.memory_space
        )
        attributes: dict[str, ir.Attribute] = {
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])
        }
        if keep_alignment and "alignment" in allocation.attributes:
            attributes["alignment"] = allocation.attributes["alignment"]
        point = ir.InsertionPoint(allocation)
        padded = ir.Operation.create(
            "memref.alloc", [padded_type], [], attributes=attributes, ip=point
        )
        (root, root_type), *views = rows.new_types
        rank = len(shape)
        subview = ir.Operation.create(
            "memref.subview",
            [root_type],
            [padded.results[0]],
            attributes={
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
                "static_offsets": ir.DenseI64ArrayAttr.get([0] * rank),
                "static_sizes": ir.DenseI64ArrayAttr.get(shape),
                "static_strides": ir.DenseI64ArrayAttr.get([1] * rank),
            },
            ip=point,
        )
    root.replace_all_uses_with(subview.results[0])
    for view, kind in views:
        view.set_type(kind)
    allocation.erase()
