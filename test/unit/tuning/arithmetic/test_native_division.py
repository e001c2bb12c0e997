# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-native-division` finds the divisions whose divisors are inexact, and no others."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.handed_attributes import ROUNDED_QUOTIENT
from bankwise.tuning.arithmetic.native_division import NativeDivision
from bankwise.tuning.arithmetic.native_exp2 import NativeExp2

from ...functions import gpu_target, parse, run

DIVISION, INTRINSIC = "arith.divf", "llvm.call_intrinsic"
V = "vector<4xf32>"


def sigmoid(kind: str = "f32", *, arch: str = "sm_80", moved: str = "") -> str:
    """Returns a function that divides by the sum of an exponential and another number."""
    divisor = "%m" if moved else "%d"
    return f"""
func.func @f(%x: {kind}, %y: {kind}) -> {kind} attributes {{{gpu_target(arch)}}} {{
  %e = math.exp %x : {kind}
  %d = arith.addf %e, %y : {kind}
  {moved}
  %q = arith.divf %y, {divisor} : {kind}
  return %q : {kind}
}}"""


@pytest.mark.parametrize(
    ("text", "quotients"),
    [
        (sigmoid(), 1),
        (sigmoid("f16"), 1),
        (sigmoid("vector<3x2xbf16>"), 6),
        (sigmoid("f64"), 0),
        (sigmoid(arch="gfx942"), 0),
        (sigmoid(arch="sm_90a"), 1),
        (
            sigmoid(
                "vector<4xf32>", moved="%m = vector.shape_cast %d : vector<4xf32> to vector<4xf32>"
            ),
            4,
        ),
        (sigmoid(moved="%m = math.sqrt %d : f32"), 1),
        (sigmoid(moved="%m = arith.negf %y : f32"), 0),
        (sigmoid(moved="%m = math.floor %d : f32"), 0),
        (sigmoid(moved="%c = arith.cmpf ogt, %d, %y : f32\n%m = arith.uitofp %c : i1 to f32"), 0),
        (sigmoid(moved="%m = arith.maxnumf %d, %y : f32"), 0),
    ],
    ids=[
        "f32",
        "f16",
        "ranks",
        "f64",
        "AMD",
        "sm_90a",
        "moved",
        "computed",
        "other divisor",
        "rounded",
        "compared",
        "chosen",
    ],
)
def test_divisors_that_exponentials_make_inexact(text: str, quotients: int) -> None:
    parsed = parse(text)
    assert NativeDivision().has_work(parsed.function) == bool(quotients)
    found = run(parsed, NativeDivision())
    assert len(parsed.operations(INTRINSIC)) == quotients
    assert len(parsed.operations(DIVISION)) == (not quotients)
    assert len(found.said) == bool(quotients)
    assert not NativeDivision().has_work(parsed.function)
    assert ROUNDED_QUOTIENT not in str(parsed.function)


def test_quotients_behind_the_pass_that_replaces_exponentials() -> None:
    parsed = parse(sigmoid("vector<2xf32>"))
    run(parsed, NativeExp2(), NativeDivision())
    assert not parsed.operations(DIVISION)


def test_a_function_without_a_target_stays() -> None:
    parsed = parse("func.func @f(%x: f32) -> f32 { %0 = math.tanh %x : f32\n return %0 : f32 }")
    assert not NativeDivision().has_work(parsed.function)
    run(parsed, NativeDivision())
    assert parsed.operations("math.tanh")


@pytest.mark.parametrize("name", ["math.erf", "math.tanh"])
@pytest.mark.parametrize("kind", ["f32", "vector<4xf32>", "f16"])
def test_functions_that_iree_makes_quotients_of(name: str, kind: str) -> None:
    """A division of the program beside them stays."""
    parsed = parse(f"""
func.func @f(%x: {kind}, %y: {kind}) -> {kind} attributes {{{gpu_target("sm_80")}}} {{
  %a = {name} %x : {kind}
  %b = arith.divf %a, %y : {kind}
  return %b : {kind}
}}""")
    assert NativeDivision().has_work(parsed.function)
    run(parsed, NativeDivision())
    count = 4 if kind.startswith("vector") else 1
    assert not parsed.operations(name) and len(parsed.operations(INTRINSIC)) == count
    assert len(parsed.operations(DIVISION)) == 1 and "bankwise.rounded_quotient" not in str(
        parsed.function
    )
