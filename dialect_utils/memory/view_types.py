# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The type of a view whose operand gets other strides, as that of an allocation with padded rows.

Each function takes the view and the new type of its operand, and raises a `Refusal` where no type
describes the result. `lds_ops` names the function in the row of each view that has one.
"""

from __future__ import annotations

from math import prod

from iree.compiler import ir

from ..diagnostics import Refusal
from ..dynamic_sizes import DYNAMIC
from .memref_types import has_identity_layout, row_major_type, strided_type, strides_and_offset


def cast_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType:
    """Returns the type of a cast, which keeps its shape and takes its operand's layout."""
    if not isinstance(operation.results[0].type, ir.MemRefType):
        raise Refusal("memref.cast to an unranked memref cannot take padded rows")
    shape = ir.MemRefType(operation.results[0].type).shape
    strides, offset = _strides_of(source)
    return strided_type(source, shape, strides, offset)


def subview_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType:
    """Returns the type of a subview, which multiplies strides and adds up its offset.

    Unit dimensions may be dropped.
    """
    offsets = list(ir.DenseI64ArrayAttr(operation.attributes["static_offsets"]))
    sizes = list(ir.DenseI64ArrayAttr(operation.attributes["static_sizes"]))
    steps = list(ir.DenseI64ArrayAttr(operation.attributes["static_strides"]))
    source_strides, offset = _strides_of(source)
    for start, stride in zip(offsets, source_strides, strict=True):
        offset = _plus(offset, _times(start, stride))
    strides = [_times(step, stride) for step, stride in zip(steps, source_strides, strict=True)]
    wanted = list(ir.MemRefType(operation.results[0].type).shape)
    kept: list[int] = []
    for dimension, size in enumerate(sizes):
        # MLIR keeps a dimension if it matches the next one of the result.
        if len(kept) < len(wanted) and size == wanted[len(kept)]:
            kept.append(dimension)
    if len(kept) != len(wanted):
        raise Refusal("memref.subview that drops dimensions cannot take padded rows")
    return strided_type(source, wanted, [strides[d] for d in kept], offset)


def _strides_of(padded: ir.MemRefType) -> tuple[tuple[int, ...], int]:
    """Returns the strides and the offset of a type that padding has given.

    Such types are always strided.
    """
    strides, offset = strides_and_offset(padded)
    assert strides is not None
    assert offset is not None
    return strides, offset


def _times(a: int, b: int) -> int:
    if a == 0 or b == 0:
        return 0
    return DYNAMIC if DYNAMIC in (a, b) else a * b


def _plus(a: int, b: int) -> int:
    return DYNAMIC if DYNAMIC in (a, b) else a + b


def _groups_of(operation: ir.Operation) -> list[list[int]]:
    groups = ir.ArrayAttr(operation.attributes["reassociation"])
    return [[ir.IntegerAttr(d).value for d in ir.ArrayAttr(group)] for group in groups]


def expand_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType:
    """Returns the type of an expand_shape.

    Each source dimension's stride belongs to the innermost of those it is split into.
    """
    kind = ir.MemRefType(operation.results[0].type)
    if not kind.has_static_shape:
        raise Refusal("memref.expand_shape to a dynamic shape cannot take padded rows")
    if has_identity_layout(source):
        return row_major_type(source, kind.shape)
    source_strides, offset = _strides_of(source)
    strides: list[int] = []
    for group, stride in zip(_groups_of(operation), source_strides, strict=True):
        strides += [
            _times(stride, prod(kind.shape[inner] for inner in group[position + 1 :]))
            for position in range(len(group))
        ]
    return strided_type(source, kind.shape, strides, offset)


def collapse_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType:
    """Returns the type of a collapse_shape.

    Dimensions collapse only where the outer stride continues the inner one without a gap.
    """
    refusal = Refusal("memref.collapse_shape across the padded rows")
    source_strides, offset = _strides_of(source)
    shape = ir.MemRefType(operation.results[0].type).shape
    if not source.has_static_shape:
        raise refusal
    if has_identity_layout(source):
        return row_major_type(source, shape)
    strides: list[int] = []
    for group in _groups_of(operation):
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
                raise refusal
    return strided_type(source, shape, strides, offset)
