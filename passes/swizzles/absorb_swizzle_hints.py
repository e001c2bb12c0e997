# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-absorb-swizzle-hints`: hints become an attribute of their allocation.

Prefetching and multi-buffering rewrite allocations and do not look through hints. So the hints are
stowed before and come back with `bankwise-reinsert-swizzle-hints` afterwards:

    %a = memref.alloc() : memref<1024xf16>
    %g = swizzle_hint %a[S0]
    %h = swizzle_hint %g[S1]

becomes `memref.alloc() {iree_codegen.swizzle = [S0, S1]}`. A single hint is stored as the stock
pass stores it (AbsorbSwizzleHintToAlloc.cpp), by its swizzle alone.

The attribute stands for *every* access to the allocation. Where accesses go through different
hints, or one goes beside them, the attribute would mean something else, and the pass fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzles import chain_period
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.handed_attributes import PERMUTED_ELEMENTS
from ...dialect_utils.memory.flow import Use, follow, uses_of
from ...dialect_utils.memory.lds_ops import ALLOC, GATHER, is_view_in_order
from ...dialect_utils.memory.memref_types import type_of
from ...dialect_utils.operations import operations_in
from ...dialect_utils.swizzle_hint import (
    STOWED_SWIZZLE,
    Chain,
    hint_swizzle,
    hints_in,
    is_hint,
    remove_hints,
)
from ..base import PassContext
from .hint_ownership import HintPass


class AbsorbSwizzleHints(HintPass):
    """Stows each allocation's swizzle hints as its attribute `iree_codegen.swizzle`."""

    name: ClassVar[str] = "bankwise-absorb-swizzle-hints"
    summary: ClassVar[str] = "stow swizzle hints on their allocations before prefetching"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Absorbs all hints of `function`, or fails before the first is touched.

        Raises:
            PassFailure: a hint that is not on a whole allocation, or accesses to one allocation
                that do not all go through the same hints.
        """
        function = function.operation
        if not self.is_for(function):
            return
        with function.context:
            order = {hint: number for number, hint in enumerate(hints_in(function))}
            plans = [_plan(allocation, order) for allocation in operations_in(function, ALLOC)]
            absorbed = {hint for plan in plans for hint in plan.hints}
            for hint in order:
                if hint not in absorbed:
                    raise PassFailure(
                        hint.location,
                        "expected swizzle_hint operand to be defined by a memref.alloc",
                    )
            for plan in plans:
                plan.apply()


class _Plan(NamedTuple):
    """The hints of one allocation and what they amount to."""

    allocation: ir.Operation
    hints: tuple[ir.Operation, ...]
    chain: tuple[ir.Attribute, ...]
    permuted_elements: int | None

    def apply(self) -> None:
        attributes = self.allocation.attributes
        if len(self.chain) == 1:
            attributes[STOWED_SWIZZLE] = self.chain[0]
        elif self.chain:
            attributes[STOWED_SWIZZLE] = ir.ArrayAttr.get(list(self.chain))
        if self.permuted_elements is not None:
            kind = ir.IntegerType.get_signless(64)
            attributes[PERMUTED_ELEMENTS] = ir.IntegerAttr.get(kind, self.permuted_elements)
        # Innermost hints come first.
        remove_hints(self.hints)


class _Access(NamedTuple):
    """An operation that may access the allocation, and the hints on its way there."""

    operation: ir.Operation
    hints: tuple[ir.Operation, ...]

    @property
    def chain(self) -> Chain:
        """Returns the swizzles of the hints: `<64, 8>` and `<64, 8, 64, 1>` are equal."""
        try:
            return tuple(map(hint_swizzle, self.hints))
        except Refusal as refusal:
            raise PassFailure(self.hints[-1].location, refusal.reason) from None


_Way = tuple[tuple[ir.Operation, ...], str | None]
"""The hints on the way from an allocation, and the view behind which only a part of it is left."""


def _plan(allocation: ir.Operation, order: dict[ir.Operation, int]) -> _Plan:
    """Follows the allocation through hints and views to its accesses."""
    accesses: list[_Access] = []
    unused: list[_Access] = []
    met: list[ir.Operation] = []

    def onward(use: Use, target: ir.Value, state: _Way) -> _Way | None:
        hints, part = state
        if is_hint(use.user):
            _check_hint(use.user, allocation, part)
            met.append(use.user)
            through = (*hints, use.user)
            if not uses_of(target):
                unused.append(_Access(use.user, through))
            return through, None
        if use.is_carried:
            accesses.append(_Access(use.user, hints))
            return None
        return hints, part or (None if is_view_in_order(use.user) else use.user.name)

    start: _Way = ((), None)
    for use, (hints, _) in follow(allocation.results[0], start, onward):
        accesses.append(_Access(use.user, hints))
    if not met:
        return _Plan(allocation, (), (), None)
    met.sort(key=lambda hint: order[hint])
    access = _representative(accesses or unused, met, order)
    gathers = any(access.operation.name == GATHER for access in accesses)
    permuted = _permuted_elements(allocation, access.chain) if gathers else None
    chain = tuple(hint.attributes["swizzle"] for hint in access.hints)
    return _Plan(allocation, tuple(met), chain, permuted)


def _check_hint(hint: ir.Operation, allocation: ir.Operation, part: str | None) -> None:
    if part is not None:
        raise PassFailure(
            hint.location,
            f"swizzle_hint is not on a whole allocation: {part} is between them",
        )
    if STOWED_SWIZZLE in allocation.attributes:
        raise PassFailure(
            hint.location,
            f"the allocation of swizzle_hint already has the attribute {STOWED_SWIZZLE}",
        )


def _representative(
    accesses: Sequence[_Access], met: Sequence[ir.Operation], order: dict[ir.Operation, int]
) -> _Access:
    """Returns one of the accesses, after a check that all have the same chain."""
    first = min(accesses, key=lambda access: [order[hint] for hint in access.hints] or [-1])
    for access in accesses:
        if access.chain == first.chain:
            continue
        if not first.chain:
            raise PassFailure(
                met[0].location,
                f"swizzle_hint does not hold for all accesses: {first.operation.name} "
                "uses the allocation beside it",
            )
        raise PassFailure(
            access.hints[-1].location,
            f"accesses to one allocation go through different swizzle hints: "
            f"{_text(first.chain)} and {_text(access.chain)}",
        )
    return first


def _text(chain: Chain) -> str:
    return f"[{', '.join(map(str, chain))}]"


def _permuted_elements(allocation: ir.Operation, chain: Chain) -> int | None:
    """Returns the size of an allocation whose swizzles do not repeat from copy to copy.

    Swizzles repeat after the least common multiple of their periods. If that divides the size N,
    the element N + o of two buffers in a row goes to N + S(o): the order that `gather_to_lds`
    wrote in each. Otherwise the rows of the second buffer are counted on from the first.
    """
    kind = type_of(allocation)
    if not chain or not kind.has_static_shape:
        return None
    size = prod(kind.shape)
    return size if size % chain_period(chain) else None
