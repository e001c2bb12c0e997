# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted times agree with measured ones, and follow what a step does."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankwise.tuning.costs.processors import processor_of
from bankwise.tuning.costs.tile_cost import (
    AttentionShape,
    AttentionTile,
    MatmulTile,
    ScalarTile,
    TileWork,
    attention_work,
    concurrent_workgroups,
    described_slots,
    least_microseconds_of_lanes,
    matmul_work,
    predicted_microseconds,
    rotating_slots,
    scalar_work,
    slot_counts,
    with_later,
)

from ...processors import known_processor

SM80, SM90A = known_processor("sm_80"), known_processor("sm_90a")
CDNA3, CDNA4 = known_processor("gfx942"), known_processor("gfx950")

ATTENTIONS = [
    # Shape, rows, keys per step, warps; microseconds on an H200 by ncu.
    ((16, 4096, 4096, 128, 128), (64, 64, 4), 532.4),
    ((16, 4096, 4096, 128, 128), (128, 128, 8), 530.6),
    ((32, 1024, 1024, 128, 128), (128, 64, 8), 81.0),
    ((64, 2048, 2048, 64, 64), (128, 64, 4), 275.7),
    ((64, 2048, 2048, 64, 64), (64, 64, 4), 318.8),
    ((2, 1024, 1024, 128, 128), (32, 128, 2), 20.8),
    ((2, 1024, 1024, 128, 128), (64, 64, 4), 24.9),
    ((128, 512, 512, 64, 64), (128, 64, 4), 45.4),
    ((8, 1024, 1024, 64, 64), (64, 128, 4), 16.5),
    ((1, 16384, 16384, 128, 128), (128, 128, 8), 521.0),
]
ODD_HEADS = [
    # Batch, rows and keys, head; microseconds by rows, columns, keys per step and warps.
    (
        (16, 1024, 72),
        {
            (128, 72, 64, 8): 31.3,
            (64, 72, 64, 4): 32.5,
            (128, 72, 32, 4): 33.7,
            (128, 72, 64, 4): 37.6,
            (64, 72, 64, 2): 42.1,
        },
    ),
    (
        (40, 1024, 88),
        {
            (128, 88, 32, 4): 88.4,
            (64, 88, 32, 4): 91.2,
            (128, 88, 64, 8): 99.5,
            (128, 88, 64, 4): 100.0,
            (64, 88, 64, 4): 102.5,
            (64, 88, 64, 2): 107.2,
        },
    ),
]
MATMULS = [
    # Shape; rows, columns, summed elements, warps that share the rows and the columns, slots.
    ((4096, 4096, 4096), (128, 128, 64, 2, 2, 2), 417.3),
    ((4096, 4096, 4096), (128, 128, 32, 2, 2, 4), 409.0),
    ((4096, 4096, 4096), (256, 128, 64, 4, 2, 2), 391.5),
    ((4096, 4096, 4096), (256, 128, 32, 4, 2, 4), 412.2),
    ((2048, 2048, 2048), (128, 128, 32, 2, 2, 4), 56.9),
    ((8192, 1024, 4096), (256, 128, 64, 4, 2, 2), 202.0),
    ((512, 4096, 4096), (128, 128, 64, 2, 2, 3), 61.8),
    ((3072, 3072, 3008), (192, 192, 64, 2, 4, 2), 191.4),
    # Without a second step, nothing overlaps.
    ((4096, 4096, 64), (128, 128, 64, 2, 2, 1), 28.4),
]


@pytest.mark.parametrize(("shape", "tile", "measured"), ATTENTIONS)
def test_attentions_take_as_long_as_measured(
    shape: tuple[int, int, int, int, int], tile: tuple[int, int, int], measured: float
) -> None:
    cut = AttentionTile(tile[0], shape[4], *tile[1:], slots=2)
    work = attention_work(AttentionShape(*shape), cut, SM80)
    assert predicted_microseconds(work, SM80) == pytest.approx(measured, rel=0.16)


