# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes exponentials on NVIDIA GPUs by the instruction `ex2.approx` of f32.

IREE expands `math.exp2` and `math.exp` to a polynomial for CUDA, of some 25 instructions for each
element: more than half of what the inner loop of an attention executes. This pass runs before that:

    %e = math.exp2 %x : vector<2xf32>

becomes, for each element,

    %e0 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%x0) : (f32) -> f32

**Error of exp2.** The relative error of `ex2.approx` is at most 2^-22: two units in the last place,
over the full range (PTX ISA, "ex2", and CUDA C++ Programming Guide, "exp2f", which is the
instruction). IREE computes exp2(x) as exp(x ln 2) and rounds x ln 2: where the result is smallest
but not subnormal, at x = -126, its relative error reaches 2^-18.

**Error of exp.** ex2(x log2 e) alone would lose as much, because the product is rounded. What the
rounding loses is therefore computed by a fused multiplication and addition, and multiplied in:

    y = round(x L),  l = (x L - y) + x M,  exp(x) = ex2(y) (1 + l ln 2)

where L + M is log2 e in twice the precision. The factor and the product add 2^-24 each, and the
relative error stays below 2^-21. That of IREE's polynomial is 2^-23.5.

**Special values** are those of C, as the PTX ISA lists them for `ex2`: -inf gives +0, +inf gives
+inf, both zeros give 1, NaN gives NaN. (IREE's polynomial gives 1.8e38 for +inf.) In `exp`, l is
huge or NaN where x or y is infinite or far outside of the range of results; the factor is
therefore clamped to [0.5, 2]. Wherever the result is neither 0 nor infinite, the factor is within
2^-16 of 1.

**Subnormal numbers.** With `.ftz`, subnormal operands count as zeros, whose exponential is 1 all
the same, and results below 2^-126 become +0. That form is used where the function lets its
arithmetic do so, as IREE has it for attentions. Elsewhere it is `ex2.approx.f32`, which takes and
gives subnormal numbers, and costs three instructions more.

**f16 and bf16.** IREE widens these and computes the same polynomial. Here exp(x) is ex2(x log2 e)
in f32, rounded once: where the result is neither 0 nor infinite, |x log2 e| is at most 25 for f16
and 134 for bf16, so that the rounded product adds a relative error of at most 2^-19 and 2^-16.
Rounding the result makes one of 2^-12 and 2^-9.

On AMD GPUs IREE uses the hardware's instruction itself.
"""

from __future__ import annotations

import math
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.shown_text import counted_are
from ...dialect_utils.builders import Builder
from ...dialect_utils.element_moves import element_count
from ...dialect_utils.element_types import LOG2_E, as_f32, scalar_type
from ...dialect_utils.multiplications import EXP, EXPONENTIALS
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext
from .native_f32 import computed_in_f32, flushes_subnormals, has_native_f32, in_f32

_FLUSHING = "ex2.approx.ftz"
_PRECISE = "ex2.approx"

# log2 e to 53 bits; f32 keeps 24 of those that `LOG2_E` leaves.
_LOG2_E_REST = as_f32(math.log2(math.e) - LOG2_E)
_LEAST_FACTOR, _GREATEST_FACTOR = 0.5, 2.0


class NativeExp2(FunctionPass):
    """Replaces exponentials of f32, f16 and bf16, and of vectors of them, by `ex2.approx`."""

    name: ClassVar[str] = "bankwise-native-exp2"
    summary: ClassVar[str] = "compute exponentials by ex2.approx on NVIDIA GPUs"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` is for an NVIDIA GPU and has exponentials."""
        return has_native_f32(function, None) and bool(_exponentials(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the exponentials; never fails."""
        function = function.operation
        if not has_native_f32(function, context.test_target):
            return
        instruction = _FLUSHING if flushes_subnormals(function) else _PRECISE
        count = 0
        for operation in _exponentials(function):
            count += element_count(operation.results[0].type)
            _replace(operation, f"llvm.nvvm.{instruction}.f32")
        if count:
            text = f"{counted_are(count, 'exponential')} computed by {instruction}.f32"
            context.sink.remark(function.location, text)


def _exponentials(function: ir.Operation) -> list[ir.Operation]:
    """Returns the operations whose elements can be computed one by one."""
    found = operations_in(function, *EXPONENTIALS)
    return [each for each in found if computed_in_f32(each.results[0])]


def _replace(operation: ir.Operation, intrinsic: str) -> None:
    at, operand = Builder.before(operation), operation.operands[0]
    make = _exp if operation.name == EXP else _exp2
    if isinstance(scalar_type(operand.type), ir.F32Type):
        result = make(at, operand, intrinsic)
    else:
        result = _rounded_exponential(at, operation, intrinsic)
    operation.results[0].replace_all_uses_with(result)
    operation.erase()


def _rounded_exponential(at: Builder, operation: ir.Operation, intrinsic: str) -> ir.Value:
    """Returns an exponential of f16 or bf16, which is computed in f32."""
    x = in_f32(at, operation.operands[0])
    if operation.name == EXP:
        x = at.mulf(x, at.constant(x.type, LOG2_E))
    return at.truncf(_exp2(at, x, intrinsic), operation.results[0].type)


def _exp2(at: Builder, x: ir.Value, intrinsic: str) -> ir.Value:
    """Returns 2^x; the elements of a vector are computed one by one."""
    results = [at.intrinsic(intrinsic, [each], each.type) for each in at.elements(x)]
    return at.joined(results, x.type)


def _exp(at: Builder, x: ir.Value, intrinsic: str) -> ir.Value:
    """Returns e^x as the documentation of this file derives it."""

    def constant(number: float) -> ir.Value:
        return at.constant(x.type, number)

    log2_e = constant(LOG2_E)
    y = at.mulf(x, log2_e)
    lost = at.fma(x, log2_e, at.negf(y))
    lost = at.fma(x, constant(_LOG2_E_REST), lost)
    factor = at.fma(lost, constant(math.log(2)), constant(1))
    # These two give the constant, and not NaN, for a factor that is NaN.
    factor = at.minnumf(factor, constant(_GREATEST_FACTOR))
    factor = at.maxnumf(factor, constant(_LEAST_FACTOR))
    return at.mulf(_exp2(at, y, intrinsic), factor)
