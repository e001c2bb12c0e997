# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Encodings, modifiers, halves and modes; and what the pseudocode leaves open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.emulator.emulation_errors import EmulationError

from .amd_pseudocode import Value, real
from .lane_programs import FLUSH_F32, NO_IEEE, floats, lanes, mask, run_lanes, words_of

ONE = 0x3F800000
SIGNALING, QUIET = 0x7F800001, 0x7FC00001


def first(
    code: str, vectors: Mapping[int, npt.ArrayLike], index: int = 9, **options: object
) -> int:
    """Returns the first lane of v9."""
    return int(lanes(run_lanes(code, vectors, **options), index)[0])  # type: ignore[arg-type]


# -- where 16-bit results go -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("v_add_u16_e32 v9, v0, v1", 0x00000003),
        ("v_add_f16_e32 v9, v0, v1", 0x00000003),
        ("v_cvt_f16_f32_e32 v9, v0", 0x00007C00),
        ("v_add_i16 v9, v0, v1", 0xAAAA0003),
        ("v_mad_u16 v9, v0, v1, v1", 0xAAAA0004),
        ("v_mad_legacy_u16 v9, v0, v1, v1", 0x00000004),
        ("v_max3_i16 v9, v0, v1, v1", 0xAAAA0002),
        ("v_fma_f16 v9, v0, v1, v1", 0xAAAA0002),
        ("v_add_i16 v9, v0, v1 op_sel:[0,0,1]", 0x0003BBBB),
        ("v_add_i16 v9, v0, v1 op_sel:[1,0,0]", 0xAAAA7002),
        ("v_bitop3_b16 v9, v0, v1, v1 bitop3:0xfc", 0xAAAA0003),
    ],
)
def test_other_half(code: str, expected: int) -> None:
    vectors = {0: 0x70000001, 1: 0x60000002, 9: 0xAAAABBBB}
    assert first(code, vectors, arch="gfx950") == expected


# -- SDWA ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("modifiers", "expected"),
    [
        ("dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD", 0xFC + 0x01020304),
        ("dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0", 0x8100 + 0x0304),
        ("dst_sel:BYTE_2 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:BYTE_0", 0x00070000),
        ("dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:BYTE_0", 0xAAAA85BB),
        ("dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3 src1_sel:BYTE_0", 0xFFFF8500),
        ("dst_sel:WORD_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3 src1_sel:BYTE_0", 0x00850000),
    ],
)
def test_sdwa_parts(modifiers: str, expected: int) -> None:
    vectors = {0: 0x8100FC03, 1: 0x01020304, 9: 0xAAAABBBB}
    assert first(f"v_add_u32_sdwa v9, v0, v1 {modifiers}", vectors) == expected


def test_sdwa_sign_extension() -> None:
    form = "dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:{}"
    vectors = {0: 0x8100FC03}
    for selection, expected in (("BYTE_1", -4.0), ("WORD_1", -32512.0), ("BYTE_0", 3.0)):
        code = f"v_cvt_f32_i32_sdwa v9, sext(v0) {form.format(selection)}"
        assert floats(run_lanes(code, vectors), 9)[0] == expected
    code = f"v_max_i16_sdwa v9, sext(v0), v1 {form.format('BYTE_1')} src1_sel:DWORD"
    assert first(code, {**vectors, 1: 0xFFF0}) == 0xFFFC


def test_sdwa_signs_of_floats() -> None:
    pair = int(np.array([2.0, -3.0], np.float16).view(np.uint32)[0])
    form = "dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0"
    code = f"v_add_f16_sdwa v9, |v0|, -v0 {form}"
    assert first(code, {0: pair}) == int(np.float16(1.0).view(np.uint16))
    machine = run_lanes(
        "v_cmp_lt_f16_sdwa s[4:5], v0, v0 src0_sel:WORD_1 src1_sel:WORD_0", {0: pair}
    )
    assert mask(machine, 4) == 2**64 - 1


def test_sext_needs_sdwa() -> None:
    with pytest.raises(EmulationError, match="sext"):
        run_lanes("v_add_u32_e64 v9, sext(v0), v0", {0: 1})


# -- modifiers -------------------------------------------------------------------------------------


def test_select_may_change_signs() -> None:
    machine = run_lanes(
        "v_cndmask_b32_e64 v9, -v0, |v1|, s[2:3]", {0: [1.0], 1: [-2.0]}, {2: 1, 3: 0}
    )
    assert floats(machine, 9)[:2].tolist() == [2.0, -1.0]


