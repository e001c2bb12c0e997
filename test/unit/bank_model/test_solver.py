# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The solver: known patterns, order of preference, brute force, and its proofs."""

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.address_patterns import AddressPatterns
from bankwise.bank_model.errors import InvalidParameterError, ProofError
from bankwise.bank_model.issue import LayoutCosts, layout_cost
from bankwise.bank_model.layouts import (
    AccessCost,
    PaddedLayout,
    PlainLayout,
    SubByteAccessError,
    SwizzledLayout,
    access_costs,
    layout_conflicts,
)
from bankwise.bank_model.linear_cases import LinearCases
from bankwise.bank_model.proof import Optimality, check
from bankwise.bank_model.quick_dataclass import dataclass
from bankwise.bank_model.solver import (
    LayoutDecision,
    LayoutKind,
    SolverOptions,
    layout_kind,
    solve,
    solve_once,
)
from bankwise.bank_model.swizzle_legality import AccessFootprint, HintRules
from bankwise.bank_model.swizzles import RotateRows, XorShuffle

from .solver_problems import (
    GFX942,
    GFX950,
    READ,
    SM80,
    WRITE,
    solve_checked,
    unsolvable,
    wave_transpose,
)

LANES = np.arange(64)
LINEAR = frozenset({LayoutKind.PLAIN, LayoutKind.XOR_SHUFFLE, LayoutKind.CHAIN})


def only(*kinds):
    return SolverOptions(kinds=frozenset(kinds))


