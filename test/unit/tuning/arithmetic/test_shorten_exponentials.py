# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which exponentials `bankwise-shorten-exponentials` expands, and that the clamps do nothing."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.tuning.arithmetic.shorten_exponentials import ShortenExponentials

from ...functions import Edit, edited, gpu_target, parse, run

ATTENTION = f"""
func.func @f(%s: vector<2x2xf32>, %before: vector<1xf32>, %other: f32) -> vector<2xf32>
    attributes {{{gpu_target("sm_80")}}} {{
  %least = arith.constant 0xFF800000 : f32
  %one = arith.constant 1 : i32
  %lanes = arith.constant 32 : i32
  %a = vector.extract %s[0] : vector<2xf32> from vector<2x2xf32>
  %b = vector.extract %s[1] : vector<2xf32> from vector<2x2xf32>
  %ab = arith.maximumf %a, %b : vector<2xf32>
  %own = vector.reduction <maximumf>, %ab, %least : vector<2xf32> into f32
  %others, %valid = gpu.shuffle xor %own, %one, %lanes : f32
  %all = arith.maximumf %own, %others : f32
  %v = vector.broadcast %all : f32 to vector<1xf32>
  %m = arith.maximumf %v, %before : vector<1xf32>
  %e = vector.extract %m[0] : f32 from vector<1xf32>
  %max = vector.broadcast %e : f32 to vector<2xf32>
  %x = arith.subf %a, %max : vector<2xf32>
  %r = math.exp2 %x : vector<2xf32>
  return %r : vector<2xf32>
}}
"""


def test_an_exponential_of_what_a_maximum_exceeds_is_expanded() -> None:
    parsed = parse(ATTENTION)
    assert ShortenExponentials().has_work(parsed.function)
    assert run(parsed, ShortenExponentials()).messages == [
        "2 exponentials are shortened: no operand is positive"
    ]
    assert not parsed.operations("math.exp2")
    assert len(parsed.operations("arith.cmpf", "arith.select")) == 2
    assert len(parsed.operations("math.fma")) == 1 + 2 + 5 + 1
    assert len(parsed.operations("llvm.call_intrinsic")) == 2


@pytest.mark.parametrize(
    "edit",
    [
        ("subf %a, %max", "subf %max, %a"),
        ("subf %a, %max", "addf %a, %max"),
        ("= arith.maximumf %a, %b", "= arith.minimumf %a, %b"),
        ("= arith.maximumf %a, %b", "= arith.maxnumf %a, %b"),
        ("reduction <maximumf>", "reduction <minimumf>"),
        ("broadcast %e : f32 to", "broadcast %other : f32 to"),
        ("broadcast %e : f32 to", "broadcast %others : f32 to"),
        ("sm_80", "gfx942"),
    ],
)
def test_other_exponentials_stay(edit: Edit) -> None:
    parsed = parse(edited(ATTENTION, edit))
    assert not ShortenExponentials().has_work(parsed.function)
    assert not run(parsed, ShortenExponentials()).said
    assert parsed.operations("math.exp2")


def test_each_element_is_compared_with_its_own_maximum() -> None:
    whole = ("%max = vector.broadcast %e : f32 to vector<2xf32>", "")
    own = ("subf %a, %max", "subf %a, %ab")
    assert ShortenExponentials().has_work(parse(edited(ATTENTION, whole, own)).function)
    turned = (
        whole[0],
        "%each:2 = vector.to_elements %ab : vector<2xf32>\n"
        "%max = vector.from_elements %each#1, %each#0 : vector<2xf32>",
    )
    assert not ShortenExponentials().has_work(parse(edited(ATTENTION, turned)).function)


def test_what_is_left_out_changes_nothing() -> None:
    """The functions are monotonic, so that their ends bound them."""
    lowest, log2_e, m = (
        np.uint32(each).view(np.float32) for each in (0xC2AF999A, 0x3FB8AA3B, 0x4B400000)
    )
    # The product is exact in f64, and rounding is monotonic.
    first, last = (np.float32(np.float64(y) * np.float64(log2_e) + 0.5) for y in (lowest, 0.0))
    assert (np.floor(first), np.floor(last)) == (-127, 0)
    numbers = np.linspace(first, last, 10001, dtype=np.float32)
    # Numbers of f32 as large as M are integers: the sum rounded down is that of the floor.
    assert np.nextafter(m, np.float32(np.inf)) - m == m - np.nextafter(m, np.float32(0)) == 1
    sums = (np.floor(np.float64(m) + numbers)).astype(np.float32)
    assert (sums - m == np.floor(numbers)).all()
    converted = np.floor(numbers).astype(np.int32).view(np.uint32) << 23
    assert (sums.view(np.uint32) << 23 == converted).all()
