# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long operations are counted that compute with a product's results in the same kernel."""

from __future__ import annotations

import pytest

from bankwise.tuning.costs.later_arithmetic import later_instructions

from ...functions import parse

T = "tensor<64x64xf32>"
MAPS = "indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]"
PARALLEL = 'iterator_types = ["parallel", "parallel"]'


def elementwise(result: str, operand: str, *body: str) -> str:
    """Returns an elementwise operation that computes with %x, and yields %y."""
    lines = "\n    ".join(body)
    return f"""
  {result} = linalg.generic {{{MAPS}, {PARALLEL}}} ins({operand} : {T}) outs(%e : {T}) {{
  ^bb0(%x: f32, %o: f32):
    {lines}
    linalg.yield %y : f32
  }} -> {T}"""


def counted(behind: str, exponential: float, division: float) -> float:
    """Returns how many instructions compute with %r, a product, in what stands behind it."""
    parsed = parse(f"""
func.func @f(%a: {T}, %b: {T}) {{
  %e = tensor.empty() : {T}
  %r = linalg.matmul ins(%a, %b : {T}, {T}) outs(%e : {T}) -> {T}
  {behind}
  return
}}""")
    (matmul,) = parsed.operations("linalg.matmul")
    return later_instructions(matmul.results[0], exponential, division)


ERF = "%y = math.erf %x : f32"
EXP = "%y = math.exp %x : f32"
SIGMOID = ("%c = math.exp %x : f32", "%d = arith.addf %c, %x : f32", "%y = arith.divf %x, %d : f32")
ROW_SUMS = f"""
  %s = tensor.empty() : tensor<64xf32>
  %n = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
      iterator_types = ["parallel", "reduction"]}} ins(%r : {T}) outs(%s : tensor<64xf32>) {{
  ^bb0(%x: f32, %o: f32):
    %z = math.erf %x : f32
    %y = arith.addf %o, %z : f32
    linalg.yield %y : f32
  }} -> tensor<64xf32>"""


@pytest.mark.parametrize(
    ("behind", "exponential", "count"),
    [
        ("", 1.0, 0.0),
        (elementwise("%n", "%r", "%y = arith.addf %x, %x : f32"), 1.0, 0.0),
        (elementwise("%n", "%r", ERF), 1.0, 54.0),
        (elementwise("%n", "%r", EXP), 1.0, 9.0),
        (elementwise("%n", "%r", EXP), 17.0, 25.0),
        (elementwise("%n", "%r", *SIGMOID), 1.0, 27.0),
        (elementwise("%n", "%r", EXP) + elementwise("%p", "%n", ERF), 1.0, 63.0),
        (elementwise("%n", "%a", ERF), 1.0, 0.0),
        (ROW_SUMS, 1.0, 0.0),
    ],
    ids=["none", "short", "erf", "exp", "polynomial", "sigmoid", "chain", "other", "reduction"],
)
def test_long_operations_of_elementwise_users_are_counted(
    behind: str, exponential: float, count: float
) -> None:
    assert counted(behind, exponential, 18.0) == count


def test_an_operation_that_two_users_share_is_counted_once() -> None:
    behind = elementwise("%n", "%r", EXP) + elementwise("%p", "%r", EXP)
    behind += f"""
  %q = linalg.generic {{indexing_maps = [{", ".join(["affine_map<(m, n) -> (m, n)>"] * 3)}],
      {PARALLEL}}} ins(%n, %p : {T}, {T}) outs(%e : {T}) {{
  ^bb0(%x: f32, %z: f32, %o: f32):
    %y = math.erf %x : f32
    linalg.yield %y : f32
  }} -> {T}"""
    assert counted(behind, 1.0, 8.0) == 9.0 + 9.0 + 44.0
