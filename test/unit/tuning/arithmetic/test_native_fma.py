# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""For which GPUs `bankwise-native-fma` has work, and what the code of the GPU is with it."""

from __future__ import annotations

import pytest

from bankwise import compile
from bankwise.sweep.cases import target_flags
from bankwise.tuning.arithmetic.native_fma import NativeFma

from ...functions import gpu_target, parse, run

_CONVOLUTION = """
func.func @f(%x: tensor<1x256x28x28xf32>, %w: tensor<512x256x1x1xf32>) -> tensor<1x512x28x28xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x512x28x28xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x512x28x28xf32>) -> tensor<1x512x28x28xf32>
  %r = linalg.conv_2d_nchw_fchw
      ins(%x, %w : tensor<1x256x28x28xf32>, tensor<512x256x1x1xf32>)
      outs(%f : tensor<1x512x28x28xf32>) -> tensor<1x512x28x28xf32>
  return %r : tensor<1x512x28x28xf32>
}
"""
"""Its code differs where elements are taken out of vectors too early."""


@pytest.mark.parametrize(
    ("arch", "kind", "works"),
    [
        ("sm_60", "vector<2xf32>", True),
        ("sm_90a", "vector<3xf32>", True),
        ("gfx942", "vector<2xf32>", False),
        ("sm_80", "f32", False),
        ("sm_80", "vector<1xf32>", False),
        ("sm_80", "vector<2xf64>", False),
    ],
)
def test_work_is_where_calls_would_be(arch: str, kind: str, works: bool) -> None:
    parsed = parse(
        f"func.func @f(%x: {kind}) -> {kind} attributes {{{gpu_target(arch)}}} "
        f"{{ %0 = math.fma %x, %x, %x : {kind}\n return %0 : {kind} }}"
    )
    assert NativeFma().has_work(parsed.function) == works
    found = run(parsed, NativeFma())
    assert bool(parsed.operations("nvvm.fma")) == works
    assert bool(parsed.operations("math.fma")) != works
    assert len(found.said) == works


def test_the_code_of_the_gpu_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    source, flags = _CONVOLUTION, target_flags("sm_80")
    replaced = 0
    put_in_place = NativeFma.run

    def count(self: NativeFma, *arguments: object) -> None:
        nonlocal replaced
        replaced += 1
        put_in_place(self, *arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(NativeFma, "run", count)
    code = compile(source, flags, "auto/fast")
    monkeypatch.setattr(NativeFma, "run", lambda *_: None)
    assert compile(source, flags, "auto/fast") == code
    assert replaced and b"fma.rn.f32" in code
