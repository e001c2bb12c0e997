# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow, EXEC, barriers, and what is reported when a kernel goes wrong."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest

from bankwise.emulator.emulation_errors import EmulationError, StepLimitError

from .small_kernels import LANES, kernel, machine_of, program_of, run

THREE_ARMS = """\ts_cmp_lt_u32 s9, 2
\ts_cbranch_scc1 .LBB0_1
\tv_mov_b32_e32 v1, 30
\ts_branch .LBB0_3
.LBB0_1:
\ts_cmp_eq_u32 s9, 0
\ts_cbranch_scc1 .LBB0_2
\tv_mov_b32_e32 v1, 20
\ts_branch .LBB0_3
.LBB0_2:
\tv_mov_b32_e32 v1, 10
.LBB0_3:
\tv_mov_b32_e32 v2, 5"""


def test_waves_part_and_join():
    machine = run(THREE_ARMS, threads=256, scalars={9: [0, 1, 2, 1]})
    assert machine.vgpr[1, :, 0].tolist() == [10, 20, 30, 20]
    executions = machine.counters.executions.tolist()
    assert executions == [4, 4, 1, 1, 3, 3, 2, 2, 1, 4, 4]


def test_joined_waves_run_together():
    parsed = kernel(THREE_ARMS, threads=256)
    program, machine = program_of(parsed), machine_of(parsed)
    machine.define_scalar(9, np.arange(4, dtype=np.uint32))
    groups: list[int] = []
    program.steps[9] = lambda group: groups.append(group.count)
    program.run(machine)
    assert groups == [4]


def test_waves_loop_as_often_as_they_want():
    code = """\ts_mov_b32 s10, 0
.LBB0_1:
\ts_add_u32 s10, s10, s9
\ts_sub_u32 s9, s9, 1
\ts_cmp_lg_u32 s9, 0
\ts_cbranch_scc1 .LBB0_1"""
    machine = run(code, threads=192, scalars={9: [1, 4, 2]})
    assert machine.sgpr[10].tolist() == [1, 10, 3]
    assert machine.counters.executions[1] == 7


def test_lanes_under_exec():
    code = """\tv_cmp_gt_u32_e32 vcc, 3, v1
\ts_and_saveexec_b64 s[10:11], vcc
\tv_mov_b32_e32 v2, 7
\ts_xor_b64 exec, exec, s[10:11]
\tv_mov_b32_e32 v2, 8
\ts_or_b64 exec, exec, s[10:11]
\tv_add_u32_e32 v2, 1, v2"""
    machine = run(code, vectors={1: LANES})
    assert (machine.vgpr[2][0] == np.where(LANES < 3, 8, 9)).all()


def test_a_branch_over_code_that_no_lane_wants():
    code = """\ts_mov_b64 exec, s[10:11]
\ts_cbranch_execz .LBB0_1
\tv_mov_b32_e32 v1, 1
.LBB0_1:"""
    machine = run(code, threads=128, scalars={10: [0, 1], 11: 0}, vectors={1: 5})
    assert machine.vgpr[1, :, 0].tolist() == [5, 1]
    assert machine.counters.executions.tolist() == [2, 2, 1, 2]


HANDOVER = """\ts_cmp_eq_u32 s9, 0
\ts_cbranch_scc1 .LBB0_1
\tds_write_b32 v1, v2
.LBB0_1:
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\tds_read_b32 v3, v1"""


def test_waves_meet_at_a_barrier():
    """Wave 0 reads what wave 1 writes, on another path to the same barrier."""
    machine = run(
        HANDOVER, threads=128, scalars={9: [0, 1]}, vectors={1: 4 * LANES, 2: LANES}, lds_bytes=256
    )
    assert (machine.vgpr[3] == LANES).all()


def test_a_wave_that_ended_is_not_waited_for():
    code = "\ts_cmp_eq_u32 s9, 0\n\ts_cbranch_scc1 .LBB0_1\n\ts_endpgm\n.LBB0_1:\n\ts_barrier"
    run(code, threads=128, scalars={9: [0, 1]})


def test_waves_may_meet_at_two_barriers_in_the_text():
    code = """\ts_cmp_eq_u32 s9, 0
\ts_cbranch_scc1 .LBB0_1
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\ts_endpgm
.LBB0_1:
\ts_waitcnt lgkmcnt(0)
\ts_barrier"""
    run(code, threads=128, scalars={9: [0, 1]})


@pytest.mark.parametrize(
    "code", ["v_made_up_b32 v0, v1", "image_load v0, v1, s[0:7]", "ds_made_up v0", "s_made_up 2"]
)
def test_an_unknown_instruction_is_refused_before_anything_runs(code: str):
    with pytest.raises(EmulationError) as error:
        run(f"\tv_mov_b32_e32 v2, v9\n\t{code}")
    name = code.split()[0]
    assert str(error.value).splitlines() == [
        f"small.s:4: the emulator does not know '{name}'",
        f"  in kernel 'k': {code}",
    ]


