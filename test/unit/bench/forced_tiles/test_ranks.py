# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/forced_tiles/ranks: how well predictions order tiles."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

from bankwise.bench.forced_tiles.ranks import (
    Comparison,
    mean_logarithmic_error,
    rank_correlation,
    ratio_error,
)

MEASURED = {"a": 10.0, "b": 20.0, "c": 30.0}


@pytest.mark.parametrize(
    ("one", "other", "correlation"),
    [
        ((1, 2, 3), (10, 200, 3000), 1),
        ((1, 2, 3), (-1, -2, -3), -1),
        # 1 - 6 (0 + 1 + 1) / (3 (9 - 1)).
        ((1, 2, 3), (1, 3, 2), 0.5),
        # 1 - 6 (1 + 1 + 0 + 4 + 4) / (5 (25 - 1)).
        ((1, 2, 3, 4, 5), (2, 1, 3, 6, 4), 0.8),
        # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4.
        ((1, 7, 7, 9), (1, 2, 3, 4), 4.5 / math.sqrt(4.5 * 5)),
        ((1, math.inf), (1, 2), 1),
    ],
)
def test_ranks_are_correlated(one: tuple[float, ...], other: tuple[float, ...], correlation: float):
    assert rank_correlation(one, other) == pytest.approx(correlation)
    assert rank_correlation(other, one) == pytest.approx(correlation)


def test_the_correlation_is_that_of_the_distances_of_ranks():
    order = (1, 2, 3, 4)
    for other in permutations(order):
        distances = sum((a - b) ** 2 for a, b in zip(order, other, strict=True))
        assert rank_correlation(order, other) == pytest.approx(1 - 6 * distances / (4 * 15))


def test_what_cannot_be_ranked_has_no_correlation():
    assert math.isnan(rank_correlation([1], [1]))
    assert math.isnan(rank_correlation([1, 1], [1, 2]))


def test_the_predicted_best_tile_may_lose_to_the_best():
    found = Comparison("kernel", MEASURED, {"a": 3.0, "b": 2.0, "c": 9.0}, taken=15.0)
    assert (found.best, found.foreseen) == ("a", "b")
    assert (found.foreseen_loss, found.taken_loss) == (2, 1.5)
    assert found.correlation == pytest.approx(0.5)
    assert Comparison("kernel", MEASURED, MEASURED, None).taken_loss is None


def test_errors_are_logarithmic_and_of_what_fits():
    double = Comparison("kernel", MEASURED, {"a": 20.0, "b": 10.0, "c": math.inf}, None)
    assert mean_logarithmic_error([double]) == pytest.approx(math.log(2))
    exact = Comparison("kernel", MEASURED, MEASURED, None)
    assert mean_logarithmic_error([double, exact]) == pytest.approx(math.log(2) * math.sqrt(0.4))


def test_a_common_factor_is_no_error_of_ratios():
    times = {"a": 1.0, "b": 2.0}
    assert ratio_error([Comparison("kernel", times, {"a": 3.0, "b": 6.0}, None)]) == 0
    off = Comparison("kernel", times, {"a": 3.0, "b": 6.0 * math.e}, None)
    assert ratio_error([off]) == pytest.approx(math.sqrt(0.5))
