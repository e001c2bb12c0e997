# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for linear swizzles against enumeration of all of them."""

import functools
import itertools
import operator
from collections import Counter
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model import f2, swizzle_search
from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.constraints import PhaseSets, bank_constraints, phase_sets
from bankwise.bank_model.layouts import SwizzledLayout, layout_conflicts
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.splitting import Division, VectorClass, access_classes
from bankwise.bank_model.swizzle_search import (
    SearchSpace,
    cheapest_fields,
    cheapest_swizzles,
    dividing_fields,
    field_steps,
    free_pairs,
)
from bankwise.bank_model.swizzles import xor_chain

BITS = 7


def random_constraints(rng, mask_choices):
    """Returns word differences of random subspaces, each injective into its banks at first."""
    subspaces = Counter()
    for _ in range(int(rng.integers(1, 5))):
        mask = int(rng.choice(mask_choices))
        basis = f2.reduced_basis(int(x) for x in rng.integers(1, 1 << BITS, rng.integers(1, 5)))
        subspaces[basis, mask] += int(rng.integers(1, 4))
    banks = frozenset(mask + 1 for mask in mask_choices)
    return bank_constraints([PhaseSets(subspaces, {}, banks, 0, 0, 0)])


def cost_of(constraints, swizzle):
    return int(constraints.cost(swizzle.apply(constraints.vectors)))


def enumerate_costs(constraints, space):
    """Yields the cost of every choice of columns at and above the lowest bank count."""
    return (cost for _, cost in enumerate_choices(constraints, space))


def enumerate_choices(constraints, space):
    """Yields every choice of columns at and above the lowest bank count, with its cost."""
    low = constraints.common_bank_bits
    allowed = [
        [v for v in range(1 << min(j, 3)) if v & ~space.targets == 0]
        for j in range(low, space.bits)
    ]
    for columns in itertools.product(*allowed):
        images = constraints.vectors.copy()
        for j, value in zip(range(low, space.bits), columns, strict=True):
            images ^= (constraints.vectors >> j & 1) * value
        yield columns, int(constraints.cost(images))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_cheapest_swizzle_is_found(seed):
    """With 4 and 8 banks, so that all matrices can be tried."""
    rng = np.random.default_rng(seed)
    constraints = random_constraints(rng, [(3,), (7,), (3, 7)][int(rng.integers(3))])
    group_bit = int(rng.integers(0, 2))
    top = int(constraints.bank_masks.max())
    space = SearchSpace(BITS, top & ~((1 << group_bit) - 1))
    least = min(enumerate_costs(constraints, space))
    assert constraints.pigeonhole_bound(space.targets) <= least
    for changes_group_bit in (False, True):
        division = Division(group_bit, changes_group_bit=changes_group_bit)
        result = cheapest_swizzles(constraints, space, division, 10**6, max_nodes=10**6)
        assert result.complete
        for swizzle in result.swizzles:
            assert cost_of(constraints, swizzle) == result.cost
            assert swizzle.targets & ~space.targets == 0
            assert swizzle.group_elements >= 1 << group_bit
            if changes_group_bit:
                assert swizzle.group_elements == 1 << group_bit
        # A required bit above the bank bits' second-lowest can be changed by renaming banks.
        if not changes_group_bit or group_bit + 1 < constraints.common_bank_bits:
            # The identity is no answer, even where no bit helps to do better.
            identity = int(constraints.cost(constraints.vectors))
            assert min(result.cost, identity) == least
        else:
            assert result.cost >= least


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_of_refused_swizzles_the_least_cost_is_found(seed):
    rng = np.random.default_rng(seed)
    constraints = random_constraints(rng, (7,) if rng.integers(4) == 0 else (3,))
    refused = int(rng.integers(1, 8)) & int(constraints.bank_masks.max())
    space = SearchSpace(BITS, int(constraints.bank_masks.max()), refused)
    costs = {False: [10**6], True: [10**6]}
    for columns, cost in enumerate_choices(constraints, space):
        changed = functools.reduce(operator.or_, columns)
        costs[bool(changed & -changed & refused)].append(cost)
    result = cheapest_swizzles(constraints, space, Division(0), 10**6, max_nodes=10**6)
    assert result.complete
    assert all(each.group_elements & ~refused for each in result.swizzles)
    # The identity is no answer, nor is a column on which no vector depends.
    identity = int(constraints.cost(constraints.vectors))
    assert min(result.cost, identity) == min(costs[False])
    least = 10**6 if result.least_refused is None else result.least_refused
    assert min(result.cost, least, identity) == min(*costs[False], *costs[True])


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_single_and_paired_fields(seed):
    rng = np.random.default_rng(seed)
    constraints = random_constraints(rng, (3, 7))
    space = SearchSpace(BITS, 7)
    ranked = cheapest_fields(constraints, Division(0), field_steps(space))
    assert [c for c, _ in ranked] == sorted(c for c, _ in ranked)
    for cost, field in ranked:
        assert cost == cost_of(constraints, field.linear)
    assert len({field.linear for _, field in ranked}) == len(ranked)
    for outer, inner in free_pairs(constraints, Division(0, changes_group_bit=True), ranked):
        assert cost_of(constraints, inner.linear.then(outer.linear)) == 0
        assert 0 in (outer.target, inner.target)


