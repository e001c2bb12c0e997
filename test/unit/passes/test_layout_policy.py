# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The padding budget that the tiles of a function share."""

import numpy as np

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.issue import LayoutCosts
from bankwise.bank_model.layouts import PaddedLayout, PlainLayout
from bankwise.bank_model.targets import AccessKind, target
from bankwise.passes.layout_policy import PaddingBudget

GFX950 = target("gfx950")
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
