# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vector registers of gfx1250 above v255, which `s_set_vgpr_msb` lets operands mean."""

from __future__ import annotations

import pytest

from bankwise.emulator.assembly import AssemblyError
from bankwise.emulator.emulation_errors import EmulationError
from bankwise.emulator.instruction_text import Register
from bankwise.emulator.wave_state import Machine

from .lane_programs import lanes, run_lanes
from .small_kernels import kernel, run

ALL = "\t\t.amdhsa_next_free_vgpr 1024"
VALUES = {0: 10, 1: 20, 2: 30, 3: 40, 256: 11, 257: 21, 258: 31, 513: 22}


def narrow(code: str) -> Machine:
    return run_lanes(code, VALUES, count=32, arch="gfx1250", directives=ALL)


def registers(code: str) -> list[str]:
    """Returns the vector registers that the instruction behind `s_set_vgpr_msb 0xe4` means.

    Its bits are 0 for the first source, 1 for the second, 2 for the third, and 3 for the result.
    """
    parsed = kernel(f"\ts_set_vgpr_msb 0xe4\n\t{code}", arch="gfx1250", directives=ALL)
    values = (operand.value for operand in parsed.instructions[1].operands)
    return [str(each) for each in values if isinstance(each, Register) and each.file == "v"]


@pytest.mark.parametrize(
    ("code", "meant"),
    [
        ("v_mov_b32_e32 v1, v2", "v769 v2"),
        ("v_mov_b16_e64 v1.l /*v769.l*/, v2.h", "v769.l v2.h"),
        ("v_add_nc_u32_e32 v1, v2, v3", "v769 v2 v259"),
        ("v_fmac_f32_e32 v1, v2, v3", "v769 v2 v259"),
        ("v_fmamk_f32 v1, v2, 0x40400000, v3", "v769 v2 v515"),
        ("v_fmaak_f32 v1, v2, v3, 0x40400000", "v769 v2 v259"),
        ("v_fma_f32 v1, -v2, |v3|, v4", "v769 v2 v259 v516"),
        ("v_cndmask_b32_e64 v1, v2, v3, s0", "v769 v2 v259"),
        ("v_add_co_ci_u32_e32 v1, vcc_lo, v2, v3, vcc_lo", "v769 v2 v259"),
        ("v_div_scale_f32 v1, null, v2, v3, v4", "v769 v2 v259 v516"),
        ("v_mad_co_u64_u32 v[2:3], null, v2, v3, v[4:5]", "v[770:771] v2 v259 v[516:517]"),
        ("v_cmp_eq_u32_e32 vcc_lo, v1, v2", "v1 v258"),
        ("v_cmp_eq_u32_e64 s0, 3, v2", "v258"),
        ("v_cmpx_eq_u32_e32 v1, v2", "v1 v258"),
        ("v_readfirstlane_b32 s0, v1", "v1"),
        ("v_mov_b32_dpp v1, v2 row_xmask:1 row_mask:0xf bank_mask:0xf", "v769 v2"),
        (
            "v_dual_mov_b32 v0, v2 :: v_dual_add_f32 v1, v4, v7",
            "v768 v2 v769 v4 v263",
        ),
        (
            "v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], v[24:31]",
            "v[768:775] v[8:15] v[272:279] v[536:543]",
        ),
        ("ds_load_b128 v[2:5], v1 offset:16", "v[770:773] v1"),
        ("ds_store_b64 v1, v[2:3]", "v1 v[258:259]"),
        ("ds_store_2addr_b32 v1, v2, v3 offset1:1", "v1 v258 v515"),
        ("ds_add_rtn_u32 v1, v2, v3", "v769 v2 v259"),
        ("ds_add_u32 v2, v3", "v2 v259"),
        ("ds_bpermute_b32 v1, v2, v3", "v769 v2 v259"),
        ("buffer_load_b64 v[2:3], v1, s[0:3], null offen", "v[770:771] v1"),
        ("buffer_store_b64 v[2:3], v1, s[0:3], null offen", "v[770:771] v1"),
        ("global_load_b32 v1, v2, s[0:1]", "v769 v2"),
        ("global_store_b32 v2, v3, s[0:1]", "v2 v259"),
        ("global_atomic_add_u32 v1, v2, v3, s[0:1] th:TH_ATOMIC_RETURN", "v769 v2 v259"),
        ("global_atomic_add_u32 v2, v3, s[0:1]", "v2 v259"),
        ("scratch_load_b32 v1, off, s0", "v769"),
        ("scratch_store_b32 off, v3, s0", "v259"),
    ],
)
def test_each_operand_takes_the_bits_of_its_role(code: str, meant: str) -> None:
    assert registers(code) == meant.split()


