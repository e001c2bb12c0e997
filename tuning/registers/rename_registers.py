# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renames indices so that the registers of a lane are neighbours in the LDS.

Runs right after `iree-codegen-gpu-vector-alloc` and before `bankwise-hint-vector-allocs`, which
then finds wide accesses and solves the swizzle for them. What may be renamed is found in
`tuning/registers/dimension_classes.py`, what is worth it in `renaming_choice.py`, and how a
transfer is rewritten is told in `tuning/registers/renamed_transfers.py`.

With `reductions=false` only dimensions are renamed that no operation sums over: the outputs are the
same bits as before. With `reductions=true` the order of sums may change, and outputs are right to
rounding.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.errors import InvalidParameterError
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.register_renaming import composed
from ...dialect_utils.copy_slots import loads_directly
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.memory.copied_tiles import merge_copied_tiles
from ...dialect_utils.memory.memref_types import shown_type
from ...dialect_utils.memory.staged_tensors import is_workgroup_alloc
from ...dialect_utils.memory.vector_layouts import infer_vector_layouts
from ...dialect_utils.operations import has_operation, operations_in
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import Action
from ...passes.layout_policy import LayoutPolicy
from .dimension_classes import ClassKind, dimension_classes
from .renamed_transfers import hand_over, rename_transfer
from .renaming_choice import ClassDecision, RegisterSearch

_CONTRACTION = "iree_codegen.inner_tiled"


@dataclass(frozen=True)
class RenameRegisters(FunctionPass):
    """Widens LDS accesses by renaming the indices of vector dimensions."""

    name: ClassVar[str] = "bankwise-rename-registers"
    summary: ClassVar[str] = "rename indices so that lanes access the LDS wider"

    later_passes_may_refuse: ClassVar[bool] = True

    reductions: bool = False
    """Also rename dimensions that are summed over, which changes roundings."""
    without_tiles: bool = False
    """Also widen what contractions read from global memory, and not from the LDS."""

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Decides on every class of dimensions and rewrites the transfers of those renamed."""
        function = function.operation
        merge_copied_tiles(function, context.sink)
        if loads_directly(function, context.test_target):
            # Lanes take neighbouring columns, as loads that transpose bring them.
            return
        allocations = list(filter(is_workgroup_alloc, operations_in(function)))
        without_tiles = self.without_tiles and has_operation(function, _CONTRACTION)
        if not allocations and not without_tiles:
            return
        model = context.lds_model(function, "no index renamed")
        if model is None:
            return
        lds, launch = model
        search = RegisterSearch(
            LayoutPolicy(lds),
            launch,
            infer_vector_layouts(function),
            dimension_classes(function),
            allocations,
            without_tiles,
        )
        kinds = frozenset(ClassKind) if self.reductions else frozenset({ClassKind.FREE})
        try:
            decisions = search.decide(kinds, context.details)
        except (Refusal, InvalidParameterError) as error:
            context.sink.remark(function.location, f"no index renamed: {error}")
            return
        renaming = composed([decision.renaming for decision in decisions])
        # All layouts are read before the first transfer is touched.
        changed, gone = search.renamed_transfers(renaming), search.handed_over(renaming)
        for decision in decisions:
            self._report(function, decision, context)
        for each in changed:
            rename_transfer(each.transfer, each.logical, each.renamed.layout, each.renamed.order)
        for each in gone:
            kind = shown_type(each.read.memory.type)
            remark = f"allocation of {kind} removed: its vector stays in the same lanes"
            context.sink.remark(each.read.op.location, remark)
            hand_over(each.write, each.written, each.read, each.wanted, each.order)

    def _report(
        self, function: ir.Operation, decision: ClassDecision, context: PassContext
    ) -> None:
        read = decision.read
        kind = shown_type(read.memory.type)
        if not decision.renaming:
            remark = f"indices of {kind} not renamed: {decision.reason}"
            context.sink.remark(read.op.location, remark)
            return
        saved = decision.before.becomes(decision.after) if context.details else ""
        remark = f"indices of {kind} renamed: {decision.reason}: {saved}"
        context.sink.remark(read.op.location, remark)
        self.record(context, function, read.memory, Action.RENAME, decision.reason, detail=saved)
