# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The padding search against exhaustive counting, and what it prefers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import PaddedLayout, access_cost, layout_conflicts
from bankwise.bank_model.targets import AccessKind, target
from bankwise.passes.padding_search import (
    PaddingChoice,
    PaddingCost,
    best_padding,
    merge_translates,
    padding_choices,
    padding_cost,
    share_budget,
)

GFX942 = target("gfx942")
LANES = np.arange(64)
UNLIMITED = 1 << 20


def access(elements: np.ndarray, count: int, kind: AccessKind = AccessKind.READ) -> LdsAccess:
    return LdsAccess(kind, np.asarray(elements)[None], count)


def test_column_read_wants_one_bank_per_row() -> None:
    # The worked example: 64 rows of 128 bytes, one lane per row.
    tile = LdsTile((64, 64), 16)
    column = access(LANES * 64, 1)
    plain = padding_cost(GFX942, tile, [column], 0)
    assert (plain.conflict_cycles, plain.cost.wavefronts, plain.lds_bytes) == (62, 64, 8192)
    best = best_padding(GFX942, tile, [column], UNLIMITED)
    assert (best.padding_bytes, best.conflict_cycles, best.lds_bytes) == (4, 0, 8448)


def test_conflict_free_tile_stays_plain() -> None:
    tile = LdsTile((64, 64), 16)
    rows = access(LANES * 2, 2)
    assert [c.padding_bytes for c in padding_choices(GFX942, tile, [rows])] == [0]


def test_tile_without_accesses_stays_plain() -> None:
    assert best_padding(GFX942, LdsTile((8, 8), 32), [], UNLIMITED).padding_bytes == 0


def test_alignment_is_kept_where_it_costs_nothing() -> None:
    # Each lane reads 16 bytes of its own 128-byte row. 4 bytes of padding are conflict-free too,
    # but as four accesses instead of one.
    tile = LdsTile((64, 64), 16)
    rows = access(LANES * 64, 8)
    by_four = padding_cost(GFX942, tile, [rows], 4)
    best = best_padding(GFX942, tile, [rows], UNLIMITED)
    assert by_four.cost.machine_accesses == 4
    assert (best.padding_bytes, best.conflict_cycles) == (16, 0)
    assert best.cost.machine_accesses == 1


def test_alignment_is_given_up_when_the_budget_forbids_to_keep_it() -> None:
    tile = LdsTile((64, 64), 16)
    rows = access(LANES * 64, 8)
    best = best_padding(GFX942, tile, [rows], 8192 + 64 * 8)
    assert best.padding_bytes == 8
    assert best.conflict_cycles < padding_cost(GFX942, tile, [rows], 0).conflict_cycles


def test_split_access_that_takes_longer_is_not_a_gain() -> None:
    # gfx950 reads 16 bytes in 4 phases, but as four b32 in 8: those are no better than 4 phases
    # with up to one conflict each, although they have no conflicts at all.
    chip = target("gfx950")
    tile = LdsTile((64, 64), 16)
    rows = access(LANES * 64, 8)
    best = best_padding(chip, tile, [rows], UNLIMITED)
    assert best.padding_bytes % 16 == 0
    for padding in range(4, 68, 4):
        other = padding_cost(chip, tile, [rows], padding)
        assert best.cost.wavefronts <= other.cost.wavefronts


def test_budget_below_the_plain_tile_leaves_it_plain() -> None:
    tile = LdsTile((64, 64), 16)
    assert best_padding(GFX942, tile, [access(LANES * 64, 1)], 100).padding_bytes == 0


def test_padding_is_a_multiple_of_the_element() -> None:
    tile = LdsTile((64, 32), 64)
    choices = padding_choices(GFX942, tile, [access(LANES * 32, 1)])
    assert all(c.padding_bytes % 8 == 0 for c in choices)
    with pytest.raises(ValueError, match="4 bytes are no multiple of 64 bits"):
        padding_cost(GFX942, tile, [], 4)


def test_weights_decide_between_reader_and_writer() -> None:
    # The column reader wants 4 bytes of padding; the 8-byte row writer wants alignment.
    tile = LdsTile((64, 64), 16)
    read = LdsAccess(AccessKind.READ, (LANES * 64)[None], 1, weight=100)
    write = LdsAccess(AccessKind.WRITE, (LANES * 4)[None], 4, weight=1)
    assert best_padding(GFX942, tile, [read, write], UNLIMITED).padding_bytes == 4