@pytest.mark.parametrize(
    "branch", ["s_branch", "s_cbranch_scc1", "s_cbranch_execnz", "s_cbranch_vccz"]
)
def test_a_branch_to_itself_has_no_end(branch: str):
    code = f"\ts_mov_b64 vcc, 0\n\ts_cmp_eq_u32 0, 0\n.LBB0_1:\n\t{branch} .LBB0_1"
    with pytest.raises(StepLimitError) as error:
        run(code)
    assert str(error.value).splitlines() == [
        "small.s:6: this branch to itself has no end",
        f"  in kernel 'k': {branch} .LBB0_1",
    ]


def test_a_branch_to_itself_that_nobody_takes_is_passed():
    run("\ts_cmp_eq_u32 0, 1\n.LBB0_1:\n\ts_cbranch_scc1 .LBB0_1")


@pytest.mark.parametrize(
    "code",
    [
        "\ts_nop 0\n\ts_branch .LBB0_1",
        # Waves part in every round, and no group runs on by itself.
        "\tv_cmp_eq_u32_e32 vcc, 0, v0\n\ts_cbranch_vccz .LBB0_1\n\ts_branch .LBB0_1",
        "\ts_barrier\n\ts_branch .LBB0_1",
    ],
)
def test_an_endless_loop_comes_to_an_end(code: str):
    parsed = kernel(f".LBB0_1:\n{code}", threads=128)
    seen: list[int] = []
    with pytest.raises(StepLimitError) as error:
        program_of(parsed).run(machine_of(parsed), 5000, lambda steps, last: seen.append(steps))
    first, second = str(error.value).splitlines()
    assert re.match(
        r"small\.s:\d+: the kernel has not ended after 5,000 steps: .*--max-steps=N", first
    )
    assert second.startswith("  in kernel 'k': ")
    assert len(seen) in (3, 4)
    assert seen == sorted(seen)


def test_a_run_may_take_as_many_steps_as_allowed():
    parsed = kernel("\ts_nop 0\n" * 9)
    for limit, allowed in ((10, True), (9, False)):
        with contextlib.nullcontext() if allowed else pytest.raises(StepLimitError):
            program_of(parsed).run(machine_of(parsed), limit)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ds_read_b32", "'ds_read_b32' does not take these 0 operands"),
        ("ds_read_b32 v0", "'ds_read_b32' does not take these 1 operands"),
        ("s_waitcnt", "s_waitcnt takes counters to wait for, as vmcnt(0) lgkmcnt(0)"),
        ("s_waitcnt vmcnt(arg)", "'vmcnt(arg)' where counters to wait for are expected"),
        ("s_waitcnt vmcnt(64)", "'vmcnt(64)': vmcnt counts up to 63"),
        ("s_waitcnt 65536", "'65536' where counters to wait for are expected"),
        ("s_cbranch_scc", "the emulator does not know 's_cbranch_scc'"),
        ("s_cbranch_scc1", "'s_cbranch_scc1' does not take these 0 operands"),
        ("ds_write_b128 s4, v[4:7]", "s4 where 1 vector register is expected"),
        ("ds_write_b128 a4, v[4:7]", "a4 where a vector register with addresses is expected"),
        ("ds_read_b32 v0, v1 offset:65536", "offset:65536 is not in the range of 0 to 65535"),
        ("ds_read2_b32 v[0:1], v2 offset0:256", "offset0:256 is not in the range of 0 to 255"),
        ("global_load_dword v0, v[2:3], of", "'of' where a register is expected"),
        ("v_add_f32 v0, v1, v2, v3", "4 operands where 3 are expected"),
        ("s_and_saveexec_b64 s[0:1], s[2:3], s4", "'s4' is an operand too many"),
        ("v_add_u32 v0, v1, v2 frob:1", "'frob' has no meaning here that the emulator knows"),
        ("s_add_u32 s0, s1, s2 offset:4", "'offset' has no meaning here that the emulator knows"),
        ("v_bitop3_b32 v0, v1, v2, v3 bitop3:1", "gfx942 has no 'v_bitop3_b32'"),
        ("v_div_scale_f32 v0, vcc, v1, v2", "'v_div_scale_f32' does not take these 4 operands"),
        ("v_mov_b32 v0, s[4:5]", "s[4:5] where 1 register is expected"),
        ("s_mov_b64 vcc, s2", "s2 where 2 scalar registers are expected"),
        ("s_nop", "'s_nop' takes one number from 0 to 65535"),
        ("s_barrier 1", "'1' is an operand too many"),
    ],
)
def test_operands_that_cannot_be_are_located(code: str, reason: str):
    with pytest.raises(EmulationError) as error:
        run(f"\tv_mov_b32 v2, v9\n\t{code}")
    assert str(error.value).splitlines() == [f"small.s:4: {reason}", f"  in kernel 'k': {code}"]
