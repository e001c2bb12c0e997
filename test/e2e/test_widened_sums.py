# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls and convolutions whose sums are in f16 or bf16, as JAX writes them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.python_compile import compile
from bankwise.iree_plugin.stepped_compile import CompileError
from bankwise.runtime.dtypes import dtype_of
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

_MATMUL = """
func.func @main(%a: tensor<64x96xTYPE>, %b: tensor<96x128xTYPE>, %c: tensor<64x128xTYPE>)
    -> tensor<64x128xTYPE> {
  %r = linalg.matmul ins(%a, %b : tensor<64x96xTYPE>, tensor<96x128xTYPE>)
      outs(%c : tensor<64x128xTYPE>) -> tensor<64x128xTYPE>
  return %r : tensor<64x128xTYPE>
}
"""
_GENERIC = """
func.func @main(%a: tensor<64x96xTYPE>, %b: tensor<96x128xTYPE>, %c: tensor<64x128xTYPE>)
    -> tensor<64x128xTYPE> {
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<64x96xTYPE>, tensor<96x128xTYPE>) outs(%c : tensor<64x128xTYPE>) {
  ^bb0(%x: TYPE, %y: TYPE, %s: TYPE):
    %p = arith.mulf %x, %y : TYPE
    %q = arith.addf %s, %p : TYPE
    linalg.yield %q : TYPE
  } -> tensor<64x128xTYPE>
  return %r : tensor<64x128xTYPE>
}
"""
_SHAPES = ((64, 96), (96, 128), (64, 128))


@pytest.mark.sampled("target", "source", every=2)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("source", [_MATMUL, _GENERIC], ids=["matmul", "generic"])
@pytest.mark.parametrize(("element", "last_bit"), [("f16", 2.0**-10), ("bf16", 2.0**-7)])
def test_sums_are_rounded_once(element: str, last_bit: float, source: str, target: str) -> None:
    random = np.random.default_rng(8)
    inputs = [random.standard_normal(each).astype(dtype_of(element)) for each in _SHAPES]
    ran = run_emulated(source.replace("TYPE", element), target_flags(target), "auto/fast", inputs)
    assert ran.counters[Counted.MFMA] > 0
    a, b, c = (each.astype(np.float64) for each in inputs)
    expected = a @ b + c
    np.testing.assert_allclose(
        ran.outputs[0].astype(np.float64), expected, rtol=0.51 * last_bit, atol=1e-5
    )


@pytest.mark.sampled("element", every=2)
@pytest.mark.parametrize(("element", "last_bit"), [("f16", 2.0**-10), ("bf16", 2.0**-7)])
def test_few_rows_on_a_gpu_for_which_iree_ends(element: str, last_bit: float) -> None:
    sizes = {"64x96": "8x128", "96x128": "128x64", "64x128": "8x64"}
    source = re.sub("|".join(sizes), lambda found: sizes[found[0]], _MATMUL)
    random = np.random.default_rng(8)
    a, b, c = (
        random.standard_normal([int(size) for size in each.split("x")]).astype(dtype_of(element))
        for each in sizes.values()
    )
    flags = target_flags("gfx950")
    ran = run_emulated(source.replace("TYPE", element), flags, "auto/fast", [a, b, c])
    assert ran.counters[Counted.MFMA] > 0
    expected = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
    found = ran.outputs[0].astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=0.51 * last_bit, atol=1e-5)


_CONVOLUTION = """
func.func @main(%i: tensor<2x9x10x16xf16>, %w: tensor<3x3x16x32xf16>, %c: tensor<2x7x8x32xf16>)
    -> tensor<2x7x8x32xf16> {
  %r = linalg.conv_2d_nhwc_hwcf
      ins(%i, %w : tensor<2x9x10x16xf16>, tensor<3x3x16x32xf16>)
      outs(%c : tensor<2x7x8x32xf16>) -> tensor<2x7x8x32xf16>
  return %r : tensor<2x7x8x32xf16>
}
"""


def test_convolutions_are_rounded_once() -> None:
    random = np.random.default_rng(9)
    shapes = ((2, 9, 10, 16), (3, 3, 16, 32), (2, 7, 8, 32))
    inputs = [random.standard_normal(each).astype(np.float16) for each in shapes]
    ran = run_emulated(_CONVOLUTION, target_flags("gfx942"), "auto/fast", inputs)
    image, window, sums = (each.astype(np.float64) for each in inputs)
    parts = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (1, 2))  # pyright: ignore
    expected = np.einsum("nhwcyx,yxcf->nhwf", parts, window) + sums
    np.testing.assert_allclose(ran.outputs[0].astype(np.float64), expected, rtol=6e-4, atol=1e-5)


def test_stock_does_not_compile_them() -> None:
    """Where it does one day, the pass is needed for the errors alone."""
    with pytest.raises(CompileError, match="failed to distribute"):
        compile(_MATMUL.replace("TYPE", "bf16"), target_flags("gfx942"), "stock")


def test_an_error_says_what_stock_does_and_what_helps() -> None:
    with pytest.raises(CompileError) as failed:
        compile(_MATMUL.replace("TYPE", "f16"), target_flags("gfx942"), "auto/exact")
    assert str(failed.value) == (
        "<text>:4:8: error: iree-compile fails on this, too: 'func.func' op failed to distribute; "
        "--bankwise-level=fast compiles it"
    )


def test_an_error_names_no_help_that_fails_too() -> None:
    """What rounds each product keeps its type."""
    rounding = """    %l = arith.extf %x : TYPE to f32
    %r = arith.extf %y : TYPE to f32
    %w = arith.mulf %l, %r : f32
    %p = arith.truncf %w : f32 to TYPE
"""
    source = _GENERIC.replace("    %p = arith.mulf %x, %y : TYPE\n", rounding)
    with pytest.raises(CompileError) as failed:
        compile(source.replace("TYPE", "f16"), target_flags("gfx942"), "auto/layout")
    assert str(failed.value) == (
        "<text>:4:8: error: iree-compile fails on this, too: 'func.func' op failed to distribute"
    )
