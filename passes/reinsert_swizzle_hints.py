# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-reinsert-swizzle-hints`: stowed swizzles become hints again.

The attribute that `bankwise-absorb-swizzle-hints` (or the stock pass) left on an allocation becomes
a chain of hints directly on it, and the allocation becomes flat:

    %a = memref.alloc() {iree_codegen.swizzle = S} : memref<2x1024xf16>

    %f = memref.alloc() : memref<2048xf16>
    %h = swizzle_hint %f[S]
    %a = expand_shape %h into memref<2x1024xf16>

Everything that uses `%a`, views and loops included, then goes through the hint, and all accesses
count offsets from the same place. The stock pass (ReinsertSwizzleHints.cpp) puts a hint on the
memref of each access instead, which may be a view: with a store through `%a` and a load through
`subview %a[1, 0] [4, 128] [1, 1]`, row 1 of the one is row 0 of the other, they are swizzled
differently, and the load finds other data than was stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ..bank_model.errors import InvalidParameterError
from ..dialect_utils.allocations import (
    Untraceable,
    allocations_in,
    defining_operation,
    flatten_allocation,
    is_row_major,
    meeting_points,
    root_allocations,
    why_not_flat,
)
from ..dialect_utils.diagnostics import PassFailure
from ..dialect_utils.lds_accesses import STOWED_SWIZZLE
from ..dialect_utils.swizzle_hint import HINT_NAME, UnknownSwizzleError, parse_swizzle
from .absorb_swizzle_hints import PERMUTED_ELEMENTS
from .base import FunctionPass, PassContext

Chain = tuple[ir.Attribute, ...]


@dataclass(frozen=True)
class ReinsertSwizzleHints(FunctionPass):
    """Turns each allocation's attribute `iree_codegen.swizzle` into hints on it."""

    name: ClassVar[str] = "bankwise-reinsert-swizzle-hints"
    summary: ClassVar[str] = "turn swizzles stowed on allocations into hints again"
    only_for_hints: ClassVar[bool] = True

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Reinserts the hints of every allocation, or fails before the first is touched.

        Raises:
            PassFailure: an allocation cannot be flattened, or its memory meets memory with another
                swizzle, or with none, in one value.
        """
        function = function.operation
        with function.context:
            chains: dict[ir.Value, Chain] = {}
            for allocation in allocations_in(function):
                if STOWED_SWIZZLE in allocation.attributes:
                    chains[allocation.results[0]] = _stowed_chain(allocation)
                    _check_allocation(allocation)
            for allocated in chains:
                for value in meeting_points(allocated):
                    _check_meeting(value, chains)
            for allocated, chain in chains.items():
                _reinsert(allocated, chain)


def _stowed_chain(allocation: ir.Operation) -> Chain:
    """The swizzles from the allocation outwards."""
    stowed = allocation.attributes[STOWED_SWIZZLE]
    chain = tuple(stowed) if isinstance(stowed, ir.ArrayAttr) else (stowed,)
    if not chain:
        raise PassFailure(allocation.location, f"{STOWED_SWIZZLE} is empty")
    try:
        for swizzle in chain:
            parse_swizzle(swizzle)
    except (UnknownSwizzleError, InvalidParameterError) as error:
        raise PassFailure(allocation.location, f"{STOWED_SWIZZLE}: {error}") from None
    return chain


def _check_allocation(allocation: ir.Operation) -> None:
    """Fails where hints cannot be put on the allocation."""
    kind = ir.MemRefType(allocation.results[0].type)
    if kind.rank == 1:
        reason = None if is_row_major(kind) else f"its layout {kind.layout} is not the identity"
    else:
        reason = why_not_flat(kind)
    if reason is not None:
        raise PassFailure(
            allocation.location, f"the swizzle of an allocation cannot be reinserted: {reason}"
        )
    if PERMUTED_ELEMENTS in allocation.attributes:
        size = prod(kind.shape) if kind.has_static_shape else "a dynamic number of"
        wanted = ir.IntegerAttr(allocation.attributes[PERMUTED_ELEMENTS]).value
        if size != wanted:
            raise PassFailure(
                allocation.location,
                f"amdgpu.gather_to_lds writes data swizzled for {wanted} elements, but the "
                f"allocation now has {size} elements and the swizzle does not repeat in it",
            )


def _check_meeting(value: ir.Value, chains: Mapping[ir.Value, Chain]) -> None:
    """Fails where one value may stand for memory with different swizzles."""
    operation = defining_operation(value)
    if operation is None:
        block = value.owner
        assert isinstance(block, ir.Block)
        operation = block.owner.operation
    roots = root_allocations(value)
    if isinstance(roots, Untraceable):
        raise PassFailure(
            operation.location,
            f"{operation.name} carries an allocation with a swizzle and memory that cannot be "
            f"traced: {roots.reason}",
        )
    found = dict.fromkeys(chains.get(root, ()) for root in roots)
    if len(found) > 1:
        texts = [_text(chain) for chain in found]
        raise PassFailure(
            operation.location,
            f"{operation.name} carries memory with different swizzles: {' and '.join(texts[:2])}",
        )


def _text(chain: Chain) -> str:
    return f"[{', '.join(map(str, chain))}]" if chain else "none"


def _reinsert(allocated: ir.Value, chain: Chain) -> None:
    """Puts the hints between an allocation and its users, and makes it flat."""
    allocation = defining_operation(allocated)
    assert allocation is not None
    for name in (STOWED_SWIZZLE, PERMUTED_ELEMENTS):
        if name in allocation.attributes:
            del allocation.attributes[name]
    users = [
        (use.owner.operation, use.operand_number)
        for use in allocated.uses
        if use.owner.operation.name != "memref.dealloc"
    ]
    if not users:
        return
    hinted, last = allocated, allocation
    for swizzle in chain:
        last = ir.Operation.create(
            HINT_NAME,
            results=[allocated.type],
            operands=[hinted],
            attributes={"swizzle": swizzle},
            loc=allocation.location,
            ip=ir.InsertionPoint.after(last),
        )
        hinted = last.results[0]
    for user, number in users:
        user.operands[number] = hinted
    if ir.MemRefType(allocated.type).rank > 1:
        flatten_allocation(allocation)
