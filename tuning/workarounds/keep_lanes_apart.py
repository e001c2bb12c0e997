# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-keep-lanes-apart`: a buffer that each lane makes for itself is not in the LDS.

Where what a lane computes begins with a tensor that is read again, bufferization copies the lane's
part of it. The copy is made in the address space of the tensor, and IREE 3.13 takes each allocation
that is neither private nor in any address space for LDS:

    scf.forall (%i, %j) in (48, 4) {
      %c = memref.alloc() : memref<1x8xf32, #gpu.address_space<workgroup>>
      memref.copy %sums[%i, %j], %c
      ... %c += ...
    } {mapping = [#gpu.thread<linear_dim_1>, #gpu.thread<linear_dim_0>]}

All lanes of a workgroup have one buffer then, and sum up each other's elements. This pass makes
such a buffer an `memref.alloca` in private memory.

Runs behind bufferization, whose replay says which buffers these are.

This works around IREE 3.13 (`docs/for_iree.md#copies-of-each-lane`).
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.handed_attributes import OF_EACH_LANE
from ...dialect_utils.memory.address_spaces import PRIVATE, move, names_of
from ...dialect_utils.memory.lds_ops import ALLOC
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext


class KeepLanesApart(FunctionPass):
    """Moves buffers that each lane makes for itself from the LDS to private memory."""

    name: ClassVar[str] = "bankwise-keep-lanes-apart"
    summary: ClassVar[str] = "give each lane the buffers that it makes for itself"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Moves the buffers; one that is joined with other memory stays, with a remark."""
        found = _of_each_lane(function.operation)
        moving = {each.results[0] for each in found}
        for allocation in found:
            buffer = allocation.results[0]
            del allocation.attributes[OF_EACH_LANE]
            try:
                names = names_of(buffer, lambda root: root in moving)
            except Refusal as refusal:
                context.sink.remark(allocation.location, f"lanes share a buffer: {refusal.reason}")
                continue
            move(names, PRIVATE)
            own = Builder.before(allocation).like(
                allocation, allocation.operands, name="memref.alloca"
            )
            moving.add(own.results[0])
            buffer.replace_all_uses_with(own.results[0])
            context.sink.remark(allocation.location, "all lanes would have one buffer in the LDS")
            allocation.erase()


def _of_each_lane(function: ir.Operation) -> list[ir.Operation]:
    """Returns the allocations that lanes make for themselves."""
    return [each for each in operations_in(function, ALLOC) if OF_EACH_LANE in each.attributes]
