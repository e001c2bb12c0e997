# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of whole tiles: which there are, as text, as SVG and in a notebook."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import bankwise
from bankwise.report.stripes import CELL_WIDTH, LEFT
from bankwise.tiles.answer_contents import phases_of
from bankwise.tiles.answer_formats import rendered
from bankwise.tiles.answer_html import answer_html


def test_a_solution_is_shown_before_and_after() -> None:
    found = bankwise.solve("sm_80", "32x32xf32", write="rows", read="columns")
    banks, lanes = found.picture(), found.picture("lanes")
    titles = [picture.title for picture in banks.pictures]
    assert titles == ["plain", f"swizzled: {found.best.layout}"]
    assert [picture.title for picture in lanes.pictures] == [
        f"{access}, {title}" for access in ("write rows", "read columns") for title in titles
    ]
    assert str(banks).count("The bank of each element: the whole tile") == 2
    assert len(repr(lanes)) < 300
    assert lanes._repr_html_().count("<img ") == 2 * 4


def test_a_file_has_all_stripes_side_by_side() -> None:
    count = bankwise.count("gfx950", "64x64xf16", read="columns:128", layout="128B")
    (svg,) = count.picture("lanes").svgs
    root = ElementTree.fromstring(svg)
    stripes = [each for each in root if each.tag.endswith("svg")]
    assert [int(each.attrib["x"]) for each in stripes] == [
        number * (LEFT + 16 * CELL_WIDTH + 1) for number in range(4)
    ]
    assert int(root.attrib["width"]) == sum(int(each.attrib["width"]) for each in stripes)


def test_banks_are_those_of_the_instructions() -> None:
    # On gfx950 a read of 16 bytes has 64 banks, and one of 4 bytes 32.
    for read, banks in (("rows:128", 64), ("rows:32", 32)):
        count = bankwise.count("gfx950", "64x64xf32", read=read)
        (picture,) = count.picture("lanes").pictures
        assert picture.grid.columns == banks


def test_there_are_two_kinds() -> None:
    count = bankwise.count("sm_80", "32x32xf32", read="columns")
    with pytest.raises(bankwise.TileArgumentError, match=r"^picture: 'warps' is neither"):
        count.picture("warps")


def test_a_page_begins_with_what_comes_of_the_question() -> None:
    found = bankwise.solve("gfx942", "64x64xf16", write="rows:128", read="columns")
    page = answer_html(found, page=True)
    start = page[: page.index("<table>")]
    assert f"<h1>{found.question}</h1>" in start
    assert '<strong class="good">3,968 → 0</strong>' in start
    assert "conflict cycles, plain → swizzled; 8,192 → 8,192 LDS bytes" in start
    for what in ("the offset", "the place", "the subscript", "the function", "for IREE"):
        assert page.count(f"hidden>copy {what}</button>") == 1
    counted = answer_html(found.plain, page=True)
    assert '<strong class="bad">3,968</strong>\nconflict cycles, plain; 8,192 LDS bytes' in counted


@pytest.mark.parametrize(
    ("target", "tile", "read"),
    [
        ("gfx942", "64x64xf16", "columns"),
        ("gfx942", "32x32xf32", "columns"),
        ("gfx950", "128x128xf32", "columns:128"),
        ("sm_90", "128x64xf16", "ldmatrix"),
    ],
)
def test_a_page_is_small(target: str, tile: str, read: str) -> None:
    found = bankwise.solve(target, tile, write="rows:128", read=read, threads=128)
    assert len(rendered(found, "html").encode()) < 150_000


def test_a_page_offers_the_phases_of_an_access() -> None:
    found = bankwise.solve("gfx942", "64x64xf16", write="rows:128", read="columns")
    words = [words for words, _ in phases_of(found.drawn, 0)]
    assert words == [f"phase {number}: 1 → 1 cycles" for number in range(1, 9)]
    assert answer_html(found, page=True).count("<select ") == 3
    assert "<select " not in answer_html(found)
    phases = [(words, maps) for words, maps in phases_of(found.drawn, 1)]
    assert [words for words, _ in phases] == ["phase 1: 32 → 1 cycles", "phase 2: 32 → 1 cycles"]
    for number, (_, maps) in enumerate(phases):
        for each in maps:
            assert each.drawn.phase == number
            lanes = {lane for words in each.drawn.words_by_bank for w in words for lane in w.lanes}
            assert lanes == {*range(32 * number, 32 * number + 32)}
