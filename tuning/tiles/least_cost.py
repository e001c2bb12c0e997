# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of many costs the least, where a lower bound of each is known sooner than what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TypeVar

Found = TypeVar("Found")


def least_cost(
    bounds: Sequence[float], cost: Callable[[int], tuple[float, Found]], most: float = inf
) -> tuple[float, Found] | None:
    """Returns the least cost, and what has it: the first of those that cost as much.

    Those are asked first that may cost the least, until none is left that may cost no more.

    Args:
        bounds: what each costs at least.
        cost: returns the cost of one, by its number, and what that is the cost of.
        most: what costs more is not asked for.

    Returns:
        None where all cost more than `most`.
    """
    least, first, best = most, len(bounds), None
    for number in sorted(range(len(bounds)), key=bounds.__getitem__):
        if bounds[number] > least:
            break
        costs, found = cost(number)
        if (costs, number) < (least, first):
            least, first, best = costs, number, (costs, found)
    return best
