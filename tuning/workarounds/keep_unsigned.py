# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-keep-unsigned`: products of StableHLO widen unsigned factors by zeros.

IREE 3.13 takes a `stablehlo.convert` into the product that reads it, and makes `linalg.matmul` or a
convolution of that, which widens its factors as signed numbers, whatever they are:

    %1 = stablehlo.convert %0 : (tensor<16x32xui8>) -> tensor<16x32xf32>
    %2 = stablehlo.dot %1, %b : (tensor<16x32xf32>, tensor<32x20xf32>) -> tensor<16x20xf32>
    ->  linalg.matmul ins(%0, %b : tensor<16x32xi8>, tensor<32x20xf32>) outs(...)

So 255 is multiplied as -1, and true as -1. The same happens to a product whose factors are narrower
than its result.

Here a factor is the maximum of the converted tensor and itself, which keeps IREE from taking the
conversion. What the maximum becomes is folded, so that nothing of it is left in a kernel.

Runs on the program as it was read, before IREE converts it.

This works around IREE 3.13 (`docs/for_iree.md#unsigned-factors-of-stablehlo`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.element_types import scalar_type
from ...dialect_utils.operations import defining_operation, operations_in
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound

_PRODUCTS = tuple(
    f"stablehlo.{name}" for name in ("dot", "dot_general", "convolution", "dynamic_conv")
)
_CONVERSION = "stablehlo.convert"
_MOVES = frozenset(
    f"stablehlo.{name}"
    for name in ("transpose", "reshape", "broadcast_in_dim", "slice", "reverse", "dynamic_reshape")
)
"""What has the elements of its first operand, and no others."""
_FACTORS = 2


class KeepUnsigned(FunctionPass):
    """Keeps IREE from widening unsigned factors as signed ones."""

    name: ClassVar[str] = "bankwise-keep-unsigned"
    summary: ClassVar[str] = "widen unsigned factors of StableHLO's products by zeros"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether products of `function` have unsigned factors that are widened."""
        return any(True for _ in _unsigned_factors(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the factors; never fails."""
        for product, number in [*_unsigned_factors(function.operation)]:
            at, factor = Builder.before(product), product.operands[number]
            if _is_unsigned(factor):
                factor = at.converted(factor, scalar_type(product.results[0].type))
            product.operands[number] = at.maximum(factor, factor)
            context.sink.remark(product.location, f"factor {number} is widened by zeros")


def _unsigned_factors(function: ir.Operation) -> Iterator[tuple[ir.Operation, int]]:
    """Yields the products, with the numbers of factors that are unsigned and are widened."""
    for product in operations_in(function, *_PRODUCTS):
        for number in range(_FACTORS):
            factor = product.operands[number]
            if _widens(factor, product.results[0]) or _was_unsigned(factor):
                yield product, number


def _was_unsigned(value: ir.Value) -> bool:
    """Returns whether a value is converted from an unsigned tensor, by any number of steps.

    Where IREE would not take the conversion, the maximum that a factor becomes does no harm.
    """
    made = defining_operation(value)
    while made is not None and (made.name == _CONVERSION or made.name in _MOVES):
        if made.name == _CONVERSION and _is_unsigned(made.operands[0]):
            return not isinstance(scalar_type(value.type), ir.ComplexType)
        made = defining_operation(made.operands[0])
    return False


def _widens(value: ir.Value, result: ir.Value) -> bool:
    """Returns whether a value is unsigned, and `result` has floats or wider integers."""
    element = scalar_type(result.type)
    if not _is_unsigned(value) or isinstance(element, ir.ComplexType):
        return False
    narrow = ir.IntegerType(scalar_type(value.type))
    return not isinstance(element, ir.IntegerType) or element.width > narrow.width


def _is_unsigned(value: ir.Value) -> bool:
    """Returns whether the elements of a tensor are unsigned integers or booleans."""
    element = scalar_type(value.type)
    return isinstance(element, ir.IntegerType) and (element.is_unsigned or element.width == 1)
