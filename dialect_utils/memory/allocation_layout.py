# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layout that the IR gives an LDS allocation: plain, swizzled by hints, or padded.

A `memref.alloc` may say its layout in three ways:

* `iree_codegen.swizzle_hint`s on it, or the same stowed as its attribute `iree_codegen.swizzle`.
  Hinted allocations are often flat already; the `expand_shape` behind the hints tells the rows.
* A `memref.subview` of its first columns that everything goes through: rows with padding.
* Neither: row-major, as its type says.
"""

from __future__ import annotations

from math import prod

from iree.compiler import ir

from ...bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzles import Swizzle, chain_period
from ..diagnostics import Refusal
from ..index.index_bits import IndexBits
from ..operations import defining_operation, function_around
from ..swizzle_hint import Chain, hint_swizzle, is_hint, stowed_swizzles
from .buffer_starts import start_offsets
from .flow import Use, follow, uses_of
from .lds_ops import EXPAND_SHAPE, SUBVIEW, is_view_in_order
from .memref_types import type_of


class StandingLayout(NamedTuple):
    """The layout of an allocation as the IR has it.

    `shape` is the logical, unpadded tile: for a flat hinted allocation what the hints are
    expanded to, for a padded one the view without padding.
    """

    layout: Layout
    shape: tuple[int, ...]


def standing_layout(allocation: ir.Value) -> StandingLayout:
    """Returns how the elements of a static row-major allocation lie in memory.

    Raises:
        Refusal: accesses that go through different hints, or hints on a part of the allocation.
    """
    shape = tuple(type_of(allocation).shape)
    operation = defining_operation(allocation)
    stowed = () if operation is None else stowed_swizzles(operation)
    chain = stowed or _common_chain(allocation)
    if chain:
        return StandingLayout(SwizzledLayout(chain), _expanded_shape(allocation) or shape)
    unpadded = _unpadded_shape(allocation)
    if unpadded is not None:
        return StandingLayout(PaddedLayout(shape[-1] - unpadded[-1]), unpadded)
    return StandingLayout(PlainLayout(), shape)


def is_padded(allocation: ir.Operation) -> bool:
    """Returns whether everything goes through a view of the first columns of an allocation."""
    return _unpadded_shape(allocation.results[0]) is not None


def _common_chain(allocation: ir.Value) -> Chain:
    """Returns the swizzles that all accesses go through."""
    unused: dict[Chain, None] = {}

    def onward(use: Use, target: ir.Value, state: tuple[Chain, bool]) -> tuple[Chain, bool]:
        chain, is_partial = state
        if is_hint(use.user):
            chain = (*chain, _swizzle_of(use.user))
            if is_partial and not _starts_alike(use.buffer, allocation, chain):
                raise Refusal("a swizzle hint is on a part of the allocation", use.user.location)
            if not uses_of(target):
                unused[chain] = None
            return chain, False
        return chain, is_partial or (use.is_view and not is_view_in_order(use.user))

    accessed = follow(allocation, ((), False), onward)
    chains = dict.fromkeys(chain for _, (chain, _) in accessed) or unused
    if len(chains) > 1:
        shown = sorted(" of ".join(map(str, chain)) or "none" for chain in chains)
        raise Refusal(f"its accesses go through different swizzles: {', '.join(shown)}")
    return next(iter(chains), ())


def _starts_alike(part: ir.Value, allocation: ir.Value, chain: Chain) -> bool:
    """Returns whether swizzles of a part are the allocation's: they repeat up to its start."""
    function = function_around(part)
    try:
        starts = start_offsets(part, IndexBits(function))
    except Refusal:
        return False
    start = starts.get(allocation)
    return start is not None and start.divisor % chain_period(chain) == 0


def _swizzle_of(hint: ir.Operation) -> Swizzle:
    try:
        return hint_swizzle(hint)
    except Refusal as refusal:
        raise Refusal(f"swizzle hint: {refusal}", hint.location) from refusal


def _expanded_shape(allocation: ir.Value) -> tuple[int, ...] | None:
    """Returns the one shape that a flat allocation, or the hints on it, are expanded to."""
    shapes = {tuple(kind.shape) for kind in expansions_of(allocation)}
    elements = prod(type_of(allocation).shape)
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    return shape if all(size > 0 for size in shape) and prod(shape) == elements else None


def expansions_of(allocation: ir.Value) -> list[ir.MemRefType]:
    """Returns the types that an allocation, or the hints on it, are expanded to, the nearest first.

    An allocation is flattened for its hints; these give it back the shape that it had.
    """
    found: list[ir.MemRefType] = []
    pending = [allocation]
    for value in pending:
        for use in uses_of(value):
            if is_hint(use.user):
                pending += use.becomes
            elif use.user.name == EXPAND_SHAPE:
                found.append(type_of(use.user))
    return found


def _unpadded_shape(allocation: ir.Value) -> tuple[int, ...] | None:
    """Returns the rows without padding, if all uses go through one view of the first columns."""
    uses = uses_of(allocation)
    if len(uses) != 1 or uses[0].user.name != SUBVIEW:
        return None
    view = uses[0].user
    if len(view.operands) != 1:
        return None
    shape = tuple(type_of(allocation).shape)
    offsets, sizes, strides = (
        tuple(ir.DenseI64ArrayAttr(view.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    if any(offsets) or any(stride != 1 for stride in strides):
        return None
    if len(sizes) != len(shape) or sizes[:-1] != shape[:-1] or not 0 < sizes[-1] < shape[-1]:
        return None
    return sizes
