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
from math import lcm, prod

from iree.compiler import ir

from ...bank_model.layout_counts import STOCK_PADDING_BITS
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.memory.allocation_layout import expansions_of
from ...dialect_utils.memory.flat_allocations import alignment_of
from ...dialect_utils.memory.flow import Use, follow, reach_of
from ...dialect_utils.memory.lds_ops import (
    access_row,
    check_moved,
    in_elements,
    required_alignment,
    view_row,
)
from ...dialect_utils.memory.memref_types import (
    row_major_strides,
    row_major_type,
    strided_type,
    type_of,
    whole_element_bits,
)


class PaddedRows(NamedTuple):
    """A padding that is known to be possible: the new types of the allocation's views."""

    padding_elements: int
    new_types: tuple[tuple[ir.Value, ir.MemRefType], ...]


def bits_of_element(allocation: ir.Operation) -> int:
    """Returns the bits of an element with all its parts; 0 if not known."""
    return whole_element_bits(type_of(allocation).element_type) or 0


def lds_bytes_of(allocations: Sequence[ir.Operation]) -> int | None:
    """Returns the LDS bytes of all allocations, each rounded up to its alignment.

    Returns None when one is dynamic.
    """
    total = 0
    for allocation in allocations:
        kind = type_of(allocation)
        if not kind.has_static_shape:
            return None
        size = bits_of_element(allocation) // 8 * prod(kind.shape)
        alignment = alignment_of(allocation)
        total += -(-size // alignment) * alignment
    return total


def elements_of_bits(allocation: ir.Operation, padding_bits: int) -> int:
    """Returns the elements that the stock pass appends: as many as fit into the bits."""
    bits = bits_of_element(allocation)
    return padding_bits // bits if bits else 0


def needed_alignment(allocation: ir.Operation) -> int:
    """Returns bytes of which the addresses of everything that accesses it must be multiples."""
    return lcm(*(required_alignment(use.user) for use in reach_of(allocation.results[0]).sinks))


def aligned_padding(allocation: ir.Operation, padding_elements: int) -> int:
    """Returns as many elements or more that keep every row as aligned as its accesses need it.

    A single row stays where it is, whatever is behind it.
    """
    if not bits_of_element(allocation) or prod(type_of(allocation).shape[:-1]) == 1:
        return padding_elements
    unit = in_elements(needed_alignment(allocation), bits_of_element(allocation))
    return -(-padding_elements // unit) * unit


def check_aligned_rows(allocation: ir.Operation, padding_elements: int) -> None:
    """Makes sure that padding leaves no access with an address that it cannot take.

    Raises:
        Misaligned: it leaves one.
    """
    if prod(type_of(allocation).shape[:-1]) == 1:
        return
    moved = padding_elements * bits_of_element(allocation) // 8
    for use in reach_of(allocation.results[0]).sinks:
        check_moved(use.user, moved)


def extra_bytes(allocation: ir.Operation, padding_elements: int) -> int:
    shape = type_of(allocation).shape
    if not shape:
        return 0
    return prod(shape[:-1]) * padding_elements * (bits_of_element(allocation) // 8)


def extra_bytes_before_hints(allocation: ir.Operation) -> int:
    """Returns what the stock padding would add to a hinted allocation, had it no hint."""
    elements = elements_of_bits(allocation, STOCK_PADDING_BITS)
    for kind in expansions_of(allocation.results[0]):
        return prod(kind.shape[:-1]) * elements * (bits_of_element(allocation) // 8)
    return extra_bytes(allocation, elements)


def padded_rows(allocation: ir.Operation, padding_elements: int) -> PaddedRows:
    """Returns the types of all views once the rows are padded.

    Raises:
        Refusal: a user forbids it.
    """
    old = type_of(allocation)
    if old.rank == 0:
        raise Refusal("it has rank 0")
    if not old.has_static_shape:
        raise Refusal("its shape is dynamic")
    check_aligned_rows(allocation, padding_elements)
    pitches = (*old.shape[:-1], old.shape[-1] + padding_elements)
    root = strided_type(old, old.shape, row_major_strides(pitches), 0)
    types: dict[ir.Value, ir.MemRefType] = {}
    if old != root:
        types[allocation.results[0]] = root

    def onward(use: Use, target: ir.Value, _: bool) -> bool:
        row = view_row(use.user)
        if row is None or row.retyped is None:
            raise _no_padding(use)
        # The type of a view of the first row, say, does not change, nor do its views' types.
        if use.buffer in types:
            kind = row.retyped(use.user, types[use.buffer])
            if kind != target.type:
                types[target] = kind
        return True

    for use, _ in follow(allocation.results[0], True, onward):
        row = access_row(use.user)
        if row is None or not row.takes_strides:
            raise _no_padding(use)
    return PaddedRows(padding_elements, tuple(types.items()))


def _no_padding(use: Use) -> Refusal:
    return Refusal(f"{use.user.name} cannot take padded rows", use.user.location)


def pad_rows(allocation: ir.Operation, rows: PaddedRows, keep_alignment: bool) -> None:
    """Replaces the allocation by one with padded rows, which `padded_rows` has found possible."""
    old = type_of(allocation)
    shape = list(old.shape)
    padded_shape = [*shape[:-1], shape[-1] + rows.padding_elements]
    kept = ("operandSegmentSizes", *(["alignment"] if keep_alignment else []))
    at = Builder.before(allocation)
    padded = at.like(allocation, [], [row_major_type(old, padded_shape)], kept=kept)
    (root, root_type), *views = rows.new_types
    subview = at.subview(padded.results[0], root_type)
    root.replace_all_uses_with(subview)
    for view, kind in views:
        view.set_type(kind)
    allocation.erase()
