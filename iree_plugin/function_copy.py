# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function was before passes ran, to be that again."""

from __future__ import annotations

from iree.compiler import ir

from ..bank_model.quick_dataclass import dataclass


@dataclass
class FunctionCopy:
    """A copy of a function's attributes and body, to put the function back to them."""

    copy: ir.Operation

    @staticmethod
    def of(function: ir.Operation) -> FunctionCopy:
        """Copies a function as it is now."""
        return FunctionCopy(function.clone(ip=False).operation)  # pyright: ignore[reportArgumentType]

    def restore(self, function: ir.Operation) -> FunctionCopy:
        """Makes `function`, of which this is a copy, what it was.

        Returns:
            What holds the body that the function had: what refers to that is valid as long.
        """
        other = FunctionCopy.of(self.copy)
        for name in [name for name in function.attributes if name not in self.copy.attributes]:
            del function.attributes[name]
        for name in self.copy.attributes:
            function.attributes[name] = self.copy.attributes[name]
        mine, its = other.copy.regions[0], function.regions[0]
        before, after = list(mine.blocks), list(its.blocks)
        for block in before:
            block.append_to(its)
        for block in after:
            block.append_to(mine)
        return other
