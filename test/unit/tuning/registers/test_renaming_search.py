# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A search that knows what choices cost at least finds the same, and costs fewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from bankwise.tuning.registers.renaming_search import RenamingCost, RenamingSearch

Costs = Mapping[tuple[int, ...], RenamingCost | None]

_CHOICES = range(4)


def _drawn(random: np.random.Generator) -> Costs:
    """Returns the costs of all choices for two renamings, some of which cannot be made."""
    found: dict[tuple[int, ...], RenamingCost | None] = {}
    for one in _CHOICES:
        for other in _CHOICES:
            figures = [int(each) for each in random.integers(0, 4, 3)]
            possible = (one, other) == (0, 0) or random.random() < 0.8
            found[one, other] = RenamingCost(*figures) if possible else None
    return found


def _search(costs: Costs, lowered: Costs | None, asked: list[object]) -> list[int]:
    def cost(number: int, choices: Sequence[int]) -> RenamingCost | None:
        asked.append((number, *choices))
        return costs[tuple(choices)]

    search = RenamingSearch(0, lambda _: _CHOICES[1:], cost)
    if lowered is not None:
        floor = lambda _, choices: lowered[tuple(choices)]  # noqa: E731
        search = RenamingSearch(0, lambda _: _CHOICES[1:], cost, floor)
    return search.choices(2)


@pytest.mark.parametrize("slack", [0, 1, 2])
def test_floors_change_no_choice(slack: int) -> None:
    costed = {True: 0, False: 0}
    for seed in range(100):
        random = np.random.default_rng(seed)
        costs = _drawn(random)
        lowered = {
            key: cost
            and RenamingCost(*(max(0, n - int(random.integers(0, slack + 1))) for n in _of(cost)))
            for key, cost in costs.items()
        }
        results: list[list[int]] = []
        for bounds in (None, lowered):
            asked: list[object] = []
            results.append(_search(costs, bounds, asked))
            costed[bounds is None] += len(asked)
        assert results[0] == results[1]
    assert costed[False] < costed[True] / 1.5


def _of(cost: RenamingCost) -> tuple[int, int, int]:
    return cost.lds_cycles, cost.lds_instructions, cost.lds_accesses


def test_what_cannot_be_made_is_not_chosen() -> None:
    costs = {0: RenamingCost(2), 1: None, 2: RenamingCost(1), 3: None}
    search = RenamingSearch(0, lambda _: _CHOICES[1:], lambda _, choices: costs[choices[0]])
    assert search.choices(1) == [2]
