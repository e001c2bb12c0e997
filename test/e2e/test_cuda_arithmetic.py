# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which exponentials and roundings the PTX of compiled kernels computes by one instruction."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from bankwise import compile as compile_mlir
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention

POLYNOMIAL = "cvt.rmi.f32.f32"
"""The rounding to an integer, which IREE's polynomials begin with."""


def elementwise(operation: str, dtype: str, result: str = "", count: int = 512) -> str:
    """A kernel that applies an operation, or narrows to `result`, element by element."""
    tensor, out = f"tensor<1024x{count}x{dtype}>", f"tensor<1024x{count}x{result or dtype}>"
    types = f"{dtype} to {result}" if result else dtype
    identity = "affine_map<(i, j) -> (i, j)>"
    return f"""
func.func @elementwise(%a: {tensor}) -> {out} {{
  %empty = tensor.empty() : {out}
  %r = linalg.generic {{indexing_maps = [{identity}, {identity}],
      iterator_types = ["parallel", "parallel"]}} ins(%a : {tensor}) outs(%empty : {out}) {{
    ^bb0(%x: {dtype}, %o: {result or dtype}):
      %y = {operation} %x : {types}
      linalg.yield %y : {result or dtype}
  }} -> {out}
  return %r : {out}
}}
"""


def compiled(source: str, mode: str, target: str) -> str:
    """Returns a module, which carries a kernel's PTX as text."""
    return compile_mlir(source, target_flags(target), mode).decode("latin-1")


def mnemonics(source: str, mode: str, target: str = "sm_80") -> Counter[str]:
    """Returns the instructions of a kernel's PTX."""
    code = compiled(source, mode, target)
    return Counter(re.findall(r"^\t(?:@!?%\w+ )?([a-z][\w.]*)", code, re.MULTILINE))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_attention_flushes_subnormal_numbers(dtype: str) -> None:
    source = Attention(1, 128, 64, dtype).source()
    fast = mnemonics(source, "auto/fast")
    # Two rows of 16 scores for each lane, and the two rows' factors.
    assert fast["ex2.approx.ftz.f32"] == 34
    assert fast[POLYNOMIAL] == 0
    exact = mnemonics(source, "auto/exact")
    assert exact["ex2.approx.ftz.f32"] == 0
    # The same polynomial, whose integer is rounded down by a sum.
    assert (exact[POLYNOMIAL], exact["fma.rm.f32"]) == (0, 34)


@pytest.mark.nightly
@pytest.mark.sampled
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_exact_attention_computes_the_polynomial_of_stock(target: str) -> None:
    """All numbers of it are the same, but for those of clamps that do nothing."""
    source = Attention(1, 128, 64, "f16").source()
    clamps = {"0f42B1999A", "0f42FE0000", "0fC2FE0000"}
    exact, layout = (
        Counter(re.findall(r"0f(?!0{8})[0-9A-F]{8}", compiled(source, mode, target)))
        for mode in ("auto/exact/off", "auto/layout/off")
    )
    assert all(layout[each] == 68 and exact[each] == 0 for each in clamps)
    # What is added and taken away again, and what it is multiplied by.
    summed = {"0f4B400000": 34, "0fCB400000": 34, "0f3F800000": 34}
    assert exact == layout - Counter(dict.fromkeys(clamps, 68)) + Counter(summed)


@pytest.mark.parametrize("operation", ["math.exp2", "math.exp"])
def test_functions_without_lds_keep_subnormal_numbers(operation: str) -> None:
    found = mnemonics(elementwise(operation, "f32"), "auto/fast")
    assert found["ex2.approx.f32"] == 4
    assert found[POLYNOMIAL] == 0


def test_exponentials_of_f16_are_computed_in_f32() -> None:
    source = elementwise("math.exp2", "f16")
    found, stock = mnemonics(source, "auto/fast"), mnemonics(source, "stock")
    assert found["ex2.approx.f32"] == 8
    assert found["fma.rn.f32"] == 0 < stock["fma.rn.f32"]
    assert mnemonics(source, "auto/exact") == stock


@pytest.mark.nightly
def test_attention_rounds_to_bf16_two_at_once() -> None:
    source = Attention(1, 128, 64, "bf16").source()
    fast, exact = (mnemonics(source, mode) for mode in ("auto/fast/off", "auto/exact/off"))
    # The 32 scores of a lane, and its 16 elements of the output.
    assert fast["cvt.rn.bf16x2.f32"] == 16 + 8
    assert fast["setp.nan.f32"] == 0
    assert exact["cvt.rn.bf16x2.f32"] == 0
    assert exact["setp.nan.f32"] == 48
    # With the instruction that gives NaNs the bits of the integer arithmetic.
    exact = mnemonics(source, "auto/exact/off", "sm_90")
    assert exact["cvt.rn.bf16x2.f32"] == exact["min.s16x2"] == 16 + 8
    assert exact["setp.nan.f32"] == 0


@pytest.mark.parametrize(("count", "instruction"), [(512, "bf16x2"), (1, "bf16"), (3, "bf16")])
def test_functions_without_lds_round_to_bf16(count: int, instruction: str) -> None:
    source = elementwise("arith.truncf", "f32", "bf16", count)
    found = mnemonics(source, "auto/fast")
    assert found["setp.nan.f32"] == 0
    assert any(name.startswith("cvt.rn.bf16") for name in found), instruction
