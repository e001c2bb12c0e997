# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random products of which more is computed where tiles have padding: functions with branches,
branches, and quotients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..program_families.program import TOLERANCE, Array, Program, integers, tensor

_SIZES = (1, 1, 2, 3, 5, 17, 40, 70, 100, 130)
_SUMMED = (3, 8, 24, 33, 64, 100)
_OPERANDS = {"(m, n)": (0, 1), "(n)": (1,), "(m)": (0,)}
"""What else is read, by its map, and the dimensions of the result that it has."""
_FUNCTIONS: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    **{
        name: (
            f"""%sum = arith.addf %x, %y : f32
    %z = math.{name} %sum : f32""",
            lambda x, y, function=function: function(x + y),
        )
        for name, function in (("tanh", np.tanh), ("sin", np.sin), ("cos", np.cos))
    },
    "quotient": (
        """%hundred = arith.constant 100 : i32
    %divisor = arith.fptosi %y : f32 to i32
    %quotient = arith.divsi %hundred, %divisor : i32
    %rounded = arith.sitofp %quotient : i32 to f32
    %z = arith.addf %x, %rounded : f32""",
        lambda x, y: x + np.trunc(100 / y),
    ),
    "branch": (
        """%three = arith.constant 3.0 : f32
    %below = arith.cmpf olt, %y, %three : f32
    %z = scf.if %below -> f32 {
      %square = arith.mulf %x, %x : f32
      %one = arith.addf %square, %three : f32
      %root = math.sqrt %one : f32
      scf.yield %root : f32
    } else {
      %sum = arith.addf %x, %y : f32
      scf.yield %sum : f32
    }""",
        lambda x, y: np.where(y < 3, np.sqrt(x * x + 3), x + y),
    ),
}
"""What is computed of a sum %x and another number %y, and how NumPy does it."""


def padded(random: np.random.Generator, name: str) -> Program:
    """Returns a function of a product and of positive numbers, whose sizes no tile need divide."""
    m, n = (int(random.choice(_SIZES)) for _ in range(2))
    k = int(random.choice(_SUMMED))
    kind = ("f16", "bf16", "f32")[random.integers(3)]
    other_map = "(m, n)" if random.random() < 0.6 else ("(n)", "(m)")[random.integers(2)]
    body, function = _FUNCTIONS[[*_FUNCTIONS][random.integers(len(_FUNCTIONS))]]
    shape = tuple((m, n)[dim] for dim in _OPERANDS[other_map])
    left, right, out = tensor(kind, m, k), tensor(kind, k, n), tensor("f32", m, n)
    other = tensor("f32", *shape)
    source = f"""#out = affine_map<(m, n) -> (m, n)>
func.func @main(%left: {left}, %right: {right}, %other: {other}) -> {out} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {out}
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
  %product = linalg.matmul ins(%left, %right : {left}, {right}) outs(%zeros : {out}) -> {out}
  %out = linalg.generic {{indexing_maps = [#out, affine_map<(m, n) -> {other_map}>, #out],
      iterator_types = ["parallel", "parallel"]}}
      ins(%product, %other : {out}, {other}) outs(%empty : {out}) {{
  ^bb0(%x: f32, %y: f32, %before: f32):
    {body}
    linalg.yield %z : f32
  }} -> {out}
  return %out : {out}
}}
"""

    def reference(left: Array, right: Array, other: Array) -> Array:
        return function(left @ right, other[:, None] if other_map == "(m)" else other)

    inputs = (
        integers(kind, m, k, low=-3, high=4),
        integers(kind, k, n, low=-3, high=4),
        integers("f32", *shape, low=1, high=9),
    )
    return Program(name, source, inputs, reference, TOLERANCE["f32"])
