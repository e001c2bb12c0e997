# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which ranges of sizes get kernels of their own."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bankwise.tuning.costs.kernel_ranges import Logarithms, range_ends


def logarithms(*times: list[float]) -> Logarithms:
    return np.log(np.array(times))


@pytest.mark.parametrize(("most", "ends"), [(1, ()), (2, (3,)), (3, (2, 3))])
def test_there_is_a_kernel_where_another_tile_is_better(most: int, ends: tuple[int, ...]) -> None:
    times = logarithms([19, 22, 63, 250, 987], [27, 27, 43, 159, 621], [65, 65, 65, 103, 409])
    assert range_ends(times, most, 0.1) == ends


@pytest.mark.parametrize(("saved", "ends"), [(0.09, ()), (0.11, (2,))])
def test_a_kernel_saves_a_part_of_the_time_of_a_range(saved: float, ends: tuple[int, ...]) -> None:
    times = logarithms([10, 10, 10, 10], [99, 99, 10 * (1 - saved), 10 * (1 - saved)])
    assert range_ends(times, 2, 0.1) == ends


@given(arrays(np.float64, (4, 5), elements=st.floats(0, 3, width=32)))
def test_no_other_ranges_take_less(times: Logarithms) -> None:
    def total(ends: tuple[int, ...]) -> float:
        return sum(times[:, a:b].sum(axis=1).min() for a, b in pairwise((0, *ends, 5)))

    ends = range_ends(times, 3, -1e9)
    assert len(ends) == 2
    best = min(total(each) for each in combinations(range(1, 5), 2))
    assert math.isclose(total(ends), best, abs_tol=1e-9)
