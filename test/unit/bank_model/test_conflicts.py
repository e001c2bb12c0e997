# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conflict counts: against a slow restatement of the rule, and against published counters."""

import json
import lzma
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.conflicts import (
    conflict_cycles,
    phase_costs,
    served_lanes,
    wavefront_floor,
)
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import known_targets, lds_of
from bankwise.bank_model.slow_count import phases_cost, served_together

READ, WRITE = AccessKind.READ, AccessKind.WRITE
LANES = np.arange(64)


RECORD = Path(__file__).parent / "h200_wavefronts.json.xz"


def slow_phase_costs(instruction, addresses, active):
    """Applies the rule, word by word; the second of two phases that are one costs nothing."""
    there = {lane: int(a) for lane, a in enumerate(addresses) if active[lane]}
    served = served_together(instruction, there)
    costs = []
    for phase in served:
        banks = {}
        for lane in phase:
            if active[lane]:
                for byte in range(instruction.width_bytes):
                    word = (int(addresses[lane]) + byte) // 4
                    banks.setdefault(word % instruction.banks, set()).add(word)
        costs.append(max(map(len, banks.values()), default=0))
        if len(served) < len(instruction.phases):
            costs.append(0)
    return costs


def slow_floors(instruction, addresses, active):
    """Returns the cycles in which each phase's distinct bytes pass, if all banks share the work."""
    there = {lane: int(a) for lane, a in enumerate(addresses) if active[lane]}
    served = served_together(instruction, there)
    floors = []
    for phase in served:
        lanes = [there[lane] for lane in phase if lane in there]
        touched = {first + byte for first in lanes for byte in range(instruction.width_bytes)}
        floors.append(math.ceil(len(touched) / (4 * instruction.banks)))
        if len(served) < len(instruction.phases):
            floors.append(0)
    return floors


def counted_launches():
    """Returns [instruction, bytes, active lanes, addresses, wavefronts, pattern] of each launch."""
    return json.loads(lzma.decompress(RECORD.read_bytes()))["rows"]


def instruction_of_launch(lds, name, width):
    """Returns the row of the table that a launched instruction has."""
    if "matrix" in name:
        # A matrix is stored as it is loaded.
        return lds.instruction_named("ldmatrix")
    if name.startswith("atom"):
        return lds.instruction_named(name)
    return lds.instruction(READ if name.startswith("ld") else WRITE, width)


def test_counts_are_those_of_an_h200():
    lds, differing = lds_of("sm_90"), []
    rows = counted_launches()
    assert len(rows) == 1478
    for row in rows:
        name, width, mask, addresses, wavefronts, _ = row
        instruction = instruction_of_launch(lds, name, width)
        active = np.array([mask >> lane & 1 for lane in range(32)], dtype=bool)
        if name.startswith("ldmatrix.x"):
            # Of one matrix 8 lanes give the rows, of two 16.
            active &= np.arange(32) < 8 * int(name.split(".")[1][1:])
        fast = phase_costs(instruction, np.array(addresses), active)
        there = {lane: address for lane, address in enumerate(addresses) if active[lane]}
        slow = phases_cost(instruction, lds, there)
        if (int(fast.sum()), sum(slow)) != (wavefronts, wavefronts):
            differing.append(row)
    assert not differing


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_wide_loads_of_neighbours_count_as_the_definition_says(seed):
    random = np.random.default_rng(seed)
    lds = lds_of(random.choice(["sm_70", "sm_80", "sm_90", "sm_120"]))
    special = [each for each in lds.special_instructions if each.name.startswith(("atom", "red"))]
    wide = [lds.instruction(READ, width) for width in (8, 16)]
    instruction = [*wide, *wide, *special][random.integers(4 + len(special))]
    lanes = np.arange(32)
    same = random.choice([0, 1, 2, 3, 4, 31])
    table = random.integers(0, random.choice([4, 40, 300]), 32)[lanes & ~same]
    table = table * instruction.width_bytes
    active = random.random(32) < random.choice([0.5, 0.95, 1.0])
    if random.random() < 0.2:
        table[random.integers(32)] += 4 * instruction.width_bytes
    there = {lane: int(table[lane]) for lane in range(32) if active[lane]}
    costs = phase_costs(instruction, table, active)
    slow = phases_cost(instruction, lds, there)
    assert costs[costs > 0].tolist() == [cost for cost in slow if cost]