@pytest.mark.parametrize(
    ("code", "a", "b", "expected"),
    [
        ("v_add_u32_e64", 0xFFFFFFF0, 0x20, 0xFFFFFFFF),
        ("v_sub_u32_e64", 3, 5, 0),
        ("v_subrev_u32_e64", 5, 3, 0),
        ("v_add_i32", 0x7FFFFFF0, 0x20, 0x7FFFFFFF),
        ("v_sub_i32", 0x80000000, 1, 0x80000000),
        ("v_add_u16_e64", 0xFFF0, 0x20, 0xFFFF),
        ("v_sub_i16", 0x8000, 1, 0x8000),
    ],
)
def test_integer_clamp_saturates(code: str, a: int, b: int, expected: int) -> None:
    assert first(f"{code} v9, v0, v1 clamp", {0: a, 1: b, 9: 0}) == expected


def test_integer_clamp_of_products() -> None:
    vectors = {0: 0xFFFFFF, 1: 0xFFFFFF, 2: 5}
    assert first("v_mad_u32_u24 v9, v0, v1, v2 clamp", vectors) == 0xFFFFFFFF
    vectors = {0: 0x800000, 1: 0x7FFFFF, 2: 5}
    assert first("v_mad_i32_i24 v9, v0, v1, v2 clamp", vectors) == 0x80000000
    assert first("v_mad_i32_i24 v9, v0, v1, v2 clamp", {0: -3, 1: 4, 2: 5}) == 2**32 - 7


def test_clamp_without_saturation_is_refused() -> None:
    with pytest.raises(EmulationError, match="clamp"):
        run_lanes("v_lshlrev_b32_e64 v9, v0, v1 clamp", {0: 1, 1: 1})


def test_float_clamp_and_output_modifiers() -> None:
    values = np.resize(np.array([-1.0, -0.0, 0.5, 3.0, np.nan], np.float32), 64)
    clamped = floats(run_lanes("v_add_f32_e64 v9, v0, 0 clamp", {0: values}), 9)[:5]
    assert words_of(clamped).tolist() == words_of(np.array([0, 0, 0.5, 1, 0], np.float32)).tolist()
    doubled = run_lanes("v_add_f32_e64 v9, v0, 0 mul:2", {0: values}, directives=FLUSH_F32)
    assert floats(doubled, 9)[:4].tolist() == [-2.0, 0.0, 1.0, 6.0]
    halved = run_lanes("v_add_f32_e64 v9, v0, 0 div:2", {0: values}, directives=FLUSH_F32)
    assert floats(halved, 9)[3] == 1.5
    # With denormals there are no output modifiers.
    assert floats(run_lanes("v_add_f32_e64 v9, v0, 0 mul:2", {0: values}), 9)[3] == 3.0


# -- modes -----------------------------------------------------------------------------------------


def test_denormals_are_flushed_on_the_way_in_and_out() -> None:
    vectors = {0: 0x00000001, 1: 0x80000001, 2: [0.5], 3: 0x00800000}
    assert first("v_mul_f32_e32 v9, v2, v3", vectors) == 0x00400000
    assert first("v_mul_f32_e32 v9, v2, v3", vectors, directives=FLUSH_F32) == 0
    assert first("v_add_f32_e32 v9, v1, v1", vectors, directives=FLUSH_F32) == 0x80000000
    assert first("v_mov_b32_e32 v9, v0", vectors, directives=FLUSH_F32) == 1
    # f16 keeps them.
    assert first("v_add_f16_e32 v9, v0, v0", {0: 1}, directives=FLUSH_F32) == 2


@pytest.mark.parametrize("name", ["rcp", "rsq", "sqrt", "log", "exp"])
def test_transcendental_f32_has_no_denormals_in_any_mode(name: str) -> None:
    expected = {"rcp": 0x7F800000, "rsq": 0x7F800000, "sqrt": 0, "log": 0xFF800000, "exp": ONE}
    assert first(f"v_{name}_f32_e32 v9, v0", {0: 0x00000100}) == expected[name]
    results = {"rcp": [2.0**127], "exp": [-127.0]}
    if name in results:
        assert first(f"v_{name}_f32_e32 v9, v0", {0: results[name]}) == 0


