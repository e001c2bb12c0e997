# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-multiply-unsigned`: products of unsigned bytes by AMD's signed matrix instructions.

The instructions on i8 take all factors for signed. An unsigned byte u with its highest bit inverted
is the signed byte u - 128. With c = -128, which is a signed byte, and s = u - 128, u is s - c. Sums
wrap in 32 bits, so that they may be taken apart in any way:

    sum(u b)   = sum(s b) - sum(c b)                               one factor is unsigned
    sum(u u')  = sum(s s') - sum(s c) - sum(c s') + sum(c c)       both are

Each sum is one instruction. That of c and c is the same everywhere, and those of one factor and c
are the same in all tiles of a row, or of a column, so that a wave computes them once. Elements that
pad an operand are 0 as unsigned bytes and stay so: nothing has to be known of them.

Which factors are unsigned the function says (`bankwise-check-products`). The pass runs where each
contraction is one instruction, right before it becomes that.

This works around IREE 3.13 (`docs/for_iree.md#unsigned-bytes-and-functions-of-factors`).
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import PassFailure
from ...dialect_utils.operations import operations_in
from ...dialect_utils.unsigned_factors import note_unsigned_factors, unsigned_factors
from ...passes.base import FunctionPass, PassContext

_CONTRACTION = "iree_codegen.inner_tiled"
_FACTORS = 2
_SIGN = -128
"""The byte of which only the highest bit is set."""


class MultiplyUnsigned(FunctionPass):
    """Multiplies unsigned bytes by signed matrix instructions."""

    name: ClassVar[str] = "bankwise-multiply-unsigned"
    summary: ClassVar[str] = "multiply unsigned 8-bit integers by signed matrix instructions"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether factors of `function` are unsigned."""
        return unsigned_factors(function) is not None

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the contractions.

        Raises:
            PassFailure: there are none, so that something else multiplies, nobody knows how.
        """
        function = function.operation
        factors = unsigned_factors(function)
        if factors is None:
            return
        contractions = operations_in(function, _CONTRACTION)
        if not contractions or factors.image is not None:
            text = "unsigned 8-bit integers are to be multiplied by a matrix instruction"
            raise PassFailure(function.location, f"{text}, and none was reached")
        for contraction in contractions:
            _correct(contraction, factors.operands)
        note_unsigned_factors(function, None)
        text = f"{len(contractions)} contractions multiply unsigned 8-bit integers"
        context.sink.remark(function.location, text)


def _correct(contraction: ir.Operation, unsigned: frozenset[int]) -> None:
    """Lets one contraction multiply unsigned factors.

    Raises:
        PassFailure: its operands are no vectors of bytes.
    """
    at = Builder.before(contraction)
    *operands, total = contraction.operands
    if len(operands) != _FACTORS or not all(_is_bytes(each.type) for each in operands):
        raise PassFailure(contraction.location, "unsigned factors are no vectors of 8-bit integers")
    a, b = operands
    sign_a, sign_b = (at.constant(each.type, _SIGN) for each in operands)
    a = at.xori(a, sign_a) if 0 in unsigned else a
    b = at.xori(b, sign_b) if 1 in unsigned else b
    zero = at.constant(total.type, 0)

    def contracted(left: ir.Value, right: ir.Value, begin: ir.Value) -> ir.Value:
        return at.like(contraction, [left, right, begin], [begin.type]).results[0]

    if 0 in unsigned:
        total = at.subi(total, contracted(sign_a, b, zero))
    if 1 in unsigned:
        total = at.subi(total, contracted(a, sign_b, zero))
    if len(unsigned) == _FACTORS:
        total = at.addi(total, contracted(sign_a, sign_b, zero))
    contraction.results[0].replace_all_uses_with(contracted(a, b, total))
    contraction.erase()


def _is_bytes(kind: ir.Type) -> bool:
    return isinstance(kind, ir.VectorType) and str(kind.element_type) == "i8"
