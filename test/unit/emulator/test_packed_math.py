# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which halves and signs packed instructions take; what they compute is in `test_pseudocode.py`."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.emulation_errors import EmulationError

from .lane_programs import FLUSH_F32, floats, lanes, run_lanes

RDNA = "gfx1100"


def f16_pair(low: float, high: float) -> int:
    """Returns a register with two f16."""
    return int(np.array([low, high], np.float16).view(np.uint32)[0])


def halves(machine: object, index: int) -> list[float]:
    return lanes(machine, index)[:1].view(np.float16).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("modifiers", "expected"),
    [
        ("", [1.0 + 10, 2.0 + 20]),
        ("op_sel:[1,0]", [2.0 + 10, 2.0 + 20]),
        ("op_sel_hi:[0,1]", [1.0 + 10, 1.0 + 20]),
        ("op_sel:[1,1] op_sel_hi:[0,0]", [2.0 + 20, 1.0 + 10]),
        ("neg_lo:[1,0]", [-1.0 + 10, 2.0 + 20]),
        ("neg_hi:[0,1]", [1.0 + 10, 2.0 - 20]),
    ],
)
def test_halves_and_signs(modifiers: str, expected: list[float]) -> None:
    vectors = {0: f16_pair(1, 2), 1: f16_pair(10, 20)}
    assert halves(run_lanes(f"v_pk_add_f16 v2, v0, v1 {modifiers}", vectors), 2) == expected
    pairs = {0: [1.0], 1: [2.0], 2: [10.0], 3: [20.0]}
    machine = run_lanes(f"v_pk_add_f32 v[4:5], v[0:1], v[2:3] {modifiers}", pairs)
    assert [floats(machine, index)[0] for index in (4, 5)] == expected


def test_a_float_constant_of_f16_lies_in_the_low_half() -> None:
    vectors = {0: f16_pair(3, 4)}
    machine = run_lanes("v_pk_mul_f16 v1, v0, 2.0 op_sel_hi:[1,0]", vectors)
    assert halves(machine, 1) == [6.0, 8.0]
    # As LLVM adds (0, 1).
    machine = run_lanes("v_pk_add_f16 v1, v0, 1.0 op_sel:[0,1] op_sel_hi:[1,0]", vectors)
    assert halves(machine, 1) == [3.0, 5.0]
    # 1.0 is 0x3F800000 for integers.
    machine = run_lanes("v_pk_add_u16 v1, v0, 1.0", {0: 0x0001_0002})
    assert hex(lanes(machine, 1)[0]) == hex(0x3F81_0002)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1250"])
@pytest.mark.parametrize("modifiers", ["", "op_sel_hi:[1,0]", "op_sel:[0,1]"])
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("v_pk_mul_f32 v[2:3], v[0:1], 2.0", [6.0, 8.0]),
        ("v_pk_add_f32 v[2:3], v[0:1], -1.0", [2.0, 3.0]),
        ("v_pk_fma_f32 v[2:3], v[0:1], 4.0, v[0:1]", [15.0, 20.0]),
        ("v_pk_add_f32 v[2:3], v[0:1], 0x41200000", [13.0, 14.0]),
    ],
)
def test_f32_has_one_constant_for_both_halves(
    code: str, expected: list[float], modifiers: str, arch: str
) -> None:
    if "fma" in code:
        modifiers = modifiers.replace("]", ",1]") if "hi" in modifiers else ""
    count = 32 if arch == "gfx1250" else 64
    machine = run_lanes(f"{code} {modifiers}", {0: [3.0], 1: [4.0]}, arch=arch, count=count)
    assert [floats(machine, index)[0] for index in (2, 3)] == expected


@pytest.mark.parametrize(
    ("code", "message", "arch"),
    [
        ("v_pk_mov_b32 v[2:3], v[0:1], 1.0 op_sel:[0,1]", "high half of the constant", "gfx942"),
        ("v_pk_fmac_f16 v1, 1.0, v0", "float constant", "gfx942"),
        ("v_dot2_f32_f16 v1, v0, 1.0, v0", "constant on a dot product", "gfx942"),
        ("v_fma_mix_f32 v1, v0, 1.0, v0 op_sel:[0,1,0] op_sel_hi:[0,1,0]", "high half", RDNA),
        ("v_pk_mul_bf16 v1, v0, 3.0", "literal 3.0 of bf16", "gfx1250"),
        ("v_pk_add_f32 v[2:3], v[0:1], s[2:3]", r"high register of s\[2:3\]", "gfx1250"),
        ("v_pk_add_f32 v[2:3], v[0:1], 0x3f80000040000000", "more than 32 bits", "gfx1250"),
    ],
)
def test_unknown_halves_of_constants_are_errors(code: str, message: str, arch: str) -> None:
    count = 64 if arch == "gfx942" else 32
    with pytest.raises(EmulationError, match=message):
        run_lanes(code, {0: [3.0], 1: [4.0]}, {2: 0, 3: 0}, arch=arch, count=count)


