# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmaxes between two products, as JAX and PyTorch's eager attentions are exported."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bench.attention_errors import Case, Product, Row
from bankwise.bench.attention_errors import raised as _raised
from bankwise.bench.program_families.attention import Attention, plain_sizes
from bankwise.bench.program_families.program import Array
from bankwise.bench.program_families.written_out import written_out
from bankwise.emulator.counters import Counted
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

_LIKE_JAX = """
func.func @main(%q: tensor<6x80x64xf16>, %k: tensor<6x64x144xf16>, %v: tensor<6x32x144xf16>,
                %bias: tensor<80x144xf16>) -> tensor<6x32x80xf16> {
  %zero = arith.constant 0.0 : f16
  %eight = arith.constant 8.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %half = arith.constant 0.5 : f16
  %be = tensor.empty() : tensor<80x144xi1>
  %m = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%bias : tensor<80x144xf16>) outs(%be : tensor<80x144xi1>) {
  ^bb0(%x: f16, %y: i1):
    %b = arith.cmpf olt, %x, %half : f16
    linalg.yield %b : i1
  } -> tensor<80x144xi1>
  %se = tensor.empty() : tensor<6x80x144xf16>
  %sz = linalg.fill ins(%zero : f16) outs(%se : tensor<6x80x144xf16>) -> tensor<6x80x144xf16>
  %s = linalg.batch_matmul ins(%q, %k : tensor<6x80x64xf16>, tensor<6x64x144xf16>)
      outs(%sz : tensor<6x80x144xf16>) -> tensor<6x80x144xf16>
  %s4 = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [2, 3, 80, 144]
      : tensor<6x80x144xf16> into tensor<2x3x80x144xf16>
  %we = tensor.empty() : tensor<2x3x80x144xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(b, h, m, k) -> (b, h, m, k)>,
      affine_map<(b, h, m, k) -> (b, h, m, k)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s4 : tensor<2x3x80x144xf16>) outs(%we : tensor<2x3x80x144xf32>) {
  ^bb0(%x: f16, %y: f32):
    %z = arith.extf %x : f16 to f32
    linalg.yield %z : f32
  } -> tensor<2x3x80x144xf32>
  %scaled = linalg.generic {indexing_maps = [affine_map<(b, h, m, k) -> (b, h, m, k)>,
      affine_map<(b, h, m, k) -> (b, h, m, k)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%wide : tensor<2x3x80x144xf32>) outs(%we : tensor<2x3x80x144xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %eight : f32
    linalg.yield %z : f32
  } -> tensor<2x3x80x144xf32>
  %masked = linalg.generic {indexing_maps = [affine_map<(b, h, m, k) -> (m, k)>,
      affine_map<(b, h, m, k) -> (b, h, m, k)>, affine_map<(b, h, m, k) -> (b, h, m, k)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%m, %scaled : tensor<80x144xi1>, tensor<2x3x80x144xf32>)
      outs(%we : tensor<2x3x80x144xf32>) {
  ^bb0(%x: i1, %s0: f32, %y: f32):
    %z = arith.select %x, %s0, %none : f32
    linalg.yield %z : f32
  } -> tensor<2x3x80x144xf32>
  %w = linalg.softmax dimension(3) ins(%masked : tensor<2x3x80x144xf32>)
      outs(%we : tensor<2x3x80x144xf32>) -> tensor<2x3x80x144xf32>
  %te = tensor.empty() : tensor<2x3x144x80xf16>
  %t = linalg.generic {indexing_maps = [affine_map<(b, h, k, m) -> (b, h, m, k)>,
      affine_map<(b, h, k, m) -> (b, h, k, m)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%w : tensor<2x3x80x144xf32>) outs(%te : tensor<2x3x144x80xf16>) {
  ^bb0(%x: f32, %y: f16):
    %z = arith.truncf %x : f32 to f16
    linalg.yield %z : f16
  } -> tensor<2x3x144x80xf16>
  %w3 = tensor.collapse_shape %t [[0, 1], [2], [3]]
      : tensor<2x3x144x80xf16> into tensor<6x144x80xf16>
  %oe = tensor.empty() : tensor<6x32x80xf16>
  %oz = linalg.fill ins(%zero : f16) outs(%oe : tensor<6x32x80xf16>) -> tensor<6x32x80xf16>
  %o = linalg.batch_matmul ins(%v, %w3 : tensor<6x32x144xf16>, tensor<6x144x80xf16>)
      outs(%oz : tensor<6x32x80xf16>) -> tensor<6x32x80xf16>
  return %o : tensor<6x32x80xf16>
}
"""
"""V and the output are transposed, and the heads of two sequences have one mask."""

