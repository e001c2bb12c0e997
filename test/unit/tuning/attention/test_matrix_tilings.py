# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of the tiles of an attention is the best one."""

from __future__ import annotations

import math

import pytest

from bankwise.tuning.attention.matrix_tilings import nearly_fastest


@pytest.mark.parametrize(
    ("times", "cycles", "near"),
    [
        ([100, 100.9, 101.1], [10, 9.9, 9.8], [1, 0]),
        # Within 3 %, a tenth of the cycles has to be saved.
        ([100, 102.9], [10, 9], [1, 0]),
        ([100, 102.9], [10, 9.1], [0]),
        ([100, 103.1], [10, 1], [0]),
        ([100, 100.5, 102], [10, 11, 8], [2, 0, 1]),
        # Where the fastest has none, all without are equal.
        ([100, 102, 102], [0, 0, 1], [0, 1]),
        ([100, 100.5], [5, 0], [1, 0]),
    ],
)
def test_tiles_of_nearly_the_least_time_are_equal(
    times: list[float], cycles: list[float], near: list[int]
) -> None:
    assert nearly_fastest(times, cycles) == near


def test_tiles_that_do_not_fit_are_equal_among_themselves_alone() -> None:
    assert nearly_fastest([10, math.inf], [4, 0]) == [0]
    assert nearly_fastest([math.inf, math.inf], [4, 2]) == [1, 0]
