# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Divides on NVIDIA GPUs by the instruction `div.full`, where the divisor is inexact anyway.

A division of f32 that is rounded correctly is some 18 instructions, among them a branch and a call
for the quotients that need more, so that no two elements are divided side by side. Sigmoid, SiLU,
GELU and tanh divide each element. This pass makes of

    %d = arith.addf %one, %e : vector<2xf32>               // %e is an exponential
    %q = arith.divf %x, %d : vector<2xf32>

for each element, without a branch,

    %q0 = llvm.call_intrinsic "llvm.nvvm.div.full"(%x0, %d0) : (f32, f32) -> f32

**Which divisions.** Those whose divisor is computed from an exponential in the same kernel, and
those that IREE makes of `math.erf` and `math.tanh`, which it approximates by quotients of
polynomials. Of other divisions a program may count on what is exact: floor(x / 3) of multiples of 3
is no place for an error. `math.erf` and `math.tanh` are expanded here, by the pass of IREE that
does so later.

**Error.** The relative error of `div.full` is at most 2^-22, two units in the last place, over the
full range (PTX ISA, "div"); that of a division is 2^-24, and that of an exponential at `fast` 2^-21
(`native_exp2.py`). Zeros, infinities and NaN divide as in C. Quotients of f16 and bf16 are computed
in f32 and rounded once, as IREE does.

Of f16 8192x2048x256 with SiLU, a lane executes 25.6 instructions for each result in place of 35.8,
and of GELU 52.6 in place of 65.1.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir
from iree.compiler.passmanager import PassManager

from ...bank_model.shown_text import counted_are
from ...dialect_utils.builders import Builder
from ...dialect_utils.element_moves import element_count, is_move
from ...dialect_utils.handed_attributes import ROUNDED_QUOTIENT
from ...dialect_utils.multiplications import EXPONENTIALS
from ...dialect_utils.operations import makers_behind, operations_in, replace_by
from ...passes.base import FunctionPass, PassContext
from .native_f32 import computed_in_f32, flushes_subnormals, has_native_f32, in_f32

_DIVISION = "arith.divf"
_QUOTIENTS = ("math.erf", "math.tanh")
"""What IREE approximates by quotients of polynomials."""
_EXPAND = "iree-codegen-math-transform"
_CONTINUOUS = {f"arith.{each}f" for each in ("add", "div", "ext", "mul", "neg", "sub", "trunc")}
_CONTINUOUS |= {f"math.{each}" for each in ("fma", "log", "log1p", "rsqrt", "sqrt")}
"""What hands the error of an operand on. A number that is compared, chosen or rounded may be exact
again."""
_INTRINSIC = "llvm.call_intrinsic"
_FULL, _FLUSHING = "llvm.nvvm.div.full", "llvm.nvvm.div.full.ftz"


class NativeDivision(FunctionPass):
    """Divides f32, f16 and bf16, and vectors of them, by `div.full` where divisors are inexact."""

    name: ClassVar[str] = "bankwise-native-division"
    summary: ClassVar[str] = "divide by exponentials by div.full on NVIDIA GPUs"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` is for an NVIDIA GPU and has such divisions."""
        found = operations_in(function, _DIVISION, *_QUOTIENTS)
        return any(map(_is_replaced, found)) and has_native_f32(function, None)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the divisions; never fails."""
        function = function.operation
        found = operations_in(function, _DIVISION, *_QUOTIENTS)
        if not found or not has_native_f32(function, context.test_target):
            return
        for division in found:
            if division.name == _DIVISION and not _is_inexact(division):
                division.attributes[ROUNDED_QUOTIENT] = ir.UnitAttr.get(function.context)
        if any(each.name in _QUOTIENTS and _is_in_f32(each) for each in found):
            # IREE's pass creates operations of the dialect, and does not load it.
            function.context.get_dialect_descriptor("vector")
            PassManager.parse(f"{function.name}({_EXPAND})", function.context).run(function)
        intrinsic = _FLUSHING if flushes_subnormals(function) else _FULL
        count = 0
        for division in operations_in(function, _DIVISION):
            if ROUNDED_QUOTIENT in division.attributes:
                del division.attributes[ROUNDED_QUOTIENT]
            elif computed_in_f32(division.results[0]):
                count += element_count(division.results[0].type)
                _replace(division, intrinsic)
        if count:
            text = f"{counted_are(count, 'quotient')} computed by div.full.f32"
            context.sink.remark(function.location, text)


def _is_replaced(operation: ir.Operation) -> bool:
    """Returns whether an operation divides by what is inexact, or becomes such divisions."""
    return _is_in_f32(operation) and (operation.name != _DIVISION or _is_inexact(operation))


def _is_in_f32(operation: ir.Operation) -> bool:
    return computed_in_f32(operation.results[0])


def _is_inexact(division: ir.Operation) -> bool:
    """Returns whether the divisor is computed from an exponential, element by element."""
    divisor = division.operands[1]
    makers = makers_behind([divisor], lambda each: each.name in _CONTINUOUS or is_move(each))
    return any(each.name in EXPONENTIALS or _is_exponential(each) for each in makers)


def _is_exponential(operation: ir.Operation) -> bool:
    """Returns whether an operation is an instruction that `bankwise-native-exp2` made."""
    is_intrinsic = operation.name == _INTRINSIC
    return is_intrinsic and ".ex2." in ir.StringAttr(operation.attributes["intrin"]).value


def _replace(division: ir.Operation, intrinsic: str) -> None:
    at, kind = Builder.before(division), division.results[0].type
    dividend, divisor = (in_f32(at, each) for each in division.operands)
    pairs = zip(at.elements(dividend), at.elements(divisor), strict=True)
    quotients = [at.intrinsic(intrinsic, pair, pair[0].type) for pair in pairs]
    quotient = at.joined(quotients, dividend.type)
    replace_by(division, quotient if quotient.type == kind else at.truncf(quotient, kind))
