# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tuning/programs/split_sums: products that are alike are predicted once."""

from __future__ import annotations

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.passes.base import PassContext
from bankwise.tuning.programs import split_sums
from bankwise.tuning.programs.split_sums import SplitSums


def product(number: int, summed: int) -> str:
    a, b = f"tensor<64x{summed}xf32>", f"tensor<{summed}x64xf32>"
    return f"""
  %r{number} = linalg.matmul ins(%a{summed}, %b{summed} : {a}, {b})
    outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
"""


def test_equal_products_are_predicted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def microseconds(tilings: list[object], summed: int, count: int, _: object) -> float:
        asked.append((tilings[0].extents[summed], count))  # pyright: ignore[reportAttributeAccessIssue]
        return 1.0

    monkeypatch.setattr(split_sums, "_microseconds", microseconds)
    monkeypatch.setattr(split_sums, "_predicted", {})
    arguments = ", ".join(
        f"%a{k}: tensor<64x{k}xf32>, %b{k}: tensor<{k}x64xf32>" for k in (8192, 16384)
    )
    body = product(0, 8192) + product(1, 16384) + product(2, 8192)
    zeros = """
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
"""
    source = f"func.func @f({arguments}) {{ {zeros} {body} return }}"
    module = ir.Module.parse(source, Session().context)
    (function,) = module.body.operations
    SplitSums().run(function.operation, PassContext(test_target="sm_80"))
    assert {each for each, _ in asked} == {8192, 16384}
    assert len(asked) == len({*asked})