def test_scalar_pairs_and_overlapping_destinations() -> None:
    machine = run_lanes(
        "v_pk_fma_f32 v[0:1], v[0:1], s[2:3], v[0:1] op_sel:[1,0,0] op_sel_hi:[0,1,1]",
        {0: [1.0], 1: [2.0]},
        {2: 0x41200000, 3: 0x41A00000},
    )
    assert [floats(machine, index)[0] for index in (0, 1)] == [2 * 10 + 1, 1 * 20 + 2]


def test_packed_move_picks_one_register_of_each_pair() -> None:
    vectors = {0: 10, 1: 11, 2: 12, 3: 13}
    for op_sel, expected in (("[0,0]", [10, 12]), ("[1,0]", [11, 12]), ("[0,1]", [10, 13])):
        machine = run_lanes(f"v_pk_mov_b32 v[4:5], v[0:1], v[2:3] op_sel:{op_sel}", vectors)
        assert [lanes(machine, index)[0] for index in (4, 5)] == expected
    machine = run_lanes("v_pk_mov_b32 v[0:1], v[0:1], v[0:1] op_sel:[1,0]", vectors)
    assert [lanes(machine, index)[0] for index in (0, 1)] == [11, 10]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("v_pk_add_i16 v2, v0, v1 clamp", 0x80007FFF),
        ("v_pk_add_u16 v2, v0, v1 clamp", 0xFFFFFFFF),
        ("v_pk_sub_u16 v2, v1, v0 clamp", 0x0FFF0000),
        ("v_pk_add_u16 v2, v0, v1", 0x6FFF8010),
    ],
)
def test_integer_clamp_saturates(code: str, expected: int) -> None:
    vectors = {0: 0x8000_7FFF, 1: 0xEFFF_0011}
    if "sub" in code:
        vectors = {0: 0x8000_7FFF, 1: 0x8FFF_0011}
    if code == "v_pk_add_u16 v2, v0, v1 clamp":
        vectors = {0: 0x8000_FFFF, 1: 0x8000_0011}
    assert lanes(run_lanes(code, vectors), 2)[0] == expected


def test_float_clamp() -> None:
    machine = run_lanes("v_pk_add_f16 v2, v0, v1 clamp", {0: f16_pair(-3, 1), 1: f16_pair(1, 1)})
    assert halves(machine, 2) == [0.0, 1.0]


def test_integer_dot_products_saturate_at_the_end() -> None:
    vectors = {0: 0x7FFF7FFF, 1: 0x7FFF7FFF, 2: 0x7FFFFFF0}
    assert lanes(run_lanes("v_dot2_i32_i16 v3, v0, v1, v2 clamp", vectors), 3)[0] == 0x7FFFFFFF
    wrapped = (2 * 0x7FFF**2 + 0x7FFFFFF0) & 0xFFFFFFFF
    assert lanes(run_lanes("v_dot2_i32_i16 v3, v0, v1, v2", vectors), 3)[0] == wrapped


@pytest.mark.parametrize(
    ("name", "one", "expected"), [("f16", 0x3C00, 0.0), ("bf16", 0x3F80, 2.0**-30)]
)
def test_where_the_addend_joins_a_float_dot_product(name: str, one: int, expected: float) -> None:
    # 2^-30 + 1 - 1 loses the addend, 1 - 1 + 2^-30 keeps it.
    vectors = {0: one | one << 16, 1: one | (one | 0x8000) << 16, 2: [2.0**-30]}
    machine = run_lanes(f"v_dot2_f32_{name} v3, v0, v1, v2", vectors, arch="gfx950")
    assert floats(machine, 3)[0] == expected


def test_a_literal_is_two_factors_of_a_dot_product() -> None:
    vectors = {0: f16_pair(2, 3), 1: [10.0]}
    machine = run_lanes("v_dot2c_f32_f16_e32 v1, 0x3c004000, v0", vectors)
    assert floats(machine, 1)[0] == 10 + 2 * 2 + 3


def test_mixed_sums_take_f32_or_either_f16_half() -> None:
    vectors = {0: [1.5], 1: f16_pair(2, 3), 2: [100.0], 3: 0xAAAABBBB}
    code = "v_fma_mix_f32 v4, v0, v1, v2 op_sel:[0,{},0] op_sel_hi:[0,1,0]"
    assert floats(run_lanes(code.format(0), vectors, arch=RDNA), 4)[0] == 103.0
    assert floats(run_lanes(code.format(1), vectors, arch=RDNA), 4)[0] == 104.5
    negated = "v_fma_mix_f32 v4, -v0, |v1|, v2 op_sel_hi:[0,1,0]"
    assert floats(run_lanes(negated, vectors | {1: f16_pair(-2, 0)}, arch=RDNA), 4)[0] == 97.0


