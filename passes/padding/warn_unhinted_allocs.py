# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-warn-unhinted-allocs`: says which LDS allocations keep their conflicts.

Takes the padding pass's place where only swizzles are wanted: after distribution, when every
access's lanes are known. Nothing is changed.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.errors import InvalidParameterError
from ...bank_model.layouts import PlainLayout, layout_conflicts
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import lds_model
from ...dialect_utils.index.lane_values import LaneEvaluator
from ...dialect_utils.memory.allocation_traces import AllocationTraces
from ...dialect_utils.memory.flow import is_hinted, lds_allocations
from ...dialect_utils.memory.memref_types import shown_type, type_of
from ..base import FunctionPass, PassContext
from ..decisions import Action


class WarnUnhintedAllocs(FunctionPass):
    """Warns of every allocation without a hint that has bank conflicts, or may have."""

    name: ClassVar[str] = "bankwise-warn-unhinted-allocs"
    summary: ClassVar[str] = "warn of LDS allocations that keep bank conflicts"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Counts the conflicts of every allocation that no hint has decided on."""
        function = function.operation
        for allocation in lds_allocations(function):
            if is_hinted(allocation):
                continue
            kind = shown_type(type_of(allocation))
            cycles: int | None = None
            warning = ""
            try:
                cycles = _conflicts(allocation, function, context)
                reason = "its plain layout has no bank conflict"
                if cycles:
                    reason = f"no swizzle was emitted for its {cycles} conflict cycles"
                    warning = f"keeps {cycles} conflict cycles: it has no swizzle"
            except (Refusal, InvalidParameterError) as error:
                reason = f"its conflicts are not known: {error}"
                warning = f"has no swizzle, and {reason}"
            if warning:
                context.sink.warning(allocation.location, f"allocation of {kind} {warning}")
            self.record(
                context,
                function,
                allocation.results[0],
                Action.KEEP,
                reason,
                conflict_cycles_before=cycles,
                conflict_cycles_after=cycles,
            )


def _conflicts(allocation: ir.Operation, function: ir.Operation, context: PassContext) -> int:
    """Returns the weighted conflict cycles of the plain layout.

    Raises:
        Refusal: the accesses are not known.
        InvalidParameterError: they cannot be counted.
    """
    lds, launch = lds_model(function, context.test_target)
    drops = lds.drops_unread
    traces = AllocationTraces(function, LaneEvaluator(launch), drops_unread=drops)
    traced = traces.written(allocation)
    for unknown in traced.unknown:
        raise unknown
    accesses = traces.emitted([allocation], gathers=True)
    return layout_conflicts(lds, traced.tile, PlainLayout(), accesses)
