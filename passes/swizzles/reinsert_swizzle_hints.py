# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-reinsert-swizzle-hints`: stowed swizzles become hints again.

The attribute that `bankwise-absorb-swizzle-hints` (or the stock pass) left on an allocation becomes
a chain of hints directly on it, and the allocation becomes flat:

    %a = memref.alloc() {iree_codegen.swizzle = S} : memref<32x64xf16>

    %f = memref.alloc() : memref<2048xf16>
    %h = swizzle_hint %f[S]
    %a = expand_shape %h into memref<32x64xf16>

Everything that uses `%a` then goes through the hint, and all accesses count offsets from the same
place. The stock pass (ReinsertSwizzleHints.cpp) puts a hint on the memref of each access instead,
which may be a view: with a store through `%a` and a load through `subview %a[1, 0] [4, 64] [1, 1]`,
row 1 of the one is row 0 of the other, they are swizzled differently, and the load finds other data
than was stored.

Views that meet in one value, as the copies of a multi-buffered allocation in a loop do, cannot be
folded into the accesses. There the hints go to the memref of each access,

    %c = collapse_shape %v ;  %h = swizzle_hint %c[S] ;  %w = expand_shape %h ;  load %w[...]

once for each memref, provided that all these memrefs are *frames* of the allocation: contiguous, of
the same N elements, and starting at multiples of N. Two frames are then the same elements or have
none in common, and each is permuted in itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzles import chain_period
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.handed_attributes import PERMUTED_ELEMENTS
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.memory.buffer_starts import start_offsets
from ...dialect_utils.memory.flat_allocations import (
    collapse_shape,
    expand_shape,
    flatten_allocation,
)
from ...dialect_utils.memory.flow import Reach, Use, reach_of, roots_of, sources_of, uses_of
from ...dialect_utils.memory.lds_ops import ALLOC, GATHER, access_row, view_row
from ...dialect_utils.memory.memref_types import (
    check_flat,
    contiguous_type,
    has_identity_layout,
    is_contiguous,
    shown_type,
    type_of,
)
from ...dialect_utils.operations import defining_operation, operations_in, reached_from
from ...dialect_utils.swizzle_hint import (
    STOWED_SWIZZLE,
    Chain,
    is_hint,
    stowed_attributes,
    stowed_swizzles,
)
from ..base import PassContext
from .hint_emission import behind_hints, emit_hints
from .hint_ownership import HintPass


@dataclass(frozen=True)
class _Stowed:
    """The swizzles on an allocation, from it outwards.

    Compared by what they do: `xor_shuffle<64, 8>` is `xor_shuffle<64, 8, 64, 1>`.
    """

    chain: Chain = ()
    attributes: tuple[ir.Attribute, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.chain))}]" if self.chain else "none"


