# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewriting a transfer so that steps which a lane transfers lie side by side.

The memory is seen with other dimensions, of which the inner one holds `merged` steps: for rows of
8 steps of 16 elements, of which a lane reads 4 elements in each step, and `merged = 2`,

    %v = vector.transfer_read %m[%i, %c0, %k] : memref<64x8x16xf16>, vector<1x8x4xf16>

becomes

    %n = ... %m : memref<64x8x16xf16> into memref<64x4x32xf16>
    %w = vector.transfer_read %n[%i, %c0, 2 * %k] : memref<64x4x32xf16>, vector<1x4x8xf16>
    %v = vector.shape_cast %w : vector<1x4x8xf16> to vector<1x8x4xf16>

A write goes the other way. A lane that has several neighbours along an index of which the slots
hold one each, as rows of a result, gets a transpose between two shape casts.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.step_renaming import StepRenaming
from ...dialect_utils.builders import Builder
from ...dialect_utils.memory.memref_types import (
    has_identity_layout,
    row_major_type,
    strided_type,
    strides_and_offset,
    type_of,
)
from ...dialect_utils.operations import TRANSFER_READ
from .lane_transfers import LaneTransfer


class MergedPair(NamedTuple):
    """Two neighbouring dimensions of a transfer, and the renaming of the index in them.

    Attributes:
        outer: the dimension that counts the steps; the next one is within a step.
    """

    outer: int
    renaming: StepRenaming

    @property
    def merged(self) -> int:
        """Returns how many steps become neighbours."""
        return self.renaming.merged

    @property
    def inner(self) -> int:
        """Returns the dimension within a step."""
        return self.outer + 1


def rename_transfer(transfer: LaneTransfer, pairs: Sequence[MergedPair]) -> None:
    """Replaces a transfer by one of the same vector under a renaming."""
    old = transfer.operation
    at = Builder.before(old)
    memory = _merged_memory(at, transfer.memory, pairs)
    indices = _merged_indices(at, transfer, pairs)
    shape = list(transfer.extents)
    for pair in pairs:
        shape[pair.outer] //= pair.merged
        shape[pair.inner] *= pair.merged
    if old.name == TRANSFER_READ:
        kind = at.vector_type(shape, ir.VectorType(transfer.vector.type).element_type)
        new = at.like(old, [memory, *indices, old.operands[1 + len(indices)]], [kind])
        value = _cast(at, new.results[0], _read_order(transfer, pairs), transfer.extents)
        old.results[0].replace_all_uses_with(value)
    else:
        value = _cast(at, transfer.vector, _write_order(transfer, pairs), shape)
        at.like(old, [value, memory, *indices])
    old.erase()


class _Order(NamedTuple):
    """A reordering of a vector: it is cut into `shape`, and `permutation` says what goes where."""

    shape: tuple[int, ...]
    permutation: tuple[int, ...]


def _read_order(transfer: LaneTransfer, pairs: Sequence[MergedPair]) -> _Order:
    """Returns what makes the vector of the old read of that of the new one.

    The inner dimension holds, from the outside: runs of slots, steps, elements of a slot.
    """
    shape: list[int] = []
    permutation: list[int] = []
    merged = {pair.outer: pair for pair in pairs}
    for dim, extent in enumerate(transfer.extents):
        first = len(shape)
        if dim in merged:
            pair = merged[dim]
            unit = pair.renaming.unit
            runs = transfer.extents[pair.inner] // unit
            shape += [extent // pair.merged, runs, pair.merged, unit]
            permutation += [first, first + 2, first + 1, first + 3]
        elif dim - 1 not in merged:
            shape.append(extent)
            permutation.append(first)
    return _Order(tuple(shape), tuple(permutation))


def _write_order(transfer: LaneTransfer, pairs: Sequence[MergedPair]) -> _Order:
    """Returns the inverse of `_read_order`."""
    order = _read_order(transfer, pairs)
    shape = tuple(order.shape[axis] for axis in order.permutation)
    inverse = tuple(order.permutation.index(axis) for axis in range(len(shape)))
    return _Order(shape, inverse)


def _merged_memory(at: Builder, memory: ir.Value, pairs: Sequence[MergedPair]) -> ir.Value:
    """Returns the same memory with the steps of `pairs` in the inner dimensions."""
    kind = type_of(memory)
    outers = {pair.outer: pair for pair in pairs}
    groups: list[list[int]] = []
    again: list[list[int]] = []
    flat: list[int] = []
    shape: list[int] = []
    for dim, size in enumerate(kind.shape):
        if dim - 1 in outers:
            continue
        pair = outers.get(dim)
        sizes = [size] if pair is None else [size, kind.shape[pair.inner]]
        groups.append(list(range(dim, dim + len(sizes))))
        flat.append(prod(sizes))
        if pair is not None:
            sizes = [sizes[0] // pair.merged, sizes[1] * pair.merged]
        again.append(list(range(len(shape), len(shape) + len(sizes))))
        shape += sizes
    strides, offset = strides_and_offset(kind)
    assert strides is not None
    assert offset is not None
    flat_strides = [strides[group[-1]] for group in groups]
    inner = [
        stride * (prod(shape[d] for d in group if d > position))
        for group, stride in zip(again, flat_strides, strict=True)
        for position in group
    ]
    collapsed = at.collapse_shape(memory, _viewed(kind, flat, flat_strides, offset), groups)
    return at.expand_shape(collapsed, _viewed(kind, shape, inner, offset), again)


def _viewed(
    like: ir.MemRefType, shape: Sequence[int], strides: Sequence[int], offset: int
) -> ir.MemRefType:
    if has_identity_layout(like):
        return row_major_type(like, shape)
    return strided_type(like, shape, strides, offset)


def _merged_indices(
    at: Builder, transfer: LaneTransfer, pairs: Sequence[MergedPair]
) -> list[ir.Value]:
    """Returns where the new transfer begins."""
    outers = {pair.outer: pair.merged for pair in pairs}
    inners = {pair.inner: pair.merged for pair in pairs}
    found: list[ir.Value] = []
    for dim, start in enumerate(transfer.starts):
        values = [each for each in start if isinstance(each, ir.Value)]
        with at.location:
            total = ir.AffineExpr.get_constant(sum(e for e in start if isinstance(e, int)))
            for position in range(len(values)):
                total = total + ir.AffineExpr.get_dim(position)
            if dim in outers:
                total = ir.AffineExpr.get_floor_div(total, outers[dim])
            if dim in inners:
                total = total * inners[dim]
            map_ = ir.AffineMap.get(len(values), 0, [total])
        found.append(at.apply(map_, *values))
    return found


def _cast(at: Builder, value: ir.Value, order: _Order, shape: Sequence[int]) -> ir.Value:
    """Returns the elements of a vector in another order, as a vector of `shape`."""
    moved = [axis for axis in order.permutation if order.shape[axis] != 1]
    if moved != sorted(moved):
        value = at.transpose(at.shape_cast(value, order.shape), order.permutation)
    return at.shape_cast(value, shape)
