# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-share-lds`: a tile that is read once lies where later tiles will lie.

    %q = memref.alloc()                             %k = memref.alloc()
    %k = memref.alloc()                             %q = memref.subview %k
    store %q; barrier; read %q              ->      store %q; barrier; read %q
    scf.for ... { copy to %k; ... }                 gpu.barrier
                                                    scf.for ... { copy to %k; ... }

An attention reads its queries into registers before the loop over keys and values. Their LDS is
idle from then on, and it may be what keeps another workgroup off the multiprocessor: f16 with 64
rows, 64 keys and a head of 128 takes 80 KiB, 16 of them for the queries, of the 227 that an H200
has. Where more workgroups fit then, the queries get the first part of another tile's memory. All
warps have read them when the first copy is issued, because a barrier comes between.

Runs where contractions have become `wgmma`, for which operands need no registers: LDS is what
limits these kernels. All uses of both tiles must be known, and each workgroup must execute them
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.memory.barrier_order import orders_lds
from ...dialect_utils.memory.flow import connected_to, lds_allocations
from ...dialect_utils.memory.lds_ops import ADDRESS, BARRIER, DEALLOC
from ...dialect_utils.memory.memref_types import (
    has_identity_layout,
    lds_bytes,
    shown_type,
    strided_type,
    type_of,
)
from ...dialect_utils.memory.surroundings import maps_to_workgroups
from ...dialect_utils.operations import has_operation, operations_in, operations_of, parents_of
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import Action
from ..costs.processors import Processor, processor_of

_FORALL = "scf.forall"


class ShareLds(FunctionPass):
    """Lets allocations that are used one behind the other share memory."""

    name: ClassVar[str] = "bankwise-share-lds"
    summary: ClassVar[str] = "put a tile that is read once where later tiles will lie"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether operands of `function` are read by descriptors."""
        return has_operation(function, ADDRESS)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Shares what it may; never fails."""
        function = function.operation
        features = gpu_features_of(function, context.test_target)
        if not features.descriptor_tiles:
            return
        processor = processor_of(features.arch)
        if processor is None or not self.has_work(function):
            return
        barriers = [each for each in operations_in(function, BARRIER) if orders_lds(each)]
        if not barriers:
            return
        with function.context:
            lives: list[_Life] = []
            for allocation in lds_allocations(function):
                what_stays = f"{shown_type(type_of(allocation))} shares no memory"
                with context.refusals_said(allocation.location, what_stays):
                    lives.append(_life_of(allocation, function))
            for early, late in _pairs(lives, processor):
                self._share(function, early, late, barriers[0], context)

    def _share(
        self,
        function: ir.Operation,
        early: _Life,
        late: _Life,
        barrier: ir.Operation,
        context: PassContext,
    ) -> None:
        memory = early.allocation.results[0]
        kind = type_of(memory)
        reason = f"it is read before {shown_type(type_of(late.allocation))} is written"
        detail = f"lies in {shown_type(type_of(late.allocation))}"
        self.record(context, function, memory, Action.SHARE, reason, detail=detail)
        context.sink.remark(memory.location, f"{shown_type(kind)} {detail}: {reason}")
        Builder.before(late.operations[0]).like(barrier, [])
        view = strided_type(kind, kind.shape, [1], 0)
        shared = Builder.after(late.allocation).subview(late.allocation.results[0], view)
        for use in list(memory.uses):
            if use.owner.operation.name == DEALLOC:
                use.owner.operation.erase()
        memory.replace_all_uses_with(shared)
        early.allocation.erase()


class _Life(NamedTuple):
    """When an allocation is used.

    Attributes:
        operations: those of one block in which it is used, in their order.
        first, last: the places of the first and the last of them in the block.
    """

    allocation: ir.Operation
    block: ir.Block
    operations: Sequence[ir.Operation]
    first: int
    last: int


def _life_of(allocation: ir.Operation, function: ir.Operation) -> _Life:
    """Returns when an allocation is used.

    Raises:
        Refusal: that is not known, or it is not used once.
    """
    kind = type_of(allocation)
    if kind.rank != 1 or not kind.has_static_shape or not has_identity_layout(kind):
        raise Refusal("it is not flat")
    if allocation.block != function.regions[0].blocks[0]:
        raise Refusal("it is allocated in a loop or a branch")
    flow = connected_to(allocation.results[0])
    if flow.hidden or flow.roots != [allocation.results[0]]:
        raise Refusal("it meets memory that is not known")
    users = [_outermost(use.user, function) for use in (*flow.edges, *flow.sinks)]
    if not users:
        raise Refusal("nothing uses it")
    block = users[0].block
    if any(user.block != block for user in users):
        raise Refusal("it is used in several blocks")
    inside = operations_of(block)
    places = sorted({inside.index(user) for user in users})
    if block == allocation.block and places[0] < inside.index(allocation):
        raise Refusal("it is used before it is allocated")
    return _Life(allocation, block, [inside[each] for each in places], places[0], places[-1])


def _outermost(user: ir.Operation, function: ir.Operation) -> ir.Operation:
    """Returns the operation around a use that each workgroup executes once.

    Raises:
        Refusal: the function is not what is around that.
    """
    inner = user
    for outer in parents_of(user):
        if outer == function or (outer.name == _FORALL and maps_to_workgroups(outer)):
            if outer != function and outer.parent.operation != function:
                raise Refusal("the loop over workgroups is inside another one")
            return inner
        inner = outer
    raise Refusal("it is used outside of the function")


def _pairs(lives: Sequence[_Life], processor: Processor) -> list[tuple[_Life, _Life]]:
    """Returns which allocations lie in which others, where more workgroups fit then."""
    total = sum(_bytes(each) for each in lives)
    taken: set[int] = set()
    found: list[tuple[_Life, _Life]] = []
    for number, early in enumerate(lives):
        hosts = [
            other
            for other, late in enumerate(lives)
            if other not in taken and other != number and _may_share(early, late)
        ]
        if number in taken or not hosts:
            continue
        left = total - _bytes(early)
        if _workgroups(left, processor) <= _workgroups(total, processor):
            continue
        host = min(hosts, key=lambda each: _bytes(lives[each]))
        taken |= {number, host}
        total = left
        found.append((early, lives[host]))
    return found


def _may_share(early: _Life, late: _Life) -> bool:
    """Returns whether one allocation can lie at the start of another that is used behind it."""
    one, two = type_of(early.allocation), type_of(late.allocation)
    if any(each.owner.operation.name == ADDRESS for each in early.allocation.results[0].uses):
        # A matrix unit reads it, and nobody has asked when.
        return False
    fits = one.element_type == two.element_type and one.shape[0] <= two.shape[0]
    return fits and early.block == late.block and early.last < late.first


def _bytes(life: _Life) -> int:
    return lds_bytes(type_of(life.allocation)) or 0


def _workgroups(allocated: int, processor: Processor) -> int:
    """Returns how many workgroups the LDS of a multiprocessor holds."""
    return processor.lds_bytes // (allocated + processor.lds_overhead)
