# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What RDNA has and CDNA has not: waves of 32 lanes, pairs of instructions, halves of registers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.emulator.assembly import AssemblyError, parse_assembly
from bankwise.emulator.chips import CHIPS
from bankwise.emulator.emulation_errors import EmulationError
from bankwise.emulator.instruction_text import EXEC, TTMP, VCC, parse_instruction
from bankwise.emulator.wave_state import Machine

from .lane_programs import floats, lanes, run_lanes
from .small_kernels import assembly, kernel, machine_of, run, undefined_bits

LANE = np.arange(32)


def narrow(
    code: str, vectors: Mapping[int, npt.ArrayLike] | None = None, **options: object
) -> Machine:
    """Runs code in a wave of 32 lanes."""
    return run_lanes(code, vectors, count=32, **{"arch": "gfx1100", **options})  # type: ignore[arg-type]


# -- waves of 32 lanes -----------------------------------------------------------------------------


def test_a_lane_mask_of_32_lanes_is_one_register() -> None:
    code = "v_cmp_gt_u32_e32 vcc_lo, 3, v0\nv_cndmask_b32_e32 v1, 7, v0, vcc_lo"
    machine = narrow(code, {0: LANE}, scalars={VCC.index + 1: 0x1234})
    assert machine.sgpr[VCC.index, 0] == 0b111 and machine.sgpr[VCC.index + 1, 0] == 0x1234
    assert lanes(machine, 1).tolist() == [0, 1, 2, *[7] * 29]
    with pytest.raises(EmulationError, match="where a scalar register is expected"):
        narrow("v_cmp_gt_u32_e64 s[2:3], 3, v0", {0: LANE})


def test_inactive_lanes_of_32_keep_their_values() -> None:
    machine = narrow("v_mov_b32_e32 v0, 5", {0: LANE}, active=0xFFFF0000)
    assert lanes(machine, 0).tolist() == [*range(16), *[5] * 16]


def test_a_compare_that_writes_exec_writes_nothing_else() -> None:
    code = "v_cmpx_lt_u32_e32 3, v0\nv_mov_b32_e32 v0, 9"
    machine = narrow(code, {0: LANE}, scalars={VCC.index: 5})
    assert lanes(machine, 0).tolist() == [0, 1, 2, 3, *[9] * 28]
    assert machine.sgpr[VCC.index, 0] == 5 and machine.sgpr[EXEC.index, 0] == 0xFFFFFFF0


def test_exec_of_32_lanes_is_saved_in_one_register() -> None:
    code = "s_and_saveexec_b32 s2, s0\nv_mov_b32_e32 v0, 1\ns_mov_b32 exec_lo, s2"
    machine = narrow(code, {0: np.zeros(32)}, scalars={0: 0xF})
    assert lanes(machine, 0).tolist() == [*[1] * 4, *[0] * 28]
    assert machine.sgpr[2, 0] == 0xFFFFFFFF and machine.scc[0]


def test_carries_of_32_lanes() -> None:
    code = (
        "v_add_co_u32 v2, s0, v0, v1\n"
        "v_add_co_ci_u32_e64 v3, null, 0, 0, s0\n"
        "v_div_scale_f32 v4, null, v5, v5, v5"
    )
    machine = narrow(code, {0: 0xFFFFFFFF, 1: LANE, 5: [1.0] * 32})
    assert machine.sgpr[0, 0] == 0xFFFFFFFE
    assert lanes(machine, 3).tolist() == [0, *[1] * 31]


def test_lanes_are_read_modulo_32() -> None:
    machine = narrow("v_readlane_b32 s2, v0, s0", {0: LANE}, scalars={0: 35})
    assert machine.sgpr[2, 0] == 3


def test_null_reads_as_zero_and_takes_nothing() -> None:
    code = "s_add_u32 null, s0, s0\ns_add_u32 s1, s0, null\nv_add_nc_u32_e64 v0, v0, null"
    machine = narrow(code, {0: LANE}, scalars={0: 7})
    assert machine.sgpr[1, 0] == 7 and lanes(machine, 0).tolist() == LANE.tolist()
    with pytest.raises(EmulationError, match="'null' where"):
        run_lanes("s_add_u32 s1, s0, null", scalars={0: 7})


