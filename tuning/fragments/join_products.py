# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-join-products`: two matrix instructions become one that sums twice as much.

    %x = amdgpu.mfma 32x32x8 %a * %b + %c          %ac = %a and %d,  %be = %b and %e
    %y = amdgpu.mfma 32x32x8 %d * %e + %x    ->    %y = amdgpu.mfma 32x32x16 %ac * %be + %c

CDNA4 has matrix instructions on 2-byte floats that multiply eight elements of a lane in the time in
which those of CDNA3 multiply four. IREE's attention multiplies the probabilities by the latter,
because a lane has four neighbours of them. Which summed index an element has does not matter, if
both factors have the same one in the same place: two pairs of factors are therefore joined element
by element. Sums are rounded in another order; outputs are right to rounding.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.multiplications import ACCUMULATOR, MFMA, multiplies_halves
from ...dialect_utils.operations import (
    attributes_of,
    defining_operation,
    operands_with,
    operations_in,
)
from ...passes.base import FunctionPass, PassContext

_SUMMED = "k"
_SHAPES = {(16, 16, 16), (32, 32, 8)}
"""Rows, columns and summed elements of products of which two become one."""


class JoinProducts(FunctionPass):
    """Joins products of four elements of a lane, on GPUs that multiply eight at once."""

    name: ClassVar[str] = "bankwise-join-products"
    summary: ClassVar[str] = "let one matrix instruction sum what two do, on CDNA4"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether the function's GPU sums more than some product does."""
        features = gpu_features_of(function)
        return features.multiplies_eight and any(_products(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Joins products in pairs; never fails."""
        function = function.operation
        if not gpu_features_of(function, context.test_target).multiplies_eight:
            return
        joined: set[ir.Operation] = set()
        count = 0
        for second in _products(function):
            first = defining_operation(second.operands[ACCUMULATOR])
            if first is None or first in joined or not _may_join(first, second):
                continue
            joined.add(_join(first, second))
            count += 1
        if count:
            text = f"{2 * count} products are {count} of twice as many summed elements"
            context.sink.remark(function.location, text)


def _products(function: ir.Operation) -> list[ir.Operation]:
    """Returns the products that multiply four 2-byte floats of each lane."""
    return [each for each in operations_in(function, MFMA) if _sums_four(each)]


def _may_join(first: ir.Operation, second: ir.Operation) -> bool:
    """Returns whether two products are alike, and only the second one uses the first one."""
    if first.name != MFMA or first.block != second.block or not _sums_four(first):
        return False
    if len(operands_with(first.results[0])) != 1:
        return False
    kinds = [[operand.type for operand in each.operands] for each in (first, second)]
    return kinds[0] == kinds[1] and attributes_of(first) == attributes_of(second)


def _sums_four(product: ir.Operation) -> bool:
    """Returns whether a product multiplies four 2-byte floats of each lane."""
    shape = tuple(ir.IntegerAttr(product.attributes[name]).value for name in ("m", "n", _SUMMED))
    return shape in _SHAPES and multiplies_halves(product)


def _join(first: ir.Operation, second: ir.Operation) -> ir.Operation:
    """Replaces two products by one, which is returned."""
    at = Builder.before(second)
    factors: list[ir.Value] = []
    for number in range(ACCUMULATOR):
        halves = [each.operands[number] for each in (first, second)]
        kind = ir.VectorType(halves[0].type)
        whole = at.poison(at.vector_type([2 * kind.shape[0]], kind.element_type))
        for place, half in enumerate(halves):
            whole = at.insert_slice(half, whole, place * kind.shape[0])
        factors.append(whole)
    made = at.like(second, [*factors, first.operands[ACCUMULATOR]])
    summed = ir.IntegerAttr(second.attributes[_SUMMED])
    made.attributes[_SUMMED] = ir.IntegerAttr.get(summed.type, 2 * summed.value)
    second.results[0].replace_all_uses_with(made.results[0])
    second.erase()
    first.erase()
    return made
