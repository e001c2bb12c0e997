# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padding choices, the solver's pick among them and the shared LDS, against exhaustive counting."""

from __future__ import annotations

from itertools import accumulate, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.errors import InvalidParameterError
from bankwise.bank_model.issue import LayoutCosts
from bankwise.bank_model.layouts import (
    PaddedLayout,
    PlainLayout,
    SubByteAccessError,
    access_costs,
)
from bankwise.bank_model.lds_rules import Lds
from bankwise.bank_model.padding_counts import PaddedCounts
from bankwise.bank_model.paddings import (
    PaddingChoice,
    keeps_words,
    padding_amounts,
    padding_choices,
    share_lds,
)
from bankwise.bank_model.proof import check
from bankwise.bank_model.solver import LayoutKind, SolverOptions, solve
from bankwise.bank_model.vectorization import vectorization

from .solver_problems import GFX942, GFX950, READ, SM80, WRITE

LANES = np.arange(64)
ROWS_OF_128_BYTES = LdsTile((64, 64), 16)
Problem = tuple[Lds, LdsTile, list[LdsAccess]]
PADDING_KINDS = frozenset({LayoutKind.PLAIN, LayoutKind.PADDING})


def within(choices: tuple[PaddingChoice, ...], budget: int) -> PaddingChoice:
    """Returns the last choice that fits, or the plain tile."""
    return [choices[0], *(c for c in choices if c.lds_bytes <= budget)][-1]


def weighted(lds: Lds, tile: LdsTile, padding: int, accesses: list[LdsAccess]) -> list[int]:
    """Returns [conflict cycles, instructions, phases] of a padding, counted one by one."""
    layout = PaddedLayout(padding) if padding else PlainLayout()
    costs = access_costs(lds, tile, layout, accesses)
    pairs = [(a.weight, c) for a, c in zip(accesses, costs, strict=True)]
    return [
        sum(w * c.conflict_cycles for w, c in pairs),
        sum(w * c.instructions for w, c in pairs),
        sum(w * (c.wavefronts - c.conflict_cycles) for w, c in pairs),
    ]


def test_worked_example() -> None:
    rows = [LdsAccess(READ, LANES * 64, 8)]
    choices = padding_choices(GFX942, ROWS_OF_128_BYTES, rows)
    assert choices == (
        PaddingChoice(0, 56, 64, 1, 8192),
        PaddingChoice(2, 0, 8, 2, 8448),
        PaddingChoice(4, 0, 8, 1, 8704),
    )
    assert within(choices, 8600).padding_elements == 2
    on_gfx950 = padding_choices(GFX950, ROWS_OF_128_BYTES, rows)
    assert [(c.padding_elements, c.cycles) for c in on_gfx950] == [(0, 32), (2, 8), (4, 4)]


def test_padding_may_be_less_than_a_bank() -> None:
    # A column of f16: rows 130 bytes apart put two rows on each bank, 132 bytes apart one.
    choices = padding_choices(GFX942, ROWS_OF_128_BYTES, [LdsAccess(READ, LANES * 64, 1)])
    assert [(c.padding_elements, c.conflict_cycles) for c in choices] == [(0, 62), (1, 2), (2, 0)]


def test_weights_decide_between_readers() -> None:
    # The column wants rows on different banks, the pairs of rows want them 16 banks apart.
    tile = LdsTile((16, 64), 32)
    column, pairs = LANES % 16 * 64, LANES // 16 * 64 + LANES % 16
    columns_often = [LdsAccess(READ, column, 1, 9), LdsAccess(READ, pairs, 1, 1)]
    pairs_often = [LdsAccess(READ, column, 1, 1), LdsAccess(READ, pairs, 1, 99)]
    assert padding_choices(GFX942, tile, columns_often)[-1].padding_elements == 1
    assert padding_choices(GFX942, tile, pairs_often)[-1].padding_elements == 16


def test_tile_without_conflicts_has_no_choice() -> None:
    contiguous = [LdsAccess(READ, LANES * 2, 2)]
    assert len(padding_choices(GFX942, ROWS_OF_128_BYTES, contiguous)) == 1
    assert len(padding_choices(GFX942, ROWS_OF_128_BYTES, [])) == 1


