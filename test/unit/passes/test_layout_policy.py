# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layouts that tiles get, and the padding budget that those of a function share."""

import numpy as np
import pytest

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.issue import LayoutCosts
from bankwise.bank_model.layouts import (
    PaddedLayout,
    PlainLayout,
    SwizzledLayout,
    layout_conflicts,
)
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.passes.layout_policy import KnownTile, LayoutPolicy, PaddingBudget

GFX950 = lds_of("gfx950")
TILE = LdsTile((64, 64), 16)
LANES = np.arange(64)


def costs(access: LdsAccess) -> LayoutCosts:
    return LayoutCosts(GFX950, TILE, [access])


COLUMNS = costs(LdsAccess(AccessKind.READ, LANES % 16 * 64 + LANES // 16 * 4, 4))
"""The reads of a 16x16x16 matrix operation: 8 bytes of padding, stock's, leave half as many cycles
as 4 bytes do, and 16 bytes leave none."""
ROW = costs(LdsAccess(AccessKind.READ, LANES * 8, 8))
"""The lanes read one after the other."""
OUTSIDE = costs(LdsAccess(AccessKind.READ, LANES * 8 + 64 * 64, 8))
"""These accesses cannot be counted."""


def test_what_a_tile_does_not_need_another_may_use():
    assert PaddingBudget(GFX950, [COLUMNS]).rows(0) == PaddedLayout(4)
    together = PaddingBudget(GFX950, [ROW, COLUMNS])
    assert together.rows(0) == PlainLayout()
    assert together.rows(1) == PaddedLayout(8)


def test_two_tiles_that_need_padding_stay_within_the_budget():
    budget = PaddingBudget(GFX950, [COLUMNS, COLUMNS])
    assert [budget.rows(number) for number in range(2)] == [PaddedLayout(4)] * 2


def test_a_tile_that_cannot_be_counted_stays_plain_and_keeps_its_share():
    budget = PaddingBudget(GFX950, [OUTSIDE, COLUMNS])
    assert budget.rows(0) == PlainLayout()
    assert budget.rows(1) == PaddedLayout(4)


# A tile of two rows of 32 words, of which every lane reads one half of each word of the other. Two
# lanes that read both rows want one bank, as `ds_read_b32` has 32 of them, and `ds_read_b128` 64.
ROWS = LdsTile((2, 32), 32)
HALVES = LANES % 2 * 32 + LANES // 32 * 16


def _read(first: int, count: int) -> LdsAccess:
    return LdsAccess(AccessKind.READ, (HALVES + first)[None], count)


def _known(in_straight_lines: bool) -> KnownTile:
    joined = tuple(_read(4 * k, 4) for k in range(2))
    return KnownTile(
        ROWS,
        tuple(_read(k, 1) for k in range(8)),
        emitted=lambda through_conditions: joined,
        in_straight_lines=in_straight_lines,
    )


def test_no_conflict_is_left_to_what_the_backend_joins():
    """Plain, the tile has conflicts unless the backend joins its reads; swizzled it has none.

    The choice counts them joined.
    """
    known = _known(in_straight_lines=True)
    choice = LayoutPolicy(GFX950).choose(known)
    assert isinstance(choice.layout, SwizzledLayout)
    joined = known.emitted(False)
    assert joined is not None
    assert layout_conflicts(GFX950, ROWS, PlainLayout(), known.accesses) > 0
    assert choice.before == layout_conflicts(GFX950, ROWS, PlainLayout(), joined) == 0
    assert layout_conflicts(GFX950, ROWS, choice.layout, known.accesses) == 0
    assert choice.after == layout_conflicts(GFX950, ROWS, choice.layout, joined) == 0
    assert choice.reason == "it has no bank conflict, whether the backend joins its accesses or not"


def test_what_a_loop_accesses_keeps_the_neighbours_that_the_backend_joins():
    """The arithmetic of a swizzle may hide that the iterations of a loop read neighbours."""
    choice = LayoutPolicy(GFX950).choose(_known(in_straight_lines=False))
    assert choice.layout == PlainLayout()


SQUARE = LdsTile((32, 32), 32)


def _read_columns(count: int) -> LdsAccess:
    """Returns a read of `count` elements of a row a lane, from row to row."""
    return LdsAccess(AccessKind.READ, (LANES % 32 * 32 + LANES // 32 * count)[None], count)


# A swizzle frees the columns of conflicts in 10 cycles and 5 instructions, of which 15 / 14 as much
# is lost as with rows of 34 elements, which take 12 cycles and 2 instructions.
COLUMNS_OF_A_SQUARE = (_read_columns(1), _read_columns(4))
IN_ORDER = LdsAccess(AccessKind.READ, LANES[None], 1)
"""This read takes 2 cycles and an instruction in both layouts."""


@pytest.mark.parametrize(
    ("accesses", "costs", "is_worth"),
    [
        (COLUMNS_OF_A_SQUARE, (15, 14), False),
        ((*COLUMNS_OF_A_SQUARE, IN_ORDER), (18, 17), True),
    ],
)
def test_a_swizzle_of_fewer_cycles_may_seem_a_sixteenth_dearer_than_padding(
    accesses: tuple[LdsAccess, ...], costs: tuple[int, int], is_worth: bool
) -> None:
    lds, rows = lds_of("gfx942"), PaddedLayout(2)
    swizzled = LayoutPolicy(lds).choose(KnownTile(SQUARE, accesses)).layout
    counted = LayoutCosts(lds, SQUARE, accesses)
    assert (counted.of(swizzled).rank[0], counted.of(rows).rank[0]) == costs
    assert counted.of(swizzled).cycles < counted.of(rows).cycles
    chosen = LayoutPolicy(lds).choose(KnownTile(SQUARE, accesses, padded=lambda: rows)).layout
    assert chosen == (swizzled if is_worth else rows)
