# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-keep-loads-early`: loads for the next iteration are issued before this one multiplies.

    %next = vector.load %global[...]              %next = ld.global
    gpu.barrier                                   gpu.barrier
    ... = nvgpu.mma.sync ...              ->      ... = nvgpu.mma.sync ...
    scf.yield %next                               scf.yield %next

`bankwise-load-ahead` puts such loads in front of the barrier behind which an iteration multiplies.
ptxas moves them behind its products where it sees that nobody writes what they load, so that it
needs fewer registers, and the next iteration waits for them. Here they become loads that it leaves
in front of the barrier (`tuning/copies/plain_loads.py`). Every value is the same bits.

Runs behind `bankwise-form-wgmma`, which does the same where it forms `wgmma`, for NVIDIA GPUs from
sm_80 on.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.loops import FOR
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.operations import has_operation, operations_in
from ...passes.base import FunctionPass, PassContext
from ..copies.plain_loads import loads_for_next, plain_load


class KeepLoadsEarly(FunctionPass):
    """Lets ptxas keep loads for the next iteration in front of this iteration's products."""

    name: ClassVar[str] = "bankwise-keep-loads-early"
    summary: ClassVar[str] = "keep loads for the next iteration in front of this one's products"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` multiplies by `mma.sync`."""
        return has_operation(function, MMA)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the loads; never fails."""
        function = function.operation
        found = [load for first in _first_products(function) for load in loads_for_next(first)]
        if not found:
            return
        with function.context:
            bits = IndexBits(function)
            for load in found:
                plain_load(load, bits)


def _first_products(function: ir.Operation) -> list[ir.Operation]:
    """Returns the first matrix instruction of each loop that has some in its own body."""
    firsts: dict[ir.Operation, ir.Operation] = {}
    for each in operations_in(function, MMA):
        firsts.setdefault(each.parent.operation, each)
    return [first for around, first in firsts.items() if around.name == FOR]
