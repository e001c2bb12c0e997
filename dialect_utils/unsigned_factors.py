# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which factors of a function's products of 8-bit integers are unsigned.

A `linalg.generic` says in its body whether it widens a factor by `arith.extui` or by `arith.extsi`.
The `iree_codegen.inner_tiled` that IREE makes of it has no body, and its matrix instructions
take every byte for a signed one. The function says by an attribute what the body has said.
"""

from __future__ import annotations

from iree.compiler import ir

from ..bank_model.quick_tuple import NamedTuple
from .handed_attributes import IMAGE_FACTOR, UNSIGNED_FACTORS


class UnsignedFactors(NamedTuple):
    """What a function says of its products.

    Attributes:
        operands: the numbers of the operands that are unsigned, of 0 and 1; at least one.
        image: the number of the operand that is the image of a convolution; None where the function
            multiplies matrices.
    """

    operands: frozenset[int]
    image: int | None = None

    def behind_im2col(self, image: int) -> UnsignedFactors:
        """Returns the factors of the product of matrices that a convolution has become.

        Args:
            image: the number of the operand that is made of the image.
        """
        turned = image != self.image
        return UnsignedFactors(frozenset(each ^ turned for each in self.operands))


def unsigned_factors(function: ir.Operation) -> UnsignedFactors | None:
    """Returns what a function says of its products; None where all factors are signed."""
    if UNSIGNED_FACTORS not in function.attributes:
        return None
    operands = ir.DenseI64ArrayAttr(function.attributes[UNSIGNED_FACTORS])
    image = None
    if IMAGE_FACTOR in function.attributes:
        image = ir.IntegerAttr(function.attributes[IMAGE_FACTOR]).value
    return UnsignedFactors(frozenset(operands), image)


def note_unsigned_factors(function: ir.Operation, factors: UnsignedFactors | None) -> None:
    """Lets a function say which factors are unsigned; None takes it back."""
    for name in (UNSIGNED_FACTORS, IMAGE_FACTOR):
        if name in function.attributes:
            del function.attributes[name]
    if factors is None:
        return
    context = function.context
    function.attributes[UNSIGNED_FACTORS] = ir.DenseI64ArrayAttr.get(
        sorted(factors.operands), context
    )
    if factors.image is not None:
        kind = ir.IntegerType.get_signless(64, context)
        function.attributes[IMAGE_FACTOR] = ir.IntegerAttr.get(kind, factors.image)