# -- launches --------------------------------------------------------------------------------------


def test_the_workgroups_id_lies_in_trap_registers_since_rdna4() -> None:
    parsed = kernel("\ts_mov_b32 s5, ttmp9\n\ts_lshr_b32 s6, ttmp7, 16", arch="gfx1201")
    machine = machine_of(parsed, workgroups=3)
    assert machine.sgpr[TTMP.index + 9].tolist() == [0, 0, 1, 1, 2, 2]
    assert machine.sgpr[TTMP.index + 7].tolist() == [0] * 6


def test_the_number_of_a_wave_lies_in_a_trap_register_since_rdna4() -> None:
    code = "\ts_bfe_u32 s5, ttmp8, 0x50019\n\ts_lshr_b32 s6, ttmp8, 30"
    machine = run(code, "gfx1201", threads=96, workgroups=2)
    assert machine.sgpr[5].tolist() == [0, 1, 2, 0, 1, 2]
    assert (undefined_bits(machine, "s6") == 0b11).all()


def test_the_workgroups_id_follows_the_user_registers_on_rdna3() -> None:
    machine = machine_of(kernel("\ts_nop 0", arch="gfx1100"), workgroups=2)
    assert machine.sgpr[2].tolist() == [0, 0, 1, 1] and machine.lanes == 32


def test_wave_sizes_are_those_of_the_chip() -> None:
    wide = "\t\t.amdhsa_wavefront_size32 0"
    assert kernel("\ts_nop 0", arch="gfx1100", directives=wide).lanes == 64
    with pytest.raises(AssemblyError, match="a wave of gfx1250 has 32 lanes"):
        parse_assembly(assembly("\ts_nop 0", arch="gfx1250", directives=wide))
    with pytest.raises(AssemblyError, match="does not know the directive"):
        parse_assembly(assembly("\ts_nop 0", directives=wide))


@pytest.mark.parametrize(
    ("text", "arch", "message"),
    [
        ("v_mov_b32 a0, v0", "gfx1100", "has no register of this kind"),
        ("v_mov_b32 v0, s106", "gfx1100", "the last register is s105"),
        ("v_mov_b32 v0, s102", "gfx942", "the last register is s101"),
        ("v_mov_b32 v256, v0", "gfx1100", "the last register is v255"),
        ("s_mov_b64 s[1:2], 0", "gfx1100", "begins at no multiple of 2"),
        ("s_mov_b32 ttmp3, 0", "gfx942", "has no register of this kind"),
    ],
)
def test_registers_are_those_of_the_chip(text: str, arch: str, message: str) -> None:
    with pytest.raises(AssemblyError, match=message):
        parse_instruction(text, 1, CHIPS[arch])


# -- two instructions in one -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "first", "second"),
    [
        ("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0", 2, 1),
        ("v_dual_mov_b32 v0, 5 :: v_dual_add_nc_u32 v1, v0, v1", 5, 3),
        ("v_dual_add_f32 v2, v3, v3 :: v_dual_lshlrev_b32 v0, 4, v0", 16, 2),
        ("v_dual_mov_b32 v1, v0 :: v_dual_and_b32 v0, 3, v1", 2, 1),
    ],
)
def test_both_read_before_either_writes(code: str, first: int, second: int) -> None:
    machine = narrow(code, {0: 1, 1: 2, 3: [1.5] * 32})
    assert (lanes(machine, 0) == first).all() and (lanes(machine, 1) == second).all()


def test_gfx1250_has_hyperbolic_tangents() -> None:
    """They are the nearest floats, as all functions of this kind are."""
    values = np.linspace(-4, 4, 32, dtype=np.float32)
    halves = values.astype(np.float16)
    vectors = {1: values.view(np.uint32), 3: halves.view(np.uint16)}
    code = "\tv_tanh_f32_e32 v0, v1\n\tv_tanh_f16_e32 v2.l, v3.l"
    machine = run(code, arch="gfx1250", threads=32, vectors=vectors)
    assert (floats(machine, 0) == np.tanh(values.astype(float)).astype(np.float32)).all()
    low = (machine.vgpr[2, 0] & 0xFFFF).astype(np.uint16).view(np.float16)
    assert (low == np.tanh(halves.astype(float)).astype(np.float16)).all()
    with pytest.raises(EmulationError, match="gfx1201 has no 'v_tanh_f32"):
        run("\tv_tanh_f32_e32 v0, v1", arch="gfx1201")


