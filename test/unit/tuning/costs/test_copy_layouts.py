# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of copies: every element is moved once, and the best one touches the fewest blocks."""

from __future__ import annotations

from itertools import product
from math import gcd, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.descriptor_tiles import ArrangedTile
from bankwise.bank_model.layout_counts import count_layout
from bankwise.bank_model.layouts import PlainLayout
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.nested_layout import NestedLayout, TilePart
from bankwise.tuning.costs.copy_layouts import (
    BLOCK_ROWS,
    CopyOrder,
    best_copy_layout,
    block_layout,
    copy_layouts,
    least_transactions,
    share_evenly,
    shares_blocks,
    transactions,
    widest_share,
)

SHAPES = st.tuples(st.integers(1, 24), st.integers(1, 12).map(lambda row: 8 * row))


@settings(max_examples=40, deadline=None)
@given(SHAPES, st.sampled_from([8, 16, 32]), st.sampled_from([64, 128, 192]))
def test_every_element_is_moved_once(shape: tuple[int, ...], bits: int, threads: int) -> None:
    part = TilePart(LdsTile(shape, bits))
    for layout in copy_layouts(shape, bits, threads, shape[-1]):
        assert layout.shape == shape
        moved = np.concatenate(
            [
                (each.elements[..., None] + np.arange(each.count)).ravel()
                for each in layout.accesses(part, AccessKind.WRITE, threads=threads, wave_size=64)
            ]
        )
        assert np.sort(moved).tolist() == list(range(prod(shape)))


@pytest.mark.parametrize("arch", ["sm_80", "gfx942"])
@pytest.mark.parametrize("shape", [(64, 96), (1, 64, 80), (32, 160), (16, 48)])
@pytest.mark.parametrize("row", [0, 24, 200])
def test_no_layout_touches_fewer_blocks_than_the_best(
    arch: str, shape: tuple[int, ...], row: int
) -> None:
    """Rows of memory may be longer, or all be one row."""
    dims = [*range(len(shape))]
    memory = (*shape[:-1], max(row, shape[-1]))
    part = TilePart(LdsTile(memory, 16), dims if row else [None] * (len(dims) - 1) + [dims[-1]])
    lds = lds_of(arch)
    run = gcd(shape[-1], memory[-1])
    best = best_copy_layout(lds, part, shape, 128, run)

    def cost(layout: NestedLayout) -> tuple[int, int]:
        return transactions(lds, layout, part, 128), prod(layout.batch_tile)

    found = [*copy_layouts(shape, 16, 128, run)]
    assert best == min(found, key=cost)
    for each in found:
        assert least_transactions(lds, each, part) <= transactions(lds, each, part, 128)


def test_the_worked_example() -> None:
    part = TilePart(LdsTile((64, 96), 16))
    best = best_copy_layout(lds_of("sm_80"), part, (64, 96), 128, 96)
    assert best is not None
    assert (best.element_tile, best.thread_tile, best.batch_tile) == ((1, 8), (32, 4), (2, 3))


def test_accesses_are_no_wider_than_what_rows_are_aligned_to() -> None:
    """12 elements of a row of memory that is 20 elements long: 8 bytes are aligned in all rows."""
    part = TilePart(LdsTile((64, 20), 16))
    best = best_copy_layout(lds_of("sm_80"), part, (64, 12), 64, 20)
    assert best is not None and best.element_tile == (1, 4)


@given(
    shape=st.lists(st.integers(1, 12), min_size=1, max_size=3),
    threads=st.sampled_from((1, 2, 6, 8, 12, 16, 30, 64)),
)
@settings(max_examples=200, deadline=None)
def test_threads_share_what_a_tile_of_them_divides(shape: list[int], threads: int) -> None:
    divisors = ([n for n in range(1, size + 1) if size % n == 0] for size in shape)
    shared = any(prod(tile) == threads for tile in product(*divisors))
    assert share_evenly([shape], threads) == shared
    assert share_evenly([shape, (threads,)], threads) == shared


