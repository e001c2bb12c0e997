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
