# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What would help against a conflict is tried on the bank model, and says what is left."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bankwise.bank_model.conflicts import conflict_cycles
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.emulator.conflict_advice import ConflictingIssue, advice

LANES = np.arange(64)


def issue(width: int, addresses: np.ndarray) -> ConflictingIssue:
    instruction = lds_of("gfx942").instruction(AccessKind.READ, width)
    active = addresses >= 0
    cycles = conflict_cycles(instruction, np.where(active, addresses, 0), active)
    return ConflictingIssue(instruction, addresses, int(cycles))


def changed(row: np.ndarray, change: str) -> np.ndarray:
    """Returns the addresses as the words say, read anew."""
    if padded := re.fullmatch(r"(\d+) bytes of padding behind every (\d+) bytes", change):
        padding, apart = map(int, padded.groups())
        return row + row // apart * padding
    return eval(change.replace("address", "row").replace("/", "//"))


@pytest.mark.parametrize(
    ("width", "addresses", "left"),
    [
        (4, LANES * 128, [0, 0]),
        (4, np.where(LANES < 40, LANES * 256, -1), [0, 0]),
        (16, LANES * 256, [0, 0]),
        (2, LANES % 32 * 512 + LANES // 32 * 2, [0, 0]),
        # Three rows of 384 bytes meet: no power of two, so that only padding is tried.
        (8, LANES * 384, [0]),
    ],
)
def test_both_changes_leave_what_they_say(
    width: int, addresses: np.ndarray, left: list[int]
) -> None:
    bad = issue(width, addresses)
    assert bad.conflicts
    found = advice(bad)
    assert [each.conflicts for each in found] == left
    for each in found:
        row = np.where(addresses >= 0, changed(addresses, each.change), -1)
        assert issue(width, row).conflicts == each.conflicts


def test_nothing_is_said_where_nothing_helps() -> None:
    # All distances are the words of one bank, and the lanes are in no order of rows.
    random = np.random.default_rng(3).permutation(4096)[:64] * 4
    assert all(each.conflicts < issue(4, random).conflicts for each in advice(issue(4, random)))
    assert advice(issue(4, LANES * 4)) == []
