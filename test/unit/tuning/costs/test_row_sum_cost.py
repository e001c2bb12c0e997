# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted times of matmuls each element of whose result has a workgroup of its own."""

from __future__ import annotations

import pytest

from bankwise.tuning.costs.row_sum_cost import RowSums

from ...processors import SM80


@pytest.mark.parametrize(
    ("columns", "summed", "is_strided", "measured"),
    [
        (4096, 4096, False, (31.7, 57.9, 112.8, 217.9, 428.6)),
        (768, 3072, False, (7.9, 11.6, 18.6, 32.6, 60.3)),
        (3072, 768, False, (6.7, 9.2, 14.3, 24.3, 44.5)),
        (1024, 1024, False, (4.6, 5.9, 8.0, 12.5, 21.2)),
        (4096, 4096, True, (135.3, 271.0, 538.1, 1078.0, 2153.9)),
        (768, 3072, True, (21.4, 38.8, 73.2, 141.5, 278.9)),
        (3072, 768, True, (21.9, 37.3, 68.2, 131.0, 255.7)),
        (1024, 1024, True, (10.8, 20.3, 34.5, 63.3, 123.9)),
    ],
)
def test_times_are_near_those_of_1_to_16_rows_on_an_h100(
    columns: int, summed: int, is_strided: bool, measured: tuple[float, ...]
) -> None:
    sizes = [1, 2, 4, 8, 16]
    sums = (RowSums(rows, columns, summed, is_strided) for rows in sizes)
    predicted = [each.microseconds(SM80) for each in sums]
    assert predicted == pytest.approx(measured, rel=0.25)


def test_each_row_reads_b_again() -> None:
    one, four = (RowSums(rows, 4096, 4096, False).microseconds(SM80) for rows in (1, 4))
    assert 3.5 * one < four < 4 * one


def test_a_short_sum_has_a_warp() -> None:
    assert RowSums(1, 64, 64, False).microseconds(SM80) < 5