_LIKE_PYTORCH = """
func.func @main(%q: tensor<6x80x64xf16>, %k: tensor<6x144x64xf16>, %v: tensor<6x144x32xf16>,
                %bias: tensor<80x144xf32>) -> tensor<6x80x32xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.11 : f32
  %se = tensor.empty() : tensor<6x80x144xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>,
      affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%q, %k : tensor<6x80x64xf16>, tensor<6x144x64xf16>)
      outs(%sz : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %masked = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>,
      affine_map<(b, m, k) -> (m, k)>, affine_map<(b, m, k) -> (b, m, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %bias : tensor<6x80x144xf32>, tensor<80x144xf32>)
      outs(%se : tensor<6x80x144xf32>) {
  ^bb0(%x: f32, %b: f32, %y: f32):
    %z = arith.mulf %x, %scale : f32
    linalg.yield %z : f32
  } -> tensor<6x80x144xf32>
  %added = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (m, k)>,
      affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%bias, %masked : tensor<80x144xf32>, tensor<6x80x144xf32>)
      outs(%se : tensor<6x80x144xf32>) {
  ^bb0(%b: f32, %x: f32, %y: f32):
    %z = arith.addf %b, %x : f32
    linalg.yield %z : f32
  } -> tensor<6x80x144xf32>
  %w = linalg.softmax dimension(2) ins(%added : tensor<6x80x144xf32>)
      outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %he = tensor.empty() : tensor<6x80x144xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>,
      affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<6x80x144xf32>) outs(%he : tensor<6x80x144xf16>) {
  ^bb0(%x: f32, %y: f16):
    %z = arith.truncf %x : f32 to f16
    linalg.yield %z : f16
  } -> tensor<6x80x144xf16>
  %oe = tensor.empty() : tensor<6x80x32xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  %o = linalg.batch_matmul ins(%h, %v : tensor<6x80x144xf16>, tensor<6x144x32xf16>)
      outs(%oz : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  return %o : tensor<6x80x32xf32>
}
"""
"""K lies as an exporter has it, and the output is of f32."""


@pytest.mark.sampled("source", "target", every=2)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("source", [_LIKE_JAX, _LIKE_PYTORCH])
def test_outputs_are_those_of_the_softmax(source: str, target: str) -> None:
    random = np.random.default_rng(3)
    shapes = ((6, 80, 64), (6, 144, 64), (6, 144, 32))
    q, k, v = (random.standard_normal(each).astype(np.float16) for each in shapes)
    bias = random.standard_normal((80, 144))
    inputs: list[Array] = [q, k, v, bias.astype(np.float32)]
    added = bias
    if source == _LIKE_JAX:
        bias = bias.astype(np.float16)
        inputs = [q, k.transpose(0, 2, 1).copy(), v.transpose(0, 2, 1).copy(), bias]
        added = np.where(bias < 0.5, 0.0, -np.inf)
    ran = run_emulated(_raised(source), target_flags(target), "auto/fast", inputs)
    assert ran.counters[Counted.MFMA] > 0
    scale = 0.125 if source == _LIKE_JAX else 0.11
    scores = q.astype(float) @ k.astype(float).transpose(0, 2, 1) * scale + added
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights @ v.astype(float) / weights.sum(-1, keepdims=True)
    output = ran.outputs[0]
    if source == _LIKE_JAX:
        output = output.transpose(0, 2, 1)
    np.testing.assert_allclose(output, expected, rtol=4e-3, atol=4e-3)


def test_rows_without_keys_have_no_number() -> None:
    random = np.random.default_rng(4)
    shapes = ((6, 80, 64), (6, 64, 144), (6, 32, 144))
    inputs: list[Array] = [random.standard_normal(each).astype(np.float16) for each in shapes]
    bias = np.zeros((80, 144), np.float16)
    bias[7] = 1.0
    ran = run_emulated(_raised(_LIKE_JAX), target_flags("gfx942"), "auto/fast", [*inputs, bias])
    missing = np.isnan(ran.outputs[0])
    assert missing[:, :, 7].all() and missing.sum() == 6 * 32


_LARGE = Attention("attention", "f16", plain_sizes(1, 32, 32, 96), scale=1.0)


def test_scores_of_the_largest_numbers_have_no_overflow() -> None:
    ones = np.ones((1, 32, 32), np.float16)
    inputs: list[Array] = [50000 * ones, np.zeros((1, 96, 32), np.float16)]
    inputs.append(np.ones((1, 96, 32), np.float16))
    source = _raised(written_out(_LARGE))
    ran = run_emulated(source, target_flags("gfx942"), "auto/fast/on", inputs)
    np.testing.assert_array_equal(ran.outputs[0], ones)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_errors_are_at_most_a_tenth_above_stocks(target: str) -> None:
    small = Attention("attention", "f16", plain_sizes(1, 16, 16, 64), scale=0.2)
    row = Row.measure(Case(0, target, small, written_out=True, kind="normal", seeds=2))
    assert not row.faults, row.faults


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(14))
def test_errors_of_products_are_at_most_a_tenth_above_stocks(number: int) -> None:
    row = Row.measure(Product.of_number(number, "gfx942", seeds=5))
    assert not row.faults, row.faults


def test_products_get_what_their_kind_says() -> None:
    found = {case.kind: case for case in map(_product, range(40))}
    normal, outliers, one_place, specials = (
        [np.abs(each.astype(np.float64)) for each in found[kind].inputs(0)]
        for kind in ("normal", "outliers", "one place", "specials")
    )
    assert max(each.max() for each in normal) < 10 < min(each.max() for each in outliers)
    assert np.allclose(one_place[0][:, 0], 6e4, rtol=1e-2)
    assert all((~np.isfinite(each)).sum() == 4 for each in specials)
    twice = next(case for case in map(_product, range(40)) if case.twice)
    left, right = twice.inputs(3)
    assert left is right or left.tobytes() == right.tobytes()


def _product(number: int) -> Product:
    return Product.of_number(number, "gfx942", 1)


@pytest.mark.nightly
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("number", range(12))
def test_errors_of_ten_inputs_are_at_most_a_tenth_above_stocks(number: int, target: str) -> None:
    row = Row.measure(Case.of_number(number, target, seeds=10))
    assert not row.faults, row.faults