def random_division(rng):
    """Returns vectors of 2 and 4 words that stay whole or are split into words."""
    classes = [
        VectorClass(
            k, f2.reduced_basis(int(x) << k for x in rng.integers(1, 1 << (BITS - k), 2)), ()
        )
        for k in rng.integers(1, 3, int(rng.integers(1, 4))).tolist()
    ]
    number = int(rng.integers(0, len(classes) + 1))
    split, whole = classes[:number], classes[number:]
    return Division(0, tuple(whole), tuple(split), changes_group_bit=number > 0)


def divides(division, swizzle):
    """Returns whether columns divide, by the order of words in the vectors."""

    def whole(vectors):
        return all(
            int(swizzle.apply(d)) % (1 << vectors.word_bits) == 0
            for d in f2.span(vectors.differences)
        )

    split = not any(map(whole, division.split))
    if division.changes_group_bit:
        split = split and swizzle.group_elements == 1 << division.group_bit
    return split and all(map(whole, division.whole))


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32 - 1))
def test_swizzles_divide_the_vectors_as_they_should(seed):
    rng = np.random.default_rng(seed)
    constraints, division = random_constraints(rng, (3, 7)), random_division(rng)
    space = SearchSpace(BITS, 7)
    fields = field_steps(space)
    ranked = cheapest_fields(constraints, division, fields)
    singles = {field for _, field in dividing_fields(division, ranked)}
    assert singles == {field for field in fields if divides(division, field.linear)}
    for outer, inner in free_pairs(constraints, division, ranked):
        assert divides(division, inner.linear.then(outer.linear))
    result = cheapest_swizzles(constraints, space, division, 10**6, max_nodes=300)
    for swizzle in result.swizzles:
        assert divides(division, swizzle)
        assert cost_of(constraints, swizzle) == result.cost
        assert result.cost >= constraints.pigeonhole_bound(space.targets, division.vanishing)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_branches_that_end_in_refused_swizzles_hold_nothing_else(seed):
    rng = np.random.default_rng(seed)
    constraints, division = random_constraints(rng, (3,)), random_division(rng)
    space = SearchSpace(BITS, 3, int(rng.integers(1, 4)))
    result = cheapest_swizzles(constraints, space, division, 10**6, max_nodes=10**4)
    with mock.patch.object(swizzle_search._Walk, "is_settled", return_value=False):
        longer = cheapest_swizzles(constraints, space, division, 10**6, max_nodes=10**4)
    assert longer.nodes >= result.nodes
    assert result == longer._replace(nodes=result.nodes)


def test_accesses_are_sorted_by_what_swizzles_do_to_them():
    lanes = np.arange(64)
    accesses = [
        LdsAccess(AccessKind.READ, lanes * 8, 8),
        LdsAccess(AccessKind.READ, lanes * 8 ^ 512, 8),
        LdsAccess(AccessKind.READ, lanes % 2 * 64, 4),
        LdsAccess(AccessKind.READ, lanes * 2, 2),
        LdsAccess(AccessKind.READ, lanes * 2 + 1, 2),
        LdsAccess(AccessKind.READ, lanes * 3, 3),
    ]
    classes = access_classes(accesses, to_words=-1)
    assert [(c.word_bits, c.members) for c in classes.vectors] == [(2, (0, 1)), (1, (2,))]
    assert classes.vectors[0].differences == (128, 64, 32, 16, 8, 4)
    assert classes.vectors[1].differences == (32,)
    assert (classes.narrow, classes.irregular) == ((3,), (4, 5))


