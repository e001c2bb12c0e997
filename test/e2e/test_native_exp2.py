# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which exponentials the PTX of compiled kernels computes by `ex2.approx`."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from bankwise import compile as compile_mlir
from bankwise.sweep.cases import target_flags
from bankwise.sweep.kernels import Attention

POLYNOMIAL = "cvt.rmi.f32.f32"
"""The rounding to an integer, which IREE's polynomials begin with."""


def elementwise(operation: str, dtype: str) -> str:
    tensor = f"tensor<1024x512x{dtype}>"
    identity = "affine_map<(i, j) -> (i, j)>"
    return f"""
func.func @elementwise(%a: {tensor}) -> {tensor} {{
  %empty = tensor.empty() : {tensor}
  %r = linalg.generic {{indexing_maps = [{identity}, {identity}],
      iterator_types = ["parallel", "parallel"]}} ins(%a : {tensor}) outs(%empty : {tensor}) {{
    ^bb0(%x: {dtype}, %o: {dtype}):
      %y = {operation} %x : {dtype}
      linalg.yield %y : {dtype}
  }} -> {tensor}
  return %r : {tensor}
}}
"""


def mnemonics(source: str, mode: str) -> Counter[str]:
    """Returns the instructions of a kernel's PTX, which the module carries as text."""
    code = compile_mlir(source, target_flags("sm_80"), mode).decode("latin-1")
    return Counter(re.findall(r"^\t(?:@!?%\w+ )?([a-z][\w.]*)", code, re.MULTILINE))


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_attention_flushes_subnormal_numbers(dtype: str) -> None:
    source = Attention(1, 128, 64, dtype).source()
    fast = mnemonics(source, "auto/fast")
    # Two rows of 16 scores for each lane, and the two rows' factors.
    assert fast["ex2.approx.ftz.f32"] == 34
    assert fast[POLYNOMIAL] == 0
    exact = mnemonics(source, "auto/exact")
    assert exact["ex2.approx.ftz.f32"] == 0
    assert exact[POLYNOMIAL] == 34


@pytest.mark.parametrize("operation", ["math.exp2", "math.exp"])
def test_functions_without_lds_keep_subnormal_numbers(operation: str) -> None:
    found = mnemonics(elementwise(operation, "f32"), "auto/fast")
    assert found["ex2.approx.f32"] == 4
    assert found[POLYNOMIAL] == 0


def test_exponentials_of_f16_stay() -> None:
    source = elementwise("math.exp2", "f16")
    assert mnemonics(source, "auto/fast") == mnemonics(source, "stock")
