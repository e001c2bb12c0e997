# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tuning/matmuls/stock_sums: where IREE adds a bias first, lanes with tiles do so, too."""

from __future__ import annotations

import pytest

from bankwise.iree_plugin.python_compile import compile
from bankwise.sweep.cases import target_flags
from bankwise.tuning.matmuls.stock_sums import StockSums

PRODUCT_AND_BIAS = """
func.func @f(%a: tensor<32xKxf32>, %b: tensor<Kx333xf32>, %c: tensor<32xf32>)
    -> tensor<32x333xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x333xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x333xf32>) -> tensor<32x333xf32>
  %product = linalg.matmul ins(%a, %b : tensor<32xKxf32>, tensor<Kx333xf32>)
      outs(%filled : tensor<32x333xf32>) -> tensor<32x333xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>,
      affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%product, %c : tensor<32x333xf32>, tensor<32xf32>)
      outs(%empty : tensor<32x333xf32>) {
    ^bb0(%x: f32, %bias: f32, %out: f32):
      %y = arith.addf %x, %bias : f32
      linalg.yield %y : f32
  } -> tensor<32x333xf32>
  return %sum : tensor<32x333xf32>
}
"""


@pytest.mark.parametrize("at_once", [False, True])
def test_a_bias_comes_first_in_both_or_in_none(at_once: bool):
    plain = StockSums((), 1, rounded=True, padded=True, at_once=at_once)
    biased = plain._replace(added=True)
    assert [plain.keeps(32, step) for step in (16, 32, 64)] == [True, True, True]
    assert [biased.keeps(32, step) for step in (16, 32, 64)] == [not at_once, at_once, at_once]


@pytest.mark.parametrize(("summed", "first"), [(32, True), (96, False)])
def test_iree_and_lanes_add_a_bias_at_the_same_place(summed: int, first: bool):
    """A bias that comes first is the first summand: there are no more additions than products."""
    text = PRODUCT_AND_BIAS.replace("K", str(summed))
    for mode in ("stock", "auto/exact"):
        made = compile(text, target_flags("sm_80"), mode)
        assert b"fma.rn.f32" not in made
        assert (made.count(b"add.rn.f32") == made.count(b"mul.rn.f32")) is first
    # It has a tile of lanes there.
    assert b"ld.shared" in made


WINDOW_AND_BIAS = """
func.func @f(%a: tensor<2x19xf32>, %b: tensor<24x3xf32>, %c: tensor<24xf32>)
    -> tensor<2x24x17xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x24x17xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x24x17xf32>) -> tensor<2x24x17xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(n, f, x, p) -> (n, x + p)>,
      affine_map<(n, f, x, p) -> (f, p)>, affine_map<(n, f, x, p) -> (n, f, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x19xf32>, tensor<24x3xf32>) outs(%filled : tensor<2x24x17xf32>) {
    ^bb0(%x: f32, %w: f32, %out: f32):
      %y = arith.mulf %x, %w : f32
      %z = arith.addf %out, %y : f32
      linalg.yield %z : f32
  } -> tensor<2x24x17xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(n, f, x) -> (n, f, x)>,
      affine_map<(n, f, x) -> (f)>, affine_map<(n, f, x) -> (n, f, x)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%product, %c : tensor<2x24x17xf32>, tensor<24xf32>)
      outs(%empty : tensor<2x24x17xf32>) {
    ^bb0(%x: f32, %bias: f32, %out: f32):
      %y = arith.addf %x, %bias : f32
      linalg.yield %y : f32
  } -> tensor<2x24x17xf32>
  return %sum : tensor<2x24x17xf32>
}
"""


def test_a_bias_of_a_window_of_one_channel_comes_last():
    for mode in ("stock", "auto/exact"):
        made = compile(WINDOW_AND_BIAS, target_flags("sm_80"), mode)
        assert made.count(b"add.rn.f32") > made.count(b"mul.rn.f32") > 0
