# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Undefined bits spread as far as they can matter, and are reported where they do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.emulator.emulation_errors import UndefinedReadError
from bankwise.emulator.global_memory import GlobalMemory

from .small_kernels import LANES, descriptor, run, undefined_bits

ALL = 0xFFFFFFFF

# A spilled pair whose high half, s13, nobody has written.
SPILL = """\ts_mov_b32 s12, 7
\tv_writelane_b32 v5, s12, 0
\tv_writelane_b32 v5, s13, 1
\tv_readlane_b32 s14, v5, 0
\tv_readlane_b32 s15, v5, 1
\ts_add_u32 s14, s14, 1"""


def test_spills_carry_what_is_undefined():
    machine = run(SPILL)
    assert machine.sgpr[14].tolist() == [8]
    assert undefined_bits(machine, "s14").tolist() == [0]
    assert undefined_bits(machine, "s15").tolist() == [ALL]
    assert undefined_bits(machine, "v5")[0, 0] == 0
    assert (undefined_bits(machine, "v5")[0, 1:] == ALL).all()


def test_a_register_that_is_written_again_is_defined():
    machine = run(f"{SPILL}\n\ts_mov_b32 s15, 3\n\ts_add_u32 s15, s15, 1\n\tv_mov_b32_e32 v5, 1")
    assert machine.sgpr[15].tolist() == [4]
    assert undefined_bits(machine, "s15").tolist() == [0]
    assert not undefined_bits(machine, "v5").any()


# v1 is 5 and v9 was never written.
@pytest.mark.parametrize(
    ("code", "bits"),
    [
        ("v_mov_b32_e32 v2, v9", ALL),
        ("v_and_b32_e32 v2, 0, v9", 0),
        ("v_and_b32_e32 v2, 0xff, v9", 0xFF),
        ("v_or_b32_e32 v2, 0xff, v9", 0xFFFFFF00),
        ("v_xor_b32_e32 v2, v9, v9", 0),
        ("v_lshlrev_b32_e32 v2, 8, v9", 0xFFFFFF00),
        ("v_bfi_b32 v2, v9, v1, v1", 0),
        ("v_bfi_b32 v2, 15, v9, v1", 15),
        ("v_perm_b32 v2, v1, v9, 0x07060100", 0xFFFF),
        ("v_mul_lo_u32 v2, v9, 0", 0),
        ("v_cndmask_b32_e64 v2, v9, v1, -1", 0),
        ("v_cndmask_b32_e64 v2, v9, v1, 0", ALL),
        ("v_mov_b32_sdwa v2, v9 dst_sel:WORD_1 dst_unused:UNUSED_PAD", 0xFFFF0000),
        ("v_pk_lshlrev_b16 v2, 4, v9", 0xFFFFFFF0),
        ("v_mov_b32_e32 v8, 1\n\tv_mov_b64_e32 v[2:3], v[8:9]", 0),
        ("v_mov_b32_dpp v2, v9 row_shr:1 bound_ctrl:1", ALL),
    ],
)
def test_bits_that_no_filling_changes_are_defined(code: str, bits: int):
    machine = run(f"\tv_mov_b32_e32 v2, 0\n\t{code}", vectors={1: 5})
    assert undefined_bits(machine, "v2")[0, 5] == bits


# v3 is the high half of the addend.
MAD = """\tv_mov_b32_e32 v1, 5
\tv_mov_b32_e32 v2, 9
\tv_mad_u64_u32 v[4:5], s[10:11], v1, v1, v[2:3]"""


def test_a_low_sum_needs_no_high_addend():
    machine = run(MAD)
    assert (machine.vgpr[4] == 5 * 5 + 9).all()
    assert not undefined_bits(machine, "v4").any()
    assert undefined_bits(machine, "v5").all()


@pytest.mark.parametrize(
    ("code", "undefined"),
    [
        ("s_cmp_eq_u32 s13, 5", True),
        ("s_cmp_lg_u64 s[12:13], 0", False),
        ("s_cmp_eq_u64 s[12:13], s[14:15]", True),
        ("s_cmp_lt_u32 s13, 0", False),
        ("s_cmp_gt_i32 s13, 0x7ffffffe", True),
        ("s_xor_b32 s16, s13, s14", True),
        ("s_and_b32 s16, s13, 0", False),
    ],
)
def test_a_comparison_is_undefined_if_some_value_changes_it(code: str, undefined: bool):
    machine = run(f"\t{code}", scalars={12: 7, 14: 7, 15: 8})
    assert undefined_bits(machine, "scc").any() == undefined