def test_bytes_are_not_spent_on_instructions_alone() -> None:
    # Rows of 18 f16. One more element would leave 8-byte accesses inside words, which are whole.
    # Two more would align them, but there is no conflict to avoid.
    tile = LdsTile((64, 18), 16)
    access = [LdsAccess(READ, np.arange(64) * 18, 4)]
    plain, *better = padding_choices(GFX942, tile, access)
    unaligned, aligned = PaddedCounts(GFX942, tile, access).count([1, 2])
    assert (plain.conflict_cycles, plain.instructions) == (0, 1)
    assert unaligned[:2] == (4, 1)
    assert aligned[:2] == (0, 1)
    assert not better


def test_no_padding_frees_lanes_three_words_apart_in_rows_of_48() -> None:
    """16 lanes fill a row, 32 are a phase: with P words of padding the second row is P banks on.

    Lane l of a row is on bank 3 l, and 3 * 11 = 1 (mod 32), so that bank b is lane 11 b: the lanes
    of the second row follow those of the first directly only if 11 P = 0 (mod 32). Every other P
    makes two of them share a bank: one conflict cycle in each phase is the least.
    """
    tile = LdsTile((32, 48), 32)
    lanes = LANES * 3
    conflicts = [
        count[0]
        for count in PaddedCounts(GFX942, tile, [LdsAccess(WRITE, lanes, 1)]).count(range(1, 32))
    ]
    assert min(conflicts) == 2
    assert len(padding_choices(GFX942, tile, [LdsAccess(WRITE, lanes, 1)])) == 1


