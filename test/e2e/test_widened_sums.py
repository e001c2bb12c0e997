# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls whose sums are in f16 or bf16, as JAX writes them."""

from __future__ import annotations

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
func.func @main(%a: tensor<64x96xf16>, %b: tensor<96x128xf16>, %c: tensor<64x128xf16>)
    -> tensor<64x128xf16> {
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<64x96xf16>, tensor<96x128xf16>) outs(%c : tensor<64x128xf16>) {
  ^bb0(%x: f16, %y: f16, %s: f16):
    %p = arith.mulf %x, %y : f16
    %q = arith.addf %s, %p : f16
    linalg.yield %q : f16
  } -> tensor<64x128xf16>
  return %r : tensor<64x128xf16>
}
"""
_SHAPES = ((64, 96), (96, 128), (64, 128))


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize(("element", "last_bit"), [("f16", 2.0**-10), ("bf16", 2.0**-7)])
def test_sums_are_rounded_once(element: str, last_bit: float, target: str) -> None:
    random = np.random.default_rng(8)
    inputs = [random.standard_normal(each).astype(dtype_of(element)) for each in _SHAPES]
    source = _MATMUL.replace("TYPE", element)
    ran = run_emulated(source, target_flags(target), "auto/fast", inputs)
    assert ran.counters[Counted.MFMA] > 0
    a, b, c = (each.astype(np.float64) for each in inputs)
    expected = a @ b + c
    np.testing.assert_allclose(
        ran.outputs[0].astype(np.float64), expected, rtol=0.51 * last_bit, atol=1e-5
    )


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
    """A `linalg.generic` keeps its type."""
    with pytest.raises(CompileError) as failed:
        compile(_GENERIC, target_flags("gfx942"), "auto/layout")
    assert str(failed.value) == (
        "<text>:4:8: error: iree-compile fails on this, too: 'func.func' op failed to distribute"
    )
