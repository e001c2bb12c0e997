# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What was never written may be moved about, and is reported where it is used."""

from __future__ import annotations

import pytest

from bankwise.emulator.errors import UndefinedReadError

from .small_kernels import run

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


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("s_add_u32 s15, s15, 1", "s15"),
        ("v_mov_b32_e32 v6, s15", "s15"),
        ("v_mov_b32_e32 v6, v5", "v5"),
        ("v_readfirstlane_b32 s16, v7\n\ts_add_u32 s16, s16, 1", "s16"),
    ],
)
def test_uses_of_what_came_back_undefined_are_reported(use: str, name: str):
    with pytest.raises(UndefinedReadError, match=f"{name} is read but was never written"):
        run(f"{SPILL}\n\t{use}")


def test_a_register_that_is_written_again_is_defined():
    machine = run(f"{SPILL}\n\ts_mov_b32 s15, 3\n\ts_add_u32 s15, s15, 1\n\tv_mov_b32_e32 v5, 1")
    assert machine.sgpr[15].tolist() == [4]
    assert (machine.vgpr[5] == 1).all()


# v3 is the high half of the addend.
MAD = """\tv_mov_b32_e32 v1, 5
\tv_mov_b32_e32 v2, 9
\tv_mad_u64_u32 v[4:5], s[10:11], v1, v1, v[2:3]
\tv_add_u32_e32 v4, 1, v4"""


def test_a_low_sum_needs_no_high_addend():
    assert (run(MAD).vgpr[4] == 5 * 5 + 9 + 1).all()


@pytest.mark.parametrize(
    ("use", "name"),
    [("v_add_u32_e32 v5, 1, v5", "v5"), ("s_add_u32 s12, s10, 1", "s10")],
)
def test_high_sums_and_carries_of_it_are_undefined(use: str, name: str):
    with pytest.raises(UndefinedReadError, match=f"{name} is read but was never written"):
        run(f"{MAD}\n\t{use}")


def test_low_addends_must_be_defined():
    with pytest.raises(UndefinedReadError, match="v2 is read but was never written"):
        run("\tv_mov_b32_e32 v1, 5\n\tv_mad_u64_u32 v[4:5], s[10:11], v1, v1, v[2:3]")