def test_the_node_limit_is_reported():
    rng = np.random.default_rng(1)
    constraints = random_constraints(rng, (3,))
    result = cheapest_swizzles(constraints, SearchSpace(BITS, 3), Division(0), 10**6, max_nodes=2)
    assert not result.complete
    assert result.nodes == 2


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "sm_80"])
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_costs_of_linear_accesses_are_their_conflict_cycles(arch, seed):
    rng = np.random.default_rng(seed)
    lds, tile = lds_of(arch), LdsTile((4096,), 16)
    count = int(rng.choice([1, 2, 4, 8]))
    columns = [int(c) // count * count for c in rng.integers(0, 4096, 6)]
    lanes = np.arange(lds.wave_size)
    elements = np.zeros_like(lanes)
    for bit, column in enumerate(columns):
        elements ^= (lanes >> bit & 1) * column
    accesses = [LdsAccess(AccessKind.READ, elements, count, weight=3)]
    constraints = bank_constraints([phase_sets(lds, tile, accesses, max(count, 2))])
    assert constraints.exact
    group_bit = max(count // 2, 1).bit_length() - 1
    banks = max(i.banks for i in lds.instructions)
    space = SearchSpace(11, (banks - 1) & ~((1 << group_bit) - 1))
    for cost, field in cheapest_fields(constraints, Division(0), field_steps(space))[::17]:
        layout = SwizzledLayout(xor_chain(field.linear.scaled(1)))
        assert cost == layout_conflicts(lds, tile, layout, accesses)
        assert cost >= constraints.pigeonhole_bound(space.targets)


def test_masked_and_uneven_sets_bound_what_is_counted():
    """Random gathers: the bound never exceeds the exact count of any swizzle."""
    rng = np.random.default_rng(3)
    lds, tile = lds_of("sm_80"), LdsTile((256,), 32)
    for _ in range(20):
        elements = rng.integers(0, 64, 32) * 4
        active = rng.random(32) < 0.8
        accesses = [LdsAccess(AccessKind.WRITE, elements, 4, active=active)]
        constraints = bank_constraints([phase_sets(lds, tile, accesses, 4)])
        space = SearchSpace(8, 0b11100)
        bound = constraints.pigeonhole_bound(space.targets)
        for cost, field in cheapest_fields(constraints, Division(0), field_steps(space)):
            layout = SwizzledLayout(xor_chain(field.linear))
            conflicts = layout_conflicts(lds, tile, layout, accesses)
            assert bound <= conflicts
            assert constraints.least_cost(space.targets) <= cost
            assert (cost == 0) == (conflicts == 0)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_bounds_of_uneven_phases_count_what_stays_whole(seed):
    """Of chains that leave vectors whole none has fewer conflicts, nor fewer pairs on one bank."""
    rng = np.random.default_rng(seed)
    division, mask = random_division(rng), int(rng.choice([3, 7]))
    words = tuple(sorted({0, *rng.integers(0, 1 << BITS, 12).tolist()}))
    uneven = {(words, mask): int(rng.integers(1, 4))}
    constraints = bank_constraints([PhaseSets({}, uneven, frozenset({mask + 1}), 1, 1, 1)])
    (weight,) = uneven.values()
    space = SearchSpace(BITS, mask)
    bound = constraints.pigeonhole_bound(space.targets, division.vanishing)
    least = constraints.least_cost(space.targets, division.vanishing)
    steps = [each.linear for each in field_steps(space)]
    pairs = (steps[i].then(steps[j]) for i, j in rng.integers(0, len(steps), (200, 2)))
    for swizzle in (*steps, *pairs):
        if divides(division, swizzle):
            banks = Counter((swizzle.apply(np.array(words)) & mask).tolist())
            assert bound <= weight * (max(banks.values()) - 1)
            assert least <= cost_of(constraints, swizzle)


def test_rows_of_words_that_stay_together_share_banks():
    """Lanes read 2 words of each of 16 rows of 36 words, which are written 4 words at once.

    Groups of 4 words leave 8 places to the 16 rows: 2 rows on each, so that each phase has a
    conflict, and 2 * 8 of its pairs of words share a bank.
    """
    rows = sorted(36 * row + word for row in range(16) for word in (0, 1))
    uneven = {(tuple(rows), 31): 1}
    constraints = bank_constraints([PhaseSets({}, uneven, frozenset({32}), 1, 1, 1)])
    whole = VectorClass(2, tuple(4 << bit for bit in reversed(range(8))), ())
    vanishing = Division(0, (whole,)).vanishing
    assert constraints.pigeonhole_bound(31) == constraints.least_cost(31) == 0
    assert constraints.pigeonhole_bound(31, vanishing) == 1
    assert constraints.least_cost(31, vanishing) == 16


def test_uneven_phases_become_their_differences():
    """Weights are those of all pairs of words, bounds those of words with equal fixed bits."""
    rng = np.random.default_rng(8)
    drawn = [tuple(sorted({0, *rng.integers(0, 512, n).tolist()})) for n in (1, 7, 7, 30)]
    masks, weights = (31, 31, 63, 63), (1, 2, 3, 4)
    uneven = dict(zip(zip(drawn, masks, strict=True), weights, strict=True))
    constraints = bank_constraints([PhaseSets({}, uneven, frozenset({32, 64}), 10, 10, 10)])
    expected = Counter()
    for (words, mask), weight in uneven.items():
        for first, second in itertools.combinations(words, 2):
            expected[first ^ second, mask] += weight
    found = zip(constraints.vectors, constraints.bank_masks, constraints.weights, strict=True)
    assert {(int(v), int(m)): int(w) for v, m, w in found} == expected
    for target in (0, 0b1100, 0b111110):
        bound = 0
        for (words, mask), weight in uneven.items():
            crowd = max(Counter(word & mask & ~target for word in words).values())
            bound += weight * ((crowd - 1) // 2 ** (mask & target).bit_count())
        assert constraints.pigeonhole_bound(target) == bound
