# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-mix-exponentials` asks LLVM for nothing in loops that are too long for it."""

from __future__ import annotations

import pytest

from bankwise.tuning.overlap.mix_exponentials import (
    MOST_OF_A_PRODUCT,
    MOST_OPERATIONS,
    MixExponentials,
)

from ...functions import launched, parse, run

TARGET = "gfx942"
_OTHERS = 6
"""The operations beside sums and products: the loop, a constant, a power, a rounding, a sign, a
yield."""
MANY = MOST_OPERATIONS // MOST_OF_A_PRODUCT + 10
"""So many products that they, and not the operations alone, decide."""


def kernel(operations: int, products: int, kept: int = 4) -> str:
    """Returns an attention's loop of so many operations, those within it and itself.

    Each iteration reads so many registers that are kept from before the loop.
    """
    scores = "amdgpu.mfma 16x16x16 %a * %a + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>"
    others = operations - products - _OTHERS
    body = [f"%m{n} = {scores}" for n in range(products - 1)]
    body += ["%s0 = arith.constant dense<0.0> : vector<4xf32>"]
    body += [f"%s{n + 1} = arith.addf %s{n}, %c : vector<4xf32>" for n in range(others)]
    return f"""
func.func @f(
    %a: vector<4xf16>, %c: vector<4xf32>, %k: vector<{kept}xf32>, %n: index) -> vector<4xf32>
    attributes {{{launched()}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {{
    {chr(10).join(body)}
    %z = arith.negf %k : vector<{kept}xf32>
    %e = math.exp2 %s{others} : vector<4xf32>
    %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %y = amdgpu.mfma 16x16x16 %p * %a + %x : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %y : vector<4xf32>
  }}
  return %r : vector<4xf32>
}}"""


@pytest.mark.parametrize(
    ("operations", "products", "requests"),
    [
        (MOST_OPERATIONS, 2, 1),
        (MOST_OPERATIONS + 1, 2, 0),
        (MOST_OF_A_PRODUCT * MANY, MANY, 1),
        (MOST_OF_A_PRODUCT * MANY + 1, MANY, 0),
    ],
)
def test_long_loops_are_left_to_the_usual_scheduler(
    operations: int, products: int, requests: int
) -> None:
    """Neither request is made: either alone lets LLVM store hundreds of registers to memory."""
    said = "LLVM mixes" if requests else f"{operations:,} operations for {products:,} products"
    parsed = parse(kernel(operations, products))
    (message,) = run(parsed, MixExponentials(), target=TARGET).messages
    assert said in message
    assert len(parsed.operations("rocdl.iglp.opt")) == requests
    assert str(parsed).count("iterative-ilp") == requests


@pytest.mark.parametrize(("kept", "requests"), [(230, 1), (270, 0)])
def test_a_loop_that_fills_registers_is_left_to_the_usual_scheduler(
    kept: int, requests: int
) -> None:
    """A lane of gfx942 has 512, of which 256 may be alive: what is kept, and operands."""
    said = "LLVM mixes" if requests else "registers are alive in a loop, of 512"
    parsed = parse(kernel(100, 2, kept))
    (message,) = run(parsed, MixExponentials(), target=TARGET).messages
    assert said in message
    assert len(parsed.operations("rocdl.iglp.opt")) == requests
