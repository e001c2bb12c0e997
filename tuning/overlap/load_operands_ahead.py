# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-load-operands-ahead`: an iteration reads the first operands of the next one.

    scf.for ... {                              wait; barrier
      wait; barrier                            %first = nvgpu.ldmatrix %slots[0 ...]
      issue later copies                       scf.for ... iter_args(%a = %first) {
      %a = nvgpu.ldmatrix %slots[...]            issue later copies
      %b = nvgpu.ldmatrix %slots[...]     ->     %b = nvgpu.ldmatrix %slots[...]
      %c = nvgpu.mma.sync %a, ...                %c = nvgpu.mma.sync %a, ...
      %d = nvgpu.mma.sync %b, %c                 wait; barrier
    }                                            %next = nvgpu.ldmatrix %slots[next ...]
                                                 %d = nvgpu.mma.sync %b, %c
                                                 scf.yield %next
                                               }

A loop whose copies overlap (`bankwise-overlap-copies`) begins its iterations with a barrier, behind
which every warp reads operands before it can multiply: the matrix units are idle meanwhile. Here
the last contractions of an iteration stand behind the barrier, and behind the reads of what the
next iteration multiplies first, so that the matrix units are busy while warps wait.

The slot that an iteration's copies go to was last read before the barrier of the iteration before,
as without the pass. The last iteration reads its own operands once more, and nothing uses what it
has read. All values are the same bits.

Runs behind `bankwise-overlap-copies`, on loops of which no contraction multiplies what another one
has made. A loop stays as it is where an iteration adds one contraction to each element, or where a
lane's registers do not suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.carried_loops import with_more_values, yield_also
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits, scalar_type
from ...dialect_utils.gpu_target import launch_of
from ...dialect_utils.index.index_cloner import IndexCloner
from ...dialect_utils.index.index_ops import block_owner
from ...dialect_utils.loops import (
    IF,
    YIELD,
    body_of,
    bounds_of,
    loops_around,
    operations_by_place,
)
from ...dialect_utils.memory.lds_ops import BARRIER, COPIES_END, COPIES_WAIT, COPY, SUBVIEW
from ...dialect_utils.memory.memref_types import is_memref, is_workgroup_memref, whole_element_bits
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.memory.store_free_segments import leaves_memory_alone
from ...dialect_utils.multiplications import ACCUMULATOR
from ...dialect_utils.operations import (
    defining_operation,
    has_operation,
    is_inside,
    operations_in,
    operations_of,
)
from ...passes.base import FunctionPass, PassContext
from ..copies.other_iteration import at_iteration, depends_on_iteration
from ..fragments.live_registers import REGISTER_BITS, UNCOUNTED, LoopRegisters, lane_registers

_LOST_BITS = 8
"""The bits of f8, as which integers are multiplied: in IREE 3.13 what a loop carries and what its
block takes get different types where they become LLVM's."""
_BEGIN = 2
"""The operations with which an iteration begins: a wait and a barrier."""
_OF_COPIES = frozenset({COPY, COPIES_END, IF, YIELD})


class LoadOperandsAhead(FunctionPass):
    """Reads the operands that an iteration multiplies first in the iteration before."""

    name: ClassVar[str] = "bankwise-load-operands-ahead"
    summary: ClassVar[str] = "read the first operands of the next iteration while contractions run"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has loops whose copies overlap."""
        return bool(_overlapping_loops(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the loops for which it is proven; never fails."""
        function = function.operation
        launch = launch_of(function, context.test_target)
        if launch is None:
            return
        for loop in _overlapping_loops(function):
            try:
                ahead = _Ahead.of(loop)
                needed = LoopRegisters(loop, ahead.body).count() + UNCOUNTED + ahead.registers
                limit = lane_registers(launch.threads)
                if needed > limit:
                    raise Refusal(f"that takes {needed} registers of {limit}")
            except Refusal as refusal:
                reason = f"operands are not read one iteration ahead: {refusal.reason}"
                context.sink.remark(loop.location, reason)
                continue
            text = (
                f"{len(ahead.reads)} operands are read one iteration ahead, into "
                f"{ahead.registers} registers"
            )
            context.sink.remark(loop.location, text)
            with function.context:
                ahead.carry_out()


