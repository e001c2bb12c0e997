# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renames indices of contractions, so that what a lane reads of the LDS lies side by side.

Runs in the pipeline TileAndFuse right after `iree-codegen-vectorize-memref-copy`. There each
operand of an `iree_codegen.inner_tiled` is one read of all that a lane needs:

    %a = vector.transfer_read %lhs[...] : memref<4x16x8x16xf16, ...>, vector<2x1x8x4xf16>
    %b = vector.transfer_read %rhs[...] : memref<8x16x8x16xf16, ...>, vector<8x4x4x1xf16>

The lane reads 4 neighbours of the left operand, and single elements of the right one. With two
steps of k renamed to neighbours it reads 8 of the left one; with four steps of the columns renamed,
4 of the right one. `bankwise-swizzle-lds-allocs` then finds the wide reads, and swizzles for them.

What may be renamed is found and proven in `tuning/contractions/index_blocks.py`, what is
worth it in `contraction_renaming.py`, and how a transfer is rewritten is told in
`tuning/contractions/renamed_steps.py`.

With `reductions=false` only rows and columns of results are renamed: the outputs are the same bits
as before. With `reductions=true` the order of sums may change, and outputs are right to rounding.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import location_at
from ...dialect_utils.index.lane_values import LaneEvaluator
from ...dialect_utils.memory.flow import lds_allocations
from ...dialect_utils.operations import has_operation
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import Action
from ...passes.layout_policy import LayoutPolicy
from .contraction_renaming import BlockDecision, ContractionSearch
from .index_blocks import index_blocks
from .lane_contractions import INNER_TILED


@dataclass(frozen=True)
class RenameContractions(FunctionPass):
    """Widens LDS accesses by renaming the indices of contractions."""

    name: ClassVar[str] = "bankwise-rename-contractions"
    summary: ClassVar[str] = "rename indices of contractions so that lanes access the LDS wider"
    later_passes_may_refuse: ClassVar[bool] = True

    reductions: bool = False
    """Also rename indices that are summed over, which changes roundings."""

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Decides on every index of the contractions, and rewrites their transfers."""
        function = function.operation
        if not has_operation(function, INNER_TILED) or not lds_allocations(function):
            return
        model = context.lds_model(function, "no index renamed")
        if model is None:
            return
        lds, launch = model
        evaluator = LaneEvaluator(launch)
        blocks, refusals = index_blocks(function, evaluator)
        for refusal in refusals:
            place = location_at(refusal.location, function)
            context.sink.remark(place, f"an index is not renamed: {refusal}")
        allowed = [block for block in blocks if self.reductions or not block.summed]
        search = ContractionSearch(function, LayoutPolicy(lds), evaluator, allowed)
        decisions = search.decide()
        for decision in decisions:
            self._report(function, decision, context)
        search.finish(decisions)

    def _report(
        self, function: ir.Operation, decision: BlockDecision, context: PassContext
    ) -> None:
        transfer = decision.block.uses[0].transfer
        place = transfer.operation.location
        what = "summed over" if decision.block.summed else "of the result"
        if decision.merged == 1:
            context.sink.remark(place, f"an index {what} is not renamed: {decision.reason}")
            return
        saved = decision.before.becomes(decision.after)
        detail = f"{decision.merged} steps of an index {what} side by side: {saved}"
        context.sink.remark(place, f"renamed {detail}")
        self.record(
            context, function, transfer.memory, Action.RENAME, decision.reason, detail=detail
        )