def test_phases_count_as_conflicts_do() -> None:
    """Four lanes write 16 bytes each: as b64 halves they run twice the phases.

    Rows 8 bytes apart have no conflicts in 4 phases of reading; rows 16 bytes apart keep writes
    whole and leave conflicts. The sum decides.
    """
    tile = LdsTile((8, 32), 32)
    masked = np.zeros((1, 64), bool)
    masked[0, ::16] = True
    accesses = [
        LdsAccess(WRITE, LANES // 16 * 4, 4, 1, masked),
        LdsAccess(READ, LANES % 8 * 32 + LANES // 16 * 4, 4),
    ]
    by_amount = {c.padding_elements: c for c in padding_choices(GFX942, tile, accesses)}
    assert by_amount[2].conflict_cycles == 0
    assert by_amount[2].cycles < by_amount[0].cycles


@pytest.mark.parametrize(
    ("lds", "bits", "last"),
    [
        (GFX942, 4, 256),
        (GFX942, 8, 128),
        (GFX942, 16, 64),
        (GFX942, 24, 128),
        (GFX942, 32, 32),
        (GFX942, 64, 16),
        (GFX942, 128, 8),
        # Some of its instructions see 64 banks.
        (GFX950, 32, 64),
    ],
)
def test_amounts_end_where_the_banks_start_over(lds: Lds, bits: int, last: int) -> None:
    amounts = padding_amounts(lds, LdsTile((4, 6), bits))
    assert amounts[-1] == last
    assert len(amounts) == (last // 2 if bits == 4 else last)


def test_vetoed_amounts_are_skipped() -> None:
    rows = [LdsAccess(READ, LANES * 64, 8)]

    def is_legal(layout: PaddedLayout) -> bool:
        return layout.padding_elements not in (2, 4, 8)

    choices = padding_choices(GFX942, ROWS_OF_128_BYTES, rows, is_legal=is_legal)
    assert [c.padding_elements for c in choices] == [0, 6, 12]


def test_errors_are_those_of_the_exact_count() -> None:
    with pytest.raises(InvalidParameterError, match=r"0 \.\. 4095, the elements of the tile"):
        padding_choices(GFX942, ROWS_OF_128_BYTES, [LdsAccess(READ, LANES * 66, 1)])
    with pytest.raises(InvalidParameterError, match="the wave size of sm_80"):
        padding_choices(SM80, ROWS_OF_128_BYTES, [LdsAccess(READ, LANES, 1)])
    with pytest.raises(SubByteAccessError):
        padding_choices(GFX942, LdsTile((64, 64), 4), [LdsAccess(READ, LANES, 1)])


def test_rows_of_half_bytes_are_padded_to_whole_bytes() -> None:
    # 31 elements of 4 bits: an odd padding makes the rows whole bytes; pairs over the end of a
    # row would start inside a byte when split.
    tile = LdsTile((64, 31), 4)
    assert padding_amounts(GFX942, tile)[:3] == (1, 3, 5)
    across = [LdsAccess(READ, LANES * 30, 2), LdsAccess(READ, LANES % 2 * 1024, 2)]
    assert len(padding_choices(GFX942, tile, across)) == 1


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draws tiles of one to three dimensions with any rows, some lanes masked off."""
    lds = draw(st.sampled_from([GFX942, GFX950, SM80]))
    outer = draw(st.sampled_from([(64,), (33,), (4, 8), (3, 5), ()]))
    tile = LdsTile(
        (*outer, draw(st.sampled_from([64, 32, 48, 31, 20, 100]))),
        draw(st.sampled_from([8, 16, 24, 32, 64])),
    )
    rows, columns = tile.elements // tile.row_elements, tile.row_elements
    lanes = np.arange(lds.wave_size)
    accesses: list[LdsAccess] = []
    for _ in range(draw(st.integers(1, 4))):
        count = draw(st.sampled_from([1, 2, 4, 8, 16]))
        lanes_per_row = draw(st.sampled_from([1, 2, 4, 16]))
        row = lanes // lanes_per_row * draw(st.sampled_from([1, 2, 0])) + draw(st.integers(0, 40))
        column = lanes % lanes_per_row * count + draw(st.integers(0, 31))
        wave = row % rows * columns + column % columns
        # Waves whose patterns are shifted copies, or nearly so.
        shifts = np.array(draw(st.lists(st.integers(0, 40), min_size=1, max_size=3)))
        unit = draw(st.sampled_from([1, columns, 16 * columns]))
        elements = np.minimum(wave + shifts[:, None] * unit, tile.elements - count)
        active = None
        if draw(st.booleans()):
            seed = draw(st.integers(0, 1 << 16))
            active = np.random.default_rng(seed).random(elements.shape) < 0.7
            active[draw(st.integers(0, len(shifts) - 1))] &= draw(st.booleans())
            elements = np.where(active, elements, draw(st.sampled_from([-1, 0, tile.elements])))
        kind, weight = draw(st.sampled_from([READ, WRITE])), draw(st.sampled_from([1, 2, 5, 0]))
        accesses.append(LdsAccess(kind, elements, count, weight, active))
    return lds, tile, accesses


@settings(max_examples=60, deadline=None)
@given(problem=problems(), slack=st.integers(0, 4096))
def test_choices_are_the_best_of_all_amounts(problem: Problem, slack: int) -> None:
    lds, tile, accesses = problem
    choices = padding_choices(lds, tile, accesses)
    counted = LayoutCosts(lds, tile, accesses)
    plain = counted.of(PlainLayout())
    ranked = [(*plain.rank, 0)]
    for padding in padding_amounts(lds, tile) if plain.conflict_cycles else ():
        layout = PaddedLayout(padding)
        if layout.size_bytes(tile) <= choices[0].lds_bytes + slack:
            cost = counted.of(layout)
            if cost.cycles <= plain.cycles and keeps_words(counted, layout):
                ranked.append((*cost.rank, padding))
    best = within(choices, choices[0].lds_bytes + slack)
    assert (*best.cost, best.padding_elements) == min(ranked)


@pytest.mark.parametrize(
    ("lds", "first", "count", "kept"),
    [
        (GFX942, 0, 8, False),
        (GFX950, 0, 2, False),
        # These never begin at words, or are none.
        (GFX942, 1, 8, True),
        (GFX942, 0, 1, True),
        # NVIDIA's compiler splits such an access, which is counted.
        (SM80, 0, 8, True),
    ],
)
def test_no_padding_moves_accesses_into_words(lds: Lds, first: int, count: int, kept: bool) -> None:
    lanes = np.arange(lds.wave_size)
    accesses = [LdsAccess(READ, lanes * 64 + first, count)]
    costs = LayoutCosts(lds, ROWS_OF_128_BYTES, accesses)
    for padding in (1, 3, 5):
        assert keeps_words(costs, PaddedLayout(padding)) is kept
    assert keeps_words(costs, PaddedLayout(2))


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_choices_grow_and_improve(problem: Problem) -> None:
    choices = padding_choices(*problem)
    assert choices[0].padding_elements == 0
    for smaller, larger in pairwise(choices[1:]):
        assert smaller.lds_bytes < larger.lds_bytes
        assert larger.cost < smaller.cost
    assert all(c.cycles <= choices[0].cycles for c in choices[1:])


@settings(max_examples=30, deadline=None)
@given(problem=problems(), turns=st.integers(1, 3))
def test_more_than_one_turn_of_the_banks_never_helps(problem: Problem, turns: int) -> None:
    """It costs as much, or more where the ends of two rows no longer share a word."""
    lds, tile, accesses = problem
    amounts = padding_amounts(lds, tile)
    larger = [padding + turns * amounts[-1] for padding in amounts]
    once, again = (PaddedCounts(lds, tile, accesses).count(a) for a in (amounts, larger))
    assert [counted[1:] for counted in once] == [counted[1:] for counted in again]
    assert all(a[0] <= b[0] for a, b in zip(once, again, strict=True))


@settings(max_examples=40, deadline=None)
@given(problem=problems(), slack=st.integers(0, 4096))
def test_solver_decides_as_the_choices_do(problem: Problem, slack: int) -> None:
    lds, tile, accesses = problem
    choices = padding_choices(lds, tile, accesses)
    budget = choices[0].lds_bytes + slack
    decision = solve(lds, tile, accesses, SolverOptions(PADDING_KINDS, budget))
    best = within(choices, budget)
    expected = PaddedLayout(best.padding_elements) if best.padding_elements else PlainLayout()
    assert decision.layout == expected
    assert (decision.conflict_cycles, decision.lds_bytes) == (best.conflict_cycles, best.lds_bytes)
    check(decision.proof, lds, accesses)


# Several tiles.


@st.composite
def made_up_choices(draw: st.DrawFn) -> tuple[PaddingChoice, ...]:
    """Makes choices as `padding_choices` yields them: ever larger, ever cheaper."""
    costs = draw(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=4))
    sizes = accumulate(draw(st.lists(st.integers(1, 30), min_size=4, max_size=4)))
    return tuple(
        PaddingChoice(padding, 0, *cost, size)
        for padding, (cost, size) in enumerate(
            zip(sorted(costs, key=lambda c: (sum(c), c), reverse=True), sizes, strict=False)
        )
    )


def cheapest_by_trying(
    tiles: list[tuple[PaddingChoice, ...]], budget: int
) -> tuple[int, int, int] | None:
    """Returns the least (cycles with issue slots, cycles, bytes) of combinations that fit."""
    sums = [summed(combination) for combination in product(*tiles)]
    return min((s for s in sums if s[2] <= budget), default=None)


def summed(chosen: tuple[PaddingChoice, ...]) -> tuple[int, int, int]:
    return (
        sum(c.cost[0] for c in chosen),
        sum(c.cost[1] for c in chosen),
        sum(c.lds_bytes for c in chosen),
    )


@settings(max_examples=300, deadline=None)
@given(tiles=st.lists(made_up_choices(), max_size=4), budget=st.integers(0, 200))
def test_lds_is_shared_as_by_trying_all_combinations(
    tiles: list[tuple[PaddingChoice, ...]], budget: int
) -> None:
    chosen = share_lds(tiles, budget)
    cheapest = cheapest_by_trying(tiles, budget)
    if cheapest is None:
        assert chosen == tuple(choices[0] for choices in tiles)
    else:
        assert summed(chosen) == cheapest
        assert all(c in choices for c, choices in zip(chosen, tiles, strict=True))


@settings(max_examples=12, deadline=None)
@given(drawn=st.lists(problems(), min_size=2, max_size=3), slack=st.integers(0, 4096))
def test_lds_is_shared_best_between_counted_tiles(drawn: list[Problem], slack: int) -> None:
    """No amounts for the tiles together, each counted by itself, cost less within the budget."""
    tiles = [padding_choices(*problem) for problem in drawn]
    budget = sum(choices[0].lds_bytes for choices in tiles) + slack
    totals: set[tuple[int, int]] = {(0, 0)}
    for lds, tile, accesses in drawn:
        counted = LayoutCosts(lds, tile, accesses)
        plain = counted.of(PlainLayout())
        allowed = {(PlainLayout().size_bytes(tile), plain.rank[0])}
        for padding in padding_amounts(lds, tile) if plain.conflict_cycles else ():
            layout = PaddedLayout(padding)
            cost = counted.of(layout)
            if cost.cycles <= plain.cycles and keeps_words(counted, layout):
                allowed.add((layout.size_bytes(tile), cost.rank[0]))
        totals = {(a + c, b + d) for a, b in totals for c, d in allowed}
        totals = {(size, cost) for size, cost in totals if size <= budget}
    assert sum(c.cost[0] for c in share_lds(tiles, budget)) == min(c for _, c in totals)


# Masked lanes.


def test_masked_lanes_may_point_anywhere() -> None:
    """The half of a wave that does not exist changes neither choice nor decision."""
    active = (LANES < 32)[None]
    exact = padding_choices(GFX942, ROWS_OF_128_BYTES, [LdsAccess(READ, LANES * 64, 1, 1, active)])
    for nowhere in (-1, -(1 << 40), 1 << 40):
        elements = np.where(active, LANES * 64, nowhere)
        moved = [
            LdsAccess(READ, elements, 1, 1, active),
            LdsAccess(READ, np.where(active, elements + 2, nowhere), 1, 1, active),
        ]
        assert padding_choices(GFX942, ROWS_OF_128_BYTES, moved[:1]) == exact
        decision = solve(GFX942, ROWS_OF_128_BYTES, moved, SolverOptions(PADDING_KINDS))
        assert decision.layout == PaddedLayout(2)
        check(decision.proof, GFX942, moved)


def test_masked_lanes_have_no_register_direction() -> None:
    first_masked = (LANES > 0)[None]
    accesses = [
        LdsAccess(kind, np.where(first_masked, LANES * 8 + shift, -1), 2, 1, first_masked)
        for kind in (READ, WRITE)
        for shift in (0, 4)
    ]
    assert vectorization(ROWS_OF_128_BYTES, accesses).shared_register_bits == (4, 1)


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_counts_merge_only_what_costs_the_same(problem: Problem) -> None:
    lds, tile, accesses = problem
    copies = [*accesses, *accesses]
    paddings = padding_amounts(lds, tile)[::7]
    counts = PaddedCounts(lds, tile, copies).count(paddings)
    for padding, counted in zip(paddings, counts, strict=True):
        assert list(counted) == weighted(lds, tile, padding, copies)


def test_shifted_copies_are_counted_once() -> None:
    column = LANES % 16 * 64
    masked = (LANES % 3 > 0)[None]
    for active in (None, masked):
        waves = [np.where(True if active is None else active, column + s, -1) for s in (0, 8, 1024)]
        copies = [LdsAccess(READ, wave, 1, 3, active) for wave in waves]
        (pattern,) = PaddedCounts(GFX942, ROWS_OF_128_BYTES, copies).patterns
        assert pattern.access.weight == 9
    others = [LdsAccess(READ, column + s, 1) for s in (0, 1, 64)]
    others += [LdsAccess(WRITE, column, 1), LdsAccess(READ, column, 2)]
    others += [LdsAccess(READ, column, 1, 1, masked)]
    assert len(PaddedCounts(GFX942, ROWS_OF_128_BYTES, others).patterns) == len(others)


LOWER_HALF = (LANES < 32)[None]
COLUMN_AND_BROADCAST = np.where(LANES < 32, LANES, 0) * 64


@pytest.mark.parametrize(
    ("columns", "wave", "count", "shift", "masks"),
    [
        # 8 rows of an odd pitch, or 8 columns, are 8 bytes but not 16.
        (64, LANES % 4 * 16, 16, 8 * 64, (None, None)),
        (64, LANES % 2 * 16, 16, 8, (None, None)),
        # 16 columns are 16 bytes, but then the row ends.
        (20, LANES % 16 * 20, 8, 16, (None, None)),
        # The lanes that are masked off would read what the first lane reads.
        (64, COLUMN_AND_BROADCAST, 1, 0, (None, LOWER_HALF)),
    ],
    ids=["rows", "columns", "end of the row", "mask"],
)
def test_near_copies_are_not_merged(
    columns: int,
    wave: np.ndarray,
    count: int,
    shift: int,
    masks: tuple[np.ndarray | None, np.ndarray | None],
) -> None:
    tile = LdsTile((64, columns), 8)
    accesses = [
        LdsAccess(READ, wave, count, 1, masks[0]),
        LdsAccess(READ, wave + shift, count, 1, masks[1]),
    ]
    paddings = [1, 2, 4, 16]
    counts = PaddedCounts(GFX942, tile, accesses).count(paddings)
    for padding, counted in zip(paddings, counts, strict=True):
        assert list(counted) == weighted(GFX942, tile, padding, accesses)
