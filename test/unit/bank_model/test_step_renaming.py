# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renaming the steps of a lane to neighbours: a permutation, and what is proven of the lanes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.step_renaming import (
    Slot,
    StepRenaming,
    are_slots,
    ignores,
    is_uniform,
    possible_merges,
    slot_places,
)

POWERS = st.sampled_from([1, 2, 4, 8])


@settings(deadline=None)
@given(outer=st.integers(1, 5), slots=st.integers(1, 9), unit=POWERS, merged=POWERS)
def test_a_renaming_permutes_its_block(outer: int, slots: int, unit: int, merged: int) -> None:
    renaming = StepRenaming(slots, unit, merged)
    places = outer * merged * slots * unit
    assert sorted(map(renaming.renamed, range(places))) == list(range(places))


@settings(deadline=None)
@given(outer=st.integers(1, 5), slots=st.integers(1, 9), unit=POWERS, merged=POWERS)
def test_what_a_slot_holds_of_merged_steps_lies_side_by_side(
    outer: int, slots: int, unit: int, merged: int
) -> None:
    renaming = StepRenaming(slots, unit, merged)
    for first in range(0, outer * merged, merged):
        for slot in range(slots):
            held = [
                renaming.renamed((step * slots + slot) * unit + element)
                for step in range(first, first + merged)
                for element in range(unit)
            ]
            assert held == list(range(held[0], held[0] + merged * unit))


def test_the_example_of_the_module() -> None:
    renaming = StepRenaming(slots=4, unit=4, merged=2)
    held = [*range(4, 8), *range(20, 24)]
    assert [renaming.renamed(place) for place in held] == list(range(8, 16))


@pytest.mark.parametrize(
    ("steps", "unit", "bits", "expected"),
    [
        (8, 4, 16, (2,)),
        (8, 1, 32, (2, 4)),
        (6, 1, 32, (2,)),
        (4, 8, 16, ()),
        (8, 8, 8, (2,)),
        (3, 1, 32, ()),
        (8, 1, 4, ()),
    ],
)
def test_a_lane_moves_at_most_16_bytes(
    steps: int, unit: int, bits: int, expected: tuple[int, ...]
) -> None:
    assert possible_merges(steps, unit, bits) == expected


LANES = np.arange(64, dtype=np.int64)[None] + np.zeros((2, 1), np.int64)


def test_slots_are_told_apart() -> None:
    rows, depth = LANES % 16, LANES // 16
    assert slot_places(rows * 2, Slot.ROW, 16) == tuple(range(0, 32, 2))
    assert slot_places(depth * 4, Slot.DEPTH, 16) == (0, 4, 8, 12)
    assert slot_places(rows + depth, Slot.ROW, 16) is None
    assert slot_places(rows, Slot.DEPTH, 16) is None
    assert ignores(rows, Slot.DEPTH, 16)
    assert not ignores(rows, Slot.ROW, 16)
    assert not ignores(rows + depth, Slot.DEPTH, 16)


def test_slots_must_be_the_same_in_all_waves() -> None:
    offsets = LANES % 16 + np.array([[0], [1]])
    assert slot_places(offsets, Slot.ROW, 16) is None
    assert ignores(offsets, Slot.DEPTH, 16)


def test_only_waves_may_begin_at_different_steps() -> None:
    assert is_uniform(np.array([[3], [5]]) + 0 * LANES)
    assert not is_uniform(LANES)


def test_slots_lie_side_by_side() -> None:
    assert are_slots((4, 0, 8, 12), 4)
    assert not are_slots((0, 4, 4, 12), 4)
    assert not are_slots((0, 8, 16, 24), 4)
