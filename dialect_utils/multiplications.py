# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What computes in the loops of a kernel: matrix instructions, or the lanes each for themselves.

    %d = nvgpu.mma.sync(%a, %b, %c) ...          the matrix units multiply what a warp holds
    %d = math.fma %a, %b, %c : vector<32xf32>    a lane multiplies 32 pairs of its own elements

The operands have the same order in both: two factors, and what the product is added to. The loop
of an attention has exponentials beside them.
"""

from __future__ import annotations

from iree.compiler import ir

from .memory.mma_operands import MMA
from .operations import operations_in

ACCUMULATOR = 2
"""The number of the operand that a product is added to."""
MFMA, MULTIPLY_ADD = "amdgpu.mfma", "math.fma"
MATRIX_PRODUCTS = (MFMA, MMA)
"""What matrix units multiply, on AMD and on NVIDIA GPUs."""
EXP = "math.exp"
EXPONENTIALS = (EXP, "math.exp2")


def is_multiplication(operation: ir.Operation, *, by_lanes: bool) -> bool:
    """Returns whether an operation multiplies matrices, or parts of them.

    Args:
        by_lanes: whether lanes that multiply vectors of their own elements count, too.
    """
    if operation.name == MMA:
        return True
    return (
        by_lanes
        and operation.name == MULTIPLY_ADD
        and isinstance(operation.operands[0].type, ir.VectorType)
    )


def multiplications_in(operation: ir.Operation, *, by_lanes: bool) -> list[ir.Operation]:
    """Returns the multiplications inside an operation, in the order of the text."""
    names = (MMA, MULTIPLY_ADD) if by_lanes else (MMA,)
    found = operations_in(operation, *names)
    return [each for each in found if is_multiplication(each, by_lanes=by_lanes)]


def multiplies_halves(product: ir.Operation) -> bool:
    """Returns whether both factors of a product are vectors of floats of 2 bytes."""
    kinds = [operand.type for operand in list(product.operands)[:ACCUMULATOR]]
    halves = ir.F16Type | ir.BF16Type
    return all(isinstance(k, ir.VectorType) and isinstance(k.element_type, halves) for k in kinds)
