# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes allocations of the workgroup attributions of a `gpu.func`, so that they can get layouts."""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.memory.attributions import allocate_attributions
from ..base import FunctionPass, PassContext


class AllocateAttributions(FunctionPass):
    """Makes allocations of attributions."""

    name: ClassVar[str] = "bankwise-allocate-attributions"
    summary: ClassVar[str] = "make allocations of the workgroup attributions of gpu.func"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites `function` in place; never fails."""
        function = function.operation
        with function.context:
            allocate_attributions(function)
