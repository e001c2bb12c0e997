# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls whose sums are in f16 or bf16, as JAX writes them."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.compile import compile
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
