# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-load-ahead`: what the next iteration copies is loaded while this one computes.

    scf.for %i = ... {                       %first = vector.load %global[%lower]
      gpu.barrier                            scf.for %i = ... iter_args(%v = %first) {
      %v = vector.load %global[%i]             gpu.barrier
      vector.store %v, %tile[...]      ->      vector.store %v, %tile[...]
      gpu.barrier                              %next = vector.load %global[%i + 1]
      ... = nvgpu.ldmatrix %tile[...]          gpu.barrier
    }                                          ... = nvgpu.ldmatrix %tile[...]
                                               scf.yield %next
                                             }

`bankwise-overlap-copies` does better by `cp.async`, which moves 4, 8 or 16 bytes at multiples of
these. What it leaves are copies of single elements: an image whose windows begin at odd elements,
or rows of an odd length. Their loads have the time of an iteration here, too; registers hold what
they bring. In the last iteration the same elements are loaded again. Every result keeps its bits.

Runs behind `bankwise-overlap-copies`, for NVIDIA GPUs from sm_80 on, on loops that multiply
matrices. A loop stays as it is where what is stored is not known before its iteration, where its
global memory may be written, or where a lane's registers do not suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.carried_loops import with_initial_values
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import chip_of, launch_of
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.index_cloner import IndexCloner
from ...dialect_utils.loops import FOR, body_of, bounds_of, carried_values
from ...dialect_utils.memory.memref_types import is_memref, is_workgroup_memref, whole_element_bits
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.memory.store_free_segments import leaves_memory_alone
from ...dialect_utils.operations import (
    defining_operation,
    is_inside,
    operations_in,
    operations_of,
    terminator,
)
from ..base import FunctionPass, PassContext
from ..fragments.live_registers import REGISTER_BITS, UNCOUNTED, LoopRegisters, lane_registers
from .other_iteration import at_iteration, depends_on_iteration
from .staged_copies import BARRIER, check_read_only

_MFMA = "amdgpu.mfma"
_LOAD, _STORE = "vector.load", "vector.store"


@dataclass(frozen=True)
class LoadAhead(FunctionPass):
    """Loads what the next iteration stores to the LDS before this iteration computes.

    Attributes:
        everywhere: whether it does so on all GPUs.
    """

    name: ClassVar[str] = "bankwise-load-ahead"
    summary: ClassVar[str] = "load what the next iteration copies while contractions run"

    everywhere: bool = False

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has loops that multiply matrices."""
        return bool(_multiplying_loops(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the loops for which it is proven; never fails."""
        function = function.operation
        chip, launch = chip_of(function, context.test_target), launch_of(function)
        if chip is None or launch is None or not (chip.async_copies or self.everywhere):
            return
        with function.context:
            bits = IndexBits(function)
            for loop in _multiplying_loops(function):
                stores = _stores_of_loads(loop)
                if not stores:
                    continue
                try:
                    ahead = _Ahead.of(loop, stores, bits)
                    registers = ahead.registers
                    needed = LoopRegisters(loop).count() + UNCOUNTED + registers
                    limit = lane_registers(launch.threads)
                    if needed > limit:
                        raise Refusal(f"that takes {needed} registers of {limit}")
                except Refusal as refusal:
                    reason = f"copies are not loaded one iteration ahead: {refusal.reason}"
                    context.sink.remark(loop.location, reason)
                    continue
                text = f"copies are loaded one iteration ahead, into {registers} registers"
                context.sink.remark(loop.location, text)
                ahead.carry_out()


def _multiplying_loops(function: ir.Operation) -> list[ir.Operation]:
    """Returns the loops with matrix instructions in their own bodies."""
    around = dict.fromkeys(each.parent.operation for each in operations_in(function, MMA, _MFMA))
    return [each for each in around if each.name == FOR]


def _stores_of_loads(loop: ir.Operation) -> list[ir.Operation]:
    """Returns the stores to the LDS in the body of a loop of what it loads from global memory."""
    stores = [each for each in operations_of(body_of(loop)) if each.name == _STORE]
    return [
        each
        for each in stores
        if is_workgroup_memref(each.operands[1].type)
        and any(made.name == _LOAD for made in _made_in(loop, each.operands[0]))
    ]