def test_class_ignores_the_denormal_mode() -> None:
    values = np.resize(words_of([SIGNALING, QUIET, 0xFF800000, 0xBF800000, 0x80000001]), 64)
    values[5:10] = words_of([0x80000000, 0, 1, ONE, 0x7F800000])
    values[10:] = ONE
    for bit in range(10):
        machine = run_lanes(
            f"v_cmp_class_f32_e64 s[4:5], v0, {1 << bit}", {0: values}, directives=FLUSH_F32
        )
        assert mask(machine, 4) & 0x3FF == 1 << bit


def test_signaling_nans_win_in_ieee_mode_only() -> None:
    vectors = {0: SIGNALING, 1: ONE}
    assert first("v_max_f32_e32 v9, v0, v1", vectors) == SIGNALING | 0x400000
    assert first("v_max_f32_e32 v9, v1, v0", vectors) == SIGNALING | 0x400000
    assert first("v_max_f32_e32 v9, v0, v1", vectors, directives=NO_IEEE) == ONE
    assert first("v_min_f32_e32 v9, v0, v1", {0: QUIET, 1: ONE}) == ONE


def test_signed_zeros() -> None:
    vectors = {0: 0, 1: 0x80000000}
    for a, b in (("v0", "v1"), ("v1", "v0")):
        assert first(f"v_max_f32_e32 v9, {a}, {b}", vectors) == 0
        assert first(f"v_min_f32_e32 v9, {a}, {b}", vectors) == 0x80000000


def test_median_of_nans_is_the_smallest_number() -> None:
    vectors = {0: [3.0], 1: QUIET, 2: [2.0]}
    assert first("v_med3_f32 v9, v0, v1, v2", vectors) == 0x40000000


def test_cmpx_writes_exec() -> None:
    machine = run_lanes("v_cmpx_lt_u32_e32 vcc, v0, v1", {0: np.arange(64), 1: 5}, active=0b1011)
    assert mask(machine, 106) == mask(machine, 126) == 0b1011


# -- what the pseudocode leaves open ---------------------------------------------------------------

ANY_FLOAT = st.integers(0, 2**32 - 1)
NORMAL = st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False)

DIVISION = """
v_div_scale_f32 v2, s[4:5], v1, v1, v0
v_div_scale_f32 v3, vcc, v0, v1, v0
v_rcp_f32_e32 v4, v2
v_fma_f32 v5, -v2, v4, 1.0
v_fmac_f32_e32 v4, v5, v4
v_mul_f32_e32 v5, v3, v4
v_fma_f32 v6, -v2, v5, v3
v_fmac_f32_e32 v5, v6, v4
v_fma_f32 v2, -v2, v5, v3
v_div_fmas_f32 v2, v2, v4, v5
v_div_fixup_f32 v9, v2, v1, v0
"""


def quotient(a: float, b: float, width: int) -> Value:
    """Returns a / b, rounded once."""
    if a == 0 or b == 0 or not (math.isfinite(a) and math.isfinite(b)):
        with np.errstate(all="ignore"):
            return real(float(np.float64(a) / np.float64(b)), width)
    return real(Fraction(a) / Fraction(b), width)


def numbers_of_all_sizes(width: int) -> list[int]:
    if width == 64:
        exponents = [0, 1, 54, 200, 512, 1022, 1023, 1024, 1500, 2000, 2045, 2046]
        return [e << 52 | low for e in exponents for low in (0, 1, 0x123456789ABCD)] + [0x7FF << 52]
    exponents = [0, 1, 2, 24, 25, 64, 100, 126, 127, 128, 150, 190, 252, 253, 254]
    words = [exponent << 23 | low for exponent in exponents for low in (0, 1, 0x2AAAAA, 0x7FFFFF)]
    return [*words, 0x7F800000, 0xBF9E0652, 0xFF800000, 0x80000000]


DIVISION_F64 = """
v_div_scale_f64 v[10:11], s[4:5], v[2:3], v[2:3], v[0:1]
v_rcp_f64_e32 v[12:13], v[10:11]
v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0
v_fmac_f64_e32 v[12:13], v[12:13], v[14:15]
v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0
v_fmac_f64_e32 v[12:13], v[12:13], v[14:15]
v_div_scale_f64 v[14:15], vcc, v[0:1], v[2:3], v[0:1]
v_mul_f64 v[16:17], v[14:15], v[12:13]
v_fma_f64 v[10:11], -v[10:11], v[16:17], v[14:15]
v_div_fmas_f64 v[10:11], v[10:11], v[12:13], v[16:17]
v_div_fixup_f64 v[8:9], v[10:11], v[2:3], v[0:1]
"""


