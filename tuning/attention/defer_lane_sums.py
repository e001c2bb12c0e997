# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets lanes add up the sums of rows once, behind a loop, and not in every iteration.

What is rewritten, and why the result is right to rounding, is told in
`tuning/attention/running_sums.py`. On CDNA3 lanes of different rows of 16 exchange values by
`ds_swizzle_b32` and `ds_bpermute_b32`, which are LDS instructions: an f32 attention spends a fifth
of its LDS instructions on them once its tiles are read wide.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.memory.vector_layouts import infer_vector_layouts
from ...passes.base import FunctionPass, PassContext
from .running_sums import defer, running_sums


class DeferLaneSums(FunctionPass):
    """Defers the exchange of sums among lanes until after the loop that carries them."""

    name: ClassVar[str] = "bankwise-defer-lane-sums"
    summary: ClassVar[str] = "add up the sums of lanes behind the loop that carries them"
    later_passes_may_refuse: ClassVar[bool] = True

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the sums that the loops of `function` carry, one after the other."""
        function = function.operation
        while sums := running_sums(function, infer_vector_layouts(function)):
            first = sums[0]
            kind = first.reduction.operands[0].type
            context.sink.remark(
                first.reduction.location,
                f"sums of {kind} are added up among lanes behind the loop",
            )
            defer(first)
