# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folded bank maps: which phases have the map that is shown, and what the others take."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.bank_map import BankMap, bank_map, worst_bank_map
from bankwise.bank_model.layouts import MachineAccess, PlainLayout
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.map_folding import FoldedMap, fold_maps, folded_map

READ = lds_of("gfx942").instruction_named("ds_read_b32")
LANES = np.arange(64)


def machine(*rows: npt.NDArray[np.int64], active: npt.NDArray[np.bool_] | None = None):
    return MachineAccess(READ, np.stack(rows), active)


def folded(*machines: MachineAccess) -> FoldedMap:
    found = fold_maps(machines)
    assert found is not None
    return found


def test_waves_phases_and_instructions_with_the_same_map_are_one() -> None:
    # A column of rows that fill all banks, in two waves, and the same one line further.
    column = LANES * 128
    found = folded(machine(column, column + 64 * 128), machine(column + 128, column + 256))
    assert found.shown.cycles == 32
    assert (found.phases, found.moved, found.other_cycles) == (8, 0, None)
    assert found.same_by_axis == ((0, 1), (0, 1), (0, 1))


def test_the_same_map_on_other_banks_is_told_apart() -> None:
    column = LANES * 128
    found = folded(machine(column, column + 4), machine(column + 8, column))
    assert found.same_by_axis is None
    assert found.same == ((0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1))
    assert (found.phases, found.moved, found.other_cycles) == (8, 4, None)


def test_lanes_that_change_places_make_another_map() -> None:
    # Both take two cycles, but lane 0 meets lane 1 here, and lane 31 there.
    pairs = LANES // 2 * 4 + LANES % 2 * 128
    ends = np.minimum(LANES % 32, 31 - LANES % 32) * 4 + LANES % 32 // 16 * 128
    found = folded(machine(pairs), machine(ends), machine(LANES * 4))
    assert found.shown.cycles == 2
    assert found.same == ((0, 0, 0),)
    assert found.moved == 1
    assert found.other_cycles == (1, 2)


def test_inactive_lanes_are_no_part_of_a_map() -> None:
    active = np.stack([LANES < 2, LANES < 0])
    found = folded(machine(LANES * 128, LANES * 128, active=active))
    assert (found.phases, found.same) == (1, ((0, 0, 0),))
    anywhere = np.where(LANES < 2, LANES * 128, 12)
    same = folded(machine(LANES * 128, anywhere, active=np.stack([LANES < 2] * 2)))
    assert same.same == ((0, 0, 0), (0, 1, 0))
    assert fold_maps([machine(LANES, active=np.stack([LANES < 0]))]) is None
    assert fold_maps([]) is None


@given(st.integers(0, 2**32), st.sampled_from((1, 2, 3, 32)))
def test_all_phases_are_counted_once_and_the_worst_is_shown(seed: int, spread: int) -> None:
    random = np.random.default_rng(seed)
    machines = [machine(*(random.integers(0, spread, (2, 64)) * 128)) for _ in range(3)]
    found = folded(*machines)
    assert found.shown == worst_bank_map(machines)
    maps = [bank_map(machines[m], i, p) for m in range(3) for i in range(2) for p in range(2)]
    assert found.phases == len(maps)
    # The definition: equal lanes, counted inside their phase, on every bank.
    wanted = _positions(found.shown)
    assert len(found.same) == sum(_positions(each) == wanted for each in maps)
    rest = found.phases - len(found.same) - found.moved
    assert (found.other_cycles is None) == (rest == 0)
    if found.other_cycles is not None:
        least, most = found.other_cycles
        cycles = [each.cycles for each in maps]
        assert min(cycles) <= least <= most <= max(cycles)


def _positions(found: BankMap) -> list[set[tuple[int, ...]]]:
    return [
        {tuple(found.lanes.index(lane) for lane in word.lanes) for word in words}
        for words in found.words_by_bank
    ]


def test_an_access_is_folded_under_a_layout() -> None:
    elements = np.stack([LANES * 32, LANES * 32 + 1])
    access = LdsAccess(AccessKind.READ, elements, 1)
    found = folded_map(lds_of("gfx942"), LdsTile((64, 32), 32), PlainLayout(), [access])
    assert found is not None
    assert (found.instructions, found.phases, found.moved) == (1, 4, 2)
    assert found.same_by_axis == ((0,), (0,), (0, 1))