@pytest.mark.parametrize(
    ("code", "undefined"),
    [
        ("v_cmp_eq_u32_e64 s[10:11], 77, v9", True),
        ("v_cmp_eq_u32_e64 s[10:11], v1, v9", True),
        ("v_cmp_lt_f32_e64 s[10:11], v1, v9", True),
        ("v_cmp_class_f32_e64 s[10:11], v9, 0x200", True),
        ("v_cmp_gt_u32_e64 s[10:11], 0, v9", False),
        ("v_cmp_eq_u16_e64 s[10:11], v1, v2", False),
    ],
)
def test_a_lane_of_a_comparison(code: str, undefined: bool):
    """v2 has a low half only; lane 3 is the one that compares."""
    prepare = "v_mov_b32_sdwa v2, v1 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE"
    machine = run(f"\t{prepare}\n\t{code}", vectors={1: 1234}, active=8)
    assert undefined_bits(machine, "s10").tolist() == [8 if undefined else 0]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 31),
    st.sampled_from(["v_and_b32", "v_or_b32", "v_lshlrev_b32", "v_lshrrev_b32", "v_mov_b32"]),
)
def test_moves_of_bits_are_exact(unknown: int, other: int, shift: int, name: str):
    """v3 has the undefined bits `unknown`; the rest of it and v2 are `other`."""
    first = {"v_and_b32": "v2, ", "v_or_b32": "v2, ", "v_mov_b32": ""}.get(name, f"{shift}, ")
    machine = run(
        f"\tv_bfi_b32 v3, v1, v9, v2\n\t{name}_e32 v4, {first}v3", vectors={1: unknown, 2: other}
    )
    expected = {
        "v_and_b32": unknown & other,
        "v_or_b32": unknown & ~other,
        "v_lshlrev_b32": unknown << shift & ALL,
        "v_lshrrev_b32": unknown >> shift,
        "v_mov_b32": unknown,
    }[name]
    assert (undefined_bits(machine, "v4") == expected).all()


def test_lanes_that_were_off_stay_undefined():
    code = "\ts_mov_b64 exec, 1\n\tv_mov_b32_e32 v1, 0\n\ts_mov_b64 exec, 3\n\tv_mov_b32_e32 v2, v1"
    assert undefined_bits(run(code), "v2")[0, :2].tolist() == [0, ALL]


# Where undefined bits are an error.


@pytest.mark.parametrize(
    ("code", "line", "what"),
    [
        ("ds_read_b32 v1, v9", 0, "The address of this access is undefined (wave 0, lane 0)"),
        ("global_load_dword v1, v[8:9], off", 0, "The address of this access is undefined"),
        ("s_load_dword s20, s[12:13], 0x0", 0, "The address of this access is undefined (wave 0)"),
        ("s_cbranch_scc1 .LBB0_1\n.LBB0_1:", 0, "The condition of this branch is undefined"),
        ("s_mov_b64 exec, s[12:13]", 0, "The new EXEC is undefined (wave 0, lane 0)"),
        ("v_cmpx_eq_u32_e32 vcc, 4, v9", 0, "The new EXEC is undefined (wave 0, lane 0)"),
        ("s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s12", 0, "The new MODE is undefined (wave 0)"),
        ("v_add_u32_e32 v1, 4, v9\n\tds_read_b32 v1, v1", 1, "v9, to which nothing was written "
         "before small.s:3 of kernel 'k' read it: v_add_u32_e32 v1, 4, v9"),
        ("ds_read_b32 v1, v0\n\ts_waitcnt lgkmcnt(0)\n\tds_read_b32 v1, v1", 2,
         "LDS byte 0 (wave 0, lane 0), to which nothing was written before "
         "small.s:3 of kernel 'k' read it: ds_read_b32 v1, v0"),
    ],
)  # fmt: skip
def test_where_undefined_bits_matter(code: str, line: int, what: str):
    with pytest.raises(UndefinedReadError) as error:
        run(f"\t{code}", vectors={0: 0, 8: 0}, lds_bytes=64)
    first, second = str(error.value).splitlines()
    assert first.startswith(f"small.s:{3 + line}: ")
    assert what in first
    assert second.startswith("  in kernel 'k': ")


def test_a_branch_whose_condition_is_certain():
    """s11 is undefined; with a lane of s10 set, VCC is not zero whatever s11 is."""
    code = "\ts_mov_b64 vcc, s[10:11]\n\ts_cbranch_vccz .LBB0_1\n\tv_mov_b32_e32 v1, 1\n.LBB0_1:"
    assert (run(code, scalars={10: 1}, vectors={1: 0}).vgpr[1] == 1).all()


# Memory.


def test_lds_keeps_undefined_bits():
    code = """\tv_and_b32_e32 v2, 0xff00, v9
\tds_write_b32 v1, v2
\tds_read_b32 v3, v1
\tds_read_u8 v4, v1
\tds_read_i16 v5, v1
\tds_read_b32 v6, v1 offset:256
\tds_write_b32 v1, v1
\tds_read_b32 v7, v1"""
    machine = run(code, vectors={1: 4 * LANES}, lds_bytes=512)
    found = [int(undefined_bits(machine, f"v{index}")[0, 9]) for index in range(3, 8)]
    assert found == [0xFF00, 0, 0xFFFFFF00, ALL, 0]


