# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The MODE register: every wave has its own."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.emulation_errors import EmulationError

from .lane_programs import FLUSH_F32, run_lanes
from .small_kernels import kernel, machine_of, program_of, run

FLUSH = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0"
KEEP = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3"
DOUBLE = "v_add_f32_e32 v2, v1, v1"
DENORMAL = {1: 1}


@pytest.mark.parametrize(("bits", "directives", "expected"), [(0, "", 0), (3, FLUSH_F32, 2)])
def test_the_denormal_mode_may_change(bits: int, directives: str, expected: int) -> None:
    code = f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), {bits}\n{DOUBLE}"
    assert run_lanes(code, DENORMAL, directives=directives).vgpr[2, 0, 0] == expected


def test_waves_that_take_another_path_keep_their_mode() -> None:
    code = f"""\ts_cmp_eq_u32 s9, 0
\ts_cbranch_scc1 .LBB0_1
\t{FLUSH}
.LBB0_1:
\t{DOUBLE}
\ts_getreg_b32 s10, hwreg(HW_REG_MODE, 4, 2)
\t{KEEP}
\tv_add_f32_e32 v3, v1, v1"""
    machine = run(code, threads=256, scalars={9: [0, 1, 0, 1]}, vectors=DENORMAL)
    assert machine.vgpr[2, :, 0].tolist() == [2, 0, 2, 0]
    assert machine.sgpr[10].tolist() == [3, 0, 3, 0]
    assert (machine.vgpr[3] == 2).all()
    assert machine.counters.executions.tolist() == [4, 4, 2, 4, 4, 4, 4, 4]


def test_waves_of_one_mode_run_together_again() -> None:
    code = f"\ts_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s9\n\t{DOUBLE}\n\t{KEEP}\n\t{DOUBLE}"
    parsed = kernel(code, threads=256)
    program, machine = program_of(parsed), machine_of(parsed)
    machine.define_scalar(9, np.array([15, 12, 15, 12], np.uint32))
    sizes: dict[int, list[int]] = {1: [], 3: []}
    for place, groups in sizes.items():
        program.steps[place] = lambda group, groups=groups: groups.append(group.count)
    program.run(machine)
    assert sizes == {1: [2, 2], 3: [4]}


def test_the_whole_register_may_be_read() -> None:
    machine = run("\ts_getreg_b32 s10, hwreg(HW_REG_MODE)")
    # IEEE, DX10_CLAMP, and all denormals kept.
    assert machine.sgpr[10].tolist() == [0x3F0]


@pytest.mark.parametrize(
    "code",
    [
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 1",
        "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 1), 0",
        "s_getreg_b32 s1, hwreg(HW_REG_TRAPSTS, 0, 1)",
    ],
)
def test_modes_without_a_model_are_refused(code: str) -> None:
    with pytest.raises(EmulationError, match="has no model of") as error:
        run(f"\t{code}")
    assert str(error.value).startswith("small.s:3: ")


def test_replay_changes_no_result_on_gfx1250() -> None:
    code = f"s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1\n{DOUBLE}"
    machine = run_lanes(code, DENORMAL, arch="gfx1250", count=32)
    assert machine.vgpr[2, 0, 0] == 2
    for other in ("gfx1201", "gfx942"):
        with pytest.raises(EmulationError, match="has no model of"):
            run_lanes(code, DENORMAL, arch=other)


def test_the_upper_bits_of_registers_are_not_read_as_numbers() -> None:
    code = "\ts_getreg_b32 s10, hwreg(HW_REG_WAVE_MODE, {first}, 4)"
    assert (run(code.format(first=20), arch="gfx1250").sgpr[10] == 0).all()
    with pytest.raises(EmulationError, match="no model of bits 19:12 of MODE"):
        run(code.format(first=9), arch="gfx1250")


OVERFLOW = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1"
# Too large, infinite, not a number, and one that the formats have.
TOO_LARGE = np.array([1e9, -1e9, np.inf, -np.inf, np.nan, 3.0], np.float32).view(np.uint32)