def _overlapping_loops(function: ir.Operation) -> list[ir.Operation]:
    """Returns the loops that wait for their copies and multiply matrices."""
    waiting = loops_around(operations_in(function, COPIES_WAIT))
    return [loop for loop in waiting if has_operation(loop, MMA)]


class _Ahead(NamedTuple):
    """A loop, and what its iterations multiply first.

    Attributes:
        body: the operations of the loop.
        wait, barrier: what an iteration begins with.
        reads: the reads of operands that no contraction of the iteration comes before.
        place: the first of the contractions that all others of their elements come before.
    """

    loop: ir.Operation
    body: Sequence[ir.Operation]
    wait: ir.Operation
    barrier: ir.Operation
    reads: Sequence[ir.Operation]
    place: ir.Operation

    @staticmethod
    def of(loop: ir.Operation) -> _Ahead:
        """Returns what is known of a loop.

        Raises:
            Refusal: that does not suffice.
        """
        body = operations_of(body_of(loop))
        wait, barrier = _begin(body)
        steps = _steps(body)
        last = max(steps.values(), default=0)
        if not last:
            raise Refusal("an iteration adds one contraction to each element")
        firsts = [each for each, step in steps.items() if step == 0]
        reads = _reads_of(firsts, loop, body)
        place = next(each for each in body if steps.get(each) == last)
        _check(body, body.index(place))
        known: dict[ir.Value, bool] = {}
        for read in reads:
            if _element_bits(read) == _LOST_BITS:
                raise Refusal("MLIR lowers no loop that carries operands of 8 bits")
            for operand in read.operands:
                _check_operand(loop, operand, known)
        return _Ahead(loop, body, wait, barrier, reads, place)

    @property
    def registers(self) -> int:
        """Returns the registers of a lane that hold what is read ahead."""
        bits = [whole_element_bits(read.results[0].type) for read in self.reads]
        return sum(-(-(each or 0) // REGISTER_BITS) for each in bits)

    def carry_out(self) -> None:
        """Rewrites the loop."""
        lower, upper, step = bounds_of(self.loop)
        induction = body_of(self.loop).arguments[0]
        before = Builder.before(self.loop)
        self._wait(before)
        first = _Reads(self.loop, lower, before)
        values = [first.clone(read) for read in self.reads]
        at = Builder.before(self.place)
        self._wait(at)
        grown = at.addi(induction, step)
        is_there = at.cmpi("slt", grown, upper)
        following = _Reads(self.loop, at.select(is_there, grown, induction), at)
        later = [following.clone(read) for read in self.reads]
        self.wait.erase()
        self.barrier.erase()
        loop, carried = with_more_values(self.loop, values)
        for read, value in zip(self.reads, carried, strict=True):
            read.results[0].replace_all_uses_with(value.argument)
            read.erase()
        yield_also(loop, later)

    def _wait(self, at: Builder) -> None:
        at.clone(self.wait, list(self.wait.operands))
        at.clone(self.barrier, list(self.barrier.operands))


class _Reads:
    """Reads of a loop as another iteration has them."""

    def __init__(self, loop: ir.Operation, induction: ir.Value, builder: Builder) -> None:
        """Reads come to where `builder` stands, with `induction` for the induction variable."""
        self._loop, self._builder = loop, builder
        self._indices: IndexCloner = at_iteration(loop, induction, builder)
        self._views: dict[ir.Operation, ir.Value] = {}

    def clone(self, read: ir.Operation) -> ir.Value:
        """Emits a read; returns what it reads."""
        operands = [self._operand(each) for each in read.operands]
        return self._builder.clone(read, operands).results[0]

    def _operand(self, value: ir.Value) -> ir.Value:
        if not is_memref(value):
            return self._indices.clone(value)
        view = defining_operation(value)
        if view is None or not is_inside(view, self._loop):
            return value
        if view not in self._views:
            operands = [self._operand(each) for each in view.operands]
            self._views[view] = self._builder.clone(view, operands).results[0]
        return self._views[view]


def _element_bits(read: ir.Operation) -> int | None:
    return element_bits(scalar_type(read.results[0].type))


def _begin(body: Sequence[ir.Operation]) -> tuple[ir.Operation, ir.Operation]:
    """Returns the wait and the barrier that an iteration begins with.

    Raises:
        Refusal: it begins otherwise, or has others.
    """
    inside = operations_by_place(body)
    found = [each for _, each in inside if each.name in (COPIES_WAIT, BARRIER)]
    if len(found) != len(body[:_BEGIN]) or found != body[:_BEGIN] or found[0].name != COPIES_WAIT:
        raise Refusal("an iteration does not begin with its only barrier")
    wait, barrier = found
    return wait, barrier


def _steps(body: Sequence[ir.Operation]) -> dict[ir.Operation, int]:
    """Returns how many contractions are added to the same elements before each one of a loop.

    Raises:
        Refusal: a contraction multiplies what another one has made.
    """
    steps: dict[ir.Operation, int] = {}
    before: dict[ir.Value, int] = {}
    for operation in body:
        multiplies = operation.name == MMA
        if not multiplies and not before:
            continue
        counts = [before.get(operand, 0) for operand in operation.operands]
        if not multiplies and not any(counts):
            continue
        if multiplies:
            steps[operation] = counts.pop(ACCUMULATOR)
            if any(counts):
                raise Refusal("a contraction multiplies what another one has made")
            counts = [steps[operation] + 1]
        before.update(dict.fromkeys(operation.results, max(counts, default=0)))
    return steps


def _reads_of(
    contractions: Sequence[ir.Operation], loop: ir.Operation, body: Sequence[ir.Operation]
) -> list[ir.Operation]:
    """Returns the reads of a loop that bring what some contractions multiply, in the text's order.

    Args:
        body: the operations of the loop.

    Raises:
        Refusal: something else than a read of the LDS brings it.
    """
    found: set[ir.Operation] = set()
    seen: set[ir.Value] = set()
    known: dict[str, bool | None] = {}
    pending = [operand for each in contractions for operand in list(each.operands)[:ACCUMULATOR]]
    while pending:
        value = pending.pop()
        operation = defining_operation(value)
        around = block_owner(value) if operation is None else operation
        if value in seen or not (around == loop or is_inside(around, loop)):
            continue
        seen.add(value)
        if operation is None or not leaves_memory_alone(operation, known):
            raise Refusal("what an iteration multiplies first is not read in it")
        if not any(map(is_memref, operation.operands)):
            pending += operation.operands
        elif operation.parent.operation == loop and is_workgroup_memref(operation.operands[0].type):
            found.add(operation)
        else:
            raise Refusal("what an iteration multiplies first is not read from the LDS")
    return [each for each in body if each in found]


def _check(body: Sequence[ir.Operation], last: int) -> None:
    """Makes sure that a barrier may come before the last contractions of an iteration.

    Args:
        body: what the iteration does, from its wait and its barrier to what it yields.
        last: the place of the first of those contractions.

    Raises:
        Refusal: it may not, for what an operation does with memory.
    """
    known: dict[str, bool | None] = {}
    for place, each in operations_by_place(body[:-1]):
        if place < _BEGIN:
            continue
        name, is_behind = each.name, place >= last
        reads = is_behind and name != SUBVIEW and any(map(is_memref, each.operands))
        of_copies = name in _OF_COPIES
        is_known = of_copies or leaves_memory_alone(each, known)
        if reads or (is_behind and of_copies) or not is_known:
            raise Refusal(f"{name} stands beside its contractions", each.location)


def _check_operand(loop: ir.Operation, value: ir.Value, known: dict[ir.Value, bool]) -> None:
    """Makes sure that the operand of a read is known in the iteration before.

    Args:
        known: what `depends_on_iteration` knows.

    Raises:
        Refusal: it is not.
    """
    if not is_memref(value):
        depends_on_iteration(loop, value, known)
        return
    view = defining_operation(value)
    if view is None or not is_inside(view, loop):
        return
    if view.name != SUBVIEW:
        raise Refusal(f"operands are read through {view.name}", view.location)
    for operand in view.operands:
        _check_operand(loop, operand, known)
