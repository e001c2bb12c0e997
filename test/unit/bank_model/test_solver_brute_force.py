# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The solver against brute force over all linear swizzles of small tiles."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.address_patterns import address_patterns
from bankwise.bank_model.conflicts import phase_costs
from bankwise.bank_model.constraints import PlainInGroups
from bankwise.bank_model.layouts import (
    PaddedLayout,
    PlainLayout,
    SwizzledLayout,
    access_costs,
    layout_conflicts,
    machine_accesses,
)
from bankwise.bank_model.proof import Optimality, ProofError, check
from bankwise.bank_model.solver import (
    LayoutKind,
    SolverOptions,
    layout_kind,
    solve,
)
from bankwise.bank_model.swizzles import XorShuffle
from bankwise.bank_model.targets import AccessKind, target

READ, WRITE = AccessKind.READ, AccessKind.WRITE
GFX942, GFX950, SM80 = target("gfx942"), target("gfx950"), target("sm_80")
LINEAR = frozenset({LayoutKind.PLAIN, LayoutKind.XOR_SHUFFLE, LayoutKind.CHAIN})


def swizzled(masks, low, words):
    """`words` [...] under every XOR of bit low + j with masks[:, j]: [masks, ...]."""
    words = np.broadcast_to(words, (len(masks), *words.shape))
    moved = words
    for column in range(masks.shape[1]):
        mask = masks[:, column].reshape(-1, *[1] * (words.ndim - 1))
        moved = moved ^ (words >> (low + column) & 1) * mask
    return moved


def counted(machine, word):
    """Conflict cycles and phases [masks] of a machine access at words [masks, issues, lanes]."""
    addresses = word * 4 + machine.addresses % 4
    costs = phase_costs(machine.instruction, addresses, machine.active)
    return np.maximum(costs - 1, 0).sum(axis=(1, 2)), (costs > 0).sum(axis=(1, 2))


