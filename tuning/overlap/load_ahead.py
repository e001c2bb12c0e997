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
they bring. Where an iteration has few products, the loads come several iterations early, as those
of `cp.async` do: what the loop carries moves on by a place in each. What is loaded is put together
in the iteration that stores it: to do so earlier would be to wait for it. In the last iterations
the same elements are loaded again. Every result keeps its bits.

Runs behind `bankwise-overlap-copies`, for NVIDIA GPUs from sm_80 on, on loops that multiply
matrices. A loop stays as it is where it is not known before its iteration what is loaded, where
global memory may be written, or where a lane's registers do not suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder
from ...dialect_utils.carried_loops import with_more_values, yield_also
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import gpu_features_of, launch_of
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.loops import IF, body_of, bounds_of, counts_by_index, loops_around
from ...dialect_utils.memory.lds_ops import BARRIER
from ...dialect_utils.memory.memref_types import is_workgroup_memref, whole_element_bits
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.multiplications import MFMA
from ...dialect_utils.operations import is_inside, makers_behind, operations_in, operations_of
from ...passes.base import FunctionPass, PassContext
from ..copies.other_iteration import at_iteration, depends_on_iteration
from ..copies.staged_copies import check_read_only
from ..costs.tile_cost import rotating_slots
from ..fragments.live_registers import REGISTER_BITS, UNCOUNTED, LoopRegisters, lane_registers

_LOAD, _STORE = "vector.load", "vector.store"
_MOST_CARRIED = 72
"""The most registers that hold what several iterations load. On an H200, f16 convolutions in NCHW,
microseconds with loads one, two and three iterations ahead, and the registers of one: 8x9x512x512
72, 62, 68 (24 registers); 8x30x128x128 52, 38, 38 (32); 8x58x64x64 25, 25, 27 (40); 8x56x256x512
30, 32, 34 (40); 8x58x128x128 of stride 2 42, 45, 54 (56). Of 8x16x256x256 (128 x 32, by
`mma.sync`) two iterations ahead take 41 and three 36 (24 registers); by `wgmma` (128 summed
elements a step) one takes 28 and two 32 (48)."""


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
        given = context.test_target
        features, launch = gpu_features_of(function, given), launch_of(function, given)
        is_there = features.async_copies or (self.everywhere and features.arch)
        if launch is None or not is_there:
            return
        with function.context:
            bits = IndexBits(function)
            for loop in _multiplying_loops(function):
                stores = _stores_of_loads(loop)
                if not stores:
                    continue
                try:
                    ahead = _Ahead.of(loop, stores, bits)
                    ahead = ahead.within(lane_registers(launch.threads))
                except Refusal as refusal:
                    reason = f"copies are not loaded one iteration ahead: {refusal.reason}"
                    context.sink.remark(loop.location, reason)
                    continue
                count = "one iteration" if ahead.count == 1 else f"{ahead.count} iterations"
                text = f"copies are loaded {count} ahead, into {ahead.registers} registers"
                context.sink.remark(loop.location, text)
                ahead.carry_out()


def _multiplying_loops(function: ir.Operation) -> list[ir.Operation]:
    """Returns the loops over indices with matrix instructions in their own bodies."""
    return [*filter(counts_by_index, loops_around(operations_in(function, MMA, MFMA)))]


def _stores_of_loads(loop: ir.Operation) -> list[ir.Operation]:
    """Returns the stores to the LDS in the body of a loop of what it loads from global memory.

    Some lanes alone may make a store, of what all of them load.
    """
    body = operations_of(body_of(loop))
    inside = [operations_in(each, _STORE) if each.name == IF else [each] for each in body]
    return [
        each
        for each in chain.from_iterable(inside)
        if each.name == _STORE
        and is_workgroup_memref(each.operands[1].type)
        and _loads_of(loop, each.operands[0])
    ]


def _loads_of(loop: ir.Operation, value: ir.Value) -> list[ir.Operation]:
    """Returns the loads of global memory in a loop that a value is computed by."""
    makers = makers_behind([value], partial(is_inside, outer=loop))
    loads = [each for each in makers if each.name == _LOAD and is_inside(each, loop)]
    return [each for each in loads if not is_workgroup_memref(each.operands[0].type)]


