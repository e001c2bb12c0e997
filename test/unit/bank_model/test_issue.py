# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What instructions accesses become once pairs are counted once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.issue import LayoutCost, LayoutCosts, costs_once, layout_cost
from bankwise.bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.swizzles import XorShuffle

READ, WRITE = AccessKind.READ, AccessKind.WRITE
GFX942, SM80 = lds_of("gfx942"), lds_of("sm_80")
ROWS = LdsTile((64, 64), 16)
LANES = np.arange(64)
COLUMN = LANES % 16 * 64 + LANES // 16 * 4


def reads(*constants: int, segment: int = 0, kind: AccessKind = READ) -> list[LdsAccess]:
    """Returns 8-byte accesses of 16 rows, at constant distances."""
    return [LdsAccess(kind, COLUMN + c, 4, segment=segment) for c in constants]


def issued(accesses: list[LdsAccess], layout: Layout = PlainLayout(), lds=GFX942) -> int:  # noqa: B008
    return layout_cost(lds, ROWS, layout, accesses).instructions


def test_neighbours_at_a_constant_distance_are_a_pair():
    assert issued(reads(0, 16)) == 1
    assert issued(reads(0, 16, 32)) == 2
    assert issued(reads(0, 16), PaddedLayout(4)) == 1
    assert issued(reads(0, 16, segment=-1)) == 2
    assert issued(reads(0, 16) + reads(32, segment=1)) == 2


def test_costs_are_kept_by_what_is_accessed_and_by_what_may_be_paired():
    """Accesses of one segment are pairs, and alone they are not: cycles are shared, not slots."""
    other, weighted = reads(0, 24), [replace(each, weight=2) for each in reads(0, 16)]
    kept = [
        costs_once(GFX942, ROWS, each)
        for each in (reads(0, 16), reads(0, 16, segment=-1), reads(0, 16), weighted, other)
    ]
    assert kept[0] is kept[2]
    for layout in (PlainLayout(), PaddedLayout(4), SwizzledLayout((XorShuffle(64, 4),))):
        for costs in kept:
            assert costs.of(layout) == layout_cost(GFX942, ROWS, layout, costs.accesses)
    assert kept[0].instructions(PlainLayout()) < kept[1].instructions(PlainLayout())


def test_what_transposes_is_no_half_of_a_pair():
    """LLVM has `ds_read2_b64`, and no form of `ds_read_b64_tr_b16` that takes two addresses."""
    gfx950 = lds_of("gfx950")
    plain = reads(0, 16)
    transposing = [replace(each, instruction="ds_read_b64_tr_b16") for each in plain]
    assert issued(plain, lds=gfx950) == 1
    assert issued(transposing, lds=gfx950) == 2
    assert issued(plain + transposing, lds=gfx950) == 3


def test_nvidia_has_no_pairs():
    accesses = [LdsAccess(READ, np.arange(32) * 4 + c, 4, segment=0) for c in (0, 128)]
    assert issued(accesses, lds=SM80) == 2


@pytest.mark.parametrize(("rows", "instructions"), [(1, 1), (15, 1), (16, 1), (17, 2), (20, 1)])
def test_offsets_of_a_pair_have_8_bits(rows: int, instructions: int):
    """128 bytes a row: 255 elements of 8 bytes are up to 15 rows, and every 4th row is in reach."""
    tile = LdsTile((64, 64), 16)
    lanes = LANES // 16 * 4
    accesses = [LdsAccess(READ, lanes + row * 64, 4, segment=0) for row in (0, rows)]
    assert layout_cost(GFX942, tile, PlainLayout(), accesses).instructions == instructions


def test_a_swizzle_takes_pairs_apart_where_distances_depend_on_the_lane():
    """XORed with the row, columns 0 and 16 are as far apart as the row says."""
    assert issued(reads(0, 16), SwizzledLayout((XorShuffle(64, 4),))) == 2
    assert issued(reads(0, 16), SwizzledLayout((XorShuffle(16, 4, 64),))) == 1


def test_stores_are_not_moved_across_stores_through_another_register():
    """Two registers take turns: none of their stores are a pair but the halves of one store."""
    alternating = SwizzledLayout((XorShuffle(16, 4, 64),))
    one = reads(0, 16, kind=WRITE)
    other = [LdsAccess(WRITE, LANES % 8 * 64 + LANES // 8 * 4 + c, 4, segment=0) for c in (0, 32)]
    assert issued(one, alternating) == 1
    assert issued(one + other, alternating) == 4
    halves = [LdsAccess(WRITE, LANES * 64 + 4, 8, segment=0)]
    assert issued(halves) == 1
    assert issued(halves + one) == 3


def test_every_wave_and_every_execution_issues():
    twice = LdsAccess(READ, np.stack([COLUMN, COLUMN]), 4, weight=3)
    assert issued([twice]) == 6


def test_cost_is_cycles_and_issue_slots():
    """The table of the module."""
    plain, split = LayoutCost(16, 8, 1), LayoutCost(8, 0, 2)
    assert split.rank < plain.rank
    one_conflict = LayoutCost(9, 1, 1)
    assert split.rank < one_conflict.rank
    assert split.rank[0] == one_conflict.rank[0]


def test_a_layout_is_counted_once():
    costs = LayoutCosts(GFX942, ROWS, reads(0, 16))
    for layout in (PlainLayout(), PaddedLayout(4)):
        assert costs.of(layout) == layout_cost(GFX942, ROWS, layout, costs.accesses)
        assert costs.of(layout) is costs.of(layout)


@pytest.mark.parametrize("lds", [GFX942, SM80], ids=["pairs", "no pairs"])
def test_costs_of_the_same_accesses_in_other_segments_are_taken_over(lds):
    """The first and the last reach the same elements; the first and the third become a pair."""
    lanes = np.arange(lds.wave_size)
    apart = [
        LdsAccess(READ, COLUMN[lanes], 4),
        LdsAccess(READ, lanes * 8, 4),
        LdsAccess(READ, COLUMN[lanes] + 16, 4),
        LdsAccess(READ, COLUMN[lanes], 4, weight=2),
    ]
    places = zip((2, 0, 3, 1), (0, 0, 1, 1), strict=True)
    together = [replace(apart[place], segment=segment) for place, segment in places]
    joined = [replace(together[0], count=8), *together[1:]]
    costs = LayoutCosts(lds, ROWS, apart)
    for layout in (SwizzledLayout((XorShuffle(64, 4),)), PlainLayout(), PaddedLayout(4)):
        for others in (together, joined, together[1:], [*together, together[0]]):
            found = costs.regrouped(others)
            assert found.of(layout) == layout_cost(lds, ROWS, layout, others)
            assert found.instructions(layout) == found.of(layout).instructions
        assert costs.of(layout) == layout_cost(lds, ROWS, layout, apart)
