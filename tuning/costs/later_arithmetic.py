# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many instructions compute with each element of a result before it is stored.

Most of what is computed with the results of a product costs little: a bias is added, to all results
of a lane side by side. But GELU and SiLU take 25 to 60 instructions an element, more than a product
of 96 summed elements takes, and the branches of a division let no two elements be computed side by
side. What is counted are such operations in the elementwise `linalg.generic` that use the result,
one after the other, in the same kernel.
"""

from __future__ import annotations

from iree.compiler import ir

from ...dialect_utils.indexing_maps import GENERIC, summed_loops
from ...dialect_utils.multiplications import EXPONENTIALS
from ...dialect_utils.operations import children, operands_with

_LONG = {
    "math.erf": 36.0,
    "math.tanh": 18.0,
    "math.powf": 60.0,
    "math.log": 20.0,
    "math.log1p": 30.0,
    "math.sin": 30.0,
    "math.cos": 30.0,
    "math.sqrt": 8.0,
    "math.rsqrt": 4.0,
}
"""The instructions of operations that are many. Those of the first two are of the code that ptxas
13.0 makes for sm_90a of f16 products with GELU; the others are estimates."""
_EXPONENTIAL = 8.0
"""Those of an exponential, beside what evaluates a polynomial."""
_DIVIDING = ("math.erf", "math.tanh", "arith.divf")
"""What has a division besides: IREE makes quotients of polynomials of the first two."""
ROUNDED_DIVISION, SHORT_DIVISION = 18.0, 8.0
"""The instructions of a division that is rounded correctly, and of `div.full`
(`tuning/arithmetic/native_division.py`)."""


def later_instructions(result: ir.Value, exponential: float, division: float) -> float:
    """Returns how many instructions of long operations compute with each element of a tensor.

    Args:
        exponential: those of an exponential that the GPU has no instruction for.
        division: those of a division.
    """
    count, pending, seen = 0.0, [result], set[ir.Operation]()
    while pending:
        for user, _ in operands_with(pending.pop()):
            if user in seen or user.name != GENERIC or summed_loops(user):
                continue
            seen.add(user)
            count += sum(_instructions(each, exponential, division) for each in children(user))
            pending += user.results
    return count


def _instructions(operation: ir.Operation, exponential: float, division: float) -> float:
    if operation.name in EXPONENTIALS:
        return _EXPONENTIAL + exponential
    return _LONG.get(operation.name, 0.0) + division * (operation.name in _DIVIDING)