@pytest.mark.parametrize("other", [6, 4])
def test_a_sum_of_f64_in_a_pair(other: int) -> None:
    """The other one reads the high half of what the sum was, and may write a source of it."""
    code = f"\tv_dual_add_f64 v[2:3], v[4:5], v[2:3] :: v_dual_mov_b32 v{other}, v3"
    vectors = {2: 0, 3: 0x40000000, 4: 0, 5: 0x3FF00000}
    machine = run(code, arch="gfx1250", threads=32, vectors=vectors)
    assert (machine.vgpr[2:4, 0].T.copy().view(np.float64) == 3.0).all()
    assert (machine.vgpr[other, 0] == 0x40000000).all()


def test_a_sum_in_a_pair_reads_its_own_destination() -> None:
    code = "v_dual_mov_b32 v1, v0 :: v_dual_fmac_f32 v0, v2, v2"
    machine = narrow(code, {0: [1.0] * 32, 2: [2.0] * 32})
    assert (floats(machine, 0) == 5.0).all() and (floats(machine, 1) == 1.0).all()
    code = "v_dual_fmaak_f32 v0, v2, v0, 0x40400000 :: v_dual_cndmask_b32 v1, v0, v2"
    machine = narrow(code, {0: [1.0] * 32, 2: [2.0] * 32}, scalars={VCC.index: 0xFFFF})
    assert (floats(machine, 0) == 5.0).all()
    assert floats(machine, 1).tolist() == [*[2.0] * 16, *[1.0] * 16]


def test_pairs_that_nobody_can_read_are_refused() -> None:
    with pytest.raises(AssemblyError, match="with '::' between them"):
        narrow("v_dual_mov_b32 v0, v1", {1: 1})
    with pytest.raises(EmulationError, match="both instructions write v0"):
        narrow("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v0, v2", {1: 1, 2: 2})


def test_undefined_bits_spread_through_a_pair() -> None:
    code = "v_dual_mov_b32 v2, v9 :: v_dual_and_b32 v3, 1, v9"
    machine = run(f"\t{code}", arch="gfx1100", threads=32)
    assert (undefined_bits(machine, "v2") == 0xFFFFFFFF).all()
    assert (undefined_bits(machine, "v3") == 1).all()


@pytest.mark.parametrize("last", ["v_dual_lshlrev_b32 v5, 16, v5", "v_dual_and_b32 v5, v0, v5"])
def test_a_pair_that_reads_undefined_bits_runs_once(last: str) -> None:
    code = f"""
        v_mov_b32_e32 v0, 1.0
        v_mov_b16_e32 v5.l, 1
        v_dual_mul_f32 v0, 2.0, v0 :: {last}
    """
    machine = run(code, arch="gfx1100", threads=32)
    assert (floats(machine, 0) == 2.0).all()


# -- halves of registers ---------------------------------------------------------------------------


def test_halves_of_registers_are_read_and_written() -> None:
    code = "v_mov_b16_e32 v1.h, v0.l\nv_mov_b16_e32 v2.l, v0.h"
    machine = narrow(code, {0: 0x12345678, 2: 0xAAAABBBB, 1: 7})
    assert (lanes(machine, 1) == 0x56780007).all() and (lanes(machine, 2) == 0xAAAA1234).all()
    one_two = 0x40003C00
    machine = narrow("v_add_f16_e32 v1.h, v0.l, v0.h", {0: one_two, 1: 5})
    assert (lanes(machine, 1) == 0x42000005).all()
    machine = narrow("v_fmac_f16_e32 v1.h, v0.h, v0.h", {0: one_two, 1: one_two})
    assert (lanes(machine, 1) == 0x46003C00).all()
    code = "v_alignbit_b32 v2, v0, v1, v3.h\nv_alignbyte_b32 v4, v0, v1, v3.l"
    machine = narrow(code, {0: 0x12345678, 1: 0x9ABCDEF0, 3: 0x00080001})
    assert (lanes(machine, 2) == 0x789ABCDE).all() and (lanes(machine, 4) == 0x789ABCDE).all()
    with pytest.raises(EmulationError, match=r"v0\.h where a whole register is expected"):
        narrow("v_add_f32_e32 v1, v0.h, v0", {0: 1})


