# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conflicts that remain however units are moved: never more than what a swizzle leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import PlainLayout, SwizzledLayout, layout_conflicts
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.swizzles import XorShuffle
from bankwise.bank_model.unit_floor import unit_conflict_floor

TILE = LdsTile((256, 8), 16)


def halves_of_rows(rows: np.ndarray) -> LdsAccess:
    """Returns 8 bytes from the start of a 16-byte row each."""
    return LdsAccess(AccessKind.READ, 8 * rows.reshape(1, 64).astype(np.int64), 4)


def test_first_halves_share_half_of_the_banks():
    access = halves_of_rows(np.arange(64))
    lds = lds_of("gfx950")
    assert layout_conflicts(lds, TILE, PlainLayout(), [access]) == 2
    assert unit_conflict_floor(lds, TILE, [access], 8) == 2
    # Where halves may move, nothing stands in the way.
    assert unit_conflict_floor(lds, TILE, [access], 4) == 0


def test_a_part_of_a_round_of_the_banks_takes_a_cycle():
    """Of 64 banks 16 begin a unit of 4 words: 17 distinct units take as long as 32."""
    rows = np.where(np.arange(64) < 17, np.arange(64), 0)
    lds, access = lds_of("gfx950"), halves_of_rows(rows)
    assert layout_conflicts(lds, TILE, PlainLayout(), [access]) == 1
    assert unit_conflict_floor(lds, TILE, [access], 8) == 1


def test_units_of_two_words_share_half_of_the_banks():
    """32 lanes read a word each, of units of 2 words: 16 of the 32 banks have the first ones."""
    access = LdsAccess(AccessKind.READ, 4 * np.arange(64, dtype=np.int64)[None], 2)
    lds = lds_of("gfx942")
    assert layout_conflicts(lds, TILE, PlainLayout(), [access]) == 2
    assert unit_conflict_floor(lds, TILE, [access], 4) == 2
    # Units of one word may go anywhere.
    assert unit_conflict_floor(lds, TILE, [access], 2) == 0


@pytest.mark.parametrize(("unit", "floor"), [(16, 6), (128, 62), (256, 0)])
def test_the_longer_the_units_the_fewer_banks_begin_one(unit: int, floor: int):
    """Of 64 banks one in 8 begins a unit of 16 elements, and one alone a unit of 128, no bank more.

    32 lanes at a time read 8 bytes from the start of a unit each. Nothing is claimed of units that
    are longer than all banks.
    """
    tile = LdsTile((64, unit), 16)
    access = LdsAccess(AccessKind.READ, unit * np.arange(64, dtype=np.int64)[None], 4)
    lds = lds_of("gfx950")
    assert unit_conflict_floor(lds, tile, [access], unit) == floor
    assert layout_conflicts(lds, tile, PlainLayout(), [access]) >= floor


def test_different_words_of_units_have_different_banks():
    """8 of 32 lanes read the first word of a unit of 4, 8 the second one, and so on."""
    lanes = np.arange(64, dtype=np.int64)
    access = LdsAccess(AccessKind.READ, (8 * lanes + 2 * (lanes % 4))[None], 2)
    assert unit_conflict_floor(lds_of("gfx942"), TILE, [access], 8) == 0


def test_a_part_of_a_word_has_the_bank_of_the_word():
    """Of 32 banks 8 begin a unit of 4 words: 32 lanes take 4 cycles, and so do the other 32."""
    access = LdsAccess(AccessKind.READ, 8 * np.arange(64, dtype=np.int64)[None], 1)
    assert unit_conflict_floor(lds_of("gfx942"), TILE, [access], 8) == 6


def test_lanes_that_do_not_take_part_are_not_looked_at():
    """The last 16 lanes would read beyond their units; 32 and 16 lanes are left."""
    rows, active = np.arange(64), np.arange(64) < 48
    access = halves_of_rows(rows)
    crossing = access.elements + np.where(active, 0, 6)
    masked = LdsAccess(access.kind, crossing, access.count, active=active[None])
    assert unit_conflict_floor(lds_of("gfx950"), TILE, [masked], 8) == 1


def test_nothing_is_claimed_of_accesses_that_may_be_split():
    wide = LdsAccess(AccessKind.READ, 8 * np.arange(64, dtype=np.int64)[None], 8)
    crossing = LdsAccess(
        AccessKind.READ, 8 * np.arange(63, dtype=np.int64).repeat(2)[None, :64] + 4, 8
    )
    assert unit_conflict_floor(lds_of("gfx950"), TILE, [wide], 4) == 0
    assert unit_conflict_floor(lds_of("gfx950"), TILE, [crossing], 8) == 0
    rows = np.arange(64, dtype=np.int64)[None]
    ends = LdsAccess(AccessKind.READ, 8 * rows + 6, 4)
    assert unit_conflict_floor(lds_of("gfx950"), TILE, [ends], 8) == 0
    # Other accesses count all the same.
    assert unit_conflict_floor(lds_of("gfx950"), TILE, [ends, halves_of_rows(rows)], 8) == 2


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
    floor = unit_conflict_floor(lds_of(arch), TILE, [access], 8)
    assert floor <= layout_conflicts(lds_of(arch), TILE, PlainLayout(), [access])
    if layout.is_bijection(TILE):
        assert floor <= layout_conflicts(lds_of(arch), TILE, layout, [access])
