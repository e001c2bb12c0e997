# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the elements of a tile lie: LDS lines down, banks across, coloured by the lanes of a phase.

A bank map says which lanes meet on a bank. This picture says why: it shows the same words where
they lie in memory, each with the element of the tile that it holds. Under a plain layout the
elements of a column lie below each other; a swizzle moves them to other banks of their lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..bank_model.accesses import LdsTile
from ..bank_model.bank_map import BankMap, BankWord
from ..bank_model.layouts import Layout
from ..bank_model.shown_text import counted
from .bank_map_picture import lane_places, lanes_text
from .stripes import TOP, Cell, Drawing, Label
from .tile_grid import element_names, elements_in_words

_ROW = 28
_GAP = 5
"""What lies between two lines that are not neighbours in memory."""
_MOST_LINES = 16
_THOUSAND = 1000
WORD_BITS = 32


@dataclass(frozen=True, eq=False)
class TilePicture:
    """The words of a phase where they lie in memory.

    Attributes:
        drawing: the picture.
        caption: what it shows, in a sentence.
    """

    drawing: Drawing
    caption: str


def tile_picture(found: BankMap, tile: LdsTile, layout: Layout) -> TilePicture:
    """Returns the picture of the words that a phase touches, with the elements that lie in them.

    `found` is a map of accesses to `tile` under `layout`.
    """
    banks = len(found.words_by_bank)
    words = sorted((w for bank in found.words_by_bank for w in bank), key=lambda w: w.word)
    lines = sorted({word.word // banks for word in words})
    shown = lines[:_MOST_LINES]
    tops = dict(zip(shown, _tops(shown), strict=True))
    elements = elements_in_words([w.word for w in words], tile, layout, WORD_BITS)
    places = lane_places(found)
    cells = [
        _cell(
            word, banks, tops[word.word // banks], places[word.lanes[0]], elements[word.word], tile
        )
        for word in words
        if word.word // banks in tops
    ]
    bottom = tops[shown[-1]] + _ROW
    drawing = Drawing(
        banks=banks,
        height=bottom + 2,
        places=len(places),
        beds=tuple((top, _ROW) for top in tops.values()),
        cells=tuple(cells),
        frames=(),
        labels=tuple(Label(str(line), top + _ROW // 2) for line, top in tops.items()),
        heading="line",
        idle="nothing of these lines on these banks",
    )
    return TilePicture(drawing, _caption(tile, len(shown), len(lines), banks * WORD_BITS // 8))


def _tops(lines: Sequence[int]) -> Iterator[int]:
    top = TOP
    for number, line in enumerate(lines):
        if number and line != lines[number - 1] + 1:
            top += _GAP
        yield top
        top += _ROW


def _cell(
    word: BankWord, banks: int, top: int, place: int, elements: Sequence[int], tile: LdsTile
) -> Cell:
    named = " and ".join(element_names(tile, element, 1) for element in elements) or "no element"
    title = f"bank {word.word % banks}, word {word.word}: {named}; {lanes_text(word)}"
    lines = _lines(elements[0], tile) if elements else ("-",)
    return Cell(word.word % banks, top, _ROW, place, lines, title)


def _lines(element: int, tile: LdsTile) -> tuple[str, ...]:
    """Returns the row above the column; of a tile without rows, the thousands above the rest."""
    if len(tile.shape) > 1:
        row, column = divmod(element, tile.row_elements)
        return str(row), str(column)
    if element < _THOUSAND:
        return (str(element),)
    return f"{element // _THOUSAND},", f"{element % _THOUSAND:03}"


def _caption(tile: LdsTile, shown: int, lines: int, line_bytes: int) -> str:
    what = "row above column" if len(tile.shape) > 1 else "its number"
    first = "the element" if tile.element_bits >= WORD_BITS else "the first element"
    some = f"the first {shown} of " if shown < lines else ""
    count = counted(lines, "line")
    return (
        f"Where they lie: {some}{count} of {line_bytes} bytes; a cell is {first} of a word, {what}"
    )