def _made_in(loop: ir.Operation, value: ir.Value) -> list[ir.Operation]:
    """Returns the operations in a loop that a value is computed by, later ones first."""
    found: dict[ir.Operation, None] = {}
    pending = [value]
    while pending:
        definition = defining_operation(pending.pop())
        if definition is not None and is_inside(definition, loop) and definition not in found:
            found[definition] = None
            pending += definition.operands
    return list(found)


@dataclass(frozen=True)
class _Ahead:
    """A loop, and what it stores in each iteration.

    Attributes:
        lower, last, step: the induction variable in the first and in the last iteration, and by how
            much it grows.
        stores: those of the iteration.
        loads: what they load.
        barrier: the one behind them.
    """

    loop: ir.Operation
    lower: int
    last: int
    step: int
    stores: Sequence[ir.Operation]
    loads: Sequence[ir.Operation]
    barrier: ir.Operation

    @staticmethod
    def of(loop: ir.Operation, stores: Sequence[ir.Operation], bits: IndexBits) -> _Ahead:
        """Returns what is known of a loop.

        Raises:
            Refusal: that does not suffice.
        """
        lower, upper, step = (bits.of(bound).constant for bound in bounds_of(loop))
        if lower is None or upper is None or not step:
            raise Refusal("it is not known how often the loop runs")
        trips = -(-(upper - lower) // step)
        if trips < 2:
            raise Refusal("the loop has one iteration")
        made = dict.fromkeys(op for store in stores for op in _made_in(loop, store.operands[0]))
        for operation in made:
            _check(operation, loop)
        body = operations_of(body_of(loop))
        behind = body[body.index(stores[-1]) :]
        barrier = next((each for each in behind if each.name == BARRIER), None)
        if barrier is None:
            raise Refusal("no barrier parts the copies to a tile from its reads")
        loads = [each for each in made if each.name == _LOAD]
        return _Ahead(loop, lower, lower + (trips - 1) * step, step, stores, loads, barrier)

    @property
    def registers(self) -> int:
        """Returns the registers of a lane that hold what is loaded ahead."""
        bits = [whole_element_bits(store.operands[0].type) for store in self.stores]
        return sum(-(-(each or 0) // REGISTER_BITS) for each in bits)

    def carry_out(self) -> None:
        """Rewrites the loop."""
        before = Builder.before(self.loop)
        first = at_iteration(self.loop, before.index(self.lower), before)
        values = [first.clone(store.operands[0]) for store in self.stores]
        initial = [each.initial for each in carried_values(self.loop)]
        loop = with_initial_values(self.loop, [*initial, *values])
        body = body_of(loop)
        end = terminator(loop.regions[0])
        # Before the barrier: behind it, LLVM would move loads to where the next iteration begins.
        at = Builder.before(self.barrier)
        grown = at.addi(body.arguments[0], at.index(self.step))
        following = at.minui(grown, at.index(self.last))
        loads = at_iteration(loop, following, at)
        known = {each.results[0]: loads.clone(each.results[0]) for each in self.loads}
        made = at_iteration(loop, following, Builder.before(end))
        rest = IndexCloner(
            made.builder, lambda each: known.get(each) or made.leaf(each), shares=False
        )
        later = [rest.clone(store.operands[0]) for store in self.stores]
        Builder.before(end).like(end, [*end.operands, *later])
        end.erase()
        carried = list(body.arguments)[1 + len(initial) :]
        for store, value in zip(self.stores, carried, strict=True):
            old = store.operands[0]
            store.operands[0] = value
            _erase_unused(loop, old)


def _check(operation: ir.Operation, loop: ir.Operation) -> None:
    """Makes sure that an operation computes the same before its iteration.

    Raises:
        Refusal: it need not.
    """
    if operation.name == _LOAD and not is_workgroup_memref(operation.operands[0].type):
        check_read_only(operation.operands[0])
    elif any(map(is_memref, operation.operands)) or not leaves_memory_alone(operation):
        raise Refusal(f"what is stored is computed by {operation.name}", operation.location)
    for operand in operation.operands:
        is_argument = isinstance(operand, ir.BlockArgument)
        if is_argument or isinstance(operand.type, ir.IndexType):
            depends_on_iteration(loop, operand)


def _erase_unused(loop: ir.Operation, value: ir.Value) -> None:
    """Erases what a value was computed by in a loop, where nothing else uses it."""
    pending = [value]
    while pending:
        definition = defining_operation(pending.pop())
        if definition is None or not is_inside(definition, loop):
            continue
        if not any(list(result.uses) for result in definition.results):
            pending += definition.operands
            definition.erase()
