# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns the contractions of an attention, so that scores are in the lanes that use them.

A matrix instruction of AMD's gives every lane four rows of a column of the result, but takes as an
operand some columns of a row. Where the second contraction of an attention reads the result of the
first, IREE therefore moves the probabilities through the LDS. With `col_major` IREE computes the
transposed contraction with exchanged operands, B^T A^T: a lane gets four columns of a row. Then the
operand's elements are in the right lanes, and after `bankwise-rename-registers` under the right
names, so that the allocation, its barrier, and its traffic go away.

IREE chooses `col_major` itself for types whose operands have as many columns per lane as the result
has (f16). This pass does it for the others, before the codegen pipeline reads the configuration:

    mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>
    mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32, col_major = true>

Row maxima and sums are then taken over other lanes first: outputs are right to rounding.
"""

from __future__ import annotations

import re
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.operations import ONLINE_ATTENTION, operations_in
from ...passes.base import FunctionPass, PassContext

_CONFIG = "decomposition_config"
_ROW_MAJOR = re.compile(r"(#iree_gpu\.(?:virtual_)?mma_layout<V?MFMA_\w+)>")
_CONTRACTIONS = 2


class TransposeContractions(FunctionPass):
    """Sets `col_major` on both contractions of an attention that have row-major results."""

    name: ClassVar[str] = "bankwise-transpose-contractions"
    summary: ClassVar[str] = "keep an attention's probabilities in the lanes that use them"
    later_passes_may_refuse: ClassVar[bool] = True

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the configurations of the attentions in `function`."""
        for attention in operations_in(function.operation, ONLINE_ATTENTION):
            if _CONFIG not in attention.attributes:
                continue
            text = str(attention.attributes[_CONFIG])
            turned, count = _ROW_MAJOR.subn(r"\1, col_major = true>", text)
            # The statistics of rows connect the contractions: both have to be turned.
            if count == _CONTRACTIONS and text.count("mma_kind") == _CONTRACTIONS:
                attention.attributes[_CONFIG] = ir.Attribute.parse(turned, function.context)
                context.sink.remark(attention.location, "both contractions are computed transposed")