def test_values_come_from_the_registers_that_are_meant() -> None:
    machine = narrow("s_set_vgpr_msb 0x41\nv_sub_nc_u32_e32 v4 /*v260*/, v0 /*v256*/, v1")
    assert (lanes(machine, 260) == 11 - 20 & 0xFFFFFFFF).all()


def test_bits_hold_until_they_are_set_anew() -> None:
    code = "s_set_vgpr_msb 1\nv_mov_b32 v4, v1\nv_mov_b32 v5, v2\ns_set_vgpr_msb 0x100\n"
    machine = narrow(code + "v_mov_b32 v6, v1\ns_set_vgpr_msb 2\nv_mov_b32 v7, v1")
    assert [int(lanes(machine, index)[0]) for index in (4, 5, 6, 7)] == [21, 31, 20, 22]


def test_setting_any_bits_of_mode_sets_these_too() -> None:
    # Bits 15:14 of the number are those of the first source.
    mode = "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1)"
    assert lanes(narrow(f"{mode}, 0x4001\nv_mov_b32 v4, v1 /*v257*/"), 4)[0] == 21
    assert lanes(narrow(f"s_set_vgpr_msb 1\n{mode}, 1\nv_mov_b32 v4, v1"), 4)[0] == 20


def test_a_range_may_begin_below_v256_and_end_above() -> None:
    parsed = kernel("\tds_load_b128 v[254:257], v0", arch="gfx1250", directives=ALL)
    assert parsed.instructions[0].operands[0].value == Register("v", 254, 4)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("v_mov_b32 v0 /*v256*/, v1", "small.s:3: its comments name v256, but after"),
        ("s_set_vgpr_msb 1\n\tv_mov_b32 v0 /*v256*/, v1", "name v256, but .* means v257"),
        ("s_set_vgpr_msb 0x41\n\tv_mov_b32 v0, v1 /*v257*/", "means v256, v257"),
        ("v_mov_b32 v256, v1", "'v256': the last register that can be named is v255"),
        ("s_set_vgpr_msb 0xc0\n\tds_load_b128 v[254:257], v0", "from v1022 on end behind"),
        ("s_set_vgpr_msb 1\n\ts_branch .LBB0_1\n.LBB0_1:\n\ts_nop 0", "control flow where"),
        ("s_set_vgpr_msb 1\n.LBB0_1:\n\tv_mov_b32 v0, v1", "control flow where"),
        ("s_set_vgpr_msb s0", "has no number"),
    ],
)
def test_text_that_does_not_say_which_registers_it_means_is_refused(
    code: str, message: str
) -> None:
    with pytest.raises(AssemblyError, match=message):
        kernel(f"\t{code}", arch="gfx1250", directives=ALL)


def test_labels_of_debug_information_end_no_block() -> None:
    assert lanes(narrow("s_set_vgpr_msb 1\n.Ltmp0:\nv_mov_b32 v4, v1"), 4)[0] == 21


def test_other_chips_have_no_such_bits() -> None:
    with pytest.raises(EmulationError, match="gfx1201 has no 's_set_vgpr_msb'"):
        run("\ts_set_vgpr_msb 1", arch="gfx1201")


def test_too_few_registers_are_found_by_the_numbers_that_are_meant() -> None:
    with pytest.raises(AssemblyError, match=r"s:4: the kernel has no v256: its .* 128 vector"):
        kernel("\ts_set_vgpr_msb 0x40\n\tv_mov_b32 v0, 1", arch="gfx1250")
