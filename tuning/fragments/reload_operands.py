# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads operands from the LDS in every iteration of a loop that would need too many registers.

IREE reads the Q of an attention from the LDS before the loop over K and V, and holds it in
registers through all iterations. A lane of an NVIDIA GPU has 255 registers; what they cannot hold
ptxas spills to memory and reads again in every iteration. Q is in the LDS anyway: where registers
do not suffice, this pass lets each iteration read it from there.
`tuning/fragments/reloaded_operands.py` tells what is moved, and why every contraction stays the
same.

**When.** Where registers suffice the reads cost time, so registers are estimated:
`tuning/fragments/live_registers.py` counts those of the loop's values and of the addresses in
the LDS, and `UNCOUNTED` are added. The table compares the estimate with the registers and spilled
words by which ptxas (`-arch=sm_90 -v`) compiles f16 attentions whose copies are overlapped, with Q
in registers and with Q read in every iteration:

| head | rows x KV, warps | estimate | ptxas | estimate, read | ptxas, read |
| --- | --- | --- | --- | --- | --- |
| 64 | 64x64, 4 | 117 | 128 | 108 | 128 |
| 128 | 64x64, 4 | 173 | 207 | 152 | 167 |
| 128 | 128x64, 8 | 173 | 207 | 152 | 169 |
| 64 | 128x64, 4 | 205 | 240 | 177 | 228 |
| 128 | 64x128, 4 | 205 | 242 | 184 | 238 |
| 64 | 64x256, 4 | 213 | 254 | 204 | 253 |
| 64 | 128x96, 4 | 237 | 252 | 209 | 252 |
| 128 | 128x16, 4 | 261 | 255 | 205 | 233 |
| 256 | 64x16, 4 | 261 | 255 + 3 | 216 | 248 |
| 64 | 128x128, 4 | 269 | 255 + 20 | 241 | 255 + 8 |
| 256 | 64x32, 4 | 269 | 255 + 12 | 224 | 248 |
| 256 | 128x32, 8 | 269 | 255 + 11 | 224 | 244 |
| 128 | 128x32, 4 | 277 | 255 + 37 | 221 | 249 |
| 256 | 64x64, 4 | 285 | 255 + 54 | 240 | 255 + 3 |
| 128 | 128x64, 4 | 309 | 255 + 138 | 253 | 255 + 33 |

What ptxas spills is estimated above 255, and so is one tile for which 255 registers just suffice.
Where they suffice, as with `ex2.approx` for 16x4096x128 with 64x64, a kernel that reads Q in every
step would take 1.12 times as long.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import gpu_features_of, launch_of
from ...dialect_utils.loops import loops_around
from ...dialect_utils.memory.flow import lds_allocations
from ...dialect_utils.memory.memref_types import shown_type
from ...dialect_utils.multiplications import multiplications_in
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import Action
from .live_registers import MOST_REGISTERS, UNCOUNTED, LoopRegisters, lane_registers
from .reloaded_operands import held_allocations, held_tile


@dataclass(frozen=True)
class ReloadOperands(FunctionPass):
    """Moves reads of operands into the loops that multiply by them.

    Attributes:
        most_registers: how many a lane has at most.
        by_lanes: whether loops count, too, whose lanes multiply vectors of their own elements.
    """

    name: ClassVar[str] = "bankwise-reload-operands"
    summary: ClassVar[str] = (
        "read operands in every iteration of a loop where registers cannot hold them"
    )

    most_registers: int = MOST_REGISTERS
    by_lanes: bool = False

    def __post_init__(self) -> None:
        within = 1 <= self.most_registers <= MOST_REGISTERS
        self._expect("most_registers", within, f"a number of registers from 1 to {MOST_REGISTERS}")

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` multiplies in a loop and has LDS."""
        return bool(_loops_with_contractions(function, by_lanes=self.by_lanes)) and bool(
            lds_allocations(function)
        )

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Moves the reads of every loop that needs it; never fails."""
        function = function.operation
        given = context.test_target
        features, launch = gpu_features_of(function, given), launch_of(function, given)
        if not features.mma_sync or launch is None:
            return
        limit = min(self.most_registers, lane_registers(launch.threads))
        for loop in _loops_with_contractions(function, by_lanes=self.by_lanes):
            self._reload(function, loop, limit, context)

    def _reload(
        self, function: ir.Operation, loop: ir.Operation, limit: int, context: PassContext
    ) -> None:
        """Moves reads of one tile after the other until the registers suffice."""
        allocations = held_allocations(function, loop)
        if not allocations:
            return
        registers: LoopRegisters | None = LoopRegisters(loop)
        needed = registers.count() + UNCOUNTED
        for allocation in allocations:
            memory = allocation.results[0]
            kind = shown_type(memory.type)
            if needed <= limit:
                remark = f"operands from {kind} stay in registers: {_use(needed, limit)}"
                context.sink.remark(loop.location, remark)
                continue
            try:
                tile = held_tile(allocation, loop)
            except Refusal as refusal:
                remark = f"operands from {kind} stay in registers: {refusal.reason}"
                context.sink.remark(loop.location, remark)
                continue
            registers = registers or LoopRegisters(loop)
            after = registers.count(tile.operands, tile.reads) + UNCOUNTED
            reason = f"{_use(needed, limit)}, and {after} so"
            tile.read_in_loop()
            registers = None
            remark = f"operands from {kind} are read in every iteration: {reason}"
            context.sink.remark(loop.location, remark)
            detail = f"{len(tile.reads)} reads in every iteration"
            self.record(context, function, memory, Action.RELOAD, reason, detail=detail)
            needed = after


def _use(needed: int, limit: int) -> str:
    return f"the loop needs about {needed} registers of {limit}"


def _loops_with_contractions(function: ir.Operation, *, by_lanes: bool) -> list[ir.Operation]:
    """Returns the loops with contractions in their own bodies, not only in loops inside."""
    return loops_around(multiplications_in(function, by_lanes=by_lanes))
