# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The legality rule against brute force, and one reason per early exit."""

from __future__ import annotations

from itertools import pairwise
from math import lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import SwizzledLayout
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.paddings import padding_choices
from bankwise.bank_model.proof import check
from bankwise.bank_model.solver import LayoutKind, SolverOptions, solve
from bankwise.bank_model.swizzle_legality import (
    AccessFootprint,
    HintRules,
    Placement,
    contiguous_run,
    placement,
    split_points,
)
from bankwise.bank_model.swizzles import RotateRows, Swizzle, XorShuffle

GFX942 = lds_of("gfx942")


@st.composite
def _swizzles(draw: st.DrawFn) -> Swizzle:
    access = draw(st.sampled_from([1, 2, 3, 4, 6, 8]))
    row = access * draw(st.integers(1, 9))
    if draw(st.booleans()):
        return RotateRows(row, access)
    phase = draw(st.integers(1, row // access))
    return XorShuffle(row, access, row * draw(st.integers(1, 3)), phase)


_CHAINS = st.lists(_swizzles(), min_size=1, max_size=3).map(tuple)


def illegality(chain, size, accesses):
    """Why the chain is illegal on `size` elements, of whose accesses so much is known."""
    footprints = tuple(AccessFootprint(*each) for each in accesses)
    return HintRules(LdsTile((size,), 32), footprints).why_not(chain)


def _moved(chain: tuple[Swizzle, ...], offsets: np.ndarray) -> np.ndarray:
    for swizzle in reversed(chain):
        offsets = swizzle.apply(offsets)
    return offsets


@given(chain=_CHAINS, size=st.integers(1, 700))
def test_a_legal_chain_permutes_the_allocation(chain, size):
    size *= lcm(*(s.row_width for s in chain)) if size % 2 else 1
    if illegality(chain, size, []) is None and size < 20000:
        moved = _moved(chain, np.arange(size))
        assert (np.sort(moved) == np.arange(size)).all()


@settings(max_examples=100, deadline=None)
@given(
    chain=_CHAINS,
    count=st.integers(1, 24),
    multiple=st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12, 16, 24]),
    residue=st.integers(0, 23),
)
def test_a_placed_access_stays_together(chain, count, multiple, residue):
    """Every offset that fits what is known keeps the pieces of the access in one piece each."""
    run = contiguous_run(chain)
    access = AccessFootprint(count, multiple, residue)
    placed = placement(run, access)
    starts = [residue] if multiple == 0 else range(residue % multiple, 500, multiple)
    firsts = [0] if placed in (None, Placement.INSIDE) else split_points(run, access)
    if placed is None:
        # The rule is exact: some offset that fits what is known really crosses a run.
        assert any(s % run + count > run and (s % run or count % run) for s in starts)
        return
    assert placed is not Placement.SPLIT or firsts == list(range(0, count, run))
    for start in starts:
        for first, end in pairwise([*firsts, count]):
            moved = _moved(chain, start + np.arange(first, end))
            assert (np.diff(moved) == 1).all()


