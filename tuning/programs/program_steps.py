# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes that change a program before IREE forms its dispatches, in the order of a compile."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from iree.compiler import ir

from ...dialect_utils.dynamic_sizes import has_dynamic_tensor
from ...dialect_utils.indexing_maps import GENERIC, PRODUCTS, summed_loops
from ...dialect_utils.operations import EXPORT, IMPORT, operations_in
from ...dialect_utils.program_operations import ARG_COMPARE, UPDATES
from ...passes.base import FunctionPass
from ...passes.mode import Mode
from ...passes.pipeline_edit import PlannedPass, pass_classes

_OPERANDS = 3
"""Those of a product: two factors and what their product is added to."""
_ATTENTION, _SOFTMAX = "iree_linalg_ext.attention", "linalg.softmax"
_FOLDER = f"{__package__}"
_TUNING = _FOLDER.rpartition(".")[0]
FoldBroadcasts, JoinReductions, PadHeads = pass_classes(
    _FOLDER, "FoldBroadcasts", "JoinReductions", "PadHeads"
)
RaiseAttention, ShareMasks, SpecializeSizes = pass_classes(
    _FOLDER, "RaiseAttention", "ShareMasks", "SpecializeSizes"
)
SplitKeys, SplitRows, SplitSums = pass_classes(_FOLDER, "SplitKeys", "SplitRows", "SplitSums")
(SliceStridedImages,) = pass_classes(f"{_TUNING}.convolutions", "SliceStridedImages")
CompareElements, ConvertArguments, CopyOwnParts, WidenSums = pass_classes(
    f"{_TUNING}.workarounds", "CompareElements", "ConvertArguments", "CopyOwnParts", "WidenSums"
)


REPAIRS = (
    PlannedPass.of(ConvertArguments, {}),
    PlannedPass.of(CopyOwnParts, {}),
    PlannedPass.of(CompareElements, {}),
)
"""What every mode has that has a level. None is loaded yet."""


def program_passes(mode: Mode) -> tuple[FunctionPass | PlannedPass, ...]:
    """Returns the passes of a mode that makes programs faster. None is loaded yet."""
    where = {"unmeasured": mode.retile == "on"}
    return (
        *REPAIRS,
        PlannedPass.of(RaiseAttention, where),
        PlannedPass.of(WidenSums, {}),
        PlannedPass.of(FoldBroadcasts, {}),
        PlannedPass.of(ShareMasks, {}),
        PlannedPass.of(SliceStridedImages, {}),
        PlannedPass.of(PadHeads, where),
        PlannedPass.of(SplitKeys, where),
        PlannedPass.of(SpecializeSizes, where),
        PlannedPass.of(SplitSums, where),
        PlannedPass.of(SplitRows, {}),
        PlannedPass.of(JoinReductions, {}),
    )


def may_have_work(step: FunctionPass | PlannedPass, function: ir.Operation) -> bool:
    """Returns whether a pass may change a function, as its operations tell without the pass.

    One that has no work here need not be loaded to be asked.
    """
    works_on = _WORK.get(step.name)
    return works_on is None or any(map(works_on, operations_in(function)))


def _named(*names: str) -> Callable[[ir.Operation], bool]:
    return lambda operation: operation.name in names


def _may_multiply(operation: ir.Operation) -> bool:
    return operation.name.startswith("linalg.") and len(operation.operands) == _OPERANDS


def _may_reduce_rows(operation: ir.Operation) -> bool:
    return operation.name == GENERIC and len(summed_loops(operation)) == 1


def _may_split_rows(operation: ir.Operation) -> bool:
    return operation.name == _SOFTMAX or _may_reduce_rows(operation)


_WORK: Mapping[str, Callable[[ir.Operation], bool]] = {
    RaiseAttention.textual_name: _named(_SOFTMAX),
    ConvertArguments.textual_name: _named(IMPORT, EXPORT),
    CopyOwnParts.textual_name: _named(*UPDATES),
    CompareElements.textual_name: _named(ARG_COMPARE),
    WidenSums.textual_name: _named(*PRODUCTS, GENERIC),
    FoldBroadcasts.textual_name: _named("linalg.batch_matmul"),
    ShareMasks.textual_name: _named(_ATTENTION),
    SliceStridedImages.textual_name: _named(GENERIC),
    PadHeads.textual_name: _named(_ATTENTION),
    SplitKeys.textual_name: _named(_ATTENTION),
    SpecializeSizes.textual_name: has_dynamic_tensor,
    SplitSums.textual_name: _may_multiply,
    SplitRows.textual_name: _may_split_rows,
    JoinReductions.textual_name: _may_reduce_rows,
}
"""What each pass works on: where no operation of a function is of that kind, it does nothing."""
