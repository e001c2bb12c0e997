# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of many costs the least, where a lower bound of each is known sooner than what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Cost = TypeVar("Cost", float, tuple[int, ...])
Found = TypeVar("Found")


def least_cost(
    bounds: Sequence[Cost], cost: Callable[[int], tuple[Cost, Found]], most: Cost | None = None
) -> tuple[Cost, Found] | None:
    """Returns the least cost, and what has it: the first of those that cost as much.

    Those are asked first that may cost the least, until none is left that may cost no more.

    Args:
        bounds: what each costs at least.
        cost: returns the cost of one, by its number, and what that is the cost of.
        most: what costs more is not asked for; None asks for all.

    Returns:
        None where all cost more than `most`, or there is none.
    """
    least, first, best = most, len(bounds), None
    for number in sorted(range(len(bounds)), key=bounds.__getitem__):
        if least is not None and bounds[number] > least:
            break
        costs, found = cost(number)
        if least is None or (costs, number) < (least, first):
            least, first, best = costs, number, (costs, found)
    return best
