# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that move or compute elements, and reductions of rows, in code for NVIDIA GPUs."""

from __future__ import annotations

import re

import pytest

from bankwise.iree_plugin.python_compile import compile
from bankwise.sweep.cases import target_flags

SOURCE = """
func.func @mask(%a: tensor<1000xi64>, %b: tensor<1000xi64>) -> tensor<12x1000x1000xi8> {
  %e = tensor.empty() : tensor<12x1000x1000xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(h, q, k) -> (q)>,
      affine_map<(h, q, k) -> (k)>, affine_map<(h, q, k) -> (h, q, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<1000xi64>, tensor<1000xi64>) outs(%e : tensor<12x1000x1000xi8>) {
  ^bb0(%x: i64, %y: i64, %o: i8):
    %c = arith.cmpi sge, %x, %y : i64
    %d = arith.extui %c : i1 to i8
    linalg.yield %d : i8
  } -> tensor<12x1000x1000xi8>
  return %r : tensor<12x1000x1000xi8>
}
func.func @slice(%a: tensor<1000x2304xf16>) -> tensor<1000x768xf16> {
  %r = tensor.extract_slice %a[0, 768] [1000, 768] [1, 1]
      : tensor<1000x2304xf16> to tensor<1000x768xf16>
  return %r : tensor<1000x768xf16>
}
func.func @rows(%a: tensor<4096x96xf32>) -> tensor<4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>,
      affine_map<(m, n) -> (m)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<4096x96xf32>) outs(%zeros : tensor<4096xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
"""


def lanes_and_code(mode: str) -> tuple[dict[str, int], str]:
    """Returns how many lanes a workgroup of each kernel has, and the code of all."""
    code = compile(SOURCE, target_flags("sm_80"), mode).decode("latin-1")
    entries = re.findall(r"\.entry (\w+?)_dispatch_0[^{]*?\.maxntid (\d+)", code)
    return {name: int(count) for name, count in entries}, code


def test_workgroups_have_several_warps_and_lanes_copy_16_bytes() -> None:
    lanes, code = lanes_and_code("auto/exact")
    assert lanes == {"mask": 256, "slice": 192, "rows": 256}
    of_slice = code.partition(".entry slice")[2].partition(".entry")[0]
    assert re.search(r"ld\.global(\.nc)?\.v4\.b32", of_slice)
    assert "st.global.v4.b32" in of_slice


@pytest.mark.nightly
def test_iree_s_workgroups_stay_at_lower_levels() -> None:
    lanes, _ = lanes_and_code("auto/layout")
    assert lanes == {"mask": 32, "slice": 64, "rows": 32}
