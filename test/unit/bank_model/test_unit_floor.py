# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conflicts that remain however units are moved: never more than what a swizzle leaves."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import PlainLayout, SwizzledLayout, layout_conflicts
from bankwise.bank_model.swizzles import XorShuffle
from bankwise.bank_model.targets import AccessKind, target
from bankwise.bank_model.unit_floor import unit_conflict_floor

TILE = LdsTile((256, 8), 16)


def halves_of_rows(rows: np.ndarray) -> LdsAccess:
    """Returns 8 bytes from the start of a 16-byte row each."""
    return LdsAccess(AccessKind.READ, 8 * rows.reshape(1, 64).astype(np.int64), 4)


def test_first_halves_share_half_of_the_banks():
    access = halves_of_rows(np.arange(64))
    chip = target("gfx950")
    assert layout_conflicts(chip, TILE, PlainLayout(), [access]) == 2
    assert unit_conflict_floor(chip, TILE, [access], 8) == 2
    # Where halves may move, nothing stands in the way.
    assert unit_conflict_floor(chip, TILE, [access], 4) == 0


def test_a_part_of_a_round_of_the_banks_takes_a_cycle():
    """Of 64 banks 16 begin a unit of 4 words: 17 distinct units take as long as 32."""
    rows = np.where(np.arange(64) < 17, np.arange(64), 0)
    chip, access = target("gfx950"), halves_of_rows(rows)
    assert layout_conflicts(chip, TILE, PlainLayout(), [access]) == 1
    assert unit_conflict_floor(chip, TILE, [access], 8) == 1


def test_units_of_two_words_share_half_of_the_banks():
    """32 lanes read a word each, of units of 2 words: 16 of the 32 banks have the first ones."""
    access = LdsAccess(AccessKind.READ, 4 * np.arange(64, dtype=np.int64)[None], 2)
    chip = target("gfx942")
    assert layout_conflicts(chip, TILE, PlainLayout(), [access]) == 2
    assert unit_conflict_floor(chip, TILE, [access], 4) == 2
    # Units of one word may go anywhere.
    assert unit_conflict_floor(chip, TILE, [access], 2) == 0


def test_nothing_is_claimed_of_accesses_that_may_be_split():
    wide = LdsAccess(AccessKind.READ, 8 * np.arange(64, dtype=np.int64)[None], 8)
    crossing = LdsAccess(
        AccessKind.READ, 8 * np.arange(63, dtype=np.int64).repeat(2)[None, :64] + 4, 8
    )
    assert unit_conflict_floor(target("gfx950"), TILE, [wide], 4) == 0
    assert unit_conflict_floor(target("gfx950"), TILE, [crossing], 8) == 0


@settings(deadline=None)
@given(
    arch=st.sampled_from(["gfx942", "gfx950"]),
    rows=st.lists(st.integers(0, 255), min_size=64, max_size=64),
    start=st.sampled_from([0, 4]),
    swizzle=st.tuples(
        st.sampled_from([16, 32, 64]), st.sampled_from([64, 128, 256]), st.sampled_from([1, 2])
    ),
)
def test_no_swizzle_of_whole_units_falls_below(
    arch: str, rows: list[int], start: int, swizzle: tuple[int, int, int]
):
    plain = halves_of_rows(np.array(rows))
    access = LdsAccess(plain.kind, plain.elements + start, plain.count)
    width, stride, phase = swizzle
    layout = SwizzledLayout((XorShuffle(width, 8, stride, phase),))
    floor = unit_conflict_floor(target(arch), TILE, [access], 8)
    assert floor <= layout_conflicts(target(arch), TILE, PlainLayout(), [access])
    if layout.is_bijection(TILE):
        assert floor <= layout_conflicts(target(arch), TILE, layout, [access])
