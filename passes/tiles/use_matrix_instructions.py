# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets attentions that IREE would compute by scalar instructions use matrix instructions.

IREE configures an attention for matrix instructions where its tiles of rows, columns and keys
divide the sizes; the head, for one, must be a multiple of 32 or 64. Every other attention it
computes row by row, with a reduction that the lanes share:

    lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 128, 0],
        workgroup = [1, 1, 0, 0, 32]}>

That takes up to a hundred times as long. This pass gives such an attention the configuration that
IREE gives to others, with tiles that divide its sizes: whole heads, and as many warps and keys a
step as divide. `bankwise-retile` chooses among tiles afterwards, and `bankwise-stage-operands`
makes the copies for which IREE derives no layout.

Sums are made in another order than without the pass: outputs are right to rounding.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.tile_cost import AttentionTile
from ...dialect_utils.diagnostics import Refusal, SourceLocation
from ...dialect_utils.gpu_target import gpu_target_of, lds_limit
from ...dialect_utils.lowering_config import CONFIG, LoweringConfig
from ...dialect_utils.operations import symbol_of
from ..base import FunctionPass, PassContext
from ..decisions import Action, Decision
from .attention_tiles import (
    ContractionKinds,
    WarpTiledAttention,
    configured_attention,
    only_attention,
)

_SCALAR = "partial_reduction"
"""What the configuration of an attention has that lanes reduce."""
_WARPS = (4, 2, 1)
_KEY_STEPS = (64, 32, 16)
_DEEP = 32
"""The summed elements of the deeper of AMD's instructions with 16 rows and columns."""


@dataclass(frozen=True)
class UseMatrixInstructions(FunctionPass):
    """Configures attentions for matrix instructions that IREE configures for scalar ones."""

    name: ClassVar[str] = "bankwise-use-matrix-instructions"
    summary: ClassVar[str] = "let attentions of more heads and sizes use matrix instructions"
    later_passes_may_refuse: ClassVar[bool] = True
    kept: ClassVar[str] = "scalar instructions"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the configuration of `function`; never fails."""
        function = function.operation
        try:
            attention = matrix_attention(function, context.test_target)
            if attention is not None and (objection := context.users_configuration()):
                raise Refusal(objection)
        except Refusal as refusal:
            message = f"the attention keeps scalar instructions: {refusal.reason}"
            context.sink.remark(function.location, message)
            return
        if attention is None:
            return
        attention.configure(function, attention.tile)
        operation, tile = attention.operation, str(attention.tile)
        reason = f"{tile}, by matrix instructions in the place of scalar ones"
        place = str(SourceLocation.of(operation.location) or "")
        named = (self.name, symbol_of(function), operation.name, place)
        context.log.add(Decision(*named, Action.RETILE, reason, detail=tile))
        context.sink.remark(operation.location, f"tile of a workgroup: {reason}")


def configures_mma_sync(function: ir.Operation) -> bool:
    """Returns whether the pass lets an attention of `function` multiply by `mma.sync`."""
    target = gpu_target_of(function)
    if target is None or target.chip is None or not target.chip.mma_sync:
        return False
    try:
        return matrix_attention(function) is not None
    except Refusal:
        return False


def matrix_attention(
    function: ir.Operation, test_target: str | None = None
) -> WarpTiledAttention | None:
    """Returns the attention of `function` as matrix instructions would compute it.

    None stands for a function without an attention by scalar instructions.

    Raises:
        Refusal: there is one that matrix instructions cannot compute.
    """
    operation = only_attention(function)
    if operation is None or _SCALAR not in LoweringConfig.of(operation.attributes[CONFIG]).entries:
        return None
    if len({operation.operands[each] for each in range(3)}) < 3:
        # The vector of one copy would need the layouts of both contractions.
        raise Refusal("two of Q, K and V are one tensor")
    target = gpu_target_of(function, test_target)
    listed = () if target is None else target.matrix_instructions
    for kinds in _kinds(operation, listed):
        attention = configured_attention(function, operation, kinds)
        limit = lds_limit(function, test_target)
        for warps, keys in product(_WARPS, _KEY_STEPS):
            rows = warps * max(attention.scores[0], attention.outputs[0])
            tile = AttentionTile(rows, attention.columns, keys, warps)
            if attention.takes(tile) and attention.staged_bytes(tile) <= limit:
                return replace(attention, tile=tile)
    raise Refusal("no tile of matrix instructions divides its sizes")


def _kinds(operation: ir.Operation, listed: tuple[str, ...]) -> Iterator[ContractionKinds]:
    """Yields the instructions of both contractions that a GPU has, the best ones first.

    They are those that IREE takes for heads that it has a configuration for: the outputs' has the
    scores in registers as the scores' leaves them there.
    """
    kinds = {ir.ShapedType(operation.operands[each].type).element_type for each in range(3)}
    if len(kinds) != 1:
        raise Refusal("the elements of Q, K and V differ")
    name = str(kinds.pop()).upper()
    sync, usual = f"NV_MMA_SYNC_F32_16x8x16_{name}", f"MFMA_F32_16x16x16_{name}"
    deep = f"MFMA_F32_16x16x{_DEEP}_{name}"
    if sync in listed:
        yield ContractionKinds.of(f"mma_layout<{sync}>", f"mma_layout<{sync}>", operation)
    elif usual in listed:
        plain = f"mma_layout<{usual}, col_major = true>"
        if deep in listed:
            yield ContractionKinds.of(f"mma_layout<{deep}, col_major = true>", plain, operation)
        elif name == "F16":
            wide = f"virtual_mma_layout<V{deep}, col_major = true>"
            yield ContractionKinds.of(wide, plain, operation)
        yield ContractionKinds.of(plain, plain, operation)
    else:
        raise Refusal(f"there is no matrix instruction for {name.lower()}")
