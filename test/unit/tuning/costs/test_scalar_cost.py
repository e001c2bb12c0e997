# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted times of attentions without matrix instructions agree with measured ones."""

from __future__ import annotations

import pytest

from bankwise.tuning.costs.scalar_cost import (
    LaneTile,
    RowReduction,
    lane_attention_work,
    lane_slots,
    mask_microseconds,
    row_reduction_microseconds,
    vector_elements,
)
from bankwise.tuning.costs.tile_cost import AttentionShape

from ...processors import SM80

F32 = AttentionShape(16, 2048, 2048, 64, 64, element_bytes=4, reloads=True)
TILE = LaneTile(128, 64, 32, 4, 4, 32)

MEASURED = [
    # Batch, rows and keys, head; how IREE computes a row; milliseconds on an H200 by ncu.
    ((24, 2048, 96, 2), RowReduction(32, 128, 8, 16, 2, 2, 8), 18.93),
    ((40, 2048, 80, 2), RowReduction(32, 128, 8, 16, 2, 2, 8), 20.97),
    ((2, 512, 160, 2), RowReduction(64, 64, 8, 8, 4, 4, 8), 0.197),
    ((16, 2048, 192, 2), RowReduction(64, 64, 8, 8, 4, 4, 8), 34.1),
    ((32, 1024, 112, 2), RowReduction(32, 128, 8, 16, 2, 2, 8), 8.50),
    ((64, 1024, 48, 2), RowReduction(16, 256, 8, 32, 1, 1, 8), 4.39),
    ((32, 1000, 128, 2), RowReduction(32, 8, 1, 8, 2, 2, 8), 26.2),
    ((20, 1500, 64, 2), RowReduction(16, 4, 1, 4, 1, 1, 8), 36.7),
    ((16, 577, 64, 2), RowReduction(16, 1, 1, 1, 1, 1, 8), 8.46),
    ((12, 197, 64, 2), RowReduction(16, 1, 1, 1, 1, 1, 8), 0.846),
    ((16, 333, 100, 2), RowReduction(16, 1, 1, 1, 1, 1, 8), 8.54),
    ((16, 2048, 64, 4), RowReduction(16, 128, 8, 16, 2, 2, 4), 28.1),
]


@pytest.mark.parametrize(("sizes", "reduction", "measured"), MEASURED)
def test_rows_one_at_a_time_take_as_long_as_measured(
    sizes: tuple[int, int, int, int], reduction: RowReduction, measured: float
) -> None:
    batch, rows, head, size = sizes
    shape = AttentionShape(batch, rows, rows, head, head, element_bytes=size)
    predicted = row_reduction_microseconds(shape, reduction, SM80) / 1000
    assert measured / 1.3 < predicted < measured * 1.3


@pytest.mark.parametrize(
    ("batch", "keys", "head", "measured"),
    # What a mask in f16 adds on an H200 by ncu, in milliseconds.
    [(16, 577, 64, 0.039776 - 0.020288), (32, 1024, 128, 0.1256 - 0.082464)],
)
def test_a_mask_takes_as_long_as_measured(
    batch: int, keys: int, head: int, measured: float
) -> None:
    shape = AttentionShape(batch, keys, keys, head, head)
    assert mask_microseconds(shape, SM80) / 1000 == pytest.approx(measured, rel=0.3)


def test_a_step_of_lanes_is_that_of_the_worked_example() -> None:
    # The compiled kernel has as many of both.
    assert TILE.multiplications(F32.head) == 4096
    work = lane_attention_work(F32, TILE, SM80)
    reads = 320 * 16 * 32 * TILE.warps
    written = 32 * 4 * 32 * TILE.warps + 32 * 128 * 4
    assert work.lds_cycles == (reads + written) / 128
    assert lane_slots(F32, TILE, 163 * 1024) == 2


def test_q_is_read_again_only_where_registers_do_not_hold_it() -> None:
    few = LaneTile(16, 64, 32, 4, 4, 32)
    held = lane_attention_work(F32, few, SM80)
    # A lane holds a row of 64 elements.
    assert held.registers == pytest.approx(64 + 1.15 * (12 + 4 * 5 + 30))
    read = lane_attention_work(F32, TILE, SM80)
    assert read.registers < SM80.lane_registers
    alone = lane_attention_work(F32._replace(reloads=False), TILE, SM80)
    assert alone.registers > SM80.lane_registers
    assert alone.lds_cycles < read.lds_cycles


@pytest.mark.parametrize(
    ("extent", "size", "vector"), [(64, 4, 4), (6, 4, 2), (7, 4, 1), (24, 2, 8)]
)
def test_vectors_have_at_most_16_bytes_and_divide_what_they_read(
    extent: int, size: int, vector: int
) -> None:
    assert vector_elements(extent, size) == vector