def test_threads_that_cannot_share_a_tile_evenly_have_no_layout() -> None:
    part = TilePart(LdsTile((3, 8), 16))
    assert best_copy_layout(lds_of("sm_80"), part, (3, 8), 128, 8) is None


@pytest.mark.parametrize(
    ("rows", "columns", "threads", "width"),
    [
        (64, 128, 256, 8),
        (64, 192, 256, 4),
        (64, 80, 128, 2),
        (128, 80, 256, 2),
        (112, 112, 448, 0),
        (112, 112, 256, 0),
        (6, 128, 64, 0),
    ],
)
def test_blocks_are_as_wide_as_threads_share_evenly(
    rows: int, columns: int, threads: int, width: int
) -> None:
    layout = block_layout((1, rows, columns), threads)
    assert shares_blocks(rows, columns, threads) == (layout is not None) == (width > 0)
    if layout is not None:
        assert layout.element_tile == (1, BLOCK_ROWS, width)
        assert layout.shape == (1, rows, columns) and prod(layout.thread_tile) == threads


@pytest.mark.parametrize(
    ("rows", "columns", "threads", "width"),
    [(64, 128, 256, 16), (96, 112, 256, 4), (112, 112, 256, 2), (64, 80, 192, 0)],
)
def test_the_widest_accesses_that_threads_share_evenly(
    rows: int, columns: int, threads: int, width: int
) -> None:
    assert widest_share(rows, columns, 2, threads) == width


@pytest.mark.parametrize("width", [8, 4, 2])
@pytest.mark.parametrize("columns", [16, 32, 48, 64, 80, 96, 112, 160, 192, 224, 256])
def test_copies_to_blocks_of_descriptors_have_no_conflicts(columns: int, width: int) -> None:
    rows, threads, lds = 64, 128, lds_of("sm_90a")
    arranged = ArrangedTile.of(rows, columns, 2)
    assert arranged is not None
    order = CopyOrder.for_descriptors((1, rows, columns), width, 2, threads)
    copied = order.places(np.arange(rows * columns // width))
    assert np.sort(copied).tolist() == list(range(rows * columns // width))
    lying = arranged.place(copied * width).reshape(-1, lds.wave_size)
    stores = LdsAccess(AccessKind.WRITE, lying, width)
    tile = LdsTile((rows, columns), 16)
    assert count_layout(lds, tile, PlainLayout(), [stores]).conflict_cycles == 0


def test_all_threads_copy_to_the_same_part_of_a_tile() -> None:
    """256 threads copy to 112 columns, with 8, 4 and 2 copies of a row in the parts."""
    order = CopyOrder.for_descriptors((64, 112), 8, 2, 256)
    assert len(order.parts) == 3
    columns = order.places(np.arange(64 * 14)) % 14
    assert [int(each.max()) for each in np.split(columns, [512, 768])] == [7, 11, 13]
    assert order.part_of(256) == order.parts[0] and order.part_of(768) == order.parts[2]


@pytest.mark.parametrize(("rows", "threads"), [(64, 96), (16, 256)])
def test_threads_that_would_copy_to_two_parts_keep_one_mode(rows: int, threads: int) -> None:
    order = CopyOrder.for_descriptors((rows, 96), 8, 2, threads)
    assert len(order.parts) == 1


def test_row_by_row_they_would_have_conflicts() -> None:
    arranged = ArrangedTile.in_one_mode(64, 96, 2)
    assert arranged is not None and arranged.parts[0].line_rows == 2
    order = CopyOrder.by_rows((64, 96), 8)
    lying = arranged.place(order.places(np.arange(768)) * 8).reshape(-1, 32)
    stores, tile = LdsAccess(AccessKind.WRITE, lying, 8), LdsTile((64, 96), 16)
    assert count_layout(lds_of("sm_90a"), tile, PlainLayout(), [stores]).conflict_cycles > 0
