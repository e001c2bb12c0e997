# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes exponentials of what is not positive on NVIDIA GPUs in fewer instructions, to the bit.

IREE computes exp2(x) for CUDA in some 21 instructions, of which four are clamps, and two go to a
unit with an eighth of the rate of the others: the floor, and the conversion to an integer.

    y = x * ln 2, between -87.8 and 88.8      n = floor(t), t = y * log2 e + 0.5, from -127 to 127
    r = y - n * ln 2                          exp2(x) = 2^n * polynomial(r)

An attention takes exponentials of s - m, where m is a maximum of s and other numbers, so that x is
at most 0 or NaN. This pass expands such an exponential to the operations that IREE expands it to
later, with two differences. All results are the same bits:

* Behind the first clamp, y is between -87.8 and 0, and n between -127 and 0. The other three leave
  NaNs and all numbers alone, and are left out.
* The floor is made by `fma.rm.f32`, which rounds a sum down. In f32, the next number above
  M = 1.5 * 2^23 is M + 1, so that t + M rounded down is M + floor(t), from which M is taken away
  exactly. The lowest bits of that sum are those of the integer n, and the bits of M there are 0:
  shifted to the exponent's place they are what the converted n is. (Of a NaN the result is NaN,
  whatever the exponent is.)

Of 1,426,063,360 numbers, all with exponents that matter among them, the exponential has the bits of
stock's.

That m is such a maximum is seen where it is made: behind `arith.maximumf` and reductions of a
lane's own elements, by which the result is at least as large as each of them, or NaN.

Exponentials of other numbers stay, and those of AMD's GPUs, which IREE gives their instruction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from iree.compiler import ir

from ...bank_model.shown_text import counted_are
from ...dialect_utils.builders import Builder
from ...dialect_utils.element_moves import Element, element_count, origin_of
from ...dialect_utils.element_types import number_type
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.operations import defining_operation, operations_in, reached_from
from ...passes.base import FunctionPass, PassContext

_EXP2, _SUBTRACTION, _MAXIMUM, _REDUCTION = (
    *("math.exp2", "arith.subf", "arith.maximumf", "vector.reduction"),
)
_LN2, _LOWEST, _LOG2_E = 0x3F317218, 0xC2AF999A, 0x3FB8AA3B
"""Numbers in f32, by their bits, as IREE has them."""
_LN2_PARTS = (0xBF318000, 0x395E8083)
"""The natural logarithm of 2 with the sign changed, in two parts."""
_COEFFICIENTS = (0x39506967, 0x3AB743CE, 0x3C088908, 0x3D2AA9C1, 0x3E2AAAAA, 0x3F000000)
_ONE, _MANTISSA_BITS = 0x3F800000, 23
_M = 0x4B400000
_ROUNDED_DOWN = "llvm.nvvm.fma.rm.f"


class ShortenExponentials(FunctionPass):
    """Expands exponentials of f32 whose operands are known not to be positive."""

    name: ClassVar[str] = "bankwise-shorten-exponentials"
    summary: ClassVar[str] = "compute exponentials of what is not positive in fewer instructions"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` is for an NVIDIA GPU and has such exponentials."""
        return _expands(function, None) and bool(_exponentials(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Expands the exponentials; never fails."""
        function = function.operation
        if not _expands(function, context.test_target):
            return
        found = _exponentials(function)
        count = sum(element_count(each.results[0].type) for each in found)
        for operation in found:
            at, operand = Builder.before(operation), operation.operands[0]
            operation.results[0].replace_all_uses_with(_exp2(at, operand))
            operation.erase()
        if found:
            text = f"{counted_are(count, 'exponential')} shortened: no operand is positive"
            context.sink.remark(function.location, text)


def _expands(function: ir.Operation, test_target: str | None) -> bool:
    """Returns whether IREE expands exponentials for the GPU of a function to a polynomial."""
    return gpu_features_of(function, test_target).native_exp2


def _exponentials(function: ir.Operation) -> list[ir.Operation]:
    """Returns the exponentials of f32 whose operands are known not to be positive."""
    known: dict[Element, set[Element]] = {}
    return [each for each in operations_in(function, _EXP2) if _is_never_positive(each, known)]


def _is_never_positive(exponential: ir.Operation, known: dict[Element, set[Element]]) -> bool:
    """Returns whether the operand is a number less a maximum of it and others.

    Args:
        known: what is reached from elements, to be filled: one maximum serves many exponentials.
    """
    kind = exponential.results[0].type
    scalar = number_type(kind)
    difference = defining_operation(exponential.operands[0])
    if not isinstance(scalar, ir.F32Type) or difference is None or difference.name != _SUBTRACTION:
        return False
    less, greater = difference.operands
    for number in range(element_count(kind)):
        maximum = origin_of((greater, number))
        if maximum not in known:
            known[maximum] = _reached(maximum)
        if origin_of((less, number)) not in known[maximum]:
            return False
    return True


def _reached(element: Element) -> set[Element]:
    """Returns elements that an element is at least as large as, unless it is NaN."""

    def behind(each: Element) -> Iterator[Element]:
        value, number = each
        operation = defining_operation(value)
        if operation is None:
            return
        if operation.name == _MAXIMUM:
            yield from ((operand, number) for operand in operation.operands)
        elif operation.name == _REDUCTION and "maximumf" in str(operation.attributes["kind"]):
            vector, *start = operation.operands
            yield from ((vector, place) for place in range(element_count(vector.type)))
            yield from ((each, 0) for each in start)

    return {*reached_from([origin_of(element)], lambda each: map(origin_of, behind(each)))}


def _exp2(at: Builder, x: ir.Value) -> ir.Value:
    """Returns 2^x for x that is not positive, or NaN."""
    kind = x.type
    scalar: ir.Type = at.integer_type(32)
    bits: ir.Type = (
        at.vector_type(kind.shape, scalar) if isinstance(kind, ir.VectorType) else scalar
    )

    def constant(number: int) -> ir.Value:
        return at.constant(kind, float(np.uint32(number).view(np.float32)))

    lowest = constant(_LOWEST)
    y = at.mulf(x, constant(_LN2))
    y = at.select(at.cmpf("olt", y, lowest), lowest, y)
    sum_ = _rounded_down(at, at.fma(y, constant(_LOG2_E), constant(_COEFFICIENTS[-1])))
    n = at.subf(sum_, constant(_M))
    r = y
    for part in _LN2_PARTS:
        r = at.fma(n, constant(part), r)
    first, *others = map(constant, _COEFFICIENTS)
    value = first
    for coefficient in others:
        value = at.fma(value, r, coefficient)
    value = at.addf(at.fma(value, at.mulf(r, r), r), constant(_ONE))
    exponent = at.shli(at.same_bits(sum_, bits), at.constant(bits, _MANTISSA_BITS))
    return at.mulf(value, at.same_bits(at.addi(exponent, at.constant(bits, _ONE)), kind))


def _rounded_down(at: Builder, t: ir.Value) -> ir.Value:
    """Returns t + M, rounded down element by element."""
    f32 = ir.F32Type.get(at.context)
    one, added = (at.constant(f32, float(np.uint32(each).view(np.float32))) for each in (_ONE, _M))
    sums = [at.intrinsic(_ROUNDED_DOWN, [each, one, added], each.type) for each in at.elements(t)]
    return at.joined(sums, t.type)