def test_bytes_that_were_defined_may_become_undefined():
    """The same instructions store and load twice: 0 first, and then what is undefined."""
    code = """.LBB0_1:
\tv_and_b32_e32 v2, s11, v9
\tds_write_b32 v1, v2
\tds_read_b32 v3, v1
\ts_waitcnt lgkmcnt(0)
\ts_sub_u32 s11, s11, 1
\ts_cmp_lg_u32 s11, -2
\ts_cbranch_scc1 .LBB0_1"""
    machine = run(code, scalars={11: 0}, vectors={1: 4 * LANES}, lds_bytes=256)
    assert (undefined_bits(machine, "v3") == ALL).all()


@pytest.mark.parametrize("half", [0, 1])
def test_a_load_of_a_half_leaves_the_other_one_undefined(half: int):
    code = f"\tds_write_b16 v1, v1\n\tds_read_u16_d16{'_hi' if half else ''} v3, v1"
    machine = run(code, "gfx942:sramecc-", vectors={1: 2 * LANES}, lds_bytes=128)
    assert (undefined_bits(machine, "v3") == (0xFFFF if half else 0xFFFF0000)).all()


def test_atomics_on_what_is_undefined():
    code = """\tds_and_rtn_b32 v2, v1, v0
\tds_read_b32 v3, v1
\tds_wrxchg_rtn_b32 v4, v1, v0
\tds_read_b32 v5, v1"""
    machine = run(code, vectors={0: 0xFF, 1: 4 * LANES}, lds_bytes=256)
    assert [int(undefined_bits(machine, f"v{i}")[0, 3]) for i in range(2, 6)] == [
        ALL,
        0xFF,
        0xFF,
        0,
    ]


def test_what_the_host_reads_must_be_defined():
    memory = GlobalMemory()
    first, second = memory.allocate(256), memory.allocate(256)
    # Lane 2 stores what is undefined; the others store 0.
    code = """\ts_mov_b64 exec, -5
\tv_mov_b32_e32 v2, 0
\ts_mov_b64 exec, -1
\tbuffer_store_dword v2, v1, s[4:7], 0 offen"""
    run(code, vectors={1: 4 * LANES}, scalars=descriptor(memory, first, 256), memory=memory)
    memory.check_defined(first, 8, "A result")
    memory.check_defined(first + 12, 244, "A result")
    expected = (
        "A result is undefined in 4 of 256 bytes, the first of which is byte 8: it comes from v2, "
        "to which nothing was written before small.s:6 of kernel 'k' read it: buffer_store_dword"
    )
    with pytest.raises(UndefinedReadError) as error:
        memory.check_defined(first, 256, "A result")
    assert str(error.value).startswith(expected)
    # Another kernel loads it, and bits that it masks are defined.
    code = """\tbuffer_load_dword v2, v1, s[4:7], 0 offen
\ts_waitcnt vmcnt(0)
\tv_and_b32_e32 v3, 1, v2
\ts_load_dwordx4 s[12:15], s[4:5], 0x0"""
    scalars = descriptor(memory, first, 256)
    machine = run(code, vectors={1: 4 * LANES}, scalars=scalars, memory=memory)
    assert undefined_bits(machine, "v3")[0, :4].tolist() == [0, 0, 1, 0]
    words = [int(undefined_bits(machine, f"s{index}")[0]) for index in range(12, 16)]
    assert words == [0, 0, ALL, 0]
    # The host copies it, and then writes over it.
    memory.copy(first, second, 256)
    with pytest.raises(UndefinedReadError, match="byte 8"):
        memory.check_defined(second, 256, "A result")
    memory.write(second, np.zeros(256, np.uint8))
    memory.check_defined(second, 256, "A result")


def test_the_bytes_that_are_defined_are_named():
    """A conversion to two 8-bit floats leaves the other half of its register as it is."""
    memory = GlobalMemory()
    address = memory.allocate(4)
    code = (
        "\ts_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\n\tv_cvt_pk_fp8_f32 v3, v2, v2\n"
        "\tglobal_store_dword v1, v3, s[4:5]"
    )
    scalars = {4: address & 0xFFFFFFFF, 5: address >> 32}
    run(code, vectors={1: 0, 2: 0x447A0000}, scalars=scalars, memory=memory)
    with pytest.raises(
        UndefinedReadError, match=r"2 of 4 bytes, .* byte 2: .*; the others are 7f 7f"
    ):
        memory.check_defined(address, 4, "A result")
