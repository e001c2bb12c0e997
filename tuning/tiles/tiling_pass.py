# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What passes have in common that choose tiles by predicted times and may change sums' order."""

from __future__ import annotations

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...passes.base import FunctionPass
from .tiled_operation import Circumstances


@dataclass(frozen=True)
class TilingPass(FunctionPass):
    """A pass whose tiles may sum in another order.

    Attributes:
        overlap, reloads, native_exponentials, larger_instructions, short_steps: whether passes
            follow that do so, as for `bankwise-retile`.
    """

    overlap: bool = True
    reloads: bool = True
    native_exponentials: bool = True
    larger_instructions: bool = True
    short_steps: bool = True

    def circumstances(
        self, function: ir.Operation, test_target: str | None = None
    ) -> Circumstances | None:
        """Returns what tiles of a function are judged by; None for a GPU without a model."""
        return Circumstances.of(
            function,
            test_target,
            other_order=True,
            overlap=self.overlap,
            reloads=self.reloads,
            native_exponentials=self.native_exponentials,
            larger_instructions=self.larger_instructions,
            short_steps=self.short_steps,
        )

    def predicted(self, function: ir.Operation, test_target: str | None = None) -> Circumstances:
        """Returns what tiles of a function are judged by.

        Raises:
            Refusal: there is no model of the GPU.
        """
        circumstances = self.circumstances(function, test_target)
        if circumstances is None:
            raise Refusal("there is no prediction for the GPU")
        return circumstances