@pytest.mark.parametrize(("width", "code"), [(32, DIVISION), (64, DIVISION_F64)])
def test_division_is_correctly_rounded(width: int, code: str) -> None:
    words = numbers_of_all_sizes(width)
    pairs = [(a, b) for a in words for b in words]
    count = width // 32
    for start in range(0, len(pairs), 64):
        part = np.resize(np.array(pairs[start : start + 64], np.uint64), (64, 2))
        vectors = {
            count * i + h: part[:, i] >> np.uint64(32 * h) for i in (0, 1) for h in range(count)
        }
        machine = run_lanes(code, vectors)  # type: ignore[arg-type]
        ours = lanes(machine, 9).astype(np.uint64)
        if width == 64:
            ours = ours << np.uint64(32) | lanes(machine, 8)
        for (a, b), result in zip(part.tolist(), ours.tolist(), strict=True):
            theirs = quotient(Value(a, width, "f").real, Value(b, width, "f").real, width)
            both_nan = Value(result, width, "f").is_nan and theirs.is_nan
            assert result == theirs.bits or both_nan, (hex(a), hex(b))


@pytest.mark.parametrize(("width", "largest"), [(16, 60), (32, 400)])
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_ldexp_rounds_once(width: int, largest: int, data: st.DataObject) -> None:
    value = Value(data.draw(st.integers(0, 2**width - 1)), width, "f")
    power = data.draw(st.integers(-largest, largest))
    if not math.isfinite(value.real):
        return
    expected = real(Fraction(value.real) * Fraction(2) ** power, width) if value.real else value
    vectors = {0: value.bits, 1: power & 0xFFFF if width == 16 else power}
    assert first(f"v_ldexp_f{width} v9, v0, v1", vectors) == expected.bits


@settings(deadline=None, max_examples=100)
@given(ANY_FLOAT)
def test_frexp_takes_numbers_apart(word: int) -> None:
    machine = run_lanes("v_frexp_mant_f32_e32 v8, v0\nv_frexp_exp_i32_f32_e32 v9, v0", {0: word})
    value = Value(word, 32, "f").real
    mantissa, exponent = float(floats(machine, 8)[0]), int(lanes(machine, 9).view(np.int32)[0])
    if math.isfinite(value):
        assert (mantissa, exponent) == math.frexp(value)
    else:
        assert exponent == 0
        assert mantissa == value or math.isnan(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (0.49999997, 0.0), (8388609.0, 8388609.0)],
)
def test_rndne(value: float, expected: float) -> None:
    assert first("v_rndne_f32_e32 v9, v0", {0: [value]}) == words_of([expected])[0]


@pytest.mark.parametrize("kind", ["f16", "f32"])
def test_fract_stays_below_one(kind: str) -> None:
    tiny = 0x8001 if kind == "f16" else 0x80000001
    expected = 0x3BFF if kind == "f16" else 0x3F7FFFFF
    assert first(f"v_fract_{kind}_e32 v9, v0", {0: tiny}) == expected


def test_transcendentals_are_correctly_rounded() -> None:
    values = np.linspace(0.25, 20, 64, dtype=np.float32)
    for name, function in (
        ("exp", np.exp2), ("log", np.log2), ("rcp", lambda a: 1 / a), ("sqrt", np.sqrt),
        ("rsq", lambda a: 1 / np.sqrt(a)),
    ):  # fmt: skip
        ours = floats(run_lanes(f"v_{name}_f32_e32 v9, v0", {0: values}), 9)
        assert (ours == function(values.astype(np.float64)).astype(np.float32)).all()
    turns = np.array([0, 0.25, 0.5, 100.25, 257.0], np.float32)
    ours = floats(run_lanes("v_sin_f32_e32 v9, v0", {0: np.resize(turns, 64)}), 9)[:5]
    assert np.abs(ours - [0, 1, 0, 1, 0]).max() < 1e-7


def test_multiply_add_with_a_constant() -> None:
    vectors = {0: [2.0], 1: [3.0]}
    assert floats(run_lanes("v_fmamk_f32 v9, v0, 0x40a00000, v1", vectors), 9)[0] == 13.0
    assert floats(run_lanes("v_fmaak_f32 v9, v0, v1, 0x40a00000", vectors), 9)[0] == 11.0


@pytest.mark.parametrize("table", [0x00, 0x80, 0x96, 0xE8, 0xFF, 0x1B, 0xFE])
def test_bitop3_is_its_truth_table(table: int) -> None:
    code = f"v_bitop3_b32 v9, v0, v1, v2 bitop3:{table:#x}"
    result = first(code, {0: 0xF0, 1: 0xCC, 2: 0xAA}, arch="gfx950")
    assert result & 0xFF == table