def fewest_conflicts(target, tile, accesses):
    """Over all group sizes and all XORs of bank bits with higher bits; power-of-two tiles.

    XORs among bank bits only rename banks, so they are left out. Vectors are either all split
    into groups, or all stay whole: if their words move alike in all lanes, within their blocks.
    """
    words = tile.elements * tile.element_bits // 32
    low = min(i.banks for i in target.instructions).bit_length() - 1
    high = max(i.banks for i in target.instructions).bit_length() - 1
    plain = access_costs(target, tile, PlainLayout(), accesses)
    best = sum(a.weight * c.conflict_cycles for a, c in zip(accesses, plain, strict=True))
    base = sum(a.weight * c.wavefronts for a, c in zip(accesses, plain, strict=True)) - best
    word_elements = max(32 // tile.element_bits, 1)
    widest = max(min(a.count * tile.element_bits // 8, 16) for a in accesses)
    group = max(widest * 8 // tile.element_bits, word_elements)
    while group >= word_elements:
        group_bit = (group * tile.element_bits // 32).bit_length() - 1
        choices = [
            [v << group_bit for v in range(1 << (min(j, high) - group_bit))]
            for j in range(low, words.bit_length() - 1)
        ]
        masks = np.array(list(itertools.product(*choices)), dtype=np.int64)
        split = np.zeros((2, len(masks)), dtype=np.int64)
        whole = np.zeros_like(split)
        all_kept = np.ones(len(masks), dtype=bool)
        for access in accesses:
            pieces = machine_accesses(target, tile, PlainInGroups(group), access)
            cost = sum(np.stack(counted(m, swizzled(masks, low, m.addresses // 4))) for m in pieces)
            split += access.weight * cost
            if access.count > group:
                (vector,) = machine_accesses(target, tile, PlainLayout(), access)
                block = access.count * tile.element_bits // 32
                start = swizzled(masks, low, vector.addresses // 4)
                order = (start % block).reshape(len(masks), -1)
                all_kept &= (order == order[:, :1]).all(axis=1)
                cost = np.stack(counted(vector, start - start % block))
            whole += access.weight * cost
        for total, possible in ((split, split[1] <= base), (whole, all_kept & (whole[1] <= base))):
            best = min(best, int(total[0][possible].min(initial=best)))
        group //= 2
    return best


def random_linear_access(rng, target, tile):
    """An access whose lanes lie on a random F2-linear map, its vector aligned to its size."""
    count = int(2 ** rng.integers(0, (128 // tile.element_bits).bit_length()))
    bits = tile.elements.bit_length() - 1
    columns = [
        int(rng.integers(0, tile.elements)) // count * count
        if rng.random() < 0.3
        else 1 << int(rng.integers(count.bit_length() - 1, bits))
        for _ in range(target.wave_size.bit_length() - 1)
    ]
    lanes = np.arange(target.wave_size)
    elements = np.zeros_like(lanes)
    for bit, column in enumerate(columns):
        elements ^= (lanes >> bit & 1) * column
    shift = rng.integers(0, tile.elements, (int(rng.integers(1, 3)), 1)) // count * count
    kind = AccessKind.READ if rng.random() < 0.5 else AccessKind.WRITE
    return LdsAccess(kind, elements ^ shift, count, weight=int(rng.integers(1, 5)))


def solve_checked(chip, tile, accesses, options=None):
    """Solves and has the proof checked."""
    decision = solve(chip, tile, accesses, options)
    check(decision.proof, chip, accesses)
    assert decision.conflict_cycles == layout_conflicts(chip, tile, decision.layout, accesses)
    assert decision.kind is layout_kind(decision.layout)
    assert decision.lds_bytes == decision.layout.size_bytes(tile)
    return decision


def wave_transpose():
    """16 x 32 f32, one 32-lane wave: lane -> column; read lane t, step r as the issue states."""
    t = np.arange(32)
    writes = [LdsAccess(WRITE, row * 32 + t, 1) for row in range(16)]
    reads = [LdsAccess(READ, t % 16 * 32 + 2 * r + t // 16, 1) for r in range(16)]
    return LdsTile((16, 32), 32), writes + reads


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_address_patterns_are_exact(seed):
    rng = np.random.default_rng(seed)
    tile = LdsTile((32, 64), 32)
    base = random_linear_access(rng, GFX942, tile)
    constants = [int(c) // base.count * base.count for c in rng.integers(0, 512, 6)]
    accesses = [replace(base, elements=(base.elements + c) % tile.elements) for c in constants]
    for layout in (PlainLayout(), SwizzledLayout((XorShuffle(64, 4),)), PaddedLayout(3)):
        group = layout.group_elements(tile)
        seen = set()
        for access in accesses:
            for first in range(0, access.count, group):
                offsets = layout.offsets(tile, np.minimum(access.elements + first, 2047))
                seen.add((access.elements.shape, (offsets - offsets[0, 0]).tobytes()))
        exact = address_patterns(tile, layout, accesses)
        # Families are never merged, so the count may only be too high, and rarely.
        assert exact >= len(seen)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_linear_swizzles_are_solved_as_brute_force_does(seed):
    rng = np.random.default_rng(seed)
    chip = (GFX942, GFX950, SM80)[int(rng.integers(3))]
    bits = int(rng.choice([8, 16, 32, 64]))
    words = 128 if chip is GFX950 else int(rng.choice([64, 128]))
    tile = LdsTile((words * 32 // bits,), bits)
    accesses = [random_linear_access(rng, chip, tile) for _ in range(int(rng.integers(1, 4)))]
    decision = solve_checked(chip, tile, accesses, SolverOptions(kinds=LINEAR))
    fewest = fewest_conflicts(chip, tile, accesses)
    assert decision.conflict_cycles <= fewest
    if all(access.count * bits <= 32 for access in accesses):
        # Without vectors nothing can be split or reordered: renaming banks never helps, and the
        # search is exhaustive.
        assert decision.conflict_cycles == fewest
        assert decision.optimality is not Optimality.BEST_FOUND


def unsolvable():
    """Two reads of a 64-word tile by 32 lanes that no linear swizzle frees.

    The words of the first are those with bit 0 clear, of the second those with bit 0 equal to
    bit 5. A swizzle sends one nonzero word to bank 0, with bit 5 set: bit 0 decides whose it is.
    """
    lanes = np.arange(32)
    first = LdsAccess(READ, lanes * 2, 1, weight=2)
    second = LdsAccess(READ, lanes % 16 * 2 + lanes // 16 * 33, 1, weight=3)
    return LdsTile((64,), 32), [first, second]


def test_linear_minimum_is_checked_by_search():
    tile, accesses = unsolvable()
    decision = solve_checked(SM80, tile, accesses, SolverOptions(kinds=LINEAR))
    assert decision.optimality is Optimality.LINEAR_MINIMUM
    assert decision.conflict_cycles == fewest_conflicts(SM80, tile, accesses) == 2
    padded = solve_checked(SM80, tile, accesses)
    assert padded.conflict_cycles <= 2
    # The plain layout is a valid layout with true counts, but not the minimum.
    tile, accesses = wave_transpose()
    costs = access_costs(SM80, tile, PlainLayout(), accesses)
    conflicts = sum(c.conflict_cycles for c in costs)
    claim = replace(
        solve(SM80, tile, accesses).proof,
        layout=PlainLayout(),
        costs=costs,
        conflict_cycles=conflicts,
        optimality=Optimality.LINEAR_MINIMUM,
    )
    with pytest.raises(ProofError, match="optimality: a linear swizzle of groups of 1"):
        check(claim, SM80, accesses)
    check(replace(claim, optimality=Optimality.BEST_FOUND), SM80, accesses)
