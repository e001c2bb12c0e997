# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on tensors and a single number, such as a scale that is an argument."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.iree_plugin.python_compile import compile
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

SOURCE = """
#whole = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<3x1000xf32>, %s: f32) -> OUT {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : OUT
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : OUT) -> OUT
  %out = linalg.generic {
      indexing_maps = [#whole, affine_map<(i, j) -> ()>, affine_map<(i, j) -> MAP>],
      iterator_types = ["parallel", "LAST"]}
      ins(%x, %s : tensor<3x1000xf32>, f32) outs(%zeros : OUT) {
  ^bb0(%a: f32, %b: f32, %before: f32):
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %before, %product : f32
    linalg.yield %sum : f32
  } -> OUT
  return %out : OUT
}
"""
ELEMENTS = (
    SOURCE.replace("OUT", "tensor<3x1000xf32>").replace("MAP", "(i, j)").replace("LAST", "parallel")
)
ROWS = SOURCE.replace("OUT", "tensor<3xf32>").replace("MAP", "(i)").replace("LAST", "reduction")


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("level", ["exact", "fast"])
def test_scaled_elements_are_right(level: str) -> None:
    x = np.arange(3000, dtype=np.float32).reshape(3, 1000)
    inputs = [x, 0.5]
    run = run_emulated(ELEMENTS, target_flags("gfx942"), f"auto/{level}", inputs)
    assert (run.outputs[0] == x / 2).all()


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("target", ["sm_80", "gfx942"])
@pytest.mark.parametrize("level", ["exact", "fast"])
@pytest.mark.parametrize("source", [ELEMENTS, ROWS], ids=["elements", "rows"])
def test_it_compiles(source: str, level: str, target: str) -> None:
    assert compile(source, target_flags(target), f"auto/{level}")
