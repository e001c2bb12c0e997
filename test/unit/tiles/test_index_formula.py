# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas of lane and register: what they mean, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.tiles.index_formula import IndexFormula
from bankwise.tiles.tile_errors import AccessError


def values(text: str, registers: int = 1) -> list[list[int]]:
    """Returns the indices in 1 wave of 4 lanes, [steps * lanes] each."""
    indices, active = IndexFormula.parse(text).values(1, 4, registers)
    assert active.all()
    return [index.ravel().tolist() for index in indices]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lane", [0, 1, 2, 3]),
        ("lane % 2 * 8 + lane // 2", [0, 8, 1, 9]),
        # C's division of what is not negative.
        ("lane / 2", [0, 0, 1, 1]),
        ("lane ^ 3", [3, 2, 1, 0]),
        ("(lane << 2 | 1) & 13 >> 0", [1, 5, 9, 13]),
        ("lane if lane < 2 else 7 - lane", [0, 1, 5, 4]),
        ("5 if not 1 <= lane < 3 and lane != 9 or lane == 2 else 6", [5, 6, 5, 5]),
        ("+lane - -1", [1, 2, 3, 4]),
    ],
)
def test_operators(text: str, expected: list[int]) -> None:
    assert values(text) == [expected]


def test_the_last_loop_runs_fastest() -> None:
    found = values("(step, reg + lane) for step in range(2) for reg in range(0, 6, 3)")
    assert found[0] == [0] * 8 + [1] * 8
    assert found[1] == [0, 1, 2, 3, 3, 4, 5, 6] * 2


def test_without_a_loop_reg_counts_the_share() -> None:
    formula = IndexFormula.parse("lane * 2 + reg")
    assert formula.counts_registers
    assert not IndexFormula.parse("reg for reg in range(2)").counts_registers
    assert values("lane * 2 + reg", 2) == [[0, 2, 4, 6, 1, 3, 5, 7]]


def test_conditions_mask_lanes() -> None:
    formula = IndexFormula.parse("lane * k for k in range(2) if lane > 1 if k == 1")
    (index,), active = formula.values(1, 4, 1)
    assert active.ravel().tolist() == [False] * 6 + [True] * 2
    assert index[active].tolist() == [2, 3]


def test_waves_and_threads() -> None:
    indices, _ = IndexFormula.parse("(wave, thread)").values(2, 4, 1)
    assert indices[0].tolist() == [[[0] * 4, [1] * 4]]
    assert np.array_equal(indices[1].ravel(), np.arange(8))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("lane +", "not a formula as Python writes it"),
        ("", "not a formula"),
        ("lane) or (lane", "not a formula"),
        ("()", "it has no index"),
        ("__import__('os').system('true')", "not understood"),
        ("lane.__class__", "not understood"),
        ("[lane][0]", "not understood"),
        ("(lambda: 1)()", "not understood"),
        ("lane ** 2", "not understood"),
        ("~lane", "not understood"),
        ("(x := 3)", "not understood"),
        ("f'{lane}'", "not understood|no whole number"),
        ("1.5 * lane", "1.5 is no whole number"),
        ("True", "True is no whole number"),
        ("row", "`row` is not known; there are lane, wave, thread, reg"),
        ("lane for lane in range(2)", "`lane` is known already"),
        ("k for k in range(2) for k in range(2)", "count the same name"),
        ("k for k in range(lane)", "a loop is written"),
        ("k for k in range(1, 9, 0)", "a loop is written"),
        ("k for k in [1, 2]", "a loop is written"),
        ("k for k in range(0)", "0 steps"),
        ("k for k in range(5000)", "5000 steps"),
        ("lane // (lane - 1)", "divides"),
        ("(0 - lane) % 4", "divides what is negative"),
        ("lane << 32", "shifts by"),
        ("lane * 2000000000 * 2000000000", "beyond 2"),
        ("9999999999999999999999999 * lane", "beyond 2"),
        ("1 << 31 << 31 << 31", "beyond 2"),
        ("lane" + "+1" * 400, "more than"),
        ("(" * 400 + "1" + ")" * 400, "not a formula|more than"),
        ("lane" + " " * 2000, "more than 1000 characters"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(AccessError, match=reason):
        values(text)
