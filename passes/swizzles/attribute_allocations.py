# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes workgroup attributions again of the allocations that were made of them."""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.memory.attributions import attribute_allocations
from ..base import FunctionPass, PassContext


class AttributeAllocations(FunctionPass):
    """Makes attributions of allocations that were attributions."""

    name: ClassVar[str] = "bankwise-attribute-allocations"
    summary: ClassVar[str] = "make attributions again of allocations that were attributions"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites `function` in place; never fails."""
        function = function.operation
        with function.context:
            attribute_allocations(function)
