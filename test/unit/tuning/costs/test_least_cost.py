# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tuning/costs/least_cost: what costs the least is found without asking what may not be it."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from bankwise.tuning.costs.least_cost import least_cost

NUMBERS = st.sampled_from([1.0, 2.0, 3.0, inf])


@given(st.lists(st.tuples(NUMBERS, st.sampled_from([0.0, 0.5, 1.0]))), NUMBERS)
def test_it_is_the_first_of_all_that_cost_the_least(
    choices: list[tuple[float, float]], most: float
) -> None:
    costs = [cost for cost, _ in choices]
    bounds = [cost * part if part else 0.0 for cost, part in choices]
    asked: list[int] = []

    def cost(number: int) -> tuple[float, int]:
        asked.append(number)
        return costs[number], number

    least = min(costs, default=inf)
    expected = (least, costs.index(least)) if costs and least <= most else None
    assert least_cost(bounds, cost, most) == expected
    assert len(asked) == len(set(asked))
    assert all(bounds[number] <= min(least, most) for number in asked if least <= most)