def test_perm_with_a_selector_per_lane_and_with_one_for_all() -> None:
    random = np.random.default_rng(3)
    high, low = (random.integers(0, 2**32, 64) for _ in range(2))
    for constant in (0x05040100, 0x0C0D0E0F, 0x080A0B09, 0x07060302, 0x0004FF0C):
        one = lanes(run_lanes("v_perm_b32 v9, v0, v1, v2", {0: high, 1: low, 2: constant}), 9)
        selectors = np.full(64, constant)
        selectors[63] = 0
        each = lanes(run_lanes("v_perm_b32 v9, v0, v1, v2", {0: high, 1: low, 2: selectors}), 9)
        assert (one[:63] == each[:63]).all()


def test_literals_take_the_operands_width() -> None:
    assert first("v_add_f16_e32 v9, 1.0, v0", {0: 0x3C00}) == 0x4000
    machine = run_lanes("v_add_f64 v[8:9], v[0:1], 1.0", {0: 0, 1: 0x3FF00000})
    assert lanes(machine, 9)[0] == 0x40000000
    machine = run_lanes("v_mul_f64 v[8:9], v[0:1], 0x40100000", {0: 0, 1: 0x3FF00000})
    assert lanes(machine, 9)[0] == 0x40100000


# -- 8-bit floats ----------------------------------------------------------------------------------


def test_fp8_to_f32_takes_the_chips_format() -> None:
    vectors = {0: 0x00_C0_38_80}
    for arch, second in (("gfx942", 0.5), ("gfx950", 1.0)):
        machine = run_lanes("v_cvt_pk_f32_fp8_e32 v[8:9], v0", vectors, arch=arch)
        assert floats(machine, 9)[0] == second
        assert np.isnan(floats(machine, 8)[0]) == (arch == "gfx942")
        machine = run_lanes("v_cvt_pk_f32_fp8_sdwa v[8:9], v0 src0_sel:WORD_1", vectors, arch=arch)
        assert [floats(machine, i)[0] for i in (8, 9)] == [-2.0 * second / 1.0, 0.0]
        machine = run_lanes("v_cvt_f32_bf8_sdwa v9, v0 src0_sel:BYTE_1", vectors, arch=arch)
        assert floats(machine, 9)[0] == second / 2


@pytest.mark.parametrize(("op_sel", "expected"), [("", 0xAAAA4038), ("op_sel:[0,0,1]", 0x4038BBBB)])
def test_f32_to_fp8_keeps_the_other_half(op_sel: str, expected: int) -> None:
    code = f"v_cvt_pk_fp8_f32 v9, v0, v1 {op_sel}"
    assert first(code, {0: [1.0], 1: [2.0], 9: 0xAAAABBBB}, arch="gfx950") == expected


# The first 1,152 bits of 2 / pi, as fdlibm's `__kernel_rem_pio2` has them, 24 bits each.
TWO_OVER_PI = (
    0xA2F983, 0x6E4E44, 0x1529FC, 0x2757D1, 0xF534DD, 0xC0DB62, 0x95993C, 0x439041, 0xFE5163,
    0xABDEBB, 0xC561B7, 0x246E3A, 0x424DD2, 0xE00649, 0x2EEA09, 0xD1921C, 0xFE1DEB, 0x1CB129,
)  # fmt: skip


@pytest.mark.parametrize("segment", [0, 1, 2, 5])
def test_bits_of_two_over_pi(segment: int) -> None:
    """Each segment has the next 53 bits; what a large number begins with is cut off."""
    digits = int("".join(f"{part:024b}" for part in TWO_OVER_PI), 2)
    length = 24 * len(TWO_OVER_PI)
    values = np.resize(np.array([1.0, 3.0, 2.0**60, 2.0**80]), 64)
    words = values.view(np.uint32).reshape(64, 2)
    machine = run_lanes(
        f"v_trig_preop_f64 v[4:5], v[0:1], {segment}", {0: words[:, 0], 1: words[:, 1]}
    )
    found = np.stack([machine.vgpr[4, 0], machine.vgpr[5, 0]], axis=-1).copy().view(np.float64)
    for lane, exponent in enumerate((0, 1, 60, 80)):
        shift = 53 * segment + max(0, exponent + 1023 - 1077)
        bits = digits >> length - shift - 53 & (1 << 53) - 1
        assert found[lane, 0] == np.ldexp(float(bits), -53 - shift)
