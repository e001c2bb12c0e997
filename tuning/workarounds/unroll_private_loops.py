# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-unroll-private-loops`: what a lane has computed stays in its registers.

IREE tiles what is computed elementwise from the result of a matmul where a lane has many elements
of it:

    scf.for %i = %c0 to %c4 step %c1 {
      %v = vector.transfer_read %private[%i, ...]
      vector.transfer_write truncf(%v), %other[%i, ...]
    }

LLVM keeps private memory in registers where all indices of its accesses are constants, and does
not unroll each of these loops by itself. Then the results of a kernel go through local memory,
which is global memory. This pass marks such loops for `iree-codegen-unroll-annotated-loops`, where
their length is known.

Runs before that pass, in pipelines of TileAndFuse.

This works around IREE 3.13 (`docs/for_iree.md#private-memory-on-cuda`).
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.loops import FOR, UNROLLED
from ...dialect_utils.memory.lds_ops import BARRIER
from ...dialect_utils.memory.memref_types import is_memref
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext
from ..contractions.lane_memory import is_of_one_lane

_MOST_ITERATIONS = 64


class UnrollPrivateLoops(FunctionPass):
    """Marks loops over private memory to be unrolled."""

    name: ClassVar[str] = "bankwise-unroll-private-loops"
    summary: ClassVar[str] = "unroll loops over private memory, so that registers hold it"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Marks the loops; never fails."""
        function = function.operation
        loops = [each for each in operations_in(function, FOR) if _is_over_private_memory(each)]
        if not loops:
            return
        with function.context:
            bits = IndexBits(function)
            for loop in loops:
                count = bits.trip_count(loop)
                if count is None or count > _MOST_ITERATIONS:
                    continue
                loop.attributes[UNROLLED] = ir.UnitAttr.get()
                text = "the loop is unrolled, so that registers hold what it computes"
                context.sink.remark(loop.location, text)


def _is_over_private_memory(loop: ir.Operation) -> bool:
    """Returns whether a loop accesses private memory, carries nothing, and has no loop inside."""
    if loop.results or operations_in(loop, FOR, BARRIER) != [loop]:
        return False
    memories = (
        value for each in operations_in(loop) for value in each.operands if is_memref(value)
    )
    return any(map(is_of_one_lane, memories))
