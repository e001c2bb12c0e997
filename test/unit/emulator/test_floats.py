# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rounding against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bankwise.emulator import floats
from bankwise.emulator.float8 import round_to_small
from bankwise.emulator.small_floats import SmallFloat, fp8_formats

from .amd_pseudocode import Value, real

_BITS = {np.float16: np.uint16, np.float32: np.uint32, np.float64: np.uint64}
Array = npt.NDArray[Any]


def bits_strategy(width: int) -> st.SearchStrategy[int]:
    """Draws float bits: any, with few bits set, near each other's exponents, or subnormal."""
    mantissa = {16: 10, 32: 23, 64: 52}[width]
    exponents = (1 << width - 1 - mantissa) - 1
    bias = exponents >> 1
    sparse = st.builds(
        lambda sign, exponent, a, b: (
            sign << width - 1 | exponent << mantissa | (1 << a | 1 << b) - 1 & (1 << mantissa) - 1
        ),
        st.integers(0, 1),
        st.one_of(st.integers(bias - 4, bias + 4), st.integers(0, exponents)),
        st.integers(0, mantissa),
        st.integers(0, mantissa),
    )
    return st.one_of(sparse, st.integers(0, (1 << width) - 1))


def exact_fma(a: float, b: float, c: float, width: int) -> Value:
    """Returns a * b + c, rounded once."""
    if all(map(math.isfinite, (a, b, c))):
        total = Fraction(a) * Fraction(b) + Fraction(c)
        if total:
            return real(total, width)
    return real(a * b + c, width)


def same(ours: int, theirs: Value) -> bool:
    """Returns whether bits are equal, or both are NaNs."""
    return ours == theirs.bits or (Value(ours, theirs.width, "f").is_nan and theirs.is_nan)


def check_fma(container: type[np.floating], a: int, b: int, c: int) -> None:
    width = 8 * np.dtype(container).itemsize
    words = np.array([a, b, c], _BITS[container])
    x, y, z = (words[i : i + 1].view(container) for i in range(3))
    ours = int(floats.fma(x, y, z).view(_BITS[container])[0])
    first, second, third = (Value(word, width, "f").real for word in (a, b, c))
    assert same(ours, exact_fma(first, second, third, width))


@settings(max_examples=300, deadline=None)
@given(bits_strategy(16), bits_strategy(16), bits_strategy(16))
@example(0x3C01, 0x3C01, 0x0001)  # (1 + 2^-10)^2 + 2^-24: just above a tie
@example(0x0400, 0x3BFF, 0x8000)
def test_fma_f16(a: int, b: int, c: int) -> None:
    check_fma(np.float16, a, b, c)


@settings(max_examples=300, deadline=None)
@given(bits_strategy(32), bits_strategy(32), bits_strategy(32))
@example(0x3F800001, 0x3F800001, 0x00000001)
@example(0x3F800001, 0x3F800001, 0x80000001)
@example(0x3F800800, 0x3F801000, 0x00000001)  # a tie of the product, broken by a tiny addend
@example(0x3F800800, 0x3F801000, 0x80000001)
@example(0x1A000000, 0x1A000000, 0x00000001)
@example(0x00800000, 0x3F7FFFFF, 0x80000000)  # rounds up to the smallest normal number
@example(0x20000000, 0x1F800001, 0x00000000)  # a subnormal result next to a tie
@example(0x19FFFFF0, 0x1A000008, 0x00400001)  # 2^-190 below a tie of subnormal results
def test_fma_f32(a: int, b: int, c: int) -> None:
    check_fma(np.float32, a, b, c)


@settings(max_examples=300, deadline=None)
@given(bits_strategy(64), bits_strategy(64), bits_strategy(64))
@example(0x3FF0000000000001, 0x3FF0000000000001, 0x0000000000000001)
@example(0x7FE0000000000000, 0x4000000000000000, 0xFFEFFFFFFFFFFFFF)  # the product overflows
@example(0x0010000000000000, 0x3FE0000000000001, 0x8000000000000001)
@example(0x8000000000000000, 0x3FF0000000000000, 0x8000000000000000)
def test_fma_f64(a: int, b: int, c: int) -> None:
    check_fma(np.float64, a, b, c)


def test_fma_f32_of_many_ties() -> None:
    # Significands with trailing zeros give ties of f32 again and again.
    random = np.random.default_rng(1)
    a, b = (
        (random.integers(0, 1 << 12, 3000) << 11 | 0x3F800000).astype(np.uint32) for _ in range(2)
    )
    c = random.integers(0, 1 << 32, 3000, np.uint32, endpoint=False)
    ours = floats.fma(*[x.view(np.float32) for x in (a, b, c)]).view(np.uint32)
    for x, y, z, result in zip(*(w.tolist() for w in (a, b, c, ours)), strict=True):
        first, second, third = (Value(word, 32, "f").real for word in (x, y, z))
        assert same(result, exact_fma(first, second, third, 32))


def every_f16() -> npt.NDArray[np.uint16]:
    return np.arange(1 << 16, dtype=np.uint16)


def test_widening_every_f16() -> None:
    wide = floats.widen_f16(every_f16().view(np.float16)).tolist()
    for bits, value in enumerate(wide):
        expected = Value(bits, 16, "f").real
        assert value == expected or (math.isnan(value) and math.isnan(expected))


def near_f16() -> npt.NDArray[np.float32]:
    """Returns many f16, up to the last one, the middles behind them, and the f32 next to both."""
    points = np.arange(0x7C01, dtype=np.uint16).view(np.float16).astype(np.float64)
    points[-1] = 65536.0
    middles = (points[1:] + points[:-1]) / 2
    exact = np.concatenate([points[::7], middles[::7], middles[-5:]]).astype(np.float32)
    up, down = np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf))
    positive = np.concatenate([exact, up, np.abs(down), np.array([1e9, 3e38, np.inf], np.float32)])
    return np.concatenate([positive, -positive])


