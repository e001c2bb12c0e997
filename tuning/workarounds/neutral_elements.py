# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-neutral-elements`: reductions of rows begin with numbers that change nothing.

IREE lets the lanes of a warp share a reduction. Each begins with the number that changes nothing:

    %least = vector.multi_reduction <minsi>, %x, dense<-1> [1, 3, 5]

For three kinds it is another number. For `minsi` it is the largest number without a sign, which is
right for `minui`, and is -1 as a signed number, so that the minimum of positive numbers is -1. In
the same way `maxsi` begins with 0, and the maximum of negative numbers is 0. For `and` it is 1,
where all bits should be set, so that only the lowest bit of the result is right. The value that a
program begins with is reduced later.

Runs behind `iree-llvmgpu-vector-distribute`, which has made all of these reductions.

This works around IREE 3.13 (`docs/for_iree.md#neutral-elements-of-rows`).
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.element_types import element_bits, scalar_type
from ...dialect_utils.operations import integer_of, operations_in
from ...passes.base import FunctionPass, PassContext

_REDUCTION = "vector.multi_reduction"
_WRONG = {"minsi": -1, "maxsi": 0, "and": 1}
"""With what IREE begins."""


class NeutralElements(FunctionPass):
    """Lets reductions whose beginning is wrong begin with the number that changes nothing."""

    name: ClassVar[str] = "bankwise-neutral-elements"
    summary: ClassVar[str] = "begin reductions of rows with the numbers that change nothing"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has a reduction of a kind that begins with a wrong number."""
        return any(_kind(each) in _WRONG for each in operations_in(function, _REDUCTION))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the numbers; never fails."""
        for reduction in operations_in(function.operation, _REDUCTION):
            kind, begin = _kind(reduction), reduction.operands[1]
            if kind not in _WRONG or integer_of(begin) != _WRONG[kind]:
                continue
            bits = element_bits(scalar_type(begin.type))
            assert bits is not None
            right = {"minsi": (1 << bits - 1) - 1, "maxsi": -(1 << bits - 1), "and": -1}[kind]
            reduction.operands[1] = Builder.before(reduction).constant(begin.type, right)


def _kind(reduction: ir.Operation) -> str:
    """Returns what a reduction reduces by, such as `minsi`."""
    text = str(reduction.attributes["kind"])
    return text[text.index("<") + 1 : text.index(">")]
