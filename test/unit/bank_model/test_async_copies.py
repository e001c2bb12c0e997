# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cp.async takes, against what ncu counts of one warp on an H200."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankwise.bank_model.accesses import CopySources, LdsAccess, LdsTile
from bankwise.bank_model.async_copies import copy_cost
from bankwise.bank_model.layouts import AccessCost, PlainLayout, access_costs
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import copy_instruction, lds_of
from bankwise.bank_model.least_cycles import least_cycles
from bankwise.bank_model.slow_count import count_slowly

SM_90A = lds_of("sm_90a")
LANES = np.arange(32)
(PAST_L1,) = (
    each for each in SM_90A.special_instructions if each.name == copy_instruction(16, True)
)
TILE = LdsTile((32768,), 8)


def access(
    width: int, there: np.ndarray, here: np.ndarray, *, cached: bool = False, **more: object
) -> LdsAccess:
    reading = np.broadcast_to(np.asarray(more.get("reading", True)), 32)[None]
    active = np.broadcast_to(np.asarray(more.get("active", True)), 32)[None]
    sources = CopySources(here[None], reading & active, more.get("shifts", (0,)))  # type: ignore[arg-type]
    name = copy_instruction(width, not cached)
    return LdsAccess(
        AccessKind.WRITE, there[None], width, active=active, instruction=name, copied=sources
    )


def counted(each: LdsAccess) -> tuple[int, int]:
    (cost,) = access_costs(SM_90A, TILE, PlainLayout(), [each])
    return cost.conflict_cycles, cost.wavefronts


def rows(width: int, stride: int) -> np.ndarray:
    return LANES * 16 // width * stride + LANES * 16 % width


SIDE_BY_SIDE = LANES * 16


@pytest.mark.parametrize(
    ("there", "here", "cached", "past"),
    [
        (SIDE_BY_SIDE, SIDE_BY_SIDE, (0, 4), 4),
        (SIDE_BY_SIDE, rows(64, 192), (0, 4), 8),
        (SIDE_BY_SIDE, rows(64, 8192), (4, 8), 8),
        (SIDE_BY_SIDE, rows(32, 160) + 16, (0, 4), 32),
        (SIDE_BY_SIDE, rows(64, 176), (4, 8), 15),
        (SIDE_BY_SIDE, LANES * 128, (28, 32), 32),
        (SIDE_BY_SIDE, SIDE_BY_SIDE + 48, (0, 4), 16),
        (SIDE_BY_SIDE + 48, SIDE_BY_SIDE + 48, (0, 4), 7),
        (rows(32, 1024 + 32), SIDE_BY_SIDE, (0, 4), 16),
        (LANES * 5 % 32 * 16, SIDE_BY_SIDE, (0, 4), 28),
        (LANES * 128, SIDE_BY_SIDE, (28, 32), 32),
        (SIDE_BY_SIDE, LANES // 2 * 16, (4, 8), 32),
        (LANES // 2 * 16, LANES // 2 * 16, (4, 8), 2),
        (LANES // 4 * 16, SIDE_BY_SIDE, (12, 16), 8),
    ],
)
def test_what_ncu_counts(
    there: np.ndarray, here: np.ndarray, cached: tuple[int, int], past: int
) -> None:
    assert counted(access(16, there, here, cached=True)) == cached
    assert counted(access(16, there, here)) == (0, past)


def test_all_that_a_lane_has_in_its_way_counts() -> None:
    """Lane 1 reads from the place of lane 0, and writes to the bank of lane 2: three wavefronts."""
    here = SIDE_BY_SIDE + np.where(LANES == 1, 1024 - 16, 0)
    there = SIDE_BY_SIDE + np.where(LANES == 2, 1024 - 16, 0)
    assert counted(access(16, there, here, cached=True)) == (2, 6)


def test_lanes_that_read_nothing_make_phases() -> None:
    reading = LANES % 4 < 3
    there, here = SIDE_BY_SIDE, LANES // 4 * 256 + LANES % 4 * 16
    assert counted(access(16, there, here, reading=reading)) == (4, 4 + 4 + 16)
    assert counted(access(16, there, here, reading=False)) == (0, 4)


def test_conflicts_of_copies_that_may_read_nothing_are_the_most() -> None:
    here, all_read = rows(64, 8192)[None], np.ones((1, 32), bool)
    for may, most in ((True, 4), (False, 0)):
        cost = copy_cost(PAST_L1, SIDE_BY_SIDE[None], CopySources(here, all_read, (0,), may))
        assert (cost.conflict_cycles, cost.exact, cost.exact_wavefronts) == (most, not may, not may)


def test_what_is_not_known_of_a_buffers_start_makes_counts_the_most() -> None:
    sources = CopySources(SIDE_BY_SIDE[None], np.ones((1, 32), bool), (0, 16))
    cost = copy_cost(PAST_L1, SIDE_BY_SIDE[None], sources)
    assert (cost.lds_cycles, cost.exact, cost.exact_wavefronts) == (12, True, False)


@st.composite
def copies(draw: st.DrawFn) -> LdsAccess:
    width = draw(st.sampled_from([4, 8, 16]))
    places = st.integers(0, draw(st.sampled_from([40, 200, 1000])))
    here, there = (
        np.array(draw(st.lists(places, min_size=32, max_size=32))) * width for _ in range(2)
    )
    masks = [
        np.array(draw(st.lists(st.booleans(), min_size=32, max_size=32))) | draw(st.booleans())
        for _ in range(2)
    ]
    cached, shifts = draw(st.booleans()), draw(st.sampled_from([(0,), (0, 64), (16, 48)]))
    return access(
        width, there, here, cached=cached, active=masks[0], reading=masks[1], shifts=shifts
    )


@given(copies())
def test_counts_are_those_of_the_definition(each: LdsAccess) -> None:
    (cost,) = access_costs(SM_90A, TILE, PlainLayout(), [each])
    assert cost == count_slowly(SM_90A, TILE, PlainLayout(), each)
    assert isinstance(cost, AccessCost) and least_cycles(SM_90A, TILE, each) <= cost.wavefronts