def test_mixed_sums_write_one_half() -> None:
    vectors = {0: [1.5], 1: f16_pair(2, 3), 2: [100.0], 3: 0xAAAABBBB}
    low = run_lanes("v_fma_mixlo_f16 v3, v0, v1, v2 op_sel_hi:[0,1,0]", vectors, arch=RDNA)
    assert lanes(low, 3)[0] == 0xAAAA0000 | int(np.float16(103).view(np.uint16))
    high = run_lanes("v_fma_mixhi_f16 v3, v0, v1, v2 op_sel_hi:[0,1,0]", vectors, arch=RDNA)
    assert lanes(high, 3)[0] == 0x0000BBBB | int(np.float16(103).view(np.uint16)) << 16


def test_packed_f32_flushes_denormals_where_the_mode_says_so() -> None:
    vectors = {0: 0x00000001, 1: 0x3F800000, 2: 0, 3: 0}
    code = "v_pk_add_f32 v[4:5], v[0:1], v[2:3]"
    assert lanes(run_lanes(code, vectors), 4)[0] == 1
    assert lanes(run_lanes(code, vectors, directives=FLUSH_F32), 4)[0] == 0


def test_maximum3_lets_nans_win() -> None:
    vectors = {0: f16_pair(1, np.nan), 1: f16_pair(5, 2), 2: f16_pair(-1, 3)}
    machine = run_lanes("v_pk_maximum3_f16 v3, v0, v1, v2", vectors, arch="gfx950")
    low, high = halves(machine, 3)
    assert low == 5.0
    assert np.isnan(high)
    machine = run_lanes("v_pk_minimum3_f16 v3, v0, v1, v2", vectors, arch="gfx950")
    assert halves(machine, 3)[0] == -1.0


# bf16 of gfx1250: 1.0 is 0x3f80, and its last bit is worth 2^-7.


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("v_pk_add_bf16 v8, v0, v1", 0x4040_4040),
        ("v_pk_add_bf16 v8, v0, v1 neg_lo:[0,1] neg_hi:[1,0]", 0xBF80_BF80),
        ("v_pk_mul_bf16 v8, v0, v1", 0x4000_4000),
        ("v_pk_mul_bf16 v8, v0, 0x4000 op_sel_hi:[1,0]", 0x4080_4000),
        # 2.0 is 0x40000000: bf16 in the high half.
        ("v_pk_mul_bf16 v8, v0, 2.0 op_sel:[0,1]", 0x4080_4000),
        ("v_pk_add_bf16 v8, v0, 2.0", 0x4080_3F80),
        ("v_fma_mix_f32_bf16 v8, v0, 2.0, v9 op_sel:[1,1,0] op_sel_hi:[1,1,0]", 0x40A0_0000),
        # 1 + 2^-7 squared is 1 + 2^-6 + 2^-14: rounded down, and with 2^-8 more rounded up.
        ("v_pk_mul_bf16 v8, v2, v2", 0x3F82_3F82),
        ("v_pk_fma_bf16 v8, v2, v2, v3", 0x3F83_3F83),
        ("v_pk_max3_num_f16 v8, v5, v6, v7", 0x4200_4000),
        ("v_pk_min3_num_f16 v8, v5, v6, v7", 0x3C00_BC00),
        ("v_pk_max3_i16 v8, v5, v6, v7", 0x4200_4000),
        ("v_pk_min3_u16 v8, v5, v6, v7", 0x3C00_3C00),
        # 2 * 1 + 1, 1 * 2 - 2 with halves of bf16, and products rounded to bf16 at the end.
        ("v_fma_mix_f32_bf16 v8, v0, v1, v9 op_sel:[1,1,0] op_sel_hi:[1,1,0]", 0x4040_0000),
        ("v_fma_mix_f32_bf16 v8, v0, v1, -v1 op_sel:[0,0,0] op_sel_hi:[1,1,1]", 0),
        ("v_fma_mixlo_bf16 v8, v2, v2, 0 op_sel_hi:[1,1,0]", 0x1111_3F82),
        ("v_fma_mixhi_bf16 v8, v2, v2, v3 op_sel_hi:[1,1,1]", 0x3F83_1111),
        ("v_pk_max_num_bf16 v8, v0, v4", 0x4000_3F80),
        ("v_pk_min_num_bf16 v8, v0, v1", 0x3F80_3F80),
    ],
)
def test_pairs_and_mixed_sums_of_gfx1250(code: str, result: int) -> None:
    vectors = {0: 0x4000_3F80, 1: 0x3F80_4000, 2: 0x3F81_3F81, 3: 0x3B80_3B80, 4: 0x7FC0_7FC0}
    vectors |= {5: 0x3C00_4000, 6: 0x4200_BC00, 7: 0x4000_3C00, 8: 0x1111_1111, 9: 0x3F80_0000}
    machine = run_lanes(code, vectors, arch="gfx1250", count=32)
    assert hex(lanes(machine, 8)[0]) == hex(result)
    with pytest.raises(EmulationError, match="gfx1201 has no 'v_"):
        run_lanes(code, vectors, arch="gfx1201", count=32)
