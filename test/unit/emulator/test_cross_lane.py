# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DPP patterns and instructions that move data between lanes."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.emulation_errors import EmulationError
from bankwise.emulator.instruction_text import AssemblyError

from .lane_programs import lanes, run_lanes
from .small_kernels import undefined_bits

LANE = np.arange(64)
OLD = 1000


def moved(pattern: str, active: int = 2**64 - 1) -> list[int]:
    """Returns the lane numbers after a DPP move over 1000."""
    machine = run_lanes(
        f"v_mov_b32_dpp v1, v0 {pattern}", {0: LANE, 1: OLD}, active=active
    )  # fmt: skip
    return lanes(machine, 1).tolist()


@pytest.mark.parametrize(
    ("pattern", "source"),
    [
        ("quad_perm:[1,0,3,2]", LANE ^ 1),
        ("quad_perm:[2,3,0,1]", LANE ^ 2),
        ("quad_perm:[0,0,0,3]", np.where(LANE % 4 == 3, LANE, LANE // 4 * 4)),
        ("row_mirror", LANE ^ 15),
        ("row_half_mirror", LANE ^ 7),
        ("row_ror:1", np.where(LANE % 16 == 0, LANE + 15, LANE - 1)),
        ("row_newbcast:5", LANE // 16 * 16 + 5),
        ("wave_ror:1", (LANE - 1) % 64),
        ("wave_rol:1", (LANE + 1) % 64),
        ("row_shl:3", np.where(LANE % 16 < 13, LANE + 3, OLD)),
        ("row_shr:2", np.where(LANE % 16 >= 2, LANE - 2, OLD)),
        ("wave_shl:1", np.where(LANE < 63, LANE + 1, OLD)),
        ("wave_shr:1", np.where(LANE > 0, LANE - 1, OLD)),
        ("row_bcast:15", np.where(LANE >= 16, LANE // 16 * 16 - 1, OLD)),
        ("row_bcast:31", np.where(LANE >= 32, 31, OLD)),
    ],
)
def test_pattern(pattern: str, source: np.ndarray) -> None:
    assert moved(f"{pattern} row_mask:0xf bank_mask:0xf") == source.tolist()


def test_bound_ctrl_reads_zero_where_there_is_no_source() -> None:
    expected = np.where(LANE % 16 < 13, LANE + 3, 0)
    assert moved("row_shl:3 row_mask:0xf bank_mask:0xf bound_ctrl:1") == expected.tolist()


def test_row_and_bank_masks_leave_lanes_alone() -> None:
    written = np.isin(LANE // 16, [1, 3]) & (LANE % 16 // 4 != 2)
    expected = np.where(written, LANE ^ 1, OLD)
    assert moved("quad_perm:[1,0,3,2] row_mask:0xa bank_mask:0xb") == expected.tolist()


def test_inactive_lanes_are_no_sources_and_no_destinations() -> None:
    # Lanes 4 to 7 sleep.
    active = 2**64 - 1 & ~0xF0
    asleep = (LANE >= 4) & (LANE < 8)
    source_asleep = np.isin(LANE ^ 15, [4, 5, 6, 7])
    kept = np.where(asleep | source_asleep, OLD, LANE ^ 15)
    assert moved("row_mirror row_mask:0xf bank_mask:0xf", active) == kept.tolist()
    zeroed = np.where(asleep, OLD, np.where(source_asleep, 0, LANE ^ 15))
    assert moved("row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1", active) == zeroed.tolist()


def test_only_the_first_source_moves() -> None:
    machine = run_lanes(
        "v_sub_u32_dpp v2, v0, v1 row_mirror row_mask:0xf bank_mask:0xf", {0: LANE, 1: LANE, 2: 0}
    )
    expected = (LANE ^ 15).astype(np.int64) - LANE
    assert lanes(machine, 2).view(np.int32).tolist() == expected.tolist()


def test_a_lane_never_written_is_undefined_from_afar() -> None:
    # v1 exists in the even lanes only: a shift by one reads the odd ones.
    code = "v_mov_b32_e32 v1, v0\ns_mov_b64 exec, -1\nv_mov_b32_dpp v2, v1 {} bound_ctrl:1"
    even = 0x5555555555555555
    inside = (1 << 32) - 1
    for shift, odd in ((1, 0), (2, 1)):
        machine = run_lanes(code.format(f"row_shl:{shift}"), {0: LANE, 2: 0}, active=even)
        # Lanes at the end of a row have no source, and get 0.
        expected = np.where((odd == LANE % 2) & (LANE % 16 + shift < 16), inside, 0)
        assert undefined_bits(machine, "v2")[0].tolist() == expected.tolist()


@pytest.mark.parametrize("pattern", ["row_shl:16", "row_bcast:7", "quad_perm:[0,1,2,4]"])
def test_patterns_that_do_not_exist(pattern: str) -> None:
    with pytest.raises((AssemblyError, EmulationError)):
        moved(pattern)


@pytest.mark.parametrize("block", [16, 32])
def test_permlane_swap(block: int) -> None:
    machine = run_lanes(
        f"v_permlane{block}_swap_b32_e32 v0, v1", {0: LANE, 1: LANE + 100}, arch="gfx950"
    )
    odd = LANE // block % 2 == 1
    assert lanes(machine, 0).tolist() == np.where(odd, LANE - block + 100, LANE).tolist()
    assert lanes(machine, 1).tolist() == np.where(odd, LANE + 100, LANE + block).tolist()


def test_read_and_write_lanes() -> None:
    machine = run_lanes(
        """v_readfirstlane_b32 s10, v0
        v_readlane_b32 s11, v0, 5
        v_readlane_b32 s12, v0, s3
        v_writelane_b32 v1, s4, 1""",
        {0: LANE, 1: OLD},
        {3: 64 + 7, 4: 77},
        active=0b11000,
    )
    assert machine.sgpr[10:13, 0].tolist() == [3, 5, 7]
    assert lanes(machine, 1).tolist() == np.where(LANE == 1, 77, OLD).tolist()


def test_first_lane_is_lane_0_when_none_is_active() -> None:
    assert run_lanes("v_readfirstlane_b32 s10, v0", {0: LANE + 9}, active=0).sgpr[10, 0] == 9


def test_swap_and_accumulation_registers() -> None:
    machine = run_lanes(
        """v_swap_b32 v0, v1
        v_accvgpr_write_b32 a3, v0
        v_accvgpr_mov_b32 a4, a3
        v_accvgpr_read_b32 v2, a4""",
        {0: LANE, 1: LANE + 100},
    )
    assert lanes(machine, 1).tolist() == LANE.tolist()
    assert lanes(machine, 2).tolist() == (LANE + 100).tolist()


def test_counting_lanes_below() -> None:
    machine = run_lanes(
        "v_mbcnt_lo_u32_b32 v0, -1, 0\nv_mbcnt_hi_u32_b32 v1, -1, v0\n"
        "v_mbcnt_lo_u32_b32 v2, s0, 5\nv_mbcnt_hi_u32_b32 v2, s1, v2",
        scalars={0: 0x80000001, 1: 2},
    )
    assert lanes(machine, 1).tolist() == LANE.tolist()
    below = [5 + sum(bit < lane for bit in (0, 31, 33)) for lane in range(64)]
    assert lanes(machine, 2).tolist() == below
