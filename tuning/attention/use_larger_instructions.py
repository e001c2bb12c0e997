# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-use-larger-instructions`: an attention multiplies 32 rows and columns at once.

    mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>   ->   <MFMA_F32_32x32x8_F16>

AMD's matrix instructions of 32 rows and columns multiply as fast as those of 16, with half as many
instructions. The vector units issue them beside the exponentials of the other waves, one after the
other, and a wave's next product waits less often for its last one. IREE chooses those of 16, with
which a warp may have 16 rows. Where a warp has 32 anyway, as in the tiles that `bankwise-retile`
chooses for long sequences, both contractions get the larger instructions.

An instruction of 32 rows sums half as many products of an element as one of 16 rows, so that sums
are rounded in another order: outputs are right to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.lowering_config import MMA_KIND, LoweringConfig
from ...passes.base import FunctionPass, PassContext
from .attention_tiles import (
    DECOMPOSITION,
    contractions_of,
    decomposition_of,
    larger_kind,
    only_attention,
    warp_tiled_attention,
)


class UseLargerInstructions(FunctionPass):
    """Gives both contractions of an attention instructions of 32 rows, where warps have them."""

    name: ClassVar[str] = "bankwise-use-larger-instructions"
    summary: ClassVar[str] = "multiply 32 rows and columns of an attention by an instruction"
    later_passes_may_refuse: ClassVar[bool] = True
    kept: ClassVar[str] = "matrix instructions"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether an attention decides on the workgroups of `function`."""
        return only_attention(function) is not None

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the configurations, where tiles divide into the instructions; never fails."""
        function = function.operation
        operation = only_attention(function)
        if operation is None:
            return
        try:
            contractions = _with_larger(contractions_of(operation))
            if contractions is None:
                return
            attention = warp_tiled_attention(function)
            assert attention is not None
            larger = attention.larger
            assert larger is not None
            if not larger.takes(attention.tile):
                raise Refusal("a warp has no 32 rows, or 32 do not divide its keys or columns")
        except Refusal as refusal:
            reason = f"no instructions of 32 rows: {refusal.reason}"
            context.sink.remark(operation.location, reason)
            return
        with function.context:
            operation.attributes[DECOMPOSITION] = decomposition_of(contractions, function.context)
            larger.configure(function, attention.tile)
        context.sink.remark(operation.location, "its products are computed by 32 rows and columns")


def _with_larger(
    contractions: Mapping[str, LoweringConfig],
) -> Mapping[str, LoweringConfig] | None:
    """Returns the configurations of both contractions with instructions of 32 rows and columns.

    None stands for contractions that are not computed by those of 16 rows and columns.
    """
    found: dict[str, LoweringConfig] = {}
    for name, contraction in contractions.items():
        larger = larger_kind(contraction.entries.get(MMA_KIND))
        if larger is None:
            return None
        found[name] = contraction.with_entries(**{MMA_KIND: larger})
    return found
