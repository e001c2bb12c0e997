# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tuning/elements/row_tiles.py`: how rows are spread over warps and lanes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankwise.tuning.costs.processors import processor_of
from bankwise.tuning.elements.row_tiles import Rows, RowTile, row_tile, workgroups_at_once


def tile(length: int, count: int, neighbours: int = 1, beside: int = 0) -> RowTile:
    processor = processor_of("sm_90")
    assert processor is not None
    return row_tile(Rows(length, count, beside or count, neighbours), 32, processor)


@pytest.mark.parametrize(
    ("length", "count", "neighbours", "expected"),
    [
        # Measured on an H200, the fastest but for a tenth.
        (777, 3000, 1, RowTile(1, 32, 1, 25, 4)),
        (6625, 160, 1, RowTile(1, 32, 8, 26, 1)),
        (1024, 8192, 8, RowTile(8, 32, 2, 2, 2)),
        (2048, 4096, 8, RowTile(8, 32, 4, 2, 1)),
        (4096, 2048, 8, RowTile(8, 32, 8, 2, 1)),
        (4096, 1024, 4, RowTile(4, 32, 8, 4, 1)),
        (5120, 4096, 8, RowTile(8, 32, 4, 5, 1)),
        (33, 512, 1, RowTile(1, 8, 1, 5, 4)),
        # Few rows get more warps, and rows that registers do not hold are read in steps.
        (1000, 7, 4, RowTile(4, 32, 4, 2, 1)),
        (50257, 64, 1, RowTile(1, 32, 32, 10, 1)),
        (151936, 7, 8, RowTile(8, 32, 32, 4, 1)),
        # A lane of 1024 has 64 registers: with all 80 elements of a row, which two sums take in
        # f32, it stored and loaded 580 bytes of them.
        (81920, 64, 8, RowTile(8, 32, 32, 5, 1)),
        (1, 5, 1, RowTile(1, 32, 1, 1, 1)),
    ],
)
def test_rows_get_lanes(length: int, count: int, neighbours: int, expected: RowTile) -> None:
    assert tile(length, count, neighbours) == expected


@pytest.mark.parametrize(
    ("length", "count", "neighbours", "expected"),
    [
        # Microseconds on an H200: 11.0, and by 16 warps 11.3; 32.7 and 35.3; 9.9 and, by 8, 10.9.
        (8192, 1024, 8, RowTile(8, 32, 4, 8, 1)),
        (8192, 4096, 8, RowTile(8, 32, 4, 8, 1)),
        (4096, 1024, 4, RowTile(4, 32, 4, 8, 1)),
        (16384, 512, 8, RowTile(8, 32, 8, 8, 1)),
        # 10.7 by 8 warps, and 10.9 by 2.
        (4096, 2048, 8, RowTile(8, 32, 8, 2, 1)),
        # Few rows, and rows of bytes, of which 128 would be as many elements.
        (8192, 100, 8, tile(8192, 100, 8)),
        (16384, 1024, 16, tile(16384, 1024, 16)),
    ],
)
def test_long_norms_have_four_warps_or_more_with_eight_vectors_a_lane(
    length: int, count: int, neighbours: int, expected: RowTile
) -> None:
    processor = processor_of("sm_90")
    assert processor is not None
    rows = Rows(length, count, count, neighbours, is_scaled=True)
    assert row_tile(rows, 32, processor) == expected


@pytest.mark.parametrize(
    ("length", "count", "is_scaled", "expected"),
    [
        # 5 workgroups on each multiprocessor are 660, 6 are 792.
        (8192, 660, True, 0),
        (8192, 661, True, 6),
        (8192, 768, True, 6),
        (8192, 793, True, 0),
        (8192, 768, False, 0),
        (4096, 768, True, 0),
        (16384, 300, True, 0),
    ],
)
def test_norms_are_computed_at_once_where_a_few_registers_are_missing(
    length: int, count: int, is_scaled: bool, expected: int
) -> None:
    """The times of rows of 8192 are those of `workgroups_at_once`."""
    processor = processor_of("sm_90")
    assert processor is not None
    rows = Rows(length, count, count, 8, is_scaled)
    found = row_tile(rows, 32, processor)
    assert workgroups_at_once(found, rows, 32, processor) == expected


@given(
    length=st.integers(1, 10**6),
    count=st.integers(1, 10**5),
    beside=st.integers(1, 300),
    power=st.integers(0, 3),
    arch=st.sampled_from([("sm_80", 32), ("gfx942", 64)]),
)
def test_all_rows_get_whole_warps_and_registers(
    length: int, count: int, beside: int, power: int, arch: tuple[str, int]
) -> None:
    name, lanes = arch
    processor = processor_of(name)
    assert processor is not None
    neighbours = 1 << power
    found = row_tile(Rows(length, count, beside, neighbours), lanes, processor)
    assert found.vector == neighbours
    assert found.lanes & (found.lanes - 1) == 0
    assert lanes <= found.workgroup_warps(lanes) * lanes <= 1024
    assert found.rows * found.lanes * found.warps == found.workgroup_warps(lanes) * lanes
    assert found.length(length) >= length
    assert found.vector * found.vectors <= 48
    # No more than an eighth of the rows of a workgroup is missing, unless it has only one.
    assert found.rows == 1 or 8 * beside >= 7 * (-(-beside // found.rows) * found.rows)
