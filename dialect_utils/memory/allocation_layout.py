# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layout that the IR gives an LDS allocation: plain, swizzled by hints, or padded.

A `memref.alloc` may say its layout in three ways:

* `iree_codegen.swizzle_hint`s on it, or the same stowed as its attribute `iree_codegen.swizzle`.
  Hinted allocations are often flat already; the `expand_shape` behind the hints tells the rows.
* A `memref.subview` of its first columns that everything goes through: rows with padding.
* Neither: row-major, as its type says.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from iree.compiler import ir

from ...bank_model.errors import InvalidParameterError
from ...bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from ...bank_model.swizzles import Swizzle, chain_period
from ..index.index_bits import IndexBits
from ..swizzle_hint import UnknownSwizzleError, hint_swizzle, is_hint
from .allocations import VIEWS, Untraceable, start_offsets
from .carried_memory import carried_values
from .lds_accesses import STOWED_SWIZZLE, stowed_swizzles

Chain = tuple[Swizzle, ...]

_PARTIAL_VIEWS = frozenset({"memref.reinterpret_cast", "memref.subview", "memref.transpose"})


class UnknownLayoutError(ValueError):
    """The IR says no single layout of the allocation, or one that cannot be read."""


@dataclass(frozen=True)
class StandingLayout:
    """The layout of an allocation as the IR has it.

    `shape` is the logical, unpadded tile: for a flat hinted allocation what the hints are
    expanded to, for a padded one the view without padding.
    """

    layout: Layout
    shape: tuple[int, ...]


def standing_layout(allocation: ir.Operation) -> StandingLayout:
    """How the elements of a static row-major `memref.alloc` lie in memory.

    Raises:
        UnknownLayoutError: accesses that go through different hints, or hints on a part of the
            allocation.
    """
    shape = tuple(ir.MemRefType(allocation.results[0].type).shape)
    chain = _stowed(allocation) or _common_chain(allocation)
    if chain:
        return StandingLayout(SwizzledLayout(chain), _expanded_shape(allocation) or shape)
    unpadded = _unpadded_shape(allocation)
    if unpadded is not None:
        return StandingLayout(PaddedLayout(shape[-1] - unpadded[-1]), unpadded)
    return StandingLayout(PlainLayout(), shape)


def _stowed(allocation: ir.Operation) -> Chain:
    try:
        return stowed_swizzles(allocation)
    except (UnknownSwizzleError, InvalidParameterError) as error:
        raise UnknownLayoutError(f"{STOWED_SWIZZLE}: {error}") from error


def _common_chain(allocation: ir.Operation) -> Chain:
    """The swizzles that all accesses go through, from the allocation outwards."""
    chains: dict[Chain, None] = {}
    unused: dict[Chain, None] = {}
    pending: list[tuple[ir.Value, Chain, bool]] = [(allocation.results[0], (), False)]
    seen: set[tuple[ir.Value, Chain]] = set()
    while pending:
        value, chain, partial = pending.pop()
        if (value, chain) in seen:
            continue
        seen.add((value, chain))
        for use in value.uses:
            user = use.owner.operation
            carried = carried_values(user, use.operand_number)
            if is_hint(user):
                onward = (*chain, _swizzle_of(user))
                if partial and not _starts_alike(user.operands[0], allocation, onward):
                    raise UnknownLayoutError("a swizzle hint is on a part of the allocation")
                pending.append((user.results[0], onward, False))
                if not list(user.results[0].uses):
                    unused[onward] = None
            elif user.name in VIEWS and use.operand_number == 0:
                through = partial or user.name in _PARTIAL_VIEWS
                pending.append((user.results[0], chain, through))
            elif carried:
                pending += [(each, chain, partial) for each in carried]
            elif user.name not in _NO_ACCESS:
                chains[chain] = None
    chains = chains or unused
    if len(chains) > 1:
        shown = sorted(" of ".join(map(str, chain)) or "none" for chain in chains)
        raise UnknownLayoutError(f"its accesses go through different swizzles: {', '.join(shown)}")
    return next(iter(chains), ())


_NO_ACCESS = frozenset({"memref.dealloc", "memref.dim"})


def _starts_alike(part: ir.Value, allocation: ir.Operation, chain: Chain) -> bool:
    """Whether swizzles of a part are those of the allocation: they repeat up to its start."""
    function = allocation
    while function.parent is not None and not function.name.endswith("func"):
        function = function.parent.operation
    starts = start_offsets(part, IndexBits(function))
    if isinstance(starts, Untraceable) or allocation.results[0] not in starts:
        return False
    return starts[allocation.results[0]].is_multiple_of(chain_period(chain))


def _swizzle_of(hint: ir.Operation) -> Swizzle:
    try:
        return hint_swizzle(hint)
    except (UnknownSwizzleError, InvalidParameterError) as error:
        raise UnknownLayoutError(f"swizzle hint: {error}") from error


def _expanded_shape(allocation: ir.Operation) -> tuple[int, ...] | None:
    """The one shape that a flat allocation, or the hints on it, are expanded to."""
    shapes: set[tuple[int, ...]] = set()
    pending: list[ir.Value] = [allocation.results[0]]
    while pending:
        for use in pending.pop().uses:
            user = use.owner.operation
            if is_hint(user):
                pending.append(user.results[0])
            elif user.name == "memref.expand_shape":
                shapes.add(tuple(ir.MemRefType(user.results[0].type).shape))
    elements = prod(ir.MemRefType(allocation.results[0].type).shape)
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    return shape if all(size > 0 for size in shape) and prod(shape) == elements else None


def _unpadded_shape(allocation: ir.Operation) -> tuple[int, ...] | None:
    """The rows without padding, if everything goes through one view of the first columns."""
    users = [use.owner.operation for use in allocation.results[0].uses]
    views = [user for user in users if user.name != "memref.dealloc"]
    if len(views) != 1 or views[0].name != "memref.subview":
        return None
    view = views[0]
    if len(view.operands) != 1:
        return None
    shape = tuple(ir.MemRefType(allocation.results[0].type).shape)
    offsets, sizes, strides = (
        tuple(ir.DenseI64ArrayAttr(view.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    if any(offsets) or any(stride != 1 for stride in strides):
        return None
    if len(sizes) != len(shape) or sizes[:-1] != shape[:-1] or not 0 < sizes[-1] < shape[-1]:
        return None
    return sizes