@st.composite
def random_accesses(draw: st.DrawFn) -> tuple[LdsTile, list[LdsAccess]]:
    rows, columns = 64, draw(st.sampled_from([32, 48, 64, 128]))
    bits = draw(st.sampled_from([8, 16, 24, 32]))
    tile = LdsTile((rows, columns), bits)
    accesses: list[LdsAccess] = []
    for _ in range(draw(st.integers(1, 6))):
        count = draw(st.sampled_from([1, 2, 4, 8]))
        row_step, row_split = draw(st.integers(0, 1)), draw(st.sampled_from([1, 2, 4, 16]))
        row = (LANES // row_split) * row_step + draw(st.integers(0, 63))
        column = LANES % row_split * count + draw(st.integers(0, 31))
        elements = np.minimum((row % rows) * columns + column % columns, tile.elements - count)
        active = None
        if draw(st.booleans()):
            active = (LANES % draw(st.integers(1, 3)) == 0)[None]
        kind = draw(st.sampled_from(list(AccessKind)))
        weight = draw(st.integers(1, 5))
        accesses.append(LdsAccess(kind, elements[None], count, weight, active))
    return tile, accesses


@settings(max_examples=40, deadline=None)
@given(problem=random_accesses(), slack=st.integers(0, 64 * 64))
def test_best_of_all_paddings_by_plain_counting(
    problem: tuple[LdsTile, list[LdsAccess]], slack: int
) -> None:
    tile, accesses = problem
    budget = PaddedLayout(0).size_bytes(tile) + slack
    ranked: list[tuple[int, int, int, int, int]] = []
    step = 4 if tile.element_bits != 24 else 12
    for padding in range(0, 65, step):
        layout = PaddedLayout(padding * 8 // tile.element_bits)
        if layout.size_bytes(tile) > budget:
            continue
        costs = [(a.weight, access_cost(GFX942, tile, layout, a)) for a in accesses]
        ranked.append(
            (
                sum(w * c.wavefronts for w, c in costs),
                sum(w * c.conflict_cycles for w, c in costs),
                sum(w * c.instructions for w, c in costs),
                layout.size_bytes(tile),
                padding,
            )
        )
        counted = padding_cost(GFX942, tile, accesses, padding)
        assert counted.conflict_cycles == layout_conflicts(GFX942, tile, layout, accesses)
    best = best_padding(GFX942, tile, accesses, budget)
    cost = best.cost
    found = (cost.wavefronts, cost.conflict_cycles, cost.machine_accesses)
    assert (*found, best.lds_bytes, best.padding_bytes) == min(ranked)


def test_translates_are_merged_with_their_weights() -> None:
    tile = LdsTile((64, 64), 16)
    column = LANES % 16 * 64
    shifted = [LdsAccess(AccessKind.READ, (column + s)[None], 1, weight=3) for s in (0, 8, 16 * 64)]
    (merged,) = merge_translates(tile, shifted)
    assert merged.weight == 9
    # By one element, by one row, or of another kind: not the same access.
    others = [access(column, 1), access(column + 1, 1), access(column + 64, 1)]
    others.append(access(column, 1, AccessKind.WRITE))
    assert len(merge_translates(tile, others)) == 4


def test_vectors_over_the_end_of_a_row_are_not_merged_with_others() -> None:
    tile = LdsTile((64, 16), 16)
    inside, across = access(LANES * 0, 8), access(LANES * 0 + 8 + 4, 8)
    assert len(merge_translates(tile, [inside, across])) == 2


def choice(padding: int, wavefronts: int, lds_bytes: int) -> PaddingChoice:
    return PaddingChoice(padding, PaddingCost(wavefronts, wavefronts, 1), lds_bytes)


@settings(max_examples=100, deadline=None)
@given(
    tiles=st.lists(
        st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    ),
    budget=st.integers(0, 200),
)
def test_budget_is_shared_as_by_trying_all_combinations(
    tiles: list[list[tuple[int, int]]], budget: int
) -> None:
    options: list[list[PaddingChoice]] = []
    for drawn in tiles:
        # As padding_choices yields them: ever larger, ever better.
        costs = sorted({cost for cost, _ in drawn}, reverse=True)
        size = itertools.accumulate(extra for _, extra in drawn)
        pairs = zip(costs, size, strict=False)
        options.append([choice(4 * n, c, s) for n, (c, s) in enumerate(pairs)])
    chosen = share_budget(options, budget)
    everything = [
        (sum(c.cost.wavefronts for c in combination), sum(c.lds_bytes for c in combination))
        for combination in itertools.product(*options)
    ]
    fitting = [pair for pair in everything if pair[1] <= budget]
    total = (sum(c.cost.wavefronts for c in chosen), sum(c.lds_bytes for c in chosen))
    if fitting:
        assert total == min(fitting)
    else:
        assert chosen == tuple(option[0] for option in options)
