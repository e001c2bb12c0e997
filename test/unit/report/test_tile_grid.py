# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of whole tiles agree with the layout and the accesses, element by element."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
import pytest

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.swizzles import XorShuffle
from bankwise.report.stripes import BANKS_PER_STRIPE, stripes
from bankwise.report.tile_grid import GridCell, TileGrid, WholeTile
from bankwise.report.tile_grid_picture import tile_grid_drawing
from bankwise.report.tile_grid_text import tile_grid_text

READ = AccessKind.READ
PHASES = lds_of("gfx942").instruction_named("ds_read_b64").phases
CASES: list[tuple[tuple[int, ...], int, Layout, int]] = [
    ((64, 64), 16, SwizzledLayout((XorShuffle(64, 8),)), 8),
    ((64, 64), 16, SwizzledLayout((XorShuffle(64, 1),)), 1),
    ((40, 30), 16, PaddedLayout(1), 1),
    ((8, 96), 8, PlainLayout(), 4),
    ((16, 16), 64, SwizzledLayout((XorShuffle(16, 2),)), 2),
    ((8, 20), 24, PaddedLayout(2), 1),
    ((4, 40, 32), 32, PaddedLayout(4), 4),
    ((1000,), 32, PlainLayout(), 4),
]
"""Shape, bits of an element, layout, and elements of an access."""