def test_neighbours_that_want_the_same_are_served_in_half_the_phases():
    lds, lanes = lds_of("sm_90"), np.arange(32)
    wide, narrow = lds.instruction(READ, 16), lds.instruction(READ, 4)
    assert phase_costs(wide, lanes // 2 * 16).tolist() == [1, 0, 1, 0]
    assert phase_costs(wide, (lanes & ~2) * 16).tolist() == [2, 0, 2, 0]
    assert phase_costs(wide, lanes // 2 % 8 * 16 + lanes // 16 * 1024).tolist() == [1, 0, 1, 0]
    # One lane that wants something else keeps the whole warp from it.
    assert phase_costs(wide, np.where(lanes == 31, 1728, lanes // 2 * 16)).tolist() == [1, 1, 1, 2]
    # Lanes whose neighbours are not there keep nobody from it.
    assert phase_costs(wide, lanes * 16, lanes % 2 == 0).tolist() == [2, 0, 2, 0]
    assert phase_costs(lds.instruction(READ, 8), lanes // 2 * 8).tolist() == [1, 0]
    assert phase_costs(lds.instruction(WRITE, 16), lanes // 2 * 16).tolist() == [1, 1, 1, 1]
    assert phase_costs(narrow, lanes // 2 * 4).tolist() == [1]


def test_lanes_of_two_phases_that_are_one_are_served_together():
    lds, lanes = lds_of("sm_90"), np.arange(32)
    wide = lds.instruction(READ, 8)
    assert served_lanes(wide, lanes * 8, None) == wide.phases
    assert served_lanes(wide, lanes // 2 * 8, None) == (tuple(range(32)), ())
    assert served_lanes(wide, lanes * 8, lanes % 2 == 0) == (tuple(range(32)), ())
    narrow = lds.instruction(READ, 4)
    assert served_lanes(narrow, lanes // 2 * 4, None) == narrow.phases


def test_atomic_operations_serve_a_lane_of_a_bank_at_a_time():
    lds, same = lds_of("sm_90"), np.zeros(32, int)
    costs = {
        name: phase_costs(lds.instruction_named(name), same).tolist()
        for name in ("atom.shared.add.u32", "atom.shared.exch.b32", "atom.shared.cas.b32")
    }
    assert [*costs.values()] == [[32], [32], [64]]
    assert phase_costs(lds.instruction_named("red.shared.inc.u32"), same).tolist() == [1]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_counts_equal_the_rule(data):
    lds = lds_of(data.draw(st.sampled_from(known_targets())))
    kind = data.draw(st.sampled_from(AccessKind))
    instruction = lds.instruction(kind, data.draw(st.sampled_from(lds.widths(kind))))
    # With few banks, phases want more bytes than pass in a cycle.
    instruction = instruction._replace(banks=data.draw(st.sampled_from([instruction.banks, 8])))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    addresses = rng.integers(0, data.draw(st.sampled_from([8, 300, 5000])), (3, lds.wave_size))
    addresses *= data.draw(st.sampled_from([1, 4, 16, 128]))
    active = rng.random((3, lds.wave_size)) < data.draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))
    expected = [
        slow_phase_costs(instruction, a, on) for a, on in zip(addresses, active, strict=True)
    ]
    costs = phase_costs(instruction, addresses, active)
    assert costs.tolist() == expected
    assert conflict_cycles(instruction, addresses, active).tolist() == [
        sum(max(c - 1, 0) for c in row) for row in expected
    ]
    floor = wavefront_floor(instruction, addresses, active)
    assert floor.tolist() == [
        slow_floors(instruction, a, on) for a, on in zip(addresses, active, strict=True)
    ]
    assert (floor <= costs).all()


def test_the_floor_counts_distinct_bytes():
    lanes, few = np.arange(32), lds_of("sm_80").instruction(READ, 4)._replace(banks=8)
    row = 4 + lanes % 8 * 4
    one_more = np.where(lanes == 31, 33, row)
    assert wavefront_floor(few, row).tolist() == [1]
    assert wavefront_floor(few, one_more).tolist() == [2]
    assert wavefront_floor(few, one_more, lanes != 31).tolist() == [1]


def test_broadcast_between_halves_of_a_word_and_between_equal_words():
    b16 = lds_of("gfx942").instruction(WRITE, 2)
    assert phase_costs(b16, LANES // 2 * 4 + LANES % 2 * 2).tolist() == [1, 1]
    assert phase_costs(b16, np.zeros(64, int)).tolist() == [1, 1]
    assert phase_costs(b16, LANES % 2 * 128).tolist() == [2, 2]


def test_inactive_lanes_cost_nothing_and_their_addresses_do_not_matter():
    b32 = lds_of("gfx942").instruction(READ, 4)
    active = LANES < 32
    addresses = np.where(active, LANES * 4, -7)
    assert phase_costs(b32, addresses, active).tolist() == [1, 0]
    assert conflict_cycles(b32, LANES * 128, np.zeros(64, bool)) == 0


def test_unaligned_access_touches_both_words():
    b32 = lds_of("gfx942").instruction(READ, 4)
    addresses = np.where(LANES == 0, 2, 128)  # words 0 and 1; words 32
    assert phase_costs(b32, addresses)[0] == 2
    addresses = np.where(LANES == 0, 2, 132)
    assert phase_costs(b32, addresses)[0] == 2
    assert phase_costs(b32, np.where(LANES == 0, 2, 136))[0] == 1


def test_many_issues_keep_their_leading_shape():
    b64 = lds_of("gfx942").instruction(READ, 8)
    addresses = np.broadcast_to(LANES * 8, (5, 7, 64))
    assert phase_costs(b64, addresses).shape == (5, 7, 4)
    assert conflict_cycles(b64, addresses).shape == (5, 7)
    assert phase_costs(b64, np.zeros((0, 64), int)).shape == (0, 4)


def test_bad_addresses():
    b32 = lds_of("sm_80").instruction(READ, 4)
    with pytest.raises(ValueError, match=r"addresses.shape is \(64,\)"):
        phase_costs(b32, LANES)
    with pytest.raises(ValueError, match="addresses is -1"):
        phase_costs(b32, np.where(np.arange(32) == 5, -1, 4))


STRIDES_OF_AN_MI300X = {
    4: dict(zip((4, 8, 16, 32, 64, 128, 256, 512), (0, 2, 6, 14, 30, 62, 62, 62), strict=True)),
    8: dict(zip((8, 16, 32, 64, 128, 256, 512), (0, 4, 12, 28, 60, 60, 60), strict=True)),
    16: dict(zip((16, 32, 64, 128, 256, 512), (0, 8, 24, 56, 56, 56), strict=True)),
}
"""Conflicts of a read by its bytes and by the stride between lanes, which `SQ_LDS_BANK_CONFLICT`
counted (nod-ai/amd-shark-ai #2919, `docs/empirical-lds/cdna3info.md`, a 64th of its blocks)."""


@pytest.mark.parametrize("width", STRIDES_OF_AN_MI300X)
def test_strides_that_an_mi300x_has_counted(width: int):
    instruction = lds_of("gfx942").instruction(READ, width)
    counted = {s: int(conflict_cycles(instruction, LANES * s)) for s in STRIDES_OF_AN_MI300X[width]}
    assert counted == STRIDES_OF_AN_MI300X[width]


def ck_tile_totals(writes, reads):
    """Returns conflict cycles and LDS instructions of 8192 tiles, one row for each issue."""
    conflicts = issues = 0
    for kind, width, addresses in (writes, reads):
        instruction = lds_of("gfx942").instruction(kind, width)
        conflicts += int(conflict_cycles(instruction, addresses).sum())
        issues += len(addresses)
    return 8192 * conflicts, 8192 * issues


def test_published_counters_of_ck_tile_tutorial_01():
    """Row-major transpose; `docs/claims.md` has the counter and who published it."""
    wave = np.arange(4)[:, None]
    write = (16 * wave + LANES // 4) * 64 + 16 * (LANES % 4)
    w, j = np.meshgrid(np.arange(4), np.arange(8), indexing="ij")
    w, j = w.reshape(-1, 1), j.reshape(-1, 1)
    read = (8 * (LANES % 8) + j) * 64 + 2 * (LANES // 8 + 8 * w)
    totals = ck_tile_totals((WRITE, 16, write), (READ, 2, read))
    assert totals == (3_670_016, 294_912)


def test_published_counters_of_ck_tile_tutorial_02():
    """Column-major copy; `docs/claims.md` has the counter and who published it."""
    w, j = np.meshgrid(np.arange(4), np.arange(8), indexing="ij")
    w, j = w.reshape(-1, 1), j.reshape(-1, 1)
    row, column = LANES // 4 + 16 * w, 8 * (LANES % 4) + j
    write = 128 * column + 2 * row
    wave = np.arange(4)[:, None]
    read = 1024 * wave + 16 * LANES
    read_conflicts = conflict_cycles(lds_of("gfx942").instruction(READ, 16), read)
    assert read_conflicts.tolist() == [0, 0, 0, 0]
    totals = ck_tile_totals((WRITE, 2, write), (READ, 16, read))
    assert totals == (1_572_864, 294_912)
