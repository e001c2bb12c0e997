# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""For which GPUs and types `bankwise-native-bf16` has work."""

from __future__ import annotations

import pytest

from bankwise.tuning.arithmetic.native_bf16 import NativeBf16

from ...functions import gpu_target, parse, run


@pytest.mark.parametrize(
    ("arch", "wide", "narrow", "works", "same_nans"),
    [
        ("sm_80", "f32", "bf16", True, False),
        ("sm_90a", "vector<3xf32>", "vector<3xbf16>", True, True),
        ("sm_75", "f32", "bf16", False, False),
        ("gfx950", "f32", "bf16", False, False),
        ("sm_80", "f32", "f16", False, False),
        ("sm_80", "f64", "bf16", False, False),
    ],
)
def test_work_is_where_the_gpu_has_the_instructions(
    arch: str, wide: str, narrow: str, works: bool, same_nans: bool
) -> None:
    parsed = parse(
        f"func.func @f(%x: {wide}) -> {narrow} attributes {{{gpu_target(arch)}}} "
        f"{{ %0 = arith.truncf %x : {wide} to {narrow}\n return %0 : {narrow} }}"
    )
    assert NativeBf16().has_work(parsed.function) == works
    assert NativeBf16(same_nans=True).has_work(parsed.function) == same_nans
    found = run(parsed, NativeBf16())
    assert bool(parsed.operations("llvm.fptrunc")) == works
    assert not NativeBf16().has_work(parsed.function)
    assert len(found.said) == works