def test_sixteen_bit_results_keep_the_other_half() -> None:
    machine = narrow("v_cvt_f16_f32_e32 v1, v0", {0: [1.0] * 32, 1: 0xABCD0000})
    assert (lanes(machine, 1) == 0xABCD3C00).all()
    machine = narrow("v_add_f16_e64 v1, v0, v0 op_sel:[1,1,1]", {0: 0x3C000000, 1: 0x1234})
    assert (lanes(machine, 1) == 0x40001234).all()


def test_the_other_half_may_be_undefined() -> None:
    machine = run("\tv_mov_b16_e32 v5.h, 1", arch="gfx1100", threads=32)
    assert (undefined_bits(machine, "v5") == 0x0000FFFF).all()
    both = "\tv_mov_b16_e32 v5.h, 1\n\tv_mov_b16_e32 v5.l, 2"
    machine = run(both, arch="gfx1100", threads=32)
    assert not undefined_bits(machine, "v5").any()
    partly = "\tv_mov_b32_e32 v5, 0\n\ts_mov_b32 exec_lo, 3\n\tv_mov_b16_e32 v5.l, v9.l"
    machine = run(partly, arch="gfx1100", threads=32)
    assert undefined_bits(machine, "v5")[0].tolist() == [0xFFFF, 0xFFFF, *[0] * 30]


def test_halves_change_places() -> None:
    machine = narrow("v_swap_b16 v0.l, v1.h", {0: 0x11112222, 1: 0x33334444})
    assert (lanes(machine, 0) == 0x11113333).all() and (lanes(machine, 1) == 0x22224444).all()


# -- other lanes -----------------------------------------------------------------------------------


