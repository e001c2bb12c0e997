# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of what a wave asks of the hardware."""

from __future__ import annotations

import pytest

from bankwise.emulator.emulation_errors import EmulationError

from .small_kernels import run

WAIT = "\ts_waitcnt lgkmcnt(0)\n"


@pytest.mark.parametrize("name", ["s_memtime", "s_memrealtime"])
def test_time_goes_on(name: str):
    first = 22 if name == "s_memrealtime" else 1
    code = f"\t{name} s[8:9]\n{WAIT}" + "\ts_nop 0\n" * first + f"\t{name} s[10:11]\n{WAIT}"
    machine = run(code, threads=128)
    assert (machine.sgpr[10] > machine.sgpr[8]).all()
    assert (machine.sgpr[[9, 11]] == 0).all()


def test_a_wave_may_wait_for_a_time():
    """It asks in a loop, in which nothing else happens."""
    code = f"""\ts_memtime s[8:9]
{WAIT}\ts_add_u32 s8, s8, 0x400
.Lwait:
\ts_memtime s[10:11]
{WAIT}\ts_cmp_lt_u32 s10, s8
\ts_cbranch_scc1 .Lwait
"""
    machine = run(code)
    assert machine.sgpr[8, 0] <= machine.sgpr[10, 0] < machine.sgpr[8, 0] + 100


@pytest.mark.parametrize("name", ["HW_REG_MODE", "HW_REG_WAVE_MODE"])
def test_registers_of_rdna4_have_the_names_of_both_assemblers(name: str):
    code = f"\ts_setreg_imm32_b32 hwreg({name}, 23, 1), 1\n\ts_getreg_b32 s8, hwreg({name}, 23, 1)"
    assert run(code, "gfx1201").sgpr[8, 0] == 1


def test_how_instructions_are_scheduled_changes_no_result():
    code = "\ts_mov_b32 s8, 7\n\ts_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2"
    assert (run(code, "gfx1250").sgpr[8] == 7).all()
    with pytest.raises(EmulationError, match="no model of 'hwreg"):
        run(code.replace("WAVE_", ""), "gfx1100")


def test_only_rdna4_has_the_newer_names():
    with pytest.raises(EmulationError, match="no model of 'hwreg"):
        run("\ts_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 23, 1), 1", "gfx1100")


def test_time_on_rdna():
    code = (
        "\ts_sendmsg_rtn_b64 s[8:9], sendmsg(MSG_RTN_GET_REALTIME)\n\ts_waitcnt lgkmcnt(0)\n"
        "\ts_getreg_b32 s10, hwreg(HW_REG_SHADER_CYCLES, 0, 20)\n"
        "\ts_getreg_b32 s11, hwreg(HW_REG_SHADER_CYCLES, 0, 20)\n"
    )
    machine = run(code, "gfx1100")
    assert 0 < machine.sgpr[10, 0] < machine.sgpr[11, 0]


def test_workgroups_go_to_the_dies_in_turn():
    code = "\ts_getreg_b32 s9, hwreg(HW_REG_XCC_ID)\n\ts_getreg_b32 s10, hwreg(20, 0, 4)\n"
    machine = run(code, workgroups=10)
    assert machine.sgpr[9].tolist() == [*range(8), 0, 1]
    assert machine.sgpr[10].tolist() == machine.sgpr[9].tolist()


def test_no_two_workgroups_share_a_place():
    """On gfx942, for 304 units: the die, the shader engine and the unit there."""
    code = (
        "\ts_getreg_b32 s8, hwreg(HW_REG_XCC_ID)\n"
        "\ts_getreg_b32 s9, hwreg(HW_REG_HW_ID, 8, 4)\n"
        "\ts_getreg_b32 s10, hwreg(HW_REG_HW_ID, 13, 2)\n"
        "\ts_getreg_b32 s11, hwreg(HW_REG_HW_ID, 4, 2)\n"
    )
    machine = run(code, threads=128, workgroups=304)
    places = {tuple(place) for place in machine.sgpr[8:12].T.tolist()}
    assert len(places) == 608


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("s_getreg_b32 s9, hwreg(HW_REG_TRAPSTS)", "no model of 'hwreg(HW_REG_TRAPSTS)'"),
        ("s_getreg_b32 s9, hwreg(HW_REG_HW_ID, 30, 4)", "no model of 'hwreg(HW_REG_HW_ID, 30, 4)'"),
        ("s_setreg_imm32_b32 hwreg(HW_REG_XCC_ID), 1", "no model of 'hwreg(HW_REG_XCC_ID)'"),
        ("s_sendmsg sendmsg(MSG_INTERRUPT)", "calls the host, and has no hidden_hostcall_buffer"),
    ],
)
def test_what_has_no_model_is_refused(code: str, message: str):
    with pytest.raises(EmulationError) as error:
        run(f"\t{code}")
    assert message in str(error.value)


def test_no_workgroup_of_gfx1250_is_in_a_cluster() -> None:
    code = "\ts_getreg_b32 s9, hwreg(HW_REG_IB_STS2, {first}, 4)"
    assert run(code.format(first=6), arch="gfx1250").sgpr[9].tolist() == [0] * 2
    for chip, first in (("gfx1250", 5), ("gfx1201", 6)):
        with pytest.raises(EmulationError, match="no model of 'hwreg"):
            run(code.format(first=first), arch=chip)