@pytest.mark.parametrize(
    ("arch", "kind", "saturated", "plain"),
    [
        ("gfx942", "fp8", [0x7F, 0xFF, 0x7F, 0xFF, 0x80, 0x4C], [0x80] * 5 + [0x4C]),
        ("gfx942", "bf8", [0x7F, 0xFF, 0x7F, 0xFF, 0x80, 0x46], [0x80] * 5 + [0x46]),
        ("gfx950", "fp8", [0x7E, 0xFE, 0x7E, 0xFE, 0x7F, 0x44], [0x7F, 0xFF] * 2 + [0x7F, 0x44]),
        ("gfx950", "bf8", [0x7B, 0xFB, 0x7B, 0xFB, 0x7F, 0x42], [0x7C, 0xFC] * 2 + [0x7F, 0x42]),
    ],
)
def test_conversions_to_8_bits_saturate(
    arch: str, kind: str, saturated: list[int], plain: list[int]
) -> None:
    """By the table of the ISA documents, also what is infinite."""
    values = np.resize(TOO_LARGE, 64)
    for code, expected in ((f"{OVERFLOW}\n", saturated), ("", plain)):
        machine = run(f"{code}v_cvt_pk_{kind}_f32 v2, v1, v1", arch, vectors={1: values, 2: 0})
        assert (machine.vgpr[2, 0, :6] & 0xFF).tolist() == expected


HALVES = np.array([60000, -60000, np.inf, 1], np.float16).view(np.uint16).astype(np.uint32)


@pytest.mark.parametrize(
    ("code", "high"),
    [
        ("v_add_f16_e32 v2, v1, v1", False),
        ("v_pk_add_f16 v2, v1, v1", True),
        ("v_fma_mixlo_f16 v2, v1, 2.0, 0 op_sel_hi:[1,0,0]", False),
    ],
)
def test_halves_that_are_too_large_are_the_largest(code: str, high: bool) -> None:
    """An infinity that was there stays."""
    arch, lanes = ("gfx1100", 32) if "mix" in code else ("gfx942", 64)
    values = np.resize(HALVES | HALVES << 16, lanes)
    saturated = np.array([0x7BFF, 0xFBFF, 0x7C00, 0x4000], np.uint16)
    plain = np.array([0x7C00, 0xFC00, 0x7C00, 0x4000], np.uint16)
    for first, expected in ((OVERFLOW, saturated), ("s_nop 0", plain)):
        machine = run(f"{first}\n{code}", arch, threads=lanes, vectors={1: values, 2: 0})
        halves = machine.vgpr[2, 0, :4].copy().view(np.uint16).reshape(4, 2)
        assert (halves[:, 0] == expected).all()
        assert (halves[:, 1] == (expected if high else 0)).all()


def test_conversions_to_halves_saturate() -> None:
    code = f"{OVERFLOW}\nv_cvt_f16_f32_e32 v2, v1\nv_cvt_pk_f16_f32 v3, v1, v1"
    machine = run(code, "gfx950", vectors={1: np.resize(TOO_LARGE, 64)})
    expected = [0x7BFF, 0xFBFF, 0x7C00, 0xFC00]
    assert machine.vgpr[2, 0, :4].tolist() == expected
    assert machine.vgpr[3, 0, :4].tolist() == [half * 0x10001 for half in expected]


def test_a_directive_says_that_conversions_saturate() -> None:
    parsed = kernel("v_cvt_pk_fp8_f32 v2, v1, v1", directives="\t\t.amdhsa_fp16_overflow 1")
    machine = machine_of(parsed)
    machine.define_vector(1, np.resize(TOO_LARGE, (1, 64)))
    machine.define_vector(2, np.zeros((1, 64), np.uint32))
    program_of(parsed).run(machine)
    assert machine.vgpr[2, 0, 0] == 0x7F7F


@pytest.mark.parametrize(
    ("first", "size", "value", "field"),
    [
        (0, 4, 5, "FP_ROUND of f32 = 1"),
        (2, 2, 3, "FP_ROUND of f64 and f16 = 3"),
        (4, 2, 1, "FP_DENORM of f32 = 1"),
        (12, 9, 16, "EXCP_EN = 16"),
        (28, 1, 1, "VSKIP = 1"),
    ],
)
def test_fields_without_a_model_are_named(first: int, size: int, value: int, field: str) -> None:
    with pytest.raises(EmulationError, match=f"no model of MODE = 0x[0-9a-f]+: {field}"):
        run(f"\ts_setreg_imm32_b32 hwreg(HW_REG_MODE, {first}, {size}), {value}")


def test_fields_that_change_nothing_are_kept() -> None:
    code = (
        "\ts_setreg_imm32_b32 hwreg(HW_REG_MODE, 26, 1), 1\n\ts_getreg_b32 s9, hwreg(HW_REG_MODE)"
    )
    assert run(code).sgpr[9, 0] == 0x40003F0