class ReinsertSwizzleHints(HintPass):
    """Turns each allocation's attribute `iree_codegen.swizzle` into hints on it."""

    name: ClassVar[str] = "bankwise-reinsert-swizzle-hints"
    summary: ClassVar[str] = "turn swizzles stowed on allocations into hints again"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Reinserts the hints of every allocation, or fails before the first is touched.

        Raises:
            PassFailure: an allocation cannot be flattened, or its memory meets memory with another
                swizzle, or with none, in one value.
        """
        function = function.operation
        if not self.is_for(function):
            return
        with function.context:
            stowed: dict[ir.Value, _Stowed] = {}
            for allocation in operations_in(function, ALLOC):
                if STOWED_SWIZZLE in allocation.attributes:
                    stowed[allocation.results[0]] = _stowed(allocation)
            bits = IndexBits(function)
            reaches = {allocated: reach_of(allocated) for allocated in stowed}
            for reach in reaches.values():
                _check_reach(reach, stowed)
            framed = _framed(reaches)
            plans = [
                _plan_frames(allocated, reaches[allocated], stowed[allocated], bits)
                if allocated in framed
                else _plan_whole(allocated, stowed[allocated])
                for allocated in stowed
            ]
            wrapped: dict[ir.Value, ir.Value] = {}
            for plan in plans:
                plan.apply(wrapped)


def _stowed(allocation: ir.Operation) -> _Stowed:
    attributes = stowed_attributes(allocation)
    if not attributes:
        raise PassFailure(allocation.location, f"{STOWED_SWIZZLE} is empty")
    try:
        return _Stowed(stowed_swizzles(allocation), attributes)
    except Refusal as refusal:
        raise PassFailure(allocation.location, refusal.reason) from None


class _Plan(NamedTuple):
    """Where the hints of one allocation go: on itself, or on the memref of each use."""

    allocation: ir.Operation
    swizzles: tuple[ir.Attribute, ...]
    frame_uses: tuple[Use, ...] | None

    def apply(self, wrapped: dict[ir.Value, ir.Value]) -> None:
        """Inserts the hints; `wrapped` remembers the memrefs that have got theirs."""
        for name in (STOWED_SWIZZLE, PERMUTED_ELEMENTS):
            if name in self.allocation.attributes:
                del self.allocation.attributes[name]
        if self.frame_uses is None:
            _hint_allocation(self.allocation, self.swizzles)
            return
        for use in self.frame_uses:
            base = use.user.operands[use.number]
            if base not in wrapped:
                wrapped[base] = _wrap(base, self.swizzles)
                # Another allocation that meets this one finds the use wrapped already.
                wrapped[wrapped[base]] = wrapped[base]
            use.user.operands[use.number] = wrapped[base]


def _check_reach(reach: Reach, stowed: Mapping[ir.Value, _Stowed]) -> None:
    """Fails where a swizzle could not hold for all of the memory of a value, or is not alone."""
    for view in reach.views:
        if is_hint(view):
            raise PassFailure(
                view.location, f"swizzle_hint of an allocation that has {STOWED_SWIZZLE} as well"
            )
    for value in reach.joins:
        _check_join(value, stowed)


def _framed(reaches: Mapping[ir.Value, Reach]) -> set[ir.Value]:
    """Returns the allocations whose hints must go to the memrefs of their uses.

    These are the ones that meet others as views, and all that meet these: the accesses behind a
    join are the same for all who meet there.
    """

    def met(allocated: ir.Value) -> list[ir.Value]:
        joins = {*reaches[allocated].joins}
        return [each for each, reach in reaches.items() if not joins.isdisjoint(reach.joins)]

    parts = [allocated for allocated, reach in reaches.items() if not _meets_whole(reach)]
    return {*reached_from(parts, met)}


def _meets_whole(reach: Reach) -> bool:
    """Returns whether the allocation is carried around only as itself and flat, if at all.

    A hint directly on it then reaches all accesses without a view in between.
    """
    for value in reach.joins:
        if any(view_row(defining_operation(source)) for source in sources_of(value)):
            return False
        if not isinstance(value.type, ir.MemRefType) or value.type.rank != 1:
            return False
    return True


def _plan_whole(allocated: ir.Value, swizzles: _Stowed) -> _Plan:
    allocation = defining_operation(allocated)
    assert allocation is not None
    kind = type_of(allocated)
    # A flat allocation stays as it is and may be dynamic.
    if kind.rank != 1 or not has_identity_layout(kind):
        try:
            check_flat(kind)
        except Refusal as refusal:
            raise PassFailure(
                allocation.location,
                f"the swizzle of an allocation cannot be reinserted: {refusal}",
            ) from refusal
    _check_permuted(allocation, prod(kind.shape) if kind.has_static_shape else None)
    return _Plan(allocation, swizzles.attributes, None)


def _plan_frames(allocated: ir.Value, reach: Reach, swizzles: _Stowed, bits: IndexBits) -> _Plan:
    allocation = defining_operation(allocated)
    assert allocation is not None
    _check_permuted(allocation, _check_frames(allocated, reach, swizzles, bits))
    return _Plan(allocation, swizzles.attributes, reach.sinks)


def _check_permuted(allocation: ir.Operation, elements: int | None) -> None:
    """Fails where gather_to_lds has written an order that the hints would not read."""
    if PERMUTED_ELEMENTS not in allocation.attributes:
        return
    wanted = ir.IntegerAttr(allocation.attributes[PERMUTED_ELEMENTS]).value
    if elements != wanted:
        raise PassFailure(
            allocation.location,
            f"amdgpu.gather_to_lds writes data swizzled for {wanted} elements, but the allocation "
            f"is now used as {elements} elements and the swizzle does not repeat in it",
        )


def _check_frames(
    allocated: ir.Value, reach: Reach, swizzles: _Stowed, bits: IndexBits
) -> int | None:
    """Returns the size of the frames that all loads and stores go through; None without any.

    A gather_to_lds may go through several frames at once: what it stores is permuted already.
    Where the swizzles begin anew at the start of every part, the parts may have any sizes: each is
    permuted as the whole allocation is. No size is returned then.
    """
    frame: int | None = None
    anew = _begin_anew(allocated, reach, swizzles, bits)
    for use in reach.sinks:
        user, base = use.user, use.buffer
        gathers = user.name == GATHER
        row = access_row(user)
        takes_any_layout = row is not None and row.footprint is not None
        try:
            _check_part(base, allocated, swizzles)
            if not anew:
                _check_frame(base, allocated, None if gathers else frame, bits)
            if not takes_any_layout and _wrapped_type(base) != base.type:
                raise Refusal("its type would change")
        except Refusal as refusal:
            raise PassFailure(
                user.location,
                f"{user.name} uses part of an allocation with a swizzle that cannot be hinted: "
                f"{refusal}",
            ) from refusal
        if not gathers and not anew:
            frame = prod(type_of(base).shape)
    return frame


def _begin_anew(allocated: ir.Value, reach: Reach, swizzles: _Stowed, bits: IndexBits) -> bool:
    """Returns whether every used part starts where the swizzles, which repeat, begin again."""
    allocation = defining_operation(allocated)
    assert allocation is not None
    if PERMUTED_ELEMENTS in allocation.attributes:
        # That order begins anew with each copy of the buffer, wherever the copies are.
        return False
    period = chain_period(swizzles.chain)
    try:
        starts = [start_offsets(use.buffer, bits)[allocated] for use in reach.sinks]
    except Refusal:
        return False
    return all(start.divisor % period == 0 for start in starts)


def _check_part(base: ir.Value, allocated: ir.Value, swizzles: _Stowed) -> None:
    """Makes sure that `base` is made of whole rows of the allocation, one behind the other.

    Raises:
        Refusal: it may not be.
    """
    if not isinstance(base.type, ir.MemRefType):
        raise Refusal(f"{base.type} is not a ranked memref")
    kind = base.type
    if kind.rank == 0:
        raise Refusal("it has rank 0")
    if not kind.has_static_shape:
        raise Refusal("its shape is dynamic")
    if kind.element_type != type_of(allocated).element_type:
        raise Refusal(f"its elements are {kind.element_type}")
    if not is_contiguous(kind):
        raise Refusal(f"{shown_type(kind)} is not contiguous")
    elements = prod(kind.shape)
    for swizzle in swizzles.chain:
        if elements % swizzle.row_width:
            raise Refusal(f"its {elements} elements are not whole rows of {swizzle}")


def _check_frame(base: ir.Value, allocated: ir.Value, frame: int | None, bits: IndexBits) -> None:
    """Makes sure that a part is a frame of the allocation, of `frame` elements if that is known.

    Raises:
        Refusal: it may not be one.
    """
    elements = prod(type_of(base).shape)
    if frame is not None and elements != frame:
        raise Refusal(f"it has {elements} elements, another part that is used has {frame}")
    if start_offsets(base, bits)[allocated].divisor % elements:
        raise Refusal(f"it may start elsewhere than at a multiple of its {elements} elements")


def _check_join(value: ir.Value, stowed: Mapping[ir.Value, _Stowed]) -> None:
    """Fails where one value may stand for memory with different swizzles."""
    operation = defining_operation(value)
    if operation is None:
        block = value.owner
        assert isinstance(block, ir.Block)
        operation = block.owner.operation
    try:
        roots = roots_of(value)
    except Refusal as refusal:
        raise PassFailure(
            operation.location,
            f"{operation.name} carries an allocation with a swizzle and memory that cannot be "
            f"traced: {refusal}",
        ) from None
    found = list(dict.fromkeys(stowed.get(root, _Stowed()) for root in roots))
    if len(found) > 1:
        raise PassFailure(
            operation.location,
            f"{operation.name} carries memory with different swizzles: {found[0]} and {found[1]}",
        )


def _hint_allocation(allocation: ir.Operation, swizzles: Sequence[ir.Attribute]) -> None:
    """Puts the hints between an allocation and its users, and makes it flat."""
    allocated = allocation.results[0]
    if not uses_of(allocated):
        return
    emit_hints(allocated, swizzles)
    if type_of(allocated).rank > 1:
        flatten_allocation(allocation)


def _wrap(base: ir.Value, swizzles: Sequence[ir.Attribute]) -> ir.Value:
    """Returns a contiguous memref behind hints on its elements in row-major order."""
    kind = type_of(base)
    if kind.rank == 1:
        return behind_hints(base, swizzles)
    collapsed = collapse_shape(base, contiguous_type(kind, [prod(kind.shape)]))
    return expand_shape(behind_hints(collapsed, swizzles), _wrapped_type(base))


def _wrapped_type(base: ir.Value) -> ir.MemRefType:
    kind = type_of(base)
    return kind if kind.rank == 1 else contiguous_type(kind, kind.shape)