@pytest.mark.parametrize(
    ("multiple", "residue", "firsts"),
    [
        (6, 0, [0, 2, 4]),
        (12, 0, [0, 4]),
        (12, 6, [0, 2]),
        (0, 6, [0, 2]),
        (3, 0, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_vectors_that_are_no_power_of_two_are_split_where_runs_begin(multiple, residue, firsts):
    """A lane copies 6 elements, of which every other one begins in the middle of a run of 4."""
    access = AccessFootprint(6, multiple, residue)
    assert placement(4, access) is Placement.PARTS
    assert split_points(4, access) == firsts
    assert illegality((XorShuffle(32, 4, 96, 2),), 3072, [access]) is None
    whole = access._replace(whole=True)
    assert "cannot be split" in str(illegality((XorShuffle(32, 4, 96, 2),), 3072, [whole]))


@pytest.mark.parametrize(
    ("chain", "size", "accesses", "reason"),
    [
        ((), 64, [], "no swizzle"),
        ((XorShuffle(12, 4),), 48, [], "not a bijection: its rows have 3 groups"),
        ((XorShuffle(16, 4),), 40, [], "not a bijection of 40 elements"),
        ((XorShuffle(16, 4), RotateRows(64, 4)), 32, [], "rotate_rows<64, 4> is not a bijection"),
        ((XorShuffle(16, 4),), 64, [(0, 4)], "access of 0 elements"),
        ((XorShuffle(16, 4),), 64, [(8, 2)], "may begin inside a group of 4"),
        ((XorShuffle(16, 4),), 64, [(4, 1)], "its offset is not known"),
        ((XorShuffle(16, 4),), 64, [(2, 1)], "may cross a group of 4 contiguous elements"),
        ((XorShuffle(16, 4),), 64, [(4, 2)], "only known to be 0 modulo 2"),
        ((XorShuffle(16, 4),), 64, [AccessFootprint(2, 0, 7)], "its offset is 7"),
        ((XorShuffle(16, 4), XorShuffle(16, 8)), 64, [(8, 4), (4, 2)], "group of 4"),
    ],
)
def test_reasons(chain, size, accesses, reason):
    found = illegality(chain, size, accesses)
    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    ("chain", "size", "accesses"),
    [
        ((XorShuffle(16, 4),), 64, [(1, 1), (2, 2), (4, 4), (8, 4), (8, 8)]),
        ((XorShuffle(16, 4),), 64, [AccessFootprint(2, 4, 1), AccessFootprint(3, 0, 5)]),
        ((RotateRows(12, 4),), 36, [(4, 4), (1, 1)]),
        ((RotateRows(12, 3),), 36, [(3, 3), (6, 6), (6, 3)]),
        ((XorShuffle(16, 4), XorShuffle(16, 8)), 64, [(8, 4), (4, 4)]),
    ],
)
def test_legal(chain, size, accesses):
    assert illegality(chain, size, accesses) is None


def test_what_cannot_be_split_must_lie_inside_a_run():
    chain = (XorShuffle(16, 4),)
    assert illegality(chain, 64, [AccessFootprint(4, 4, 0, whole=True)]) is None
    found = illegality(chain, 64, [AccessFootprint(8, 4, 0, whole=True)])
    assert found == "access of 8 elements cannot be split into runs of 4"


def test_what_needs_an_alignment_moves_by_multiples_of_it():
    """Groups of 12 elements keep 8 of them together, and move them to element 12."""
    chain = (RotateRows(24, 12),)
    assert illegality(chain, 48, [AccessFootprint(8, 0, 0, whole=True)]) is None
    found = illegality(chain, 48, [AccessFootprint(8, 0, 0, whole=True, alignment=8)])
    assert found is not None
    assert "a multiple of 8 elements, and the swizzle moves runs of 12" in found


@pytest.mark.parametrize("lines", [1, 4])
def test_rows_of_three_powers_of_two_have_a_layout_without_conflicts(lines):
    """Rows of 96 f16, copied 6 elements a lane: no padding is free of conflicts, a swizzle is.

    Of the 48 words of a row, 16 rows are read at one column. The XOR with the number of two rows,
    in blocks of 16 words, brings these rows to different banks. The 32 lanes of a store's phase
    write two such rows, which the same XOR permutes.
    """
    tile = LdsTile((32, 96), 16)
    lanes = np.arange(64)
    waves = np.arange(8)[:, None] * 64
    copied = LdsAccess(AccessKind.WRITE, (lanes + waves) * 6, 6)
    reads = [
        LdsAccess(AccessKind.READ, lanes % 16 * 96 + lanes // 16 * 4 + 16 * column, 4)
        for column in range(lines)
    ]
    *_, padded = padding_choices(GFX942, tile, [copied, *reads])
    kinds = frozenset({LayoutKind.XOR_SHUFFLE, LayoutKind.CHAIN})
    rules = HintRules.of(tile, [copied, *reads])
    decision = solve(GFX942, tile, [copied, *reads], SolverOptions(kinds, rules=rules))
    assert padded.conflict_cycles > 0
    assert decision.conflict_cycles == 0
    assert decision.layout == SwizzledLayout((XorShuffle(32, 4, 96, 2),))
    check(decision.proof, GFX942, [copied, *reads])
