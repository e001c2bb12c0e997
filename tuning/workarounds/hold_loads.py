# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-hold-loads`: what lanes of AMD GPUs widen from f16 is loaded before it is widened.

Where a lane widens elements of f16 that it has loaded, LLVM makes one operation of both, a load
that widens. Its backend for AMD GPUs says that it has none for 2, 3, 4, 8 and 16 elements, and
forgets 5, 6 and 7 (`AMDGPUISelLowering.cpp`). It selects no instruction for these, and ends the
process ("Cannot select"). IREE lets a lane load so many where rows have no more elements, as those
of a product that sums over 5. LLVM does so too with loads that it has made of single ones itself.

What is widened is frozen here, which leaves every value as it is:

    %x = vector.load %memory[%i, %c0] : memref<64x5xf16, ...>, vector<5xf16>
    %held = llvm.freeze %x : vector<5xf16>
    %wide = arith.extf %held : vector<5xf16> to vector<5xf32>

LLVM then sees no load where it widens, and makes a load and instructions that widen.

Runs behind the choice of layouts, when vectors are flat.

This works around IREE 3.13 (`docs/for_iree.md#loads-that-widen`).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext

_WIDEN = "arith.extf"
_FORGOTTEN = range(5, 8)


class HoldLoads(FunctionPass):
    """Freezes vectors of 5 to 7 elements of f16 before they are widened."""

    name: ClassVar[str] = "bankwise-hold-loads"
    summary: ClassVar[str] = "keep AMD GPUs from widening 5 to 7 elements of f16 as they load them"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether lanes of `function` may have so many elements, flat or not."""
        half = ir.F16Type.get(function.context)
        kinds = {each.type for op in operations_in(function) for each in op.results}
        return any(
            {prod(kind.shape), *kind.shape} & {*_FORGOTTEN}
            for kind in kinds
            if isinstance(kind, ir.VectorType) and kind.element_type == half
        )

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Freezes the operands; never fails."""
        for widening in list(_of_forgotten(function.operation)):
            (value,) = widening.operands
            widening.operands[0] = Builder.before(widening).freeze(value)


def _of_forgotten(function: ir.Operation) -> Iterator[ir.Operation]:
    """Yields what widens 5 to 7 elements of f16."""
    half = ir.F16Type.get(function.context)
    for widening in operations_in(function, _WIDEN):
        kind = widening.operands[0].type
        is_half = isinstance(kind, ir.VectorType) and kind.element_type == half
        if is_half and prod(kind.shape) in _FORGOTTEN:
            yield widening