@pytest.mark.parametrize(("sizes", "measured"), ODD_HEADS)
def test_the_predicted_best_tile_of_an_odd_head_is_nearly_the_best(
    sizes: tuple[int, int, int], measured: dict[tuple[int, int, int, int], float]
) -> None:
    batch, rows, head = sizes
    shape = AttentionShape(batch, rows, rows, -(-head // 16) * 16, head, reloads=True)

    def predicted(sizes: tuple[int, int, int, int]) -> float:
        tile = AttentionTile(*sizes)
        work = attention_work(shape, tile, SM80)
        copied = 2 * tile.keys * (shape.head + tile.columns)
        others, limit = work.lds_bytes - copied, 163 << 10
        slots = rotating_slots(work.matrix_instructions, work.steps, copied, others, limit)
        work = attention_work(shape, tile._replace(slots=slots), SM80)
        return predicted_microseconds(work, SM80)

    assert measured[min(measured, key=predicted)] < 1.05 * min(measured.values())


@pytest.mark.parametrize(("shape", "tile", "measured"), MATMULS)
def test_matmuls_take_as_long_as_measured(
    shape: tuple[int, int, int], tile: tuple[int, int, int, int, int, int], measured: float
) -> None:
    work = matmul_work(shape, MatmulTile(*tile), SM80)
    assert predicted_microseconds(work, SM80) == pytest.approx(measured, rel=0.16)


DESCRIBED_ATTENTIONS = [
    # Shape, rows, keys per step, warps, slots; code for sm_90a.
    ((16, 4096, 4096, 128, 128), (64, 64, 4, 2), 352.3),
    ((16, 4096, 4096, 128, 128), (128, 64, 8, 2), 328.6),
    ((16, 4096, 4096, 128, 128), (128, 128, 8, 2), 364.8),
    ((64, 2048, 2048, 64, 64), (64, 128, 4, 2), 207.4),
    ((4, 2048, 2048, 256, 256), (64, 64, 4, 2), 57.7),
    ((1, 16384, 16384, 128, 128), (64, 64, 4, 2), 334.6),
    ((32, 1024, 1024, 128, 128), (64, 64, 4, 2), 57.8),
]
DESCRIBED_MATMULS = [
    # Shape; rows, columns, summed elements, warps, slots; whether columns lie along the rows of B.
    ((2048, 2048, 2048), (128, 256, 64, 8, 1, 4), False, 35.7),
    ((4096, 4096, 4096), (128, 256, 64, 8, 1, 4), True, 251.2),
    ((4096, 4096, 4096), (128, 256, 64, 8, 1, 4), False, 245.3),
    ((8192, 1024, 4096), (128, 256, 64, 8, 1, 4), False, 122.9),
    ((1024, 1024, 1024), (64, 128, 128, 4, 1, 4), True, 9.2),
    # Rows that a tile has more of, and few workgroups.
    ((384, 2112, 5632), (64, 96, 128, 4, 1, 4), False, 31.4),
    ((384, 2112, 5632), (64, 96, 64, 4, 1, 8), True, 38.3),
    ((384, 2048, 5632), (128, 64, 128, 8, 1, 4), True, 37.4),
    ((384, 2048, 5632), (128, 128, 64, 8, 1, 6), False, 48.3),
    ((128, 4096, 4096), (64, 64, 128, 4, 1, 6), False, 17.1),
    ((512, 3072, 768), (128, 96, 64, 8, 1, 4), True, 10.9),
    ((256, 3072, 768), (64, 96, 64, 4, 1, 4), False, 8.5),
    ((64, 4096, 11008), (64, 32, 128, 4, 1, 6), False, 32.0),
    ((64, 3584, 18944), (64, 32, 128, 4, 1, 6), True, 67.7),
    # Steps wait for their products.
    ((2048, 2048, 2048), (128, 256, 64, 8, 1, 3), True, 41.3),
    ((2048, 2048, 2048), (128, 256, 64, 8, 1, 2), False, 49.3),
    ((256, 5120, 1280), (128, 128, 128, 8, 1, 3), True, 16.1),
    # A is in registers.
    ((2048, 2048, 2048), (128, 128, 64, 4, 1, 2), False, 46.9),
]


@pytest.mark.parametrize(("shape", "tile", "measured"), DESCRIBED_ATTENTIONS)
def test_attentions_whose_operands_are_described_take_as_long_as_measured(
    shape: tuple[int, int, int, int, int], tile: tuple[int, int, int, int], measured: float
) -> None:
    cut = AttentionTile(tile[0], shape[4], *tile[1:])
    work = attention_work(AttentionShape(*shape), cut, SM90A)
    assert work.described
    assert predicted_microseconds(work, SM90A) == pytest.approx(measured, rel=0.16)


ODD_DESCRIBED = [
    # Shape, bytes that rows are aligned to; rows, columns, keys per step, warps, slots.
    ((16, 1024, 1024, 80, 72), 16, (64, 80, 128, 4, 2), 26.1),
    ((16, 1024, 1024, 80, 72), 16, (128, 80, 64, 8, 4), 26.7),
    ((24, 2048, 2048, 80, 80), 32, (128, 80, 64, 8, 4), 104.3),
    ((24, 2048, 2048, 96, 88), 16, (128, 96, 64, 8, 2), 120.7),
    ((24, 2048, 2048, 96, 96), 32, (128, 96, 64, 8, 2), 112.1),
    ((24, 2048, 2048, 160, 160), 32, (64, 160, 64, 4, 2), 177.2),
    ((16, 384, 384, 112, 100), 8, (64, 112, 64, 4, 2), 13.2),
    # Lanes copy element by element.
    ((16, 1024, 1024, 80, 75), 2, (128, 80, 64, 8, 1), 40.0),
    ((16, 1024, 1024, 80, 75), 2, (128, 80, 128, 8, 1), 44.1),
]
FEW_STEPS = [
    # Warps that make no warpgroup multiply by `mma.sync`.
    ((16, 96, 80, 64, 64), (32, 64, 80, 2, 1), 5.5),
    ((16, 96, 96, 64, 64), (32, 64, 48, 2, 2), 5.2),
    ((16, 80, 96, 64, 64), (64, 64, 48, 4, 2), 6.3),
    ((4, 64, 64, 320, 320), (32, 320, 32, 2, 2), 9.5),
    ((4, 64, 64, 320, 320), (64, 320, 32, 4, 2), 10.9),
]


ODD_BY_WORDS = [
    # Shape, bytes of a word; rows, columns, keys per step, warps.
    ((16, 1024, 1024, 80, 75), 8, (128, 80, 64, 8), 37.2),
    ((16, 1024, 1024, 80, 75), 16, (128, 80, 64, 8), 36.1),
    ((16, 1024, 1024, 80, 75), 4, (128, 80, 64, 8), 40.6),
    ((16, 1024, 1024, 80, 75), 8, (128, 80, 128, 8), 35.4),
    ((16, 1024, 1024, 80, 75), 8, (64, 80, 64, 4), 40.7),
    ((24, 2048, 2048, 80, 75), 8, (128, 80, 128, 8), 164.6),
    ((24, 2048, 2048, 80, 75), 8, (64, 80, 64, 4), 189.6),
    ((16, 1024, 1024, 48, 33), 8, (128, 48, 128, 8), 23.9),
]


@pytest.mark.parametrize(("shape", "word", "tile", "measured"), ODD_BY_WORDS)
def test_odd_heads_that_are_read_by_words_take_about_as_long_as_measured(
    shape: tuple[int, int, int, int, int],
    word: int,
    tile: tuple[int, int, int, int],
    measured: float,
) -> None:
    odd = AttentionShape(*shape, row_alignment=2, word_bytes=word)
    work = attention_work(odd, AttentionTile(*tile), SM90A)
    assert work.through_registers
    assert predicted_microseconds(work, SM90A) == pytest.approx(measured, rel=0.16)


def test_words_are_loaded_ahead_where_registers_suffice_and_descriptors_give_operands() -> None:
    odd = AttentionShape(16, 1024, 1024, 80, 80, row_alignment=2, word_bytes=8)
    large = attention_work(odd, AttentionTile(256, 80, 64, 8), SM90A)
    by_lanes = attention_work(odd, AttentionTile(32, 80, 64, 2), SM90A)
    assert large.described and not by_lanes.described
    assert {(each.through_registers, each.slots) for each in (large, by_lanes)} == {(False, 1)}


@pytest.mark.parametrize(("shape", "alignment", "tile", "measured"), ODD_DESCRIBED)
def test_odd_heads_by_descriptors_take_about_as_long_as_measured(
    shape: tuple[int, int, int, int, int],
    alignment: int,
    tile: tuple[int, int, int, int, int],
    measured: float,
) -> None:
    cut = AttentionTile(*tile[:4], slots=tile[4])
    work = attention_work(AttentionShape(*shape, row_alignment=alignment), cut, SM90A)
    assert work.described
    assert predicted_microseconds(work, SM90A) == pytest.approx(measured, rel=0.16)


@pytest.mark.parametrize(("shape", "tile", "measured"), FEW_STEPS)
def test_attentions_of_few_steps_take_about_as_long_as_measured(
    shape: tuple[int, int, int, int, int], tile: tuple[int, int, int, int, int], measured: float
) -> None:
    cut = AttentionTile(*tile[:4], slots=tile[4])
    work = attention_work(AttentionShape(*shape, reloads=True), cut, SM90A)
    assert work.described is (tile[3] == 4)
    assert predicted_microseconds(work, SM90A) == pytest.approx(measured, rel=0.16)


def test_two_steps_that_overlap_are_predicted_to_take_less_than_one() -> None:
    shape = AttentionShape(16, 96, 96, 64, 64, reloads=True)
    overlapped = attention_work(shape, AttentionTile(32, 64, 48, 2, slots=2), SM90A)
    single = attention_work(shape._replace(keys=80), AttentionTile(32, 64, 80, 2), SM90A)
    times = [predicted_microseconds(work, SM90A) for work in (overlapped, single)]
    assert 1.05 * times[0] < times[1] < 1.2 * times[0]


def test_copies_of_single_elements_take_registers_and_time() -> None:
    """128 rows by 8 warps: a lane copies 40 elements a step, or 80, which are not loaded ahead."""
    shape = AttentionShape(16, 1024, 1024, 80, 80)
    odd = shape._replace(row_alignment=2)
    for keys, copies, ahead in ((64, 40, True), (128, 80, False)):
        tile = AttentionTile(128, 80, keys, 8)
        whole = attention_work(shape, tile._replace(slots=2), SM90A)
        narrow = attention_work(odd, tile, SM90A)
        assert (whole.copies, narrow.copies) == (copies / 8, copies)
        assert narrow.registers - whole.registers == (copies if ahead else 0)
        assert narrow.slots == (2 if ahead else 1)
        assert predicted_microseconds(narrow, SM90A) > 1.3 * predicted_microseconds(whole, SM90A)


def _described_work(
    shape: tuple[int, int, int], tile: tuple[int, int, int, int, int, int], along: bool
) -> TileWork:
    """Returns the work of a tile on sizes of f16 that it divides, as a matmul for sm_90a knows it.

    Args:
        along: whether the columns lie along the rows of B.
    """
    rounded = [-(-size // each) * each for size, each in zip(shape, tile[:3], strict=True)]
    sizes = rounded[0], rounded[1], rounded[2]
    work = matmul_work(sizes, MatmulTile(*tile), SM90A, columns_along_rows=along)
    return work._replace(row_pieces=not along)


@pytest.mark.parametrize(("shape", "tile", "along", "measured"), DESCRIBED_MATMULS)
def test_matmuls_whose_operands_are_described_take_as_long_as_measured(
    shape: tuple[int, int, int],
    tile: tuple[int, int, int, int, int, int],
    along: bool,
    measured: float,
) -> None:
    work = _described_work(shape, tile, along)
    assert work.described
    assert predicted_microseconds(work, SM90A) == pytest.approx(measured, rel=0.2)


FEW_AND_RAGGED_ROWS = [
    # Shape, whether columns lie along the rows of B; microseconds on an H200, by rows, columns,
    # summed elements a step, warps that share the rows and the columns, slots.
    (
        (333, 2048, 5632),
        False,
        {
            (64, 96, 128, 4, 1, 4): 31.4,
            (64, 128, 64, 4, 1, 8): 33.9,
            (64, 64, 64, 4, 1, 6): 35.3,
            (64, 96, 64, 4, 1, 4): 40.5,
            (128, 64, 128, 8, 1, 4): 41.0,
            (96, 64, 128, 2, 2, 4): 42.3,
            (128, 128, 64, 8, 1, 6): 48.3,
            (64, 256, 64, 4, 1, 4): 48.4,
            (64, 128, 64, 2, 2, 4): 50.3,
            (128, 32, 64, 8, 1, 6): 62.9,
            (128, 256, 64, 8, 1, 4): 73.7,
        },
    ),
    (
        (100, 4096, 4096),
        False,
        {
            (64, 64, 128, 4, 1, 6): 17.1,
            (64, 64, 64, 4, 1, 8): 18.4,
            (64, 96, 64, 4, 1, 8): 21.3,
            (64, 64, 128, 2, 2, 4): 23.7,
            (128, 32, 64, 8, 1, 6): 25.3,
            (64, 64, 64, 4, 1, 4): 28.4,
            (128, 32, 128, 4, 1, 4): 30.2,
            (64, 256, 64, 4, 1, 4): 35.8,
        },
    ),
    (
        (500, 3072, 768),
        True,
        {
            (128, 96, 64, 8, 1, 4): 10.9,
            (64, 192, 64, 4, 1, 4): 11.0,
            (64, 128, 64, 4, 1, 4): 12.0,
            (128, 64, 64, 8, 1, 4): 13.5,
            (128, 96, 64, 4, 2, 4): 13.8,
            (64, 64, 64, 2, 2, 4): 15.3,
            (128, 256, 64, 8, 1, 4): 17.7,
        },
    ),
    (
        (48, 4096, 11008),
        False,
        {
            (64, 32, 128, 4, 1, 6): 32.0,
            (64, 64, 128, 4, 1, 6): 38.5,
            (64, 64, 64, 4, 1, 8): 42.3,
            (32, 64, 128, 2, 2, 6): 50.1,
            (64, 96, 128, 4, 1, 4): 52.5,
            (32, 32, 128, 2, 2, 4): 56.8,
        },
    ),
    (
        (200, 768, 3072),
        True,
        {
            (64, 32, 128, 4, 1, 6): 14.2,
            (64, 64, 64, 4, 1, 8): 16.5,
            (32, 64, 128, 2, 2, 6): 16.6,
            (32, 32, 128, 2, 2, 4): 21.7,
            (64, 96, 64, 4, 1, 8): 24.5,
        },
    ),
]


@pytest.mark.parametrize(("shape", "along", "measured"), FEW_AND_RAGGED_ROWS)
def test_the_predicted_best_tile_of_few_rows_is_nearly_the_best(
    shape: tuple[int, int, int],
    along: bool,
    measured: dict[tuple[int, int, int, int, int, int], float],
) -> None:
    """Tiles by descriptors and by `mma.sync` are compared by one prediction."""

    def predicted(tile: tuple[int, int, int, int, int, int]) -> float:
        return predicted_microseconds(_described_work(shape, tile, along), SM90A)

    assert {_described_work(shape, tile, along).described for tile in measured} == {False, True}
    assert measured[min(measured, key=predicted)] <= 1.05 * min(measured.values())


GATHERED = [
    # Workgroups, warps, steps; matrix instructions, LDS cycles, instructions and copies of a step;
    # registers, LDS, slots; cycles of the path to registers, result; whether by descriptors;
    # microseconds on an H200 by ncu.
    ((98, 8, 36, 16, 947, 102, 5, 70, 20480, 2), 256, 16384, False, 35.8),
    ((196, 4, 36, 16, 627, 152, 6, 78, 12288, 2), 128, 8192, False, 41.0),
    ((68, 4, 36, 48, 1510, 307, 10, 161, 20480, 2), 128, 24576, False, 52.2),
    ((196, 4, 18, 32, 1127, 258, 12, 110, 24576, 2), 256, 8192, True, 26.4),
    ((131, 8, 9, 48, 2041, 327, 8, 153, 32768, 2), 128, 49152, False, 24.0),
    ((392, 4, 9, 32, 664, 225, 8, 119, 16384, 2), 128, 16384, True, 17.1),
    ((98, 8, 18, 32, 1673, 212, 6, 119, 24576, 2), 256, 32768, False, 33.5),
    ((132, 8, 4, 96, 2149, 158, 11, 230, 45056, 2), 512, 98304, False, 17.1),
    ((132, 8, 8, 48, 1105, 116, 5, 206, 20480, 2), 128, 98304, True, 19.3),
    ((132, 8, 2, 192, 4422, 376, 20, 174, 81920, 1), 512, 98304, True, 20.1),
    ((104, 8, 72, 8, 661, 84, 3, 49, 12288, 2), 128, 8192, False, 58.7),
    ((56, 4, 72, 32, 870, 208, 8, 119, 16384, 2), 128, 16384, True, 86.7),
    ((1568, 4, 5, 16, 446, 177, 4, 103, 8192, 2), 64, 16384, True, 42.4),
    ((235, 4, 60, 64, 1288, 270, 18, 218, 36864, 2), 512, 32768, False, 119.5),
    ((240, 8, 60, 32, 1373, 200, 6, 119, 24576, 2), 256, 32768, True, 118.2),
    ((104, 8, 4, 128, 3364, 270, 16, 218, 65536, 2), 512, 65536, True, 19.0),
    ((128, 8, 9, 64, 1839, 239, 12, 135, 49152, 2), 512, 32768, True, 17.8),
    ((128, 4, 23, 80, 1176, 264, 14, 220, 28672, 2), 320, 40960, False, 32.7),
    ((100, 8, 12, 128, 3022, 420, 16, 218, 65536, 2), 512, 65536, True, 35.4),
    ((98, 8, 36, 16, 1081, 102, 5, 70, 20480, 2), 256, 16384, False, 38.9),
]


@pytest.mark.parametrize(
    ("numbers", "path_cycles", "result_bytes", "described", "measured"), GATHERED
)
def test_tiles_of_images_take_about_as_long_as_measured(
    numbers: tuple[int, int, int, int, int, int, int, int, int, int],
    path_cycles: int,
    result_bytes: int,
    described: bool,
    measured: float,
) -> None:
    work = TileWork(
        *numbers,
        memory_cycles=path_cycles,
        result_bytes=result_bytes,
        described=described,
        rows_described=described,
        through_registers=True,
    )
    processor = SM90A if described else SM80
    assert 0.8 < predicted_microseconds(work, processor) / measured < 1.25


def test_warps_of_a_workgroup_alone_put_images_together_and_multiply_in_turns() -> None:
    alone = TileWork(120, 8, 60, 64, 1797, 250, 10, 186, 40960, 2, result_bytes=65536)
    several = alone._replace(
        workgroups=240, matrix_instructions=32, lds_cycles=900, instructions=125, registers=103
    )
    gathered, copied = (
        [predicted_microseconds(each._replace(through_registers=how), SM80) for each in ways]
        for how, ways in ((True, (alone, several)), (False, (alone, several)))
    )
    assert gathered[1] / gathered[0] < 0.9 < copied[1] / copied[0]


def test_a_workgroup_alone_waits_for_what_it_does_not_load_ahead() -> None:
    """f16 8x56x256x512 of stride 2 takes 20.1 us on an H200 with 128 x 192 and 2 steps of 128."""
    alone = TileWork(132, 8, 2, 192, 4422, 376, 20, 174, 81920, 1, memory_cycles=512)
    work = alone._replace(
        result_bytes=98304, described=True, rows_described=True, through_registers=True
    )
    assert 20 < predicted_microseconds(work, SM90A) < 22


def test_the_warps_of_a_warpgroup_alone_multiply_together() -> None:
    """f16 8x9x512x512 takes 86.7 us on an H200 by a warpgroup alone with 64 x 64."""
    alone = TileWork(56, 4, 72, 32, 870, 208, 8, 119, 16384, 2, memory_cycles=128)
    work = alone._replace(
        result_bytes=16384, described=True, rows_described=True, through_registers=True
    )
    assert 76 < predicted_microseconds(work, SM90A) < 90


def test_a_warp_a_scheduler_puts_together_while_its_products_run() -> None:
    """f16 2x802x384x768 of stride 2 takes 20.2 us on an H200 by `mma.sync` in 160 x 32, and 24.8
    by descriptors in 128 x 64."""
    each = {"result_bytes": 20480, "through_registers": True, "memory_cycles": 320}
    loaded = TileWork(125, 4, 18, 40, 1094, 219, 12, 148, 24576, 2, **each)
    described = TileWork(78, 8, 9, 64, 2496, 338, 12, 151, 49152, 2, **each)._replace(
        result_bytes=32768, memory_cycles=512, described=True, rows_described=True, transposed=1
    )
    assert predicted_microseconds(loaded, SM90A) < predicted_microseconds(described, SM90A)


def test_many_slots_gain_where_one_workgroup_waits() -> None:
    """f16 100x4096x4096, 64 x 64 by 4 warps: 28.4 us with 4 slots, 19.1 with 6, 18.4 with 8."""
    times = [
        predicted_microseconds(
            _described_work((128, 4096, 4096), (64, 64, 64, 4, 1, slots), along=False), SM90A
        )
        for slots in (2, 3, 4, 6, 8)
    ]
    assert times == sorted(times, reverse=True)
    assert times[2] > 1.2 * times[4]


def test_columns_along_the_rows_of_b_are_read_in_parts() -> None:
    """160 columns are 128 of 128-byte rows, and 32 of 64-byte rows, which fill half a cycle."""
    tile = (128, 160, 64, 8, 1, 4)
    whole, cut = (_described_work((512, 3200, 4096), tile, along) for along in (False, True))
    a, narrow = 128 * 64 * 2, 32 * 64 * 2
    assert cut.lds_cycles - whole.lds_cycles == (a + narrow) / 128
    assert cut.transposed and not whole.transposed
    even = [
        _described_work((512, 3072, 4096), (128, 128, *tile[2:]), each) for each in (False, True)
    ]
    assert even[0].lds_cycles == even[1].lds_cycles


def test_what_a_warpgroup_reads_of_an_attention() -> None:
    shape, cut = AttentionShape(16, 4096, 4096, 128, 128), AttentionTile(128, 128, 64, 8, slots=2)
    copied, queries = 64 * (128 + 128) * 2, 128 * 128 * 2
    work = attention_work(shape, cut, SM90A)
    # Each of two warpgroups reads K and V once, and its own half of Q; copies write K and V.
    assert work.lds_cycles == (2 * copied + queries + copied) / 128
    loaded = attention_work(shape, cut, SM80)
    assert loaded.lds_cycles == (8 * copied + copied) / 128
    assert loaded.instructions - work.instructions == copied / 16 / 32


@pytest.mark.parametrize(
    ("changed", "cut"),
    [
        ({}, AttentionTile(32, 128, 64, 2)),
        ({}, AttentionTile(64, 128, 64, 4, slots=7)),
        ({"element_bytes": 1}, AttentionTile(64, 128, 64, 4)),
        ({"head": 72}, AttentionTile(64, 128, 64, 4)),
    ],
    ids=["two warps", "no room for Q", "bytes", "half an instruction"],
)
def test_warps_load_what_no_descriptor_gives(changed: dict[str, int], cut: AttentionTile) -> None:
    shape = AttentionShape(16, 4096, 4096, 128, 128)._replace(**changed)
    assert attention_work(shape, cut, SM90A) == attention_work(shape, cut, SM80)


def test_descriptors_give_b_where_all_warps_stand_below_each_other() -> None:
    shape = (4096, 4096, 4096)
    work = matmul_work(shape, MatmulTile(128, 256, 64, 8, 1), SM90A)
    a, b = 128 * 64 * 2, 256 * 64 * 2
    assert work.lds_cycles == (a + 2 * b + a + b) / 128
    for tile in (MatmulTile(128, 256, 64, 4, 2), MatmulTile(128, 256, 64, 2, 2)):
        assert matmul_work(shape, tile, SM90A) == matmul_work(shape, tile, SM80)


@pytest.mark.parametrize(
    ("steps", "copied_kib", "held", "slots"),
    [
        (64, 32, 2, (3, 6)),
        (64, 48, 1, (4,)),
        (2, 32, 2, (2,)),
        (64, 96, 2, (2,)),
        (64, 40, 1, (4,)),
        (64, 20, 1, (8,)),
        (64, 16, 3, (4, 6, 8)),
    ],
)
def test_slots_of_matmuls_with_descriptors(
    steps: int, copied_kib: int, held: int, slots: tuple[int, ...]
) -> None:
    assert described_slots(steps, copied_kib << 10, held, SM90A) == slots


BATCHED = [
    # Rows, columns, summed elements, warps that share the rows and the columns, slots; f16
    # 16x1024x1024x64, microseconds on an H200 by ncu.
    ((256, 128, 32, 4, 2, 2), 33.9),
    ((128, 128, 32, 2, 4, 2), 33.3),
    ((128, 64, 64, 2, 2, 1), 29.8),
    ((64, 128, 64, 2, 2, 1), 29.9),
    ((128, 128, 64, 2, 2, 1), 28.2),
    ((256, 64, 64, 4, 2, 1), 28.8),
]


def test_matmuls_that_store_much_take_as_long_as_measured() -> None:
    shape, times = (1024, 1024, 64), []
    for tile, measured in BATCHED:
        work = matmul_work(shape, MatmulTile(*tile), SM80, batch=16)
        times.append(predicted_microseconds(work, SM80))
        assert times[-1] == pytest.approx(measured, rel=0.18)
    # One step is predicted to take less than two.
    assert min(times[2:]) < min(times[:2])


def test_matmuls_of_multiply_adds_take_about_as_long_as_measured() -> None:
    work = scalar_work((2048, 2048, 2048), ScalarTile(128, 128, 16, 8, 8), SM80)
    assert (work.warps, work.multiply_adds, work.lds_cycles) == (8, 1024, 2048 + 128)
    assert predicted_microseconds(work, SM80) == pytest.approx(677, rel=0.2)


FEW_WORKGROUPS = [
    ((256, 100, 512), [((32, 32, 32, 2, 4), 1, 11.4), ((16, 32, 32, 1, 4), 1, 8.9),
                       ((16, 32, 32, 2, 4), 4, 6.6), ((8, 32, 16, 2, 4), 8, 6.4)]),
    ((64, 1600, 576), [((64, 64, 16, 8, 4), 1, 28.0), ((32, 32, 32, 2, 4), 1, 14.1),
                       ((32, 32, 32, 4, 4), 4, 10.3)]),
    ((64, 100, 2304), [((16, 32, 32, 2, 4), 4, 23.2), ((8, 32, 16, 2, 4), 8, 17.5)]),
]  # fmt: skip
"""Sizes, and tiles with the parts of their sums and the us that they took on an H200 at its own
clock, the slowest first."""


@pytest.mark.parametrize(("shape", "tiles"), FEW_WORKGROUPS)
def test_sums_in_parts_are_ranked_as_measured(
    shape: tuple[int, int, int], tiles: list[tuple[tuple[int, int, int, int, int], int, float]]
) -> None:
    times = []
    for tile, parts, measured in tiles:
        work = scalar_work(shape, ScalarTile(*tile, slots=2, parts=parts), SM80)
        times.append(predicted_microseconds(work, SM80))
        # The clock is a third faster than that of the model.
        assert measured < times[-1] < 1.9 * measured
    assert times == sorted(times, reverse=True)


def test_parts_of_sums_have_warps_and_steps_of_their_own() -> None:
    whole = scalar_work((64, 64, 1024), ScalarTile(16, 32, 32, 1, 4, 2), SM80)
    parted = scalar_work((64, 64, 1024), ScalarTile(16, 32, 32, 1, 4, 2, parts=4), SM80)
    assert (whole.warps, whole.steps, whole.workgroups) == (4, 32, 8)
    assert (parted.warps, parted.steps, parted.workgroups) == (16, 8, 8)
    # Tiles of all parts, and the sums of all parts.
    assert parted.lds_bytes == 4 * whole.lds_bytes + 4 * 16 * 32 * 4


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89"])
@given(st.tuples(*3 * [st.integers(1, 5000)]), st.integers(1, 300))
def test_lanes_take_no_less_than_the_bound(
    arch: str, shape: tuple[int, int, int], batch: int
) -> None:
    processor = known_processor(arch)
    tiles = [
        ScalarTile(rows, columns, summed, *part, parts=parts)
        for rows, columns, summed in product((8, 16, 64, 128), (8, 32, 128), (8, 32))
        for part, parts in product(((1, 4), (4, 8), (8, 8)), (1, 8))
        if rows >= part[0]
        and columns >= part[1]
        and 32 <= rows * columns // (part[0] * part[1]) * parts <= 1024
    ]
    of_all = scalar_work(shape, ScalarTile(*np.array(tiles).T), processor, 4, batch)
    bounds = least_microseconds_of_lanes(of_all, processor)
    for tile, bound in zip(tiles, bounds, strict=True):
        for slots in (1, 2, 4):
            work = scalar_work(shape, tile._replace(slots=slots), processor, 4, batch)
            assert (1 - 1e-9) * bound <= predicted_microseconds(work, processor)


def test_the_worked_example() -> None:
    cut = AttentionTile(64, 128, 64, 4, slots=2)
    work = attention_work(AttentionShape(16, 4096, 4096, 128, 128), cut, SM80)
    assert (work.workgroups, work.steps, work.matrix_instructions) == (1024, 64, 128)
    assert work.lds_cycles == 1280
    assert work.instructions == pytest.approx(376, abs=1)
    assert work.registers == pytest.approx(192, abs=1)
    assert work.lds_bytes == 16384 + 2 * 32768
    assert concurrent_workgroups(work, SM80) == 2
    assert predicted_microseconds(work, SM80) == pytest.approx(580, abs=5)


@pytest.mark.parametrize(
    ("batch", "head", "measured"),
    [
        (
            *(16, 128),
            {
                (128, 32, 4, 2): 178.5,
                (128, 32, 4, 4): 183.4,
                (128, 32, 8, 2): 189.0,
                (128, 64, 8, 2): 174.8,
                (256, 32, 8, 2): 157.9,
                (256, 64, 8, 2): 177.9,
                (64, 32, 4, 4): 210.9,
            },
        ),
        (
            *(32, 64),
            {
                (128, 32, 4, 4): 188.4,
                (128, 64, 4, 2): 174.7,
                (128, 64, 4, 4): 183.3,
                (128, 64, 8, 2): 203.9,
                (256, 64, 8, 2): 168.2,
                (64, 64, 4, 2): 217.2,
            },
        ),
    ],
)
def test_copies_that_ask_where_a_dynamic_k_ends_take_registers(
    batch: int, head: int, measured: dict[tuple[int, int, int, int], float]
) -> None:
    def time(rows: int, keys: int, warps: int, slots: int, *, asks_ends: bool = True) -> float:
        shape = AttentionShape(batch, 2048, 2048, head, head, reloads=True, asks_ends=asks_ends)
        cut = AttentionTile(rows, head, keys, warps, slots=slots)
        return predicted_microseconds(attention_work(shape, cut, SM80), SM80)

    best = min(measured, key=lambda cut: measured[cut])
    assert min(measured, key=lambda cut: time(*cut)) == best
    assert min(measured, key=lambda cut: time(*cut, asks_ends=False)) != best


def test_queries_are_read_again_only_where_registers_are_short() -> None:
    shape = AttentionShape(4, 2048, 2048, 256, 256)
    cut = AttentionTile(64, 256, 64, 4, slots=2)
    held = attention_work(shape, cut, SM80)
    read = attention_work(shape._replace(reloads=True), cut, SM80)
    assert held.registers > 255 > read.registers
    assert read.lds_cycles > held.lds_cycles
    assert predicted_microseconds(read, SM80) < predicted_microseconds(held, SM80)
    small = cut._replace(columns=64)
    wide = shape._replace(reloads=True)
    assert attention_work(wide, small, SM80) == attention_work(shape, small, SM80)


@pytest.mark.parametrize(("columns", "bytes_a_load"), [(80, 2), (96, 8), (64, 16), (192, 16)])
def test_lanes_of_amd_load_columns_of_instructions_that_pair_up(
    columns: int, bytes_a_load: int
) -> None:
    def work(columns: int, depth: int = 16) -> TileWork:
        # The head is 8 instructions deep, so that 16 bytes of K lie side by side.
        shape = AttentionShape(8, 1024, 1024, 128, columns, depth=depth)
        return attention_work(shape, AttentionTile(64, columns, 64, 4), CDNA3, (16, 16, 16))

    def loads(columns: int) -> float:
        of_tile = work(columns)
        return of_tile.instructions - of_tile.vector - 2 * of_tile.copies

    # Of 128 columns and of 256 a lane loads 16 bytes at a time.
    of_keys = 2 * loads(128) - loads(256)
    of_values = (loads(columns) - of_keys) / (loads(256) - of_keys)
    assert of_values == pytest.approx(columns / bytes_a_load / (256 / 16))
    # A load of 2 bytes takes as long as one of 4.
    longer = 4 * 64 * columns * 2 / 128 if bytes_a_load == 2 else 0
    assert work(columns).lds_cycles - work(columns, depth=0).lds_cycles == longer


def test_copies_on_amd_are_as_wide_as_lanes_share_evenly() -> None:
    """256 lanes copy 112 x 112 elements one by one, and 128 x 112 by 16 bytes."""
    few, many = (
        attention_work(
            AttentionShape(16, 336, 336, 112, 112, depth=16, short_steps=True),
            AttentionTile(64, 112, keys, 4, staged_queries=False),
            CDNA3,
            (16, 16, 16),
        )
        for keys in (112, 128)
    )
    assert few.copies == 2 * 112 * 112 / 256
    assert many.copies == 2 * 128 * 112 / (256 * 8)
    # V is read by 2 bytes where it is not transposed, and what is stored so takes as long as 4.
    assert few.lds_cycles / 112 > 1.3 * many.lds_cycles / 128


def test_two_warps_that_copy_for_few_rows_are_slower_than_one_that_does_not() -> None:
    """2 rows of 96 and 3000 keys: 56.4 and 50.3 us by the model of a compute unit."""
    shape, chip = AttentionShape(16, 2, 3072, 96, 96, depth=32, short_steps=True), "gfx950"
    alone = AttentionTile(
        16, 96, 128, 1, staged_queries=False, staged_keys=False, staged_values=False
    )
    copied, direct = (
        predicted_microseconds(
            attention_work(shape, each, known_processor(chip), (16, 16, 16)), known_processor(chip)
        )
        for each in (AttentionTile(32, 96, 128, 2, staged_queries=False), alone)
    )
    assert direct < copied
    assert direct == pytest.approx(50.3, rel=0.1)


def test_what_one_warp_copies_straight_to_the_lds_takes_longer_than_what_two_share() -> None:
    """2 rows of 96 and 3000 keys: 39.4, 40.9 and 45.8 us by the model of a compute unit."""
    shape, chip = AttentionShape(16, 2, 3072, 96, 96, depth=32, short_steps=True), "gfx950"
    tiles = [
        AttentionTile(16 * warps, 96, keys, warps, slots=2, stages=2, staged_queries=False)
        for keys, warps in ((64, 2), (128, 2), (128, 1))
    ]
    works = [attention_work(shape, each, known_processor(chip), (16, 16, 16)) for each in tiles]
    times = [predicted_microseconds(each, known_processor(chip)) for each in works]
    assert max(times[:2]) < times[2]
    assert times == pytest.approx([39.4, 40.9, 45.8], rel=0.15)


@pytest.mark.parametrize(
    ("chip", "head", "tile", "counted"),
    [
        # Rows, keys and warps of tiles whose Q does not lie in the LDS; counted in the code.
        ("gfx942", 128, (128, 64, 8), (64, 108, 189, 2304)),
        ("gfx942", 128, (64, 64, 4), (64, 117, 204, 1280)),
        ("gfx942", 64, (64, 32, 4), (16, 59, 96, 320)),
        ("gfx942", 256, (64, 16, 4), (32, 41, 95, 640)),
        ("gfx950", 128, (64, 64, 4), (32, 117, 206, 768)),
        ("gfx950", 64, (64, 64, 4), (16, 110, 166, 384)),
        ("gfx950", 256, (64, 16, 4), (24, 41, 96, 384)),
    ],
)
def test_a_short_step_on_amd_has_what_its_code_has(
    chip: str, head: int, tile: tuple[int, int, int], counted: tuple[int, int, int, int]
) -> None:
    """An exponential counts as four vector instructions, and matrix instructions apart."""
    rows, keys, warps = tile
    shape = AttentionShape(8, 2048, 2048, head, head, depth=32, short_steps=True)
    cut = AttentionTile(rows, head, keys, warps, staged_queries=False)
    work = attention_work(shape, cut, known_processor(chip), (16, 16, 16))
    products, vector, instructions, cycles = counted
    assert (work.matrix_instructions, work.lds_cycles) == (products, cycles)
    assert work.vector == pytest.approx(vector, rel=0.06)
    assert work.instructions == pytest.approx(instructions, rel=0.1)


def test_steps_that_rescale_sums_are_longer_and_those_of_f32_are_never_short() -> None:
    cut = AttentionTile(128, 128, 64, 8, staged_queries=False)
    shape = AttentionShape(8, 2048, 2048, 128, 128, depth=32)
    long, short = (
        attention_work(shape._replace(short_steps=each), cut, CDNA3, (16, 16, 16))
        for each in (False, True)
    )
    # Without exponentials the code has 152 - 4 of the former, and 44 of the latter.
    exponentials = 4 * 16
    assert long.vector - exponentials == pytest.approx(152, rel=0.06)
    assert short.vector - exponentials == pytest.approx(44, rel=0.06)
    words = shape._replace(element_bytes=4, depth=4)
    assert attention_work(words, cut, CDNA3, (16, 16, 4)) == attention_work(
        words._replace(short_steps=True), cut, CDNA3, (16, 16, 4)
    )


def test_workgroups_on_amd_begin_where_others_end() -> None:
    shape = AttentionShape(1, 64 * 304, 2048, 64, 64, depth=32)
    cut = AttentionTile(64, 64, 64, 4, staged_queries=False)
    work = attention_work(shape, cut, CDNA3, (16, 16, 16))
    held = concurrent_workgroups(work, CDNA3)
    still = CDNA3._replace(clock_per_matrix=0.0, launch_cycles=0.0)
    times = [
        predicted_microseconds(work._replace(workgroups=304 * n), still) for n in (held, held + 1)
    ]
    assert times[1] / times[0] == pytest.approx(1 + 1 / held)


def test_idle_multiprocessors_take_no_power() -> None:
    shape = AttentionShape(1, 64 * 304, 2048, 64, 64, depth=32)
    cut = AttentionTile(64, 64, 64, 4, staged_queries=False)
    work = attention_work(shape, cut, CDNA3, (16, 16, 16))
    still = CDNA3._replace(clock_per_matrix=0.0)
    slower = [
        predicted_microseconds(of_grid, CDNA3) / predicted_microseconds(of_grid, still)
        for of_grid in (work, work._replace(workgroups=152))
    ]
    assert 1 / slower[0] - 1 == pytest.approx(2 * (1 / slower[1] - 1))


def test_larger_instructions_do_as_much_and_wait_less() -> None:
    cut = AttentionTile(256, 128, 64, 8, stages=2, staged_queries=False)

    def work(depth: int, *instruction: int) -> TileWork:
        shape = AttentionShape(16, 4096, 4096, 128, 128, depth=depth, short_steps=True)
        m, n, k = instruction
        return attention_work(shape, cut, CDNA3, (m, n, k))

    small, larger = work(32, 16, 16, 16), work(16, 32, 32, 8)
    assert (small.larger, larger.larger) == (False, True)
    assert larger.matrix_instructions == small.matrix_instructions
    # The compiler takes 222.
    assert larger.registers == pytest.approx(222, rel=0.05)
    assert predicted_microseconds(larger, CDNA3) < predicted_microseconds(small, CDNA3)


def test_registers_hold_a_part_of_a_step_s_operands() -> None:
    shape = AttentionShape(4, 2048, 512, 256, 256, depth=32)
    cut = AttentionTile(128, 256, 64, 8, staged_queries=False)

    def registers(keys: int) -> float:
        of_keys = cut._replace(keys=keys)
        return attention_work(shape, of_keys, known_processor("gfx950"), (16, 16, 16)).registers

    # Of the 256 that 8 waves leave a lane, the compiler spills 33 with 64 keys, and none with 32.
    assert registers(32) < 256 < registers(64)


def test_operands_that_warps_load_themselves_take_no_lds() -> None:
    """K is 64 x 128 elements of 16 bits, and V 64 x 80."""
    shape = AttentionShape(8, 16, 1024, 128, 80, depth=16)
    cut = AttentionTile(16, 80, 64, 1, staged_queries=False)

    def work(**ways: bool) -> TileWork:
        return attention_work(shape, cut._replace(**ways), CDNA3, (16, 16, 16))

    staged, values = work(), work(staged_keys=False)
    neither = work(staged_keys=False, staged_values=False)
    keys_bytes, values_bytes = 64 * 128 * 2, 64 * 80 * 2
    assert staged.lds_bytes == keys_bytes + values_bytes
    assert (values.lds_bytes, neither.lds_bytes, neither.lds_cycles) == (values_bytes, 0, 0)
    assert values.lds_cycles == staged.lds_cycles - 2 * keys_bytes / 128
    assert (staged.memory_cycles, values.memory_cycles) == (0, keys_bytes / 64)
    assert neither.memory_cycles == (keys_bytes + values_bytes) / 64
    assert work(staged_keys=False).matrix_instructions == staged.matrix_instructions
    assert math.isfinite(predicted_microseconds(neither, known_processor("gfx942")))
    four = attention_work(
        shape, cut._replace(rows=64, warps=4, staged_keys=False), CDNA3, (16, 16, 16)
    )
    assert four.memory_cycles == 4 * values.memory_cycles


def test_steps_whose_operands_fill_the_registers_are_not_the_best() -> None:
    """3 rows of a head of 640 and 256 keys: 47.8 and 21.0 us by the model of a compute unit.

    A lane has 512 registers, and the operands of a step of 128 keys have 640 + 64.
    """
    shape = AttentionShape(1, 3, 256, 640, 64, depth=16, short_steps=True)
    cut = AttentionTile(
        16, 64, 128, 1, staged_queries=False, staged_keys=False, staged_values=False
    )
    times = [
        predicted_microseconds(
            attention_work(shape, cut._replace(keys=keys), CDNA3, (16, 16, 16)), CDNA3
        )
        for keys in (128, 64)
    ]
    assert times[1] < times[0]


def test_copies_that_fill_the_registers_are_not_the_best() -> None:
    """2 rows of a head of 336 and 96 keys in f32: 79,878 and 41,111 cycles of a wave by the model
    of a compute unit.

    A lane has 512 registers, and loads 504 for the copy of 96 keys before it stores the first.
    """
    shape = AttentionShape(1, 16, 96, 336, 16, depth=4, element_bytes=4, short_steps=True)
    cut = AttentionTile(16, 16, 96, 1, staged_queries=False)
    whole, half = (
        predicted_microseconds(
            attention_work(shape, cut._replace(keys=keys), CDNA4, (16, 16, 4)), CDNA4
        )
        for keys in (96, 48)
    )
    assert half < whole


def test_what_does_not_fit_takes_forever() -> None:
    cut = AttentionTile(128, 256, 128, 8, slots=2)
    work = attention_work(AttentionShape(4, 2048, 2048, 256, 256), cut, SM80)
    assert work.lds_bytes > SM80.lds_bytes
    assert predicted_microseconds(work, SM80) == math.inf


def test_chips() -> None:
    assert processor_of("gfx90a") is None
    assert known_processor("sm_90") == SM80 and SM80.measured
    # Only code for sm_90a can have `wgmma`.
    assert SM80._replace(described_cycles=1.0) == SM90A
    for arch in ("sm_86", "sm_89", "gfx942", "gfx950"):
        assert not known_processor(arch).measured


@given(
    st.builds(
        # Of a class, Hypothesis would choose the fields that have defaults too.
        lambda **sizes: TileWork(**sizes),
        workgroups=st.integers(1, 5000),
        warps=st.sampled_from([1, 2, 4, 8]),
        steps=st.integers(1, 500),
        matrix_instructions=st.floats(1, 500),
        lds_cycles=st.floats(0, 5000),
        instructions=st.floats(0, 2000),
        copies=st.floats(0, 500),
        registers=st.floats(16, 400),
        lds_bytes=st.integers(0, 100_000),
        slots=st.sampled_from([1, 2]),
        memory_cycles=st.floats(0, 5000),
    ),
    st.sampled_from(
        [
            *("workgroups", "steps", "matrix_instructions", "lds_cycles", "instructions"),
            *("copies", "memory_cycles"),
        ]
    ),
)
def test_more_work_takes_no_less_time(work: TileWork, what: str) -> None:
    more = work._replace(**{what: getattr(work, what) * 2})
    assert predicted_microseconds(more, SM80) >= predicted_microseconds(work, SM80)


@pytest.mark.parametrize(
    ("matrix_instructions", "steps", "copied", "other", "slots"),
    [
        (128, 64, 32768, 16384, 2),
        (64, 128, 16384, 0, 4),
        (64, None, 16384, 0, 4),
        # There are too few steps, or too few bytes for two workgroups.
        (64, 3, 16384, 0, 2),
        (64, 1, 16384, 0, 1),
        (64, 128, 16384, 40000, 2),
        (64, 128, 65536, 40000, 1),
    ],
)
def test_slots(
    matrix_instructions: int, steps: int | None, copied: int, other: int, slots: int
) -> None:
    assert rotating_slots(matrix_instructions, steps, copied, other, 166912) == slots


@pytest.mark.parametrize(
    ("work", "copied", "counts"),
    [
        # A matmul, and an attention with long steps.
        (matmul_work((512, 4096, 4096), MatmulTile(128, 128, 64, 2, 2), SM80), 32768, (2, 4)),
        (
            attention_work(
                AttentionShape(64, 2048, 2048, 64, 64), AttentionTile(128, 64, 64, 4), SM80
            ),
            16384,
            (2, 4),
        ),
        # 4 slots do not fit, or are the usual number.
        (matmul_work((512, 4096, 4096), MatmulTile(128, 128, 128, 2, 2), SM80), 65536, (2,)),
        (matmul_work((512, 4096, 4096), MatmulTile(128, 128, 32, 2, 2), SM80), 16384, (4,)),
        # There are enough steps, too few, and one.
        (matmul_work((512, 4096, 1024), MatmulTile(128, 128, 64, 2, 2), SM80), 32768, (2, 4)),
        (matmul_work((512, 4096, 960), MatmulTile(128, 128, 64, 2, 2), SM80), 32768, (2,)),
        (matmul_work((512, 4096, 64), MatmulTile(128, 128, 64, 2, 2), SM80), 32768, (1,)),
        # The steps of the attention are short.
        (
            attention_work(
                AttentionShape(16, 1024, 1024, 80, 72), AttentionTile(64, 72, 64, 4), SM80
            ),
            19456,
            (2,),
        ),
    ],
)
def test_numbers_of_slots_that_are_compared(
    work: TileWork, copied: int, counts: tuple[int, ...]
) -> None:
    assert slot_counts(work, copied, 166912) == counts


ROW_PIECES = [
    # Rows, columns, summed elements, warps that share the rows and the columns, slots; f16
    # 512x4096x4096, A times B with its columns, and with its rows, along the summed elements.
    ((128, 128, 128, 2, 2, 2), 59.5, 65.2),
    ((128, 128, 64, 2, 2, 4), 61.3, 60.7),
]


def test_a_warp_alone_waits_longer_for_pieces_of_rows() -> None:
    predicted: list[tuple[float, float]] = []
    for tile, *measured in ROW_PIECES:
        work = matmul_work((512, 4096, 4096), MatmulTile(*tile), SM80)
        both = (
            predicted_microseconds(work._replace(row_pieces=each), SM80) for each in (False, True)
        )
        predicted.append((next(both), next(both)))
        assert predicted[-1] == pytest.approx(tuple(measured), rel=0.1)
    few, many = predicted
    assert few[0] < many[0] and few[1] > many[1]


@pytest.mark.parametrize(
    ("shape", "warps"),
    [
        # Two warps of a scheduler, two workgroups of a multiprocessor, and few steps.
        ((512, 4096, 4096), (2, 4)),
        ((1024, 4096, 4096), (2, 2)),
        ((512, 4096, 128), (2, 2)),
    ],
)
def test_others_wait_for_pieces_of_rows_as_for_whole_ones(
    shape: tuple[int, int, int], warps: tuple[int, int]
) -> None:
    work = matmul_work(shape, MatmulTile(128, 128, 64, *warps, 2), SM80)
    pieces = work._replace(row_pieces=True)
    assert predicted_microseconds(pieces, SM80) == predicted_microseconds(work, SM80)


LATER = {
    # Rows, columns and summed elements, and instructions an element; microseconds on an H200 by
    # rows, columns and summed elements of a step, warps, and slots.
    ((25088, 384, 96), 54.0): {
        (32, 64, 32, 2, 2, 2): 45.9,
        (64, 64, 32, 2, 2, 2): 41.8,
        (64, 128, 32, 2, 2, 2): 46.8,
        (128, 64, 32, 4, 2, 2): 44.8,
        (128, 128, 32, 2, 2, 2): 83.9,
        (128, 128, 32, 2, 4, 2): 60.5,
        (128, 192, 32, 4, 2, 2): 62.7,
    },
    ((8192, 2048, 256), 27.0): {
        (32, 64, 32, 2, 2, 2): 71.9,
        (64, 64, 32, 2, 2, 2): 59.9,
        (64, 128, 32, 2, 2, 2): 76.6,
        (128, 64, 32, 4, 2, 2): 64.8,
        (128, 128, 32, 2, 2, 2): 73.1,
        (128, 128, 32, 2, 4, 2): 99.6,
    },
    ((4096, 4096, 512), 36.0): {
        (32, 64, 32, 2, 2, 2): 125.0,
        (64, 64, 32, 2, 2, 2): 92.4,
        (64, 128, 32, 2, 2, 2): 111.8,
        (128, 64, 32, 4, 2, 2): 119.8,
        (128, 128, 32, 2, 2, 2): 113.1,
        (128, 128, 32, 2, 4, 2): 142.0,
    },
}


def later_microseconds(shape: tuple[int, int, int], tile: MatmulTile, count: float) -> float:
    """Returns the predicted time of a matmul that computes with its results."""
    work = matmul_work(shape, tile, SM80)
    results = tile.rows * tile.columns / (32 * tile.warps)
    return predicted_microseconds(with_later(work, results, count, 255), SM80)


@pytest.mark.parametrize(("key", "measured"), LATER.items(), ids=["gelu", "silu", "tanh"])
def test_tiles_are_chosen_by_what_is_computed_with_results(
    key: tuple[tuple[int, int, int], float], measured: dict[tuple[int, ...], float]
) -> None:
    shape, count = key
    predicted = {each: later_microseconds(shape, MatmulTile(*each), count) for each in measured}
    least = min(predicted, key=predicted.__getitem__)
    assert measured[least] == min(measured.values())
    logarithms = [math.log(predicted[each] / measured[each]) for each in measured]
    mean = math.fsum(logarithms) / len(logarithms)
    assert max(abs(each - mean) for each in logarithms) < 0.25


@given(
    st.sampled_from([(64, 64, 4), (64, 128, 4), (128, 128, 8), (128, 256, 8)]),
    st.floats(0, 100),
    st.floats(0, 100),
)
def test_more_to_compute_never_takes_less(
    sizes: tuple[int, int, int], less: float, more: float
) -> None:
    rows, columns, warps = sizes
    tile = MatmulTile(rows, columns, 64, 2, warps // 2, 2)
    first, second = sorted((less, more))
    times = [later_microseconds((2048, 2048, 512), tile, each) for each in (first, second)]
    assert times[0] <= times[1]


def test_few_instructions_take_no_registers() -> None:
    work = matmul_work((2048, 2048, 512), MatmulTile(64, 128, 64, 2, 2, 2), SM80)
    assert with_later(work, 64, 8.0, 255).registers == work.registers
    assert with_later(work, 64, 27.0, 255).registers > work.registers
    assert with_later(work, 200, 27.0, 255).registers == max(work.registers, 255)
