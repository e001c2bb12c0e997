# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where elements lie: the picture agrees with the layout, element by element."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.map_folding import folded_map
from bankwise.bank_model.swizzles import XorShuffle
from bankwise.report.bank_map_picture import bank_map_drawing, map_in_words
from bankwise.report.html_page import COLOURS
from bankwise.report.stripes import BANKS_PER_STRIPE, standalone, stripes
from bankwise.report.tile_picture import TilePicture, tile_picture

LANES = np.arange(64)


def column(tile: LdsTile, layout: Layout, arch: str = "gfx942") -> TilePicture:
    """Returns the picture of lanes that each read the first element of a row, or of 32."""
    step = tile.row_elements if len(tile.shape) > 1 else 32
    access = LdsAccess(AccessKind.READ, LANES * step, 1)
    folded = folded_map(lds_of(arch), tile, layout, [access])
    assert folded is not None
    return tile_picture(folded.shown, tile, layout)


@pytest.mark.parametrize(
    ("bits", "layout"),
    [
        (32, PlainLayout()),
        (32, PaddedLayout(1)),
        (32, SwizzledLayout((XorShuffle(32, 1),))),
        (16, SwizzledLayout((XorShuffle(32, 2),))),
        (64, PlainLayout()),
        (8, PaddedLayout(4)),
    ],
    ids=str,
)
def test_every_cell_names_the_elements_of_its_word(bits: int, layout: Layout) -> None:
    tile = LdsTile((64, 32), bits)
    found = column(tile, layout)
    places = layout.offsets(tile, np.arange(tile.elements)) * bits
    assert found.drawing.cells
    for cell in found.drawing.cells:
        word = int(re.findall(r"word (\d+)", cell.title)[0])
        named = {
            int(row) * 32 + int(col)
            for row, col in re.findall(r"row (\d+), column (\d+)", cell.title)
        }
        inside = (places < (word + 1) * 32) & (places + bits > word * 32)
        assert named == {*np.flatnonzero(inside).tolist()}
        assert cell.bank == word % 32
        assert cell.lines == (str(min(named) // 32), str(min(named) % 32))


def test_a_column_lies_below_itself_and_a_swizzle_spreads_it() -> None:
    tile = LdsTile((64, 32), 32)
    before = column(tile, PlainLayout())
    after = column(tile, SwizzledLayout((XorShuffle(32, 1),)))
    assert {cell.bank for cell in before.drawing.cells} == {0}
    assert [cell.bank for cell in after.drawing.cells] == list(range(16))
    assert before.caption.startswith("Where they lie: the first 16 of 32 lines of 128 bytes")
    # Lines that are not neighbours in memory do not touch.
    wide = column(LdsTile((64, 64), 32), PlainLayout())
    tops, wider = ([top for top, _ in each.drawing.beds] for each in (before, wide))
    assert np.diff(tops).tolist() == [28] * 15
    assert np.diff(wider).tolist() == [33] * 15


def test_elements_without_rows_are_numbers() -> None:
    found = column(LdsTile((2048,), 32), PlainLayout(), "gfx942")
    lines = [cell.lines for cell in found.drawing.cells]
    assert lines[:2] == [("0",), ("32",)]
    assert "its number" in found.caption
    far = LdsAccess(AccessKind.READ, 1024 + LANES * 0, 1)
    folded = folded_map(lds_of("gfx942"), LdsTile((2048,), 32), PlainLayout(), [far])
    assert folded is not None
    (cell,) = tile_picture(folded.shown, LdsTile((2048,), 32), PlainLayout()).drawing.cells
    assert cell.lines == ("1,", "024")
    assert cell.title == "bank 0, word 1024: element 1024; lanes 0-31"


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_stripes_hold_every_cell_once_and_are_xml(arch: str) -> None:
    tile = LdsTile((64, 64), 32)
    access = LdsAccess(AccessKind.READ, LANES * 4, 4)
    folded = folded_map(lds_of(arch), tile, PlainLayout(), [access])
    assert folded is not None
    drawing = bank_map_drawing(folded.shown)
    found = list(stripes(drawing))
    assert len(found) == drawing.banks // BANKS_PER_STRIPE
    assert sum(each.count("<title>") for each in found) == len(drawing.cells)
    for svg in standalone(drawing, COLOURS):
        root = ElementTree.fromstring(svg)
        sizes = [float(root.attrib[name]) for name in ("width", "height")]
        for text in root.iter():
            assert 0 <= float(text.attrib.get("x", 0)) <= sizes[0]
            assert 0 <= float(text.attrib.get("y", 0)) <= sizes[1]
            for move in re.findall(r"translate\(([\d. ]+)\)", text.attrib.get("transform", "")):
                x, y = (float(each) for each in f"{move} 0".split()[:2])
                assert 0 <= x < sizes[0] and 0 <= y < sizes[1]
        assert not [each for each in root.iter() if each.tag.endswith(("script", "image"))]


def test_conflicts_are_framed_and_counted() -> None:
    tile = LdsTile((64, 32), 32)
    access = LdsAccess(AccessKind.READ, LANES * 32, 1)
    folded = folded_map(lds_of("gfx942"), tile, PlainLayout(), [access])
    assert folded is not None
    first, second = stripes(bank_map_drawing(folded.shown))
    assert first.count('class="frame"') == 1
    assert ">32!</tspan>" in first
    assert "no lane wants these banks" in second
    assert map_in_words(folded.shown) == "32 words on bank 0; no word on the banks 1 to 31"
