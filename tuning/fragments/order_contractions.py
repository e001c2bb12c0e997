# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-order-contractions`: contractions that use others wait for no more than they need.

The second contraction of an attention multiplies the probabilities, which are exponentials of the
first contraction's scores. IREE unrolls it tile by tile of the output: each tile goes over all
keys, so that the first tile waits for the exponentials of all scores. Here the contractions come
key step by key step, for all tiles of the output, each right behind what it needs:

    e0 = exp2(...); e1 = exp2(...)              e0 = exp2(...)
    o0 += e0 v00; o0 += e1 v10          ->      o0 += e0 v00; o1 += e0 v01
    o1 += e0 v01; o1 += e1 v11                  e1 = exp2(...)
                                                o0 += e1 v10; o1 += e1 v11

So the matrix units work on one step while the exponentials of the next are computed. ptxas keeps
such an order, but does not find it reliably by itself.

An operation moves only among its neighbours that neither write memory nor wait
(`dialect_utils/memory/store_free_segments.py`), and stays behind its operands: all values are the
same bits.
The order of additions to an element of the output is that of the keys, before and after.

Where lanes multiply vectors of their own elements (`math.fma`), IREE reads all operands first, and
ptxas spills what does not fit the registers. Here each read comes right before the first
multiplication that needs it: f32 16x2048x64 with 8 rows, 4 keys and 8 columns of a lane needs 245
registers, and 255 and 2,440 bytes of spilled ones without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.memory.store_free_segments import store_free_segments
from ...dialect_utils.multiplications import ACCUMULATOR, multiplications_in
from ...dialect_utils.operations import operands_with, reached_from
from ...passes.base import FunctionPass, PassContext
from .contraction_order import ContractionOrder


@dataclass(frozen=True)
class OrderContractions(FunctionPass):
    """Orders the `nvgpu.mma.sync` of a segment of which some use the results of others.

    Attributes:
        by_lanes: whether all multiplications are ordered, those of lanes too.
    """

    name: ClassVar[str] = "bankwise-order-contractions"
    summary: ClassVar[str] = "let contractions follow the operands that others make"

    by_lanes: bool = False

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` multiplies matrices."""
        return bool(multiplications_in(function, by_lanes=self.by_lanes))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Moves operations; never fails."""
        blocks: list[ir.Block] = []
        contractions = multiplications_in(function.operation, by_lanes=self.by_lanes)
        if not self.by_lanes and not _use_others(contractions):
            return
        for contraction in contractions:
            if contraction.block not in blocks:
                blocks.append(contraction.block)
        for block in blocks:
            for segment in store_free_segments(block):
                order = ContractionOrder.of(segment, by_lanes=self.by_lanes)
                if order.contractions and (self.by_lanes or order.uses_contractions):
                    order.move(order.by_steps)
                    text = f"{len(order.contractions)} products come in the order of their operands"
                    context.sink.remark(order.contractions[0].location, text)


def _use_others(contractions: Sequence[ir.Operation]) -> bool:
    """Returns whether contractions may do more with what others make than add to it."""

    def users(operation: ir.Operation) -> Iterator[tuple[ir.Operation, int]]:
        return chain.from_iterable(map(operands_with, operation.results))

    others = (
        user
        for contraction in contractions
        for user, number in users(contraction)
        if user.name != MMA or number != ACCUMULATOR
    )
    reached = reached_from(others, lambda each: (user for user, _ in users(each)))
    return any(each.name == MMA for each in reached)
