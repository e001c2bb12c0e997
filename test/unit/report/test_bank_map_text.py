# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bank maps as text, and in words what a map stands for."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bank_model.bank_map import bank_map
from bankwise.bank_model.layouts import MachineAccess
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.map_folding import fold_maps
from bankwise.report.bank_map_text import folding_caption, map_text

READ = lds_of("gfx942").instruction_named("ds_read_b32")
LANES = np.arange(64)
COLUMN = LANES * 128
ROW = LANES * 4
PAIRS = LANES // 2 * 4 + LANES % 2 * 128
FIRST_PHASE = np.where(LANES < 32, COLUMN, ROW)


@pytest.mark.parametrize(
    ("machines", "caption"),
    [
        ([[COLUMN]], "the same for phase 2"),
        ([[COLUMN] * 4], "the same for waves 1-3 and phase 2"),
        (
            [[COLUMN] * 2] * 2,
            "the same for wave 1, phase 2 and both instructions",
        ),
        ([[COLUMN]] * 3, "the same for phase 2 and all 3 instructions"),
        (
            [[COLUMN]] * 2 + [[COLUMN + 4]],
            "the same for phase 2 and 2 of the 3 instructions; both other phases have it on other "
            "banks",
        ),
        (
            [[COLUMN, COLUMN + 4, COLUMN, COLUMN + 8, COLUMN, COLUMN]],
            "the same for waves 2, 4-5 and phase 2; all 4 other phases have it on other banks",
        ),
        ([[PAIRS]], "1 other phase has it on other banks"),
        ([[FIRST_PHASE]], "1 other phase takes 1 cycle"),
        ([[FIRST_PHASE, COLUMN]], "the same in 3 of the 4 phases; 1 other phase takes 1 cycle"),
        (
            [[COLUMN, PAIRS, ROW, COLUMN + 4]],
            "the same for phase 2; 2 other phases have it on other banks; 4 other phases take 1 to "
            "2 cycles",
        ),
    ],
)
def test_the_caption_says_which_phases_look_alike(
    machines: list[list[np.ndarray]], caption: str
) -> None:
    folded = fold_maps([MachineAccess(READ, np.stack(rows), None) for rows in machines])
    assert folded is not None
    assert folding_caption(folded, "wave") == caption


def test_one_phase_stands_for_itself() -> None:
    active = (LANES < 32)[None]
    folded = fold_maps([MachineAccess(READ, COLUMN[None], active)])
    assert folded is not None
    assert folding_caption(folded, "wave") == ""


def test_issues_are_called_by_their_name() -> None:
    folded = fold_maps([MachineAccess(READ, np.stack([COLUMN] * 3), None)])
    assert folded is not None
    assert folding_caption(folded, "issue") == "the same for issues 1-2 and phase 2"


def test_a_map_in_text_shows_sharing_and_conflicts() -> None:
    # Lanes 0 and 1 share word 0; lane 2 wants word 32, on the same bank.
    words = np.where(LANES < 2, 0, np.where(LANES == 2, 32, LANES))
    found = bank_map(MachineAccess(READ, (words * 4)[None], None), 0, 0)
    lines = map_text(found).plain.splitlines()
    assert lines[1].split()[:5] == ["1", "0+", ".", ".", "3"]
    assert lines[2].split()[:3] == ["2", "2", "."]
    assert lines[3].split()[:4] == ["=", "2!", "0", "0"]


def test_wide_maps_are_cut_into_lines_of_32_banks() -> None:
    read = lds_of("gfx950").instruction_named("ds_read_b128")
    found = bank_map(MachineAccess(read, (np.arange(64) * 16)[None], None), 0, 0)
    lines = map_text(found).plain.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("bank")] == ["0", "32"]
