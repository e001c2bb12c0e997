# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unrolls the loops over windows that `bankwise-tile-windows` leaves.

A lane computes some neighbours of the result with a column of the window at a time. What one column
reads of the image, the next one reads but for one element, which the compiler sees once the loop
over the columns is unrolled.

Runs in TileAndFuse, before IREE unrolls the loops that are marked for it.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.handed_attributes import WINDOWS
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.loops import FOR, UNROLLED
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext

_MOST_ITERATIONS = 16


class UnrollWindows(FunctionPass):
    """Marks loops over windows to be unrolled."""

    name: ClassVar[str] = "bankwise-unroll-windows"
    summary: ClassVar[str] = "unroll loops over windows, so that what they share is read once"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has windows that a pass has tiled."""
        return WINDOWS in function.operation.attributes

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Marks the loops; never fails."""
        function = function.operation
        if WINDOWS not in function.attributes:
            return
        del function.attributes[WINDOWS]
        with function.context:
            bits = IndexBits(function)
            for loop in operations_in(function, FOR):
                count = bits.trip_count(loop)
                if count is not None and count <= _MOST_ITERATIONS:
                    loop.attributes[UNROLLED] = ir.UnitAttr.get()
                    context.sink.remark(loop.location, "the loop over a window is unrolled")