def rational(values: npt.NDArray[np.float32], toward_zero: bool) -> list[int]:
    return [real(value, 16, toward_zero).bits for value in values.tolist()]


def test_rounding_to_f16_at_and_beside_every_tie() -> None:
    values = near_f16()
    assert floats.round_to_f16(values).view(np.uint16).tolist() == rational(values, False)


def test_rounding_to_f16_toward_zero() -> None:
    values = near_f16()
    assert floats.round_to_zero_f16(values).view(np.uint16).tolist() == rational(values, True)


def test_nans_stay_nans() -> None:
    signaling = np.array([0x7F800001, 0xFF800001, 0x7FC12345], np.uint32).view(np.float32)
    assert floats.round_to_f16(signaling).view(np.uint16).tolist() == [0x7E00, 0xFE00, 0x7E09]
    assert floats.round_to_bf16(signaling).tolist() == [0x7FC0, 0xFFC0, 0x7FC1]
    assert np.isnan(floats.round_to_zero_f16(signaling).astype(np.float32)).all()


def test_rounding_to_bf16_at_and_beside_ties() -> None:
    # bf16 is the upper half of f32: its neighbours are 2^16 apart as integers.
    high = np.arange(0, 0x7F80, 7, dtype=np.uint32) << np.uint32(16)
    for low, up in ((0, 0), (0x7FFF, 0), (0x8000, None), (0x8001, 1), (0xFFFF, 1)):
        ours = floats.round_to_bf16((high | np.uint32(low)).view(np.float32))
        upper = high >> np.uint32(16)
        assert (ours == upper + (upper & np.uint32(1) if up is None else np.uint32(up))).all()


@pytest.mark.parametrize("kind", [np.int16, np.uint16, np.int32, np.uint32])
@settings(deadline=None)
@given(value=st.one_of(st.floats(-(2.0**33), 2.0**33), st.floats(), st.floats(-3, 3)))
def test_to_integer(kind: type[np.signedinteger], value: float) -> None:
    limits = np.iinfo(kind)
    if math.isnan(value):
        expected = 0
    elif math.isinf(value):
        expected = limits.max if value > 0 else limits.min
    else:
        expected = min(max(math.trunc(Fraction(value)), limits.min), limits.max)
    assert int(floats.to_integer(np.array([value]), kind)[0]) == expected


# -- 8-bit floats ----------------------------------------------------------------------------------

FORMATS = {
    "gfx942 fp8": (fp8_formats("gfx942")["fp8"], 240.0, 2.0**-10),
    "gfx942 bf8": (fp8_formats("gfx942")["bf8"], 57344.0, 2.0**-17),
    "gfx950 fp8": (fp8_formats("gfx950")["fp8"], 448.0, 2.0**-9),
    "gfx950 bf8": (fp8_formats("gfx950")["bf8"], 57344.0, 2.0**-16),
}


@pytest.mark.parametrize("name", FORMATS)
def test_small_float_limits(name: str) -> None:
    form, largest, smallest = FORMATS[name]
    finite = form.values()[np.isfinite(form.values())]
    assert finite.max() == largest
    assert finite[finite > 0].min() == smallest


@pytest.mark.parametrize("name", FORMATS)
def test_every_small_float_survives(name: str) -> None:
    form = FORMATS[name][0]
    values = form.values().astype(np.float32)
    codes = round_to_small(values, form)
    number = ~np.isnan(values)
    assert (codes[number] == np.arange(256)[number]).all()
    assert np.isnan(form.values()[codes[~number]]).all()


@pytest.mark.parametrize("name", FORMATS)
def test_small_float_ties_and_overflow(name: str) -> None:
    form, largest, _ = FORMATS[name]
    values = form.values()
    codes = np.flatnonzero(np.isfinite(values) & (values >= 0) & (np.arange(256) < 128))
    codes = codes[np.argsort(values[codes])]
    points = values[codes]
    even, odd = codes[:-1], codes[1:]
    middles = (points[1:] + points[:-1]) / 2
    nearest_even = np.where(even % 2 == 0, even, odd)
    for sign, flag in ((1.0, 0), (-1.0, 128)):
        check_codes(form, sign * middles, nearest_even, flag)
        above = np.nextafter(middles.astype(np.float32), np.float32(np.inf)).astype(np.float64)
        below = np.nextafter(middles.astype(np.float32), np.float32(0)).astype(np.float64)
        check_codes(form, sign * above, odd, flag)
        check_codes(form, sign * below, even, flag)
    # Halfway to the number that would follow the largest one: that one is even in E4M3 only.
    tie = np.array([largest + (points[-1] - points[-2]) / 2], np.float32)
    above, below = np.nextafter(tie, np.float32(np.inf)), np.nextafter(tie, np.float32(0))
    kept = np.concatenate([below, tie]) if codes[-1] % 2 == 0 else below
    assert (values[round_to_small(kept, form)] == largest).all()
    infinite = np.array([np.inf, -np.inf], np.float32)
    lost = values[round_to_small(np.concatenate([above, -above, infinite]), form)]
    if form.specials == "ieee":
        assert lost.tolist() == [np.inf, -np.inf, np.inf, -np.inf]
    else:
        assert np.isnan(lost).all()


def check_codes(
    form: SmallFloat, values: npt.NDArray[np.float64], codes: npt.NDArray[np.intp], flag: int
) -> None:
    ours = round_to_small(values.astype(np.float32), form)
    signs = np.where((codes == 0) & (form.specials == "fnuz"), 0, flag)
    assert ours.tolist() == (codes | signs).tolist()
