# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands that are read backwards, as the edges of a reflection are."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.iree_plugin.python_compile import compile
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

# Rows of 100 with their first 40 elements in front, mirrored at the first one.
REFLECTION = """
  func.func @main(%x: tensor<3x100xf32>) -> tensor<3x140xf32> {
    %part = tensor.extract_slice %x[0, 1] [3, 40] [1, 1] : tensor<3x100xf32> to tensor<3x40xf32>
    %e = tensor.empty() : tensor<3x40xf32>
    %edge = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, -j + 39)>,
                                             affine_map<(i, j) -> (i, j)>],
                            iterator_types = ["parallel", "parallel"]}
        ins(%part : tensor<3x40xf32>) outs(%e : tensor<3x40xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<3x40xf32>
    %0 = tensor.concat dim(1) %edge, %x
        : (tensor<3x40xf32>, tensor<3x100xf32>) -> tensor<3x140xf32>
    return %0 : tensor<3x140xf32>
  }"""

# The sum of rows and of the columns of others, both from the last one on.
SUM = """
  func.func @main(%x: tensor<70x90xf16>, %y: tensor<90x70xf16>) -> tensor<70x90xf16> {
    %e = tensor.empty() : tensor<70x90xf16>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (-i + 69, j)>,
                                          affine_map<(i, j) -> (-j + 89, i)>,
                                          affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%x, %y : tensor<70x90xf16>, tensor<90x70xf16>) outs(%e : tensor<70x90xf16>) {
    ^bb0(%a: f16, %b: f16, %o: f16):
      %s = arith.addf %a, %b : f16
      linalg.yield %s : f16
    } -> tensor<70x90xf16>
    return %0 : tensor<70x90xf16>
  }"""


@pytest.mark.parametrize("mode", ["auto/layout", "auto/exact", "auto/fast"])
def test_rows_are_reflected(mode: str) -> None:
    rows = np.arange(300, dtype=np.float32).reshape(3, 100)
    ran = run_emulated(REFLECTION, target_flags("gfx942"), mode, [rows])
    np.testing.assert_array_equal(ran.outputs[0], np.pad(rows, ((0, 0), (40, 0)), mode="reflect"))


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_both_operands_are_read_backwards(arch: str) -> None:
    random = np.random.default_rng(4)
    left, right = (random.integers(-3, 4, each).astype(np.float16) for each in ((70, 90), (90, 70)))
    ran = run_emulated(SUM, target_flags(arch), "auto/exact", [left, right])
    np.testing.assert_array_equal(ran.outputs[0], left[::-1] + right[::-1].T)


@pytest.mark.parametrize("source", [REFLECTION, SUM], ids=["reflection", "sum"])
def test_it_compiles_for_cuda(source: str) -> None:
    assert b".visible .entry" in compile(source, target_flags("sm_80"), "auto/exact")
