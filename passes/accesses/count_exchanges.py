# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-count-exchanges`: the LDS instructions by which lanes exchange values are counted.

    %other, %valid = gpu.shuffle xor %value, %c32, %c64 : f32

is a `ds_bpermute_b32` on gfx942, which the profiler's `SQ_INSTS_LDS` counts. It belongs to no
allocation: a decision of its own says how many there are, so that the decisions on a function sum
up to the counter. It stands last, because other passes move exchanges out of loops.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal, SourceLocation
from ...dialect_utils.gpu_target import gpu_target_of, launch_of
from ...dialect_utils.lane_exchanges import lds_exchanges, may_have_lds_exchanges
from ...dialect_utils.operations import symbol_of
from ..base import FunctionPass, PassContext
from ..decisions import Action, Decision, LayoutRound


class CountExchanges(FunctionPass):
    """Records the LDS instructions by which lanes exchange values; changes nothing."""

    name: ClassVar[str] = "bankwise-count-exchanges"
    summary: ClassVar[str] = "count the LDS instructions by which lanes exchange values"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether lanes of an AMD GPU exchange values."""
        return _may_count(function, None)

    def only_decides(self, function: ir.Operation, context: PassContext) -> bool:
        """Returns whether lanes of an AMD GPU exchange values, and somebody reads decisions."""
        return context.explains and _may_count(function, context.test_target)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Records a decision, where there are such instructions and somebody reads decisions."""
        function = function.operation
        if not self.only_decides(function, context):
            return
        info = gpu_target_of(function, context.test_target)
        launch = launch_of(function, context.test_target)
        if info is None or launch is None:
            return
        place = str(SourceLocation.of(function.location) or "")
        named = (self.name, symbol_of(function), "", place, Action.EXCHANGE)
        try:
            count = lds_exchanges(function, info.arch, launch)
        except Refusal as refusal:
            context.log.add(Decision(*named, refusal.reason), self.layout_round)
            return
        if count:
            context.log.add(
                Decision(
                    *named,
                    "lanes exchange values by LDS instructions, which access no allocation",
                    lds_bytes_before=0,
                    lds_bytes_after=0,
                    conflict_cycles_before=0,
                    conflict_cycles_after=0,
                    lds_instructions_before=count,
                    lds_instructions_after=count,
                ),
                self.layout_round,
            )


def _may_count(function: ir.Operation, test_target: str | None) -> bool:
    info = gpu_target_of(function, test_target)
    return info is not None and may_have_lds_exchanges(function.operation, info.arch)
