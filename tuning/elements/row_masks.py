# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Leaving what lies beyond the end of a row out of reductions.

Rows of 777 elements are reduced as rows of 800. The last 23 must not count, so that they become the
neutral element of what combines elements, which is -0.0 for sums:

    %column = linalg.index 1
    %there = arith.cmpi ult, %column, %c777
    %counted = arith.select %there, %in, %neutral
    %sum = arith.addf %counted, %out
"""

from __future__ import annotations

import math

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.operations import defining_operation, operands_with, terminator

_SUMS = {"arith.addf": -0.0, "arith.mulf": 1.0}
_EXTREMES = {
    "arith.maximumf": -math.inf,
    "arith.minimumf": math.inf,
    # These prefer any number to NaN.
    "arith.maxnumf": math.nan,
    "arith.minnumf": math.nan,
}
_INTEGERS = {
    "arith.addi": 0,
    "arith.muli": 1,
    "arith.ori": 0,
    "arith.xori": 0,
    "arith.maxui": 0,
    "arith.andi": -1,
    "arith.minui": -1,
}
_SIGNED = {"arith.maxsi": 1, "arith.minsi": 0}
"""The lowest bit of the neutral element's shift: the least number, and the largest one."""

LEAST_BITS = 16
"""Of what lanes exchange: LLVM ends with an error where AMD's lanes reduce bytes."""


class Combiner(NamedTuple):
    """What makes a new value of a reduction from the one before and an element.

    Attributes:
        element: the number of the operand that is not the value before.
    """

    operation: ir.Operation
    element: int

    @property
    def keeps_order(self) -> bool:
        """Returns whether another order of elements may give other bits."""
        return self.operation.name in _SUMS

    def neutral(self) -> float:
        """Returns the element that changes no value."""
        name, kind = self.operation.name, self.operation.results[0].type
        if name not in _SIGNED:
            return {**_SUMS, **_EXTREMES, **_INTEGERS}[name]
        bits = element_bits(kind)
        assert bits is not None
        return -(1 << bits - 1) if _SIGNED[name] else (1 << bits - 1) - 1


def combiners_of(reduction: ir.Operation) -> list[Combiner]:
    """Returns what combines the elements for each result of a `linalg.generic` that reduces.

    Raises:
        Refusal: a result is made otherwise.
    """
    block = reduction.regions[0].blocks[0]
    before = list(block.arguments)[-len(reduction.results) :]
    found: list[Combiner] = []
    for made, value in zip(terminator(reduction.regions[0]).operands, before, strict=True):
        combiner, uses = defining_operation(made), operands_with(value)
        known = {*_SUMS, *_EXTREMES, *_INTEGERS, *_SIGNED}
        if combiner is None or combiner.name not in known or len(uses) != 1:
            raise Refusal("what it reduces by is not understood", reduction.location)
        user, number = uses[0]
        if user != combiner:
            raise Refusal("what it reduces by is not understood", reduction.location)
        if (element_bits(made.type) or 0) < LEAST_BITS:
            raise Refusal(f"lanes exchange no {made.type}", reduction.location)
        found.append(Combiner(combiner, 1 - number))
    return found


def leave_out(reduction: ir.Operation, loop: int, length: int) -> None:
    """Lets a reduction over a loop that has become longer reduce only the first elements.

    Args:
        length: how many.
    """
    combiners = combiners_of(reduction)
    at = Builder.at_begin(reduction.regions[0].blocks[0], reduction.location)
    there = at.cmpi("ult", at.loop_index(loop), at.index(length))
    for combiner in combiners:
        at = Builder.before(combiner.operation)
        element = combiner.operation.operands[combiner.element]
        neutral = at.constant(element.type, combiner.neutral())
        combiner.operation.operands[combiner.element] = at.select(there, element, neutral)