def test_wave_transpose_of_16_by_32_f32():
    tile, accesses = wave_transpose()
    by_m = SwizzledLayout((XorShuffle(16, 1, 32),))
    assert (by_m.offsets(tile, np.arange(512)) == np.arange(512) ^ np.arange(512) // 32).all()
    assert max(cost.wavefronts for cost in access_costs(SM80, tile, by_m, accesses)) == 2
    by_2m = SwizzledLayout((XorShuffle(32, 2),))
    assert layout_conflicts(SM80, tile, by_2m, accesses) == 0
    decision = solve_checked(SM80, tile, accesses)
    assert decision.kind is LayoutKind.XOR_SHUFFLE
    assert decision.optimality is Optimality.FLOOR
    assert sum(c.wavefronts for c in decision.costs) == 16 + 16


def test_equal_problems_are_solved_once():
    """Passes ask for the same tile again; another weight or rule is another problem."""

    def decide(weight, rules=None):
        accesses = [LdsAccess(READ, LANES * 64, 1, weight, location=str(rules))]
        options = SolverOptions(rules=HintRules.of(tile, accesses) if rules else None)
        return solve_once(LayoutCosts(GFX942, tile, tuple(accesses)), options)

    tile = LdsTile((64, 64), 32)
    first = decide(3)
    assert decide(3) is first
    assert decide(4) is not first
    with_rules = decide(3, rules=True)
    assert with_rules is not first
    assert decide(3, rules=1) is with_rules


def test_plain_layout_wins_when_it_has_no_conflicts():
    tile = LdsTile((64, 64), 32)
    decision = solve_checked(GFX942, tile, [LdsAccess(READ, LANES, 1)])
    assert decision.layout == PlainLayout()
    assert decision.reason == "the plain layout has no bank conflicts"
    assert decision.address_patterns == 1


def column_read(rows=64, row=64, bits=32, count=1):
    """Returns reads of rows' starts, one a lane, and writes of rows by consecutive lanes."""
    tile = LdsTile((rows, row), bits)
    issues = rows * row // count // 64
    writes = (np.arange(issues)[:, None] * 64 + LANES) * count
    reads = LANES % rows * row + np.arange(0, row, count)[:, None]
    return tile, [LdsAccess(WRITE, writes, count), LdsAccess(READ, reads, count)]


@pytest.mark.parametrize("lds", [GFX942, GFX950], ids=lambda c: c.arch)
@pytest.mark.parametrize(("bits", "count"), [(8, 16), (16, 8), (32, 4), (32, 1), (64, 2), (64, 1)])
def test_column_reads_get_one_xor_shuffle(lds, bits, count):
    tile, accesses = column_read(bits=bits, count=count)
    decision = solve_checked(lds, tile, accesses)
    assert decision.plain_conflict_cycles > 0
    assert decision.kind is LayoutKind.XOR_SHUFFLE
    assert decision.conflict_cycles == 0
    assert decision.lds_bytes == decision.plain_lds_bytes
    assert decision.vectorization.split_accesses == 0


def test_kinds_restrict_the_choice():
    tile, accesses = column_read()
    assert solve_checked(GFX942, tile, accesses, only()).layout == PlainLayout()
    padded = solve_checked(GFX942, tile, accesses, only(LayoutKind.PADDING))
    assert padded.layout == PaddedLayout(1)
    assert padded.conflict_cycles == 0
    rotated = solve_checked(GFX942, tile, accesses, only(LayoutKind.ROTATE_ROWS))
    assert rotated.kind is LayoutKind.ROTATE_ROWS
    assert rotated.conflict_cycles == 0


def test_padding_keeps_wide_accesses_in_one_instruction():
    """Its halves are a pair, which 4 more elements would save nothing against."""
    tile, accesses = column_read(bits=16, count=8)
    padded = solve_checked(GFX942, tile, accesses, only(LayoutKind.PADDING))
    assert padded.layout == PaddedLayout(4)
    assert padded.costs[0].instructions == 2
    issued = layout_cost(GFX942, tile, padded.layout, accesses).instructions
    assert issued == sum(len(access.elements) for access in accesses)


def test_lds_limit_bounds_the_padding():
    tile, accesses = column_read()
    options = only(LayoutKind.PADDING)._replace(max_lds_bytes=64 * 64 * 4 + 255)
    assert solve_checked(GFX942, tile, accesses, options).layout == PlainLayout()
    with pytest.raises(ValueError, match=r"tile is 16384 bytes; allowed: up to 16000 bytes"):
        solve(GFX942, tile, accesses, SolverOptions(max_lds_bytes=16000))


def test_chain_where_one_xor_shuffle_is_not_enough():
    """Conflict-free needs two XORs: the reader's rows meet the banks in two separate fields."""
    tile = LdsTile((64, 128), 16)
    waves = np.arange(4)[:, None]
    write = [LdsAccess(WRITE, (i * 256 + waves * 64 + LANES) * 8, 8) for i in range(4)]
    read = [
        LdsAccess(READ, (LANES % 16 + 16 * n) * 128 + LANES // 16 * 4 + 16 * k, 4)
        for n in range(4)
        for k in range(8)
    ]
    decision = solve_checked(GFX942, tile, write + read)
    assert decision.kind is LayoutKind.CHAIN
    assert (decision.conflict_cycles, decision.lds_bytes) == (0, 16384)
    assert isinstance(decision.layout, SwizzledLayout)
    assert len(decision.layout.swizzles) == 2
    single = solve_checked(GFX942, tile, write + read, only(LayoutKind.XOR_SHUFFLE))
    # One alone does it only by tearing the stores apart.
    assert sum(c.instructions for c in single.costs) > sum(c.instructions for c in decision.costs)


def test_rows_that_are_no_power_of_two():
    tile = LdsTile((48, 80), 16)
    write = [LdsAccess(WRITE, (i * 64 + LANES) * 8 % 3840, 8) for i in range(7)]
    read = [
        LdsAccess(READ, (LANES % 16 + 16 * n) * 80 + LANES // 16 * 4 + 16 * k, 4)
        for n in range(3)
        for k in range(5)
    ]
    decision = solve_checked(GFX942, tile, write + read)
    assert decision.conflict_cycles == 0
    assert decision.lds_bytes == tile.elements * 2


@pytest.mark.parametrize("row", [24, 33, 36, 48, 96])
def test_odd_rows_never_get_worse(row):
    tile = LdsTile((64, row), 32)
    accesses = [LdsAccess(READ, LANES * row + k, 1) for k in range(0, row, 5)]
    decision = solve_checked(GFX942, tile, accesses)
    assert decision.conflict_cycles == 0


def test_multi_buffering_shares_one_layout():
    tile, accesses = column_read(bits=16, count=8)
    buffered = LdsTile((3, *tile.shape), 16)
    both = accesses + [replace(a, elements=a.elements + 2 * tile.elements) for a in accesses]
    decision = solve_checked(GFX942, buffered, both)
    assert decision.conflict_cycles == 0
    assert decision.kind is LayoutKind.XOR_SHUFFLE


def test_sub_byte_elements():
    tile, accesses = column_read(bits=4, count=32)
    decision = solve_checked(GFX942, tile, accesses)
    assert decision.conflict_cycles == 0
    assert decision.kind is LayoutKind.XOR_SHUFFLE
    with pytest.raises(SubByteAccessError):
        solve(GFX942, tile, [LdsAccess(READ, LANES, 1)])


def test_masked_lanes_are_solved_too():
    tile, accesses = column_read()
    masked = [accesses[0], replace(accesses[1], active=LANES % 3 == 0)]
    decision = solve_checked(GFX942, tile, masked)
    assert decision.plain_conflict_cycles > 0
    assert decision.conflict_cycles == 0


def test_constant_offsets_stay_foldable_where_possible():
    """Any row bits free this read; those that differ between instructions are left alone."""
    tile = LdsTile((256, 32), 32)
    accesses = [LdsAccess(READ, (LANES % 32 + 32 * k) * 32, 1) for k in range(8)]
    decision = solve_checked(GFX942, tile, accesses)
    assert decision.address_patterns == 1
    assert AddressPatterns(tile, accesses).count(decision.layout) == 1
    assert isinstance(decision.layout, SwizzledLayout)
    mixing = SwizzledLayout((XorShuffle(16, 1, 1024), *decision.layout.swizzles))
    assert AddressPatterns(tile, accesses).count(mixing) == 8


def test_only_legal_swizzles_are_searched():
    """The best swizzle moves single words; an access that cannot be split needs longer runs."""
    tile, accesses = column_read()
    kinds = frozenset({LayoutKind.XOR_SHUFFLE, LayoutKind.CHAIN})
    first = solve(GFX942, tile, accesses, SolverOptions(kinds))
    assert first.conflict_cycles == 0
    run = first.layout.group_elements(tile)

    def with_whole(elements: int) -> LayoutDecision:
        rules = HintRules(tile, (AccessFootprint(elements, elements, whole=True),))
        return solve_checked(GFX942, tile, accesses, SolverOptions(kinds, rules=rules))

    assert with_whole(run).layout == first.layout
    second = with_whole(2 * run)
    assert isinstance(second.layout, SwizzledLayout)
    assert second.layout.group_elements(tile) >= 2 * run
    assert 0 < second.conflict_cycles < first.plain_conflict_cycles
    nothing = with_whole(tile.elements)
    assert nothing.layout == PlainLayout()
    # Illegal swizzles have fewer conflicts, so that no minimum over all swizzles is claimed.
    assert second.optimality is nothing.optimality is Optimality.BEST_FOUND


def test_vectorization_limits_are_reported():
    tile = LdsTile((64, 64), 16)
    write = [LdsAccess(WRITE, LANES * 64 + 8 * k, 8) for k in range(8)]
    scalar = [LdsAccess(READ, LANES + 64 * k, 1) for k in range(64)]
    one_way = solve_checked(GFX942, tile, [*write, *scalar[:1]])
    assert str(one_way.vectorization) == (
        "writers and readers cannot both use wide accesses: no two elements are in one lane for "
        "both"
    )
    same = solve_checked(GFX942, tile, [*write, LdsAccess(READ, LANES * 64, 8)])
    assert not same.vectorization.limited_by_layouts
    fours = [LdsAccess(READ, LANES % 16 * 4 + 64 * k, 4) for k in range(4)]
    some = solve_checked(GFX942, tile, [*write, *fours])
    assert str(some.vectorization) == (
        "writers and readers cannot both use wide accesses: only elements whose offsets differ by "
        "2 or 1 are in one lane for both"
    )


@pytest.mark.parametrize("kind", [LayoutKind.ROTATE_ROWS, LayoutKind.PADDING, LayoutKind.CHAIN])
def test_no_layout_runs_more_phases_than_the_plain_one(kind):
    """On gfx950 four b32 reads run 8 phases where one b128 read runs 4."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        tile = LdsTile((16, 64), 32)
        starts = rng.permutation(256)[:64] * 4
        solve_checked(GFX950, tile, [LdsAccess(READ, starts, 4)], only(kind))


def test_a_full_set_of_banks_without_linear_structure():
    """Words 0-30 and 32 fit into 32 banks: word 32 must go to bank 31."""
    read = LdsAccess(READ, np.array([*range(31), 32]), 1)
    decision = solve_checked(SM80, LdsTile((64,), 32), [read], SolverOptions(kinds=LINEAR))
    assert decision.conflict_cycles == 0


@dataclass(frozen=True)
class Overlapping(PlainLayout):
    """A broken layout: two elements share every place."""

    def offsets(self, tile, elements):
        """Returns half the element number."""
        return np.asarray(elements, dtype=np.int64) // 2

    def group_elements(self, tile):
        """Returns 1: no run is contiguous."""
        return 1


def test_overlapping_elements_are_rejected():
    tile, accesses = LdsTile((64,), 32), [LdsAccess(READ, np.arange(32), 1)]
    proof = solve(SM80, tile, accesses).proof
    with pytest.raises(ProofError, match="two elements share a place"):
        check(replace(proof, layout=Overlapping()), SM80, accesses)


def test_weights_decide_what_matters():
    """Two reads that cannot both be free in one xor_shuffle: the heavier one wins."""
    tile = LdsTile((64, 128), 16)
    decisions = []
    for write_weight, read_weight in ((100, 1), (1, 100)):
        accesses = [
            LdsAccess(WRITE, LANES * 8, 8, weight=write_weight),
            LdsAccess(READ, LANES % 16 * 128 + LANES // 16 * 4, 4, weight=read_weight),
        ]
        options = only(LayoutKind.XOR_SHUFFLE)
        decisions.append(solve_checked(GFX942, tile, accesses, options))
    assert decisions[0].costs[0].conflict_cycles == 0
    assert decisions[1].costs[1].conflict_cycles <= decisions[0].costs[1].conflict_cycles


def test_no_accesses_and_no_lanes():
    tile = LdsTile((4, 4), 32)
    assert solve_checked(GFX942, tile, []).layout == PlainLayout()
    idle = LdsAccess(READ, LANES, 1, active=LANES < 0)
    assert solve_checked(GFX942, tile, [idle]).conflict_cycles == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_arbitrary_accesses_never_get_worse(seed):
    rng = np.random.default_rng(seed)
    lds = (GFX942, GFX950, SM80)[int(rng.integers(3))]
    tile = LdsTile(
        (int(rng.integers(1, 40)), int(rng.integers(8, 80))), int(rng.choice([8, 16, 32]))
    )
    accesses = []
    for _ in range(int(rng.integers(1, 4))):
        count = int(rng.integers(1, 9))
        shape = (int(rng.integers(1, 3)), lds.wave_size)
        elements = rng.integers(0, tile.elements - count + 1, shape)
        active = rng.random(shape) < rng.choice([0.5, 1.0])
        kind = READ if rng.random() < 0.5 else WRITE
        accesses.append(LdsAccess(kind, elements, count, int(rng.integers(0, 3)), active))
    decision = solve_checked(lds, tile, accesses)
    assert decision.conflict_cycles <= decision.plain_conflict_cycles


def mutations(proof):
    yield replace(proof, arch="gfx950")
    yield replace(proof, conflict_cycles=proof.conflict_cycles + 1)
    yield replace(proof, plain_conflict_cycles=proof.plain_conflict_cycles + 1)
    yield replace(proof, lds_bytes=proof.lds_bytes + 4)
    yield replace(proof, costs=proof.costs[:-1])
    for index, cost in enumerate(proof.costs):
        for changed in (
            AccessCost(cost.conflict_cycles + 1, cost.wavefronts, cost.instructions),
            AccessCost(cost.conflict_cycles, cost.wavefronts - 1, cost.instructions),
            AccessCost(cost.conflict_cycles, cost.wavefronts, cost.instructions + 1),
        ):
            costs = (*proof.costs[:index], changed, *proof.costs[index + 1 :])
            yield replace(proof, costs=costs)
    for optimality in Optimality:
        if optimality is not proof.optimality and proof.conflict_cycles == 0:
            yield replace(proof, optimality=optimality)
    yield replace(proof, layout=SwizzledLayout((XorShuffle(12, 4),)))
    if proof.layout != PlainLayout():
        yield replace(proof, layout=PlainLayout())


def test_mutated_proofs_are_rejected():
    tile, accesses = wave_transpose()
    proof = solve(SM80, tile, accesses).proof
    check(proof, SM80, accesses)
    for mutated in mutations(proof):
        with pytest.raises(ProofError):
            check(mutated, SM80, accesses)
    with pytest.raises(ProofError, match="arch"):
        check(proof, GFX942, accesses)
    with pytest.raises(ProofError, match=r"costs\[31\]"):
        check(proof, SM80, [*accesses[:31], LdsAccess(READ, np.arange(32) % 16 * 34, 1)])


def is_true(proof, lds, accesses):
    """Returns whether the numbers of a proof with a true layout are right, by the layouts."""
    tile, layout = proof.tile, proof.layout
    if isinstance(layout, SwizzledLayout) and not layout.is_bijection(tile):
        return False
    try:
        costs = access_costs(lds, tile, layout, accesses)
    except SubByteAccessError:
        return False
    conflicts = layout_conflicts(lds, tile, layout, accesses)
    return (proof.arch, proof.costs, proof.lds_bytes, proof.conflict_cycles) == (
        lds.arch,
        costs,
        layout.size_bytes(tile),
        conflicts,
    ) and proof.plain_conflict_cycles == layout_conflicts(lds, tile, PlainLayout(), accesses)


layouts = st.one_of(
    st.just(PlainLayout()),
    st.builds(PaddedLayout, st.integers(0, 9)),
    st.builds(
        lambda shuffles, padding: SwizzledLayout(tuple(shuffles), padding),
        st.lists(
            st.builds(
                lambda width, groups: XorShuffle(1 << (width + groups), 1 << width),
                st.integers(0, 4),
                st.integers(1, 3),
            ),
            min_size=1,
            max_size=2,
        ),
        st.sampled_from([0, 0, 0, 4]),
    ),
)


@st.composite
def changed_proofs(draw, proof):
    """Returns `proof` with one of its fields changed."""
    field = draw(st.sampled_from([f.name for f in fields(proof)]))
    value = getattr(proof, field)
    if field == "arch":
        changed = draw(st.sampled_from(["gfx90a", "gfx942", "gfx950", "sm_80", "sm_90", ""]))
    elif field == "layout":
        changed = draw(layouts)
    elif field == "optimality":
        changed = draw(st.sampled_from(Optimality))
    elif field == "tile":
        bits = draw(st.sampled_from([8, 16, 32]))
        changed = LdsTile(draw(st.sampled_from([value.shape, (32, 32), (64, 32)])), bits)
    elif field == "costs":
        costs = [tuple(cost) for cost in value]
        access, part = draw(st.integers(0, len(costs) - 1)), draw(st.integers(0, 2))
        changed_cost = list(costs[access])
        changed_cost[part] += draw(st.integers(-3, 3))
        costs[access] = tuple(changed_cost)
        shorter = draw(st.integers(len(costs) - 1, len(costs)))
        changed = tuple(AccessCost(*cost) for cost in costs[:shorter])
    else:
        changed = value + draw(st.integers(-64, 64))
    assume(changed != value)
    return field, replace(proof, **{field: changed})


@cache
def proven_problems():
    """Yields tiles of 64 words on 32 banks: solved, not solvable, and without structure."""
    tile, lanes = LdsTile((16, 4), 32), np.arange(32)
    solvable = [LdsAccess(READ, lanes % 16 * 4 + lanes // 16, 1), LdsAccess(WRITE, lanes * 2, 2)]
    gather = LdsAccess(READ, np.random.default_rng(1).permutation(64)[:32], 1)
    return [
        (tile, accesses, solve(SM80, tile, accesses, SolverOptions(LINEAR)).proof)
        for accesses in (solvable, unsolvable(), [*unsolvable(), gather])
    ]


def test_every_optimality_is_among_the_proven_problems():
    assert {proof.optimality for _, _, proof in proven_problems()} == set(Optimality)


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 2), st.data())
def test_changed_proofs_are_rejected_unless_true(number, data):
    """A changed field is found, unless it is another layout or claim that is true as well."""
    _, accesses, proof = proven_problems()[number]
    check(proof, SM80, accesses)
    field, changed = data.draw(changed_proofs(proof))
    weaker = changed.optimality is Optimality.BEST_FOUND and changed.conflict_cycles
    if (field == "layout" and is_true(changed, SM80, accesses)) or (
        field == "optimality" and weaker
    ):
        check(changed, SM80, accesses)
    else:
        with pytest.raises((ProofError, InvalidParameterError)):
            check(changed, SM80, accesses)


def test_a_swizzle_that_leaves_the_allocation_is_rejected():
    tile = LdsTile((40,), 32)
    accesses = [LdsAccess(READ, np.arange(32), 1)]
    proof = solve(SM80, tile, accesses).proof
    for layout in (SwizzledLayout((XorShuffle(20, 4),)), SwizzledLayout((XorShuffle(16, 4),))):
        with pytest.raises(ProofError, match="layout"):
            check(replace(proof, layout=layout), SM80, accesses)


def test_layout_kinds():
    assert layout_kind(SwizzledLayout((RotateRows(8, 4),))) is LayoutKind.ROTATE_ROWS
    assert layout_kind(SwizzledLayout((XorShuffle(8, 4),), 8)) is LayoutKind.SWIZZLE_AND_PADDING


def test_bad_accesses():
    tile = LdsTile((64,), 32)
    with pytest.raises(ValueError, match="elements is 0"):
        solve(GFX942, tile, [LdsAccess(READ, LANES * 2, 1)])
    with pytest.raises(ValueError, match=r"elements\.shape"):
        solve(SM80, tile, [LdsAccess(READ, LANES, 1)])


def rows_of_12_words():
    """Returns a matrix operation's reads of 16 rows of 12 words, and the writes of 3 at a time."""
    reads = [
        LdsAccess(READ, (LANES % 16 + 16 * half) * 12 + LANES // 16 + 4 * step, 1)
        for half in range(2)
        for step in range(3)
    ]
    writes = [LdsAccess(WRITE, 192 * half + 3 * LANES, 3) for half in range(2)]
    return LdsTile((32, 12), 32), [*reads, *writes]


def test_rows_that_begin_at_one_bank_are_told_apart():
    """Row 8 begins where row 0 does. No bit of an offset says which of the two it is."""
    tile, accesses = rows_of_12_words()
    for padding in range(1, 4):
        assert layout_conflicts(GFX942, tile, PaddedLayout(padding), accesses) > 0
    decision = solve_checked(GFX942, tile, accesses, only(LayoutKind.XOR_SHUFFLE))
    assert decision.conflict_cycles == 0
    # The halves of a row hold the 3 words of a write together.
    assert decision.layout == SwizzledLayout((XorShuffle(12, 6, 96),))
    assert not decision.vectorization.split_accesses
    rules = HintRules.of(tile, accesses)
    assert rules.allows(decision.layout)


def test_whole_rows_are_rotated_together():
    tile, accesses = rows_of_12_words()
    decision = solve_checked(GFX942, tile, accesses, only(LayoutKind.ROTATE_ROWS))
    assert decision.conflict_cycles == 0
    assert isinstance(decision.layout, SwizzledLayout)
    (rotation,) = decision.layout.swizzles
    assert rotation.row_width == 96


def test_many_kinds_of_vectors_are_not_divided_in_all_ways():
    """Of 40 kinds of accesses there are 2^40 divisions into those that are split and others."""
    tile, steps = LdsTile((64, 64), 32), range(1, 41)
    accesses = [LdsAccess(READ, (LANES % 2 * 2 * each).reshape(1, 64), 2) for each in steps]
    cases = LinearCases(GFX942, tile, accesses, [4, 2, 1])
    assert len(cases.classes.vectors) == len(steps)
    assert all(case.phases for case in cases.cases(max_phases=1 << 20))
    assert cases.cut_off and not cases.cover_everything()