def test_lanes_of_eight_and_of_rows() -> None:
    machine = narrow("v_mov_b32_dpp v1, v0 dpp8:[7,6,5,4,3,2,1,0]", {0: LANE, 1: 0})
    assert lanes(machine, 1).tolist() == (LANE ^ 7).tolist()
    machine = narrow("v_mov_b32_dpp v1, v0 row_xmask:9 row_mask:0xf bank_mask:0xf", {0: LANE, 1: 0})
    assert lanes(machine, 1).tolist() == (LANE ^ 9).tolist()
    code = "v_add_nc_u32_e64_dpp v1, v0, v0 row_share:3 row_mask:0xf bank_mask:0xf"
    machine = narrow(code, {0: LANE, 1: 0})
    assert lanes(machine, 1).tolist() == (LANE // 16 * 16 + 3 + LANE).tolist()
    with pytest.raises(EmulationError, match="no model of this DPP pattern"):
        narrow("v_mov_b32_dpp v1, v0 row_bcast:15 row_mask:0xf bank_mask:0xf", {0: LANE, 1: 0})


def test_inactive_lanes_are_read_where_fi_says_so() -> None:
    code = "v_mov_b32_dpp v1, v0 row_xmask:1 row_mask:0xf bank_mask:0xf"
    kept = narrow(code, {0: LANE, 1: 99}, active=0x5)
    assert lanes(kept, 1)[:4].tolist() == [99, 99, 99, 99]
    read = narrow(f"{code} fi:1", {0: LANE, 1: 99}, active=0x5)
    assert lanes(read, 1)[:4].tolist() == [1, 99, 3, 99]


def test_rows_are_permuted_by_scalars_and_by_lanes() -> None:
    scalars = {0: 0x76543210, 1: 0xFEDCBA98}
    machine = narrow("v_permlanex16_b32 v1, v0, s0, s1", {0: LANE, 1: 0}, scalars=scalars)
    assert lanes(machine, 1).tolist() == (LANE ^ 16).tolist()
    machine = narrow("v_permlane16_b32 v1, v0, s1, s0", {0: LANE, 1: 0}, scalars=scalars)
    assert lanes(machine, 1).tolist() == (LANE ^ 8).tolist()
    vectors = {0: LANE, 1: 0, 2: 15 - LANE % 16}
    machine = narrow("v_permlane16_var_b32 v1, v0, v2", vectors, arch="gfx1201")
    assert lanes(machine, 1).tolist() == (LANE ^ 15).tolist()


def test_what_an_inactive_lane_gives_a_permuted_row() -> None:
    scalars = {0: 0x76543201, 1: 0xFEDCBA98}
    code = "v_permlane16_b32 v1, v0, s0, s1"
    found = [
        lanes(narrow(code + flags, {0: LANE + 5, 1: 99}, scalars=scalars, active=1), 1)[0]
        for flags in ("", " op_sel:[0,1]", " op_sel:[1,0]")
    ]
    assert found == [99, 0, 6]


def test_the_halves_of_a_wave_of_64_change_places() -> None:
    wide = np.arange(64)
    machine = run_lanes("v_permlane64_b32 v1, v0", {0: wide, 1: 0}, arch="gfx1100")
    assert lanes(machine, 1).tolist() == (wide ^ 32).tolist()
    assert (lanes(narrow("v_permlane64_b32 v1, v0", {0: LANE, 1: 3}), 1) == 3).all()


# -- modes, hints and messages ---------------------------------------------------------------------


def test_denormals_are_flushed_from_s_denorm_mode_on() -> None:
    tiny = {0: 1, 1: 0}
    machine = narrow("s_denorm_mode 12\nv_add_f32_e32 v2, v0, v1", tiny)
    assert (lanes(machine, 2) == 0).all()
    machine = narrow("v_add_f32_e32 v2, v0, v1", tiny)
    assert (lanes(machine, 2) == 1).all()
    with pytest.raises(EmulationError, match="no model of MODE"):
        narrow("s_round_mode 1")


def test_hints_change_nothing() -> None:
    code = """
        s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_4)
        s_clause 0x7
        s_waitcnt_depctr depctr_va_vdst(0)
        s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
    """
    narrow(code)
    narrow("s_wait_alu depctr_sa_sdst(0)", arch="gfx1201")
    with pytest.raises(EmulationError, match="has no hidden_hostcall_buffer"):
        narrow("s_sendmsg sendmsg(MSG_INTERRUPT)")


# -- conversions and sums that the documents' text does not show --------------------------------


def test_eight_bit_floats_of_rdna4() -> None:
    vectors = {0: 0x40383C00, 1: [2.0] * 32, 2: [1.0] * 32, 3: 0xAAAABBBB}
    found = narrow("v_cvt_f32_fp8_e64 v4, v0 byte_sel:2", vectors, arch="gfx1201")
    assert (floats(found, 4) == 1.0).all()
    pair = narrow("v_cvt_pk_f32_fp8_e32 v[4:5], v0.h", vectors, arch="gfx1201")
    assert (floats(pair, 4) == 1.0).all() and (floats(pair, 5) == 2.0).all()
    packed = narrow("v_cvt_pk_fp8_f32 v3.h, v1, v2", vectors, arch="gfx1201")
    assert (lanes(packed, 3) == 0x3840BBBB).all()
    # It lies nearer to 1.25 than to 1.5, until bits are added.
    rounded = {0: [1.3125] * 32, 1: 0xFFFFFFFF, 3: 0xAAAABBBB}
    random = narrow("v_cvt_sr_bf8_f32 v3, v0, v1 byte_sel:1", rounded, arch="gfx1201")
    assert (lanes(random, 3) == 0xAAAA3EBB).all()


def test_dot_products_of_rdna() -> None:
    vectors = {0: 0xFF01FF01, 1: 0x02020202, 2: 10}
    signed = narrow("v_dot4_i32_iu8 v3, v0, v1, v2 neg_lo:[1,0,0]", vectors)
    assert (lanes(signed, 3) == 10).all()
    unsigned = narrow("v_dot4_i32_iu8 v3, v0, v1, v2", vectors)
    assert (lanes(unsigned, 3) == 10 + 2 * 512).all()
    ones = {0: 0x38383838, 1: 0x3C3C3C3C, 2: [0.5] * 32}
    mixed = narrow("v_dot4_f32_fp8_bf8 v3, v0, v1, v2", ones, arch="gfx1201")
    assert (floats(mixed, 3) == 4.5).all()
    halves = {0: 0x3F803F80, 1: 0x40003F80, 2: 0x3F80, 3: 0x55550000}
    bf16 = narrow("v_dot2_bf16_bf16 v3.l, v0, v1, v2.l", halves)
    assert (lanes(bf16, 3) == 0x55554080).all()


@pytest.mark.parametrize(("table", "result"), [(0x40, 0x2), (0x54, 0xF), (0x14, 0xD)])
def test_functions_of_two_bits_on_gfx1250(table: int, result: int) -> None:
    code = f"v_dual_mov_b32 v3, v0 :: v_dual_bitop2_b32 v2, v0, v1 bitop3:{table:#x}"
    machine = narrow(code, {0: 0b1010, 1: 0b0111}, arch="gfx1250")
    assert (lanes(machine, 2) == result).all()


@pytest.mark.parametrize(
    ("code", "low", "high"),
    [
        ("v_mad_u32 v8, v0, v1, v2", 7 * 0xFFFFFFFE + 3 & 0xFFFFFFFF, None),
        ("v_mad_nc_u64_u32 v[8:9], v0, v1, v[2:3]", 7 * 0xFFFFFFFE + 3 & 0xFFFFFFFF, 6 + 5),
        ("v_mad_nc_i64_i32 v[8:9], v0, v1, v[2:3]", 3 - 14 & 0xFFFFFFFF, 5 - 1),
        ("v_add_nc_u64_e32 v[8:9], v[0:1], v[2:3]", 10, 3),
        ("v_sub_nc_u64_e32 v[8:9], 0x1b58, v[2:3]", 7000 - 3, 0xFFFFFFFF - 4),
        ("v_mul_u64_e32 v[8:9], v[0:1], v[2:3]", 21, 5 * 7 - 6),
        ("v_max_i64 v[8:9], v[0:1], v[2:3]", 3, 5),
        ("v_max_u64 v[8:9], v[0:1], v[2:3]", 7, 0xFFFFFFFE),
        ("v_min_i64 v[8:9], v[0:1], v[2:3]", 7, 0xFFFFFFFE),
        ("v_min_u64 v[8:9], v[0:1], v[2:3]", 3, 5),
    ],
)
def test_integers_of_gfx1250(code: str, low: int, high: int | None) -> None:
    vectors = {0: 7, 1: 0xFFFFFFFE, 2: 3, 3: 5}
    machine = narrow(code, vectors, arch="gfx1250")
    assert lanes(machine, 8)[0] == low and (high is None or lanes(machine, 9)[0] == high)
    with pytest.raises(EmulationError, match="gfx1201 has no 'v_"):
        narrow(code, vectors, arch="gfx1201")


def test_f64_literals_of_gfx1250_have_64_bits() -> None:
    code = "v_add_f64_e32 v[8:9], 0x3ff8000000000001, v[0:1]"
    machine = narrow(code, {0: 0, 1: 0x3FF00000}, arch="gfx1250")
    assert float(np.array([lanes(machine, 8)[0], lanes(machine, 9)[0]]).view(np.float64)[0]) == 2.5


def test_sums_of_products_of_gfx1250_with_a_literal_of_64_bits() -> None:
    code = (
        "v_fmamk_f64 v[8:9], v[0:1], 0x3ff8000000000001, v[0:1]\n"
        "v_fmaak_f64 v[10:11], v[0:1], v[0:1], 0x3ff8000000000001"
    )
    machine = narrow(code, {0: 0, 1: 0x40000000}, arch="gfx1250")
    words = [lanes(machine, index)[0] for index in (8, 9, 10, 11)]
    assert np.array(words).view(np.float64).tolist() == [5.0 + 2**-51, 5.5]
    with pytest.raises(EmulationError, match="gfx1201 has no 'v_fmamk_f64'"):
        narrow(code, {0: 0, 1: 0}, arch="gfx1201")


def test_registers_that_m0_shifts() -> None:
    vectors = {1: 11, 2: 22, 3: 33, 4: 44}
    for code, index, value in (
        ("v_movrels_b32_e32 v4, v1", 4, 33),
        ("v_movreld_b32_e32 v1, v4", 3, 44),
        ("v_movrelsd_b32_e32 v2, v1", 4, 33),
    ):
        machine = narrow(f"s_mov_b32 m0, 2\n{code}", vectors)
        assert (lanes(machine, index) == value).all()
