# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No layout costs less than the floor, and plain rows cost no more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.cost_floor import cost_floor
from bankwise.bank_model.issue import layout_cost
from bankwise.bank_model.layouts import Layout, PlainLayout
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of

from .drawn_layouts import LAYOUTS

LANES = np.arange(64)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.sampled_from(["gfx942", "gfx950", "gfx1201", "sm_80"]),
    st.sampled_from(list(AccessKind)),
    st.sampled_from([8, 16, 32, 64]),
    st.integers(1, 9),
    st.integers(0, 2**32 - 1),
    LAYOUTS,
)
def test_no_layout_costs_less(
    arch: str, kind: AccessKind, bits: int, count: int, seed: int, layout: Layout
):
    random = np.random.default_rng(seed)
    lds, tile = lds_of(arch), LdsTile((32, 64), bits)
    step = int(random.choice([1, 2, count, 8]))
    spread = int(random.choice([1, 2, 4, 1024]))
    elements = random.integers(0, 512 // step, (2, lds.wave_size)) // spread * step
    active = random.random((2, lds.wave_size)) < 0.6 if seed % 2 else None
    first = LdsAccess(kind, elements, count, 3, active, segment=0)
    accesses = [first.moved(int(by)) for by in random.integers(0, 1024, 3)]
    floor, cost = cost_floor(lds, tile, accesses), layout_cost(lds, tile, layout, accesses)
    pieces = sum(2 * 3 * each.instructions for each in cost.accesses)
    assert floor.cycles <= cost.cycles
    assert floor.instructions <= cost.instructions
    assert floor.accesses <= pieces
    assert (floor.cycles > 0) == (active is None or bool(active.any()))


@pytest.mark.parametrize(("bits", "count"), [(16, 1), (16, 2), (16, 4), (32, 2), (32, 4), (64, 2)])
@pytest.mark.parametrize("arch", ["gfx942", "gfx1201", "sm_80"])
def test_rows_cost_as_little(arch: str, bits: int, count: int):
    lds, tile = lds_of(arch), LdsTile((4, 1024), bits)
    lanes = np.arange(lds.wave_size) * count
    first = LdsAccess(AccessKind.READ, lanes, count, 5, segment=0)
    accesses = [first, first.moved(lds.wave_size * count)]
    cost = layout_cost(lds, tile, PlainLayout(), accesses)
    pieces = sum(5 * each.instructions for each in cost.accesses)
    floor = cost_floor(lds, tile, accesses)
    assert floor == (cost.cycles, cost.instructions, pieces)


def test_lanes_that_want_the_same_may_take_one_phase_for_two():
    """Of `ld.shared.v4.b32`, where neighbours read the same 16 bytes: 2 cycles instead of 4."""
    lds, tile = lds_of("sm_80"), LdsTile((4, 1024), 32)
    access = LdsAccess(AccessKind.READ, np.arange(32) // 2 * 4, 4)
    cost = layout_cost(lds, tile, PlainLayout(), [access])
    assert cost_floor(lds, tile, [access]).cycles == cost.cycles == 2


def test_nothing_is_claimed_of_parts_of_bytes():
    access = LdsAccess(AccessKind.READ, LANES * 2, 2)
    assert cost_floor(lds_of("gfx942"), LdsTile((4, 1024), 4), [access]) == (0, 0, 0)