def access_to(tile: LdsTile, count: int, waves: int = 2) -> LdsAccess:
    """Returns an access of some lanes of some waves to vectors, some of them the same."""
    vectors = np.arange(waves * 64).reshape(waves, 64) * 5 % (tile.elements // count)
    active = np.arange(64) % 7 != 3
    return LdsAccess(READ, vectors * count, count, active=np.broadcast_to(active, (waves, 64)))


def named(cell: GridCell, tile: LdsTile) -> list[int]:
    """Returns the elements that a cell's title names."""
    found: list[int] = []
    for part in re.split(r"[:;]", cell.title)[0].split(" and "):
        numbers = list(map(int, re.findall(r"\d+", part)))
        start = numbers.pop(0) * tile.row_elements if part.startswith("row") else 0
        found += [start + e for e in range(numbers[0], numbers[-1] + 1)]
    return found


@pytest.mark.parametrize(("shape", "bits", "layout", "count"), CASES, ids=str)
def test_a_cell_by_bank_names_its_elements_and_their_banks(
    shape: tuple[int, ...], bits: int, layout: Layout, count: int
) -> None:
    tile, lds = LdsTile(shape, bits), lds_of("gfx942")
    whole = WholeTile.of(lds, tile, [PlainLayout(), layout], [access_to(tile, count)])
    grid = whole.by_bank(layout)
    seen: list[int] = []
    for cell in grid.cells:
        elements = named(cell, tile)
        places = layout.offsets(tile, np.array(elements)) * bits
        words = {int(w) for p in places for w in range(p // 32, (p + bits - 1) // 32 + 1)}
        assert cell.texts == tuple(str(w % 32) for w in sorted(words))[: len(cell.texts)]
        assert len(cell.texts) == len(words) or len(elements) == 1
        first = elements[0] - grid.rows[cell.row] * whole.row_elements
        assert first == cell.column * grid.column_step
        seen += elements
    rows, columns = len(grid.rows), grid.columns * grid.column_step
    expected = [r * whole.row_elements + c for r in range(rows) for c in range(columns)]
    assert seen == [element for element in expected if element < tile.elements]


@pytest.mark.parametrize(("shape", "bits", "layout", "count"), CASES, ids=str)
def test_a_cell_by_lane_names_the_first_lane_and_the_elements(
    shape: tuple[int, ...], bits: int, layout: Layout, count: int
) -> None:
    tile, lds = LdsTile(shape, bits), lds_of("gfx942")
    access = access_to(tile, count)
    grid = WholeTile.of(lds, tile, [layout], [access]).by_lane(layout, [access, access], PHASES)
    wanted: dict[int, list[tuple[int, int]]] = defaultdict(list)
    assert access.active is not None
    for (wave, lane), start in np.ndenumerate(access.elements):
        for element in range(start, start + count) if access.active[wave, lane] else ():
            place = int(layout.offsets(tile, np.array(element))) * bits
            for word in range(place // 32, (place + bits - 1) // 32 + 1):
                wanted[word].append((wave, lane))
    shown: set[int] = set()
    for cell in grid.cells:
        words = range(cell.row * 32 + cell.column, cell.row * 32 + cell.column + len(cell.texts))
        for word, text in zip(words, cell.texts, strict=True):
            wave, lane = min(wanted[word])
            assert text == f"{lane}{'+' if len(set(wanted[word])) > 1 else ''}"
            assert f"; lane {lane} of wave {wave}, access 1 of 2" in cell.title
            assert lane in PHASES[cell.colour]
        places = layout.offsets(tile, np.arange(tile.elements)) * bits
        inside = (places < words.stop * 32) & (places + bits > words.start * 32)
        assert named(cell, tile) == np.flatnonzero(inside).tolist()
        shown.update(words)
    assert shown == {word for word in wanted if word // 32 in grid.rows}


def column_read(rows: int, layouts: list[Layout]) -> tuple[WholeTile, LdsAccess]:
    tile = LdsTile((rows, 32), 32)
    access = LdsAccess(READ, np.arange(64) % rows * 32, 1)
    return WholeTile.of(lds_of("gfx942"), tile, layouts, [access]), access


def column_of(grid: TileGrid, number: int) -> list[str]:
    return [cell.texts[0] for cell in grid.cells if cell.column == number]


def test_a_swizzle_spreads_what_lies_on_one_bank() -> None:
    swizzled = SwizzledLayout((XorShuffle(32, 1),))
    whole, access = column_read(8, [PlainLayout(), swizzled])
    assert column_of(whole.by_bank(PlainLayout()), 3) == ["3"] * 8
    assert column_of(whole.by_bank(swizzled), 3) == [str(3 ^ row) for row in range(8)]
    lanes = [f"{lane}+" for lane in range(8)]
    assert column_of(whole.by_lane(PlainLayout(), [access], PHASES), 0) == lanes
    assert [cell.column for cell in whole.by_lane(swizzled, [access], PHASES).cells] == list(
        range(8)
    )


def test_what_is_left_out_is_said() -> None:
    whole, access = column_read(64, [PlainLayout()])
    assert "the first 32 of 64 rows;" in whole.by_bank(PlainLayout()).caption
    by_lane = whole.by_lane(PlainLayout(), [access], PHASES).caption
    assert "the first 32 of 64 lines of 128 bytes" in by_lane
    wide = WholeTile.of(lds_of("gfx942"), LdsTile((4, 256), 8), [PaddedLayout(1)], [access])
    assert "the first 32 of 256 columns;" in wide.by_bank(PaddedLayout(1)).caption
    small, access = column_read(8, [PlainLayout()])
    assert "the whole tile;" in small.by_bank(PlainLayout()).caption
    assert "all 8 lines" in small.by_lane(PlainLayout(), [access], PHASES).caption


@pytest.mark.parametrize(("shape", "bits", "layout", "count"), CASES, ids=str)
def test_the_drawing_and_the_text_show_all_cells(
    shape: tuple[int, ...], bits: int, layout: Layout, count: int
) -> None:
    tile, lds = LdsTile(shape, bits), lds_of("gfx950")
    access = access_to(tile, count)
    whole = WholeTile.of(lds, tile, [layout], [access])
    for grid in (whole.by_bank(layout), whole.by_lane(layout, [access], PHASES)):
        drawing = tile_grid_drawing(grid)
        for cell in drawing.cells:
            last = cell.bank + cell.width - 1
            assert cell.bank // BANKS_PER_STRIPE == last // BANKS_PER_STRIPE
        svg = "".join(stripes(drawing))
        assert svg.count("<title>") == grid.titled * len(grid.cells)
        lines = tile_grid_text(grid).plain.splitlines()
        assert max(map(len, lines)) <= 100
        shown = [t for line in lines if not line.startswith(grid.row_name) for t in line.split()]
        drawn = sum(len(cell.texts) for cell in grid.cells)
        blocks = sum(line.startswith(grid.row_name) for line in lines)
        assert len([text for text in shown if text != "."]) == drawn + len(grid.rows) * blocks


def test_wide_cells_have_room_for_their_text() -> None:
    tile = LdsTile((4, 64), 16)
    access = LdsAccess(READ, np.arange(64) * 4, 4)
    whole = WholeTile.of(lds_of("sm_80"), tile, [PlainLayout()], [access])
    drawing = tile_grid_drawing(whole.by_bank(PlainLayout()))
    assert {cell.width for cell in drawing.cells} == {2}
    svg = "".join(stripes(drawing))
    # Five characters fit into two columns as they are.
    assert ">30-31</text>" in svg
    assert all("textLength" not in text for text in re.findall(r"<text[^>]*>\d+-\d+<", svg))