@dataclass(frozen=True)
class _Ahead:
    """A loop, and what it stores in each iteration.

    Attributes:
        lower, last, step: the induction variable in the first and in the last iteration, and by how
            much it grows.
        loads: those of global memory whose elements an iteration stores.
        barrier: the one behind the stores.
        count: how many iterations ahead the loads come.
    """

    loop: ir.Operation
    lower: int
    last: int
    step: int
    loads: Sequence[ir.Operation]
    barrier: ir.Operation
    count: int

    @staticmethod
    def of(loop: ir.Operation, stores: Sequence[ir.Operation], bits: IndexBits) -> _Ahead:
        """Returns what is known of a loop, whose loads come as early as is useful.

        Raises:
            Refusal: that does not suffice.
        """
        lower, upper, step = (bits.of(bound).constant for bound in bounds_of(loop))
        if lower is None or upper is None or not step:
            raise Refusal("it is not known how often the loop runs")
        trips = -(-(upper - lower) // step)
        if trips < 2:
            raise Refusal("the loop has one iteration")
        found = {load for store in stores for load in _loads_of(loop, store.operands[0])}
        body = operations_of(body_of(loop))
        last = max(
            place
            for place, each in enumerate(body)
            if each == stores[-1] or is_inside(stores[-1], each)
        )
        barrier = next((each for each in body[last:] if each.name == BARRIER), None)
        if barrier is None:
            raise Refusal("no barrier parts the copies to a tile from its reads")
        loads = [each for each in body if each in found]
        for load in loads:
            _check(load, loop)
        count = iterations_ahead(len(operations_in(loop, MMA, MFMA)), trips)
        return _Ahead(loop, lower, lower + (trips - 1) * step, step, loads, barrier, count)

    @property
    def registers(self) -> int:
        """Returns the registers of a lane that hold what is loaded ahead."""
        bits = [whole_element_bits(load.results[0].type) for load in self.loads]
        return self.count * sum(-(-(each or 0) // REGISTER_BITS) for each in bits)

    def within(self, limit: int) -> _Ahead:
        """Returns the loop with loads that come as early as a number of registers lets them.

        Raises:
            Refusal: there are not enough for loads that come one iteration early.
        """
        needed = LoopRegisters(self.loop).count() + UNCOUNTED
        counts = (replace(self, count=count) for count in range(self.count, 1, -1))
        several = (each for each in counts if each.registers <= _MOST_CARRIED)
        found = next((each for each in several if needed + each.registers <= limit), None)
        found = found or replace(self, count=1)
        if needed + found.registers > limit:
            raise Refusal(f"that takes {needed + found.registers} registers of {limit}")
        return found

    def carry_out(self) -> None:
        """Rewrites the loop."""
        before = Builder.before(self.loop)
        starts = (min(self.lower + n * self.step, self.last) for n in range(self.count))
        early = [self._loaded(before.index(each), before) for each in starts]
        loop, values = with_more_values(self.loop, [*chain.from_iterable(early)])
        ahead = replace(self, loop=loop)
        # Before the barrier: behind it, LLVM would move loads to where the next iteration begins.
        at = Builder.before(self.barrier)
        grown = at.addi(body_of(loop).arguments[0], at.index(self.count * self.step))
        later = ahead._loaded(at.minui(grown, at.index(self.last)), at)
        carried = [each.argument for each in values]
        yield_also(loop, [*carried[len(self.loads) :], *later])
        for load, value in zip(self.loads, carried, strict=False):
            load.results[0].replace_all_uses_with(value)
            load.erase()

    def _loaded(self, induction: ir.Value, at: Builder) -> list[ir.Value]:
        """Emits the loads of an iteration."""
        iteration = at_iteration(self.loop, induction, at)
        return [iteration.clone(load.results[0]) for load in self.loads]


def iterations_ahead(matrix_instructions: int, trips: int) -> int:
    """Returns how many iterations ahead copies are worth to be loaded.

    That is as many as if they went to the LDS at once, and no more than there are.

    Args:
        matrix_instructions: those of a warp in an iteration.
        trips: how many iterations there are.
    """
    slots = rotating_slots(matrix_instructions, trips, 0, 0, 0)
    return min(slots - 1, trips - 1)


def _check(load: ir.Operation, loop: ir.Operation) -> None:
    """Makes sure that a load brings the same before its iteration.

    Raises:
        Refusal: it need not.
    """
    memory, *indices = load.operands
    check_read_only(memory)
    depends_on_iteration(loop, memory)
    for index in indices:
        depends_on_iteration(loop, index)
