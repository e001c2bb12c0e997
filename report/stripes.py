# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SVG pictures of banks: stripes of some banks each, which a page lays side by side or below.

A stripe has a column per bank with its number on top, and labels on the left. It is drawn with
classes; `STRIPE_STYLE` gives them the colours that the page has as variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from .lane_colours import ramp_colour

BANKS_PER_STRIPE = 16
"""What fits into a page of 500 pixels; two stripes side by side are the 32 banks of a line."""
CELL_WIDTH = 19
LEFT = 30
TOP = 16
_BASELINE = 4
"""How far below the middle of a cell the baseline of its text lies."""
_LINE_PITCH = 12
_IDLE_ROW = 18
_WIDEST_TEXT = CELL_WIDTH - 3
_NARROWER = 'lengthAdjust="spacingAndGlyphs"'
_CHARACTERS = 2
"""What fits into a cell in any font; longer text is set narrower."""

STRIPE_STYLE = """\
.stripe text { font: 11px system-ui, sans-serif; text-anchor: middle; fill: var(--ink); }
.stripe .soft { fill: var(--soft); }
.stripe .left { text-anchor: end; }
.stripe .bed { fill: var(--head); stroke: var(--line); }
.stripe { pointer-events: none; }
.stripe g { pointer-events: auto; stroke: var(--paper); }
.stripe g text { fill: #000; stroke: none; }
.stripe .frame { fill: none; stroke: var(--bad); stroke-width: 2; }
.stripe .many { fill: var(--bad); font-weight: 700; }
"""


@dataclass(frozen=True)
class Cell:
    """A cell of a stripe.

    Attributes:
        bank: its column.
        top: its distance from the top in pixels.
        height: its height.
        place: its place among those that share out the colours.
        lines: its text, one line or two.
        title: what a reader sees who points at it; may be empty.
        width: how many columns it takes; all of them are in one stripe.
    """

    bank: int
    top: int
    height: int
    place: int
    lines: tuple[str, ...]
    title: str
    width: int = 1


@dataclass(frozen=True)
class Label:
    """Text that is no cell: to the left of the banks, or in the column of one."""

    text: str
    middle: int
    bank: int | None = None
    style: str = "soft"


@dataclass(frozen=True)
class Frame:
    """A red frame around cells of a bank."""

    bank: int
    top: int
    height: int


@dataclass(frozen=True)
class Drawing:
    """What all stripes of a picture show together, in any order.

    Attributes:
        banks: how many banks there are.
        height: that of every stripe in pixels.
        places: how many places share out the colours.
        beds: (top, height) of the backgrounds behind all cells.
        cells: what is wanted, by lanes.
        frames: what conflicts.
        labels: all other text.
        heading: what the labels on the left or the numbers on top are, in the corner.
        idle: what is said in the place of a stripe without cells.
        step: by how much the numbers above the columns grow.
    """

    banks: int
    height: int
    places: int
    beds: tuple[tuple[int, int], ...]
    cells: tuple[Cell, ...]
    frames: tuple[Frame, ...]
    labels: tuple[Label, ...]
    heading: str = "bank"
    idle: str = "no lane wants these banks"
    step: int = 1


def stripes(drawing: Drawing) -> Iterator[str]:
    """Yields the stripes of a picture as SVG, without colours of their own.

    A stripe without cells is one row that says so.
    """
    for first in range(0, drawing.banks, BANKS_PER_STRIPE):
        shown = range(first, min(first + BANKS_PER_STRIPE, drawing.banks))
        wanted = any(cell.bank in shown for cell in drawing.cells)
        inside = _stripe(drawing, shown) if wanted else _idle_stripe(drawing, shown)
        width = LEFT + len(shown) * CELL_WIDTH + 1
        height = drawing.height if wanted else TOP + _IDLE_ROW + 1
        yield (
            f'<svg class="stripe" aria-hidden="true" '
            f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
            f"{''.join(inside)}</svg>"
        )


def svg_map(drawing: Drawing, label: str) -> str:
    """Returns a picture as HTML; `label` says what it shows to those who cannot see it."""
    drawn = [*stripes(drawing)]
    # Where there is room, the 32 banks of a line of memory are one line of the page.
    pairs = ("".join(drawn[at : at + 2]) for at in range(0, len(drawn), 2))
    lines = "".join(f'<div class="banks">{pair}</div>' for pair in pairs)
    return f'<div class="map" role="img" aria-label="{escape(label)}">{lines}</div>'


def standalone(drawing: Drawing, colours: str) -> Iterator[str]:
    """Yields the stripes of a picture as SVG files of their own, with `colours` as CSS inside."""
    for each in stripes(drawing):
        head, start, body = each.partition(">")
        paper = '<rect width="100%" height="100%" fill="var(--paper)"/>'
        head += ' xmlns="http://www.w3.org/2000/svg"'
        yield f"{head}{start}<style>{colours}{STRIPE_STYLE}</style>{paper}{body}"


def standalone_file(drawing: Drawing, colours: str) -> str:
    """Returns all stripes of a picture side by side as one SVG file, with `colours` as CSS."""
    places: list[str] = []
    x = 0
    for each in stripes(drawing):
        places.append(each.replace("<svg ", f'<svg x="{x}" ', 1))
        x += LEFT + BANKS_PER_STRIPE * CELL_WIDTH + 1
    width = len(places) * (LEFT + 1) + drawing.banks * CELL_WIDTH
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{drawing.height}" '
        f'viewBox="0 0 {width} {drawing.height}"><style>{colours}{STRIPE_STYLE}</style>'
        f'<rect width="100%" height="100%" fill="var(--paper)"/>{"".join(places)}</svg>\n'
    )


def _idle_stripe(drawing: Drawing, shown: range) -> Iterator[str]:
    yield _column_numbers(drawing, shown)
    yield _bed(shown, TOP, _IDLE_ROW)
    middle = f'x="{LEFT + len(shown) * CELL_WIDTH // 2}" y="{TOP + _IDLE_ROW // 2 + _BASELINE}"'
    yield f'<text class="soft" {middle}>{escape(drawing.idle)}</text>'


def _column_numbers(drawing: Drawing, shown: range) -> str:
    numbers = [(_middle(bank, shown), str(bank * drawing.step)) for bank in shown]
    return _line_of_text(numbers, TOP - 4, "soft")


def _bed(shown: range, top: int, height: int) -> str:
    width = len(shown) * CELL_WIDTH
    return f'<rect class="bed" x="{LEFT}" y="{top}" width="{width}" height="{height}"/>'


def _stripe(drawing: Drawing, shown: range) -> Iterator[str]:
    if not shown.start:
        place = f'x="{LEFT - 4}" y="{TOP - 4}" textLength="{LEFT - 6}"'
        yield f'<text class="soft left" {place} {_NARROWER}>{escape(drawing.heading)}</text>'
    yield _column_numbers(drawing, shown)
    for top, height in drawing.beds:
        yield _bed(shown, top, height)
    inside = sorted((cell for cell in drawing.cells if cell.bank in shown), key=_row_of)
    # Rows are alike but for their place, and cells but for theirs: pages can be compressed well.
    for top, cells in groupby(inside, key=_row_of):
        drawn = "".join(_cell(cell, shown, drawing.places) for cell in cells)
        yield f'<g transform="translate(0 {top})">{drawn}</g>'
    for frame in drawing.frames:
        if frame.bank in shown:
            x = _left(frame.bank, shown) + 1
            yield (
                f'<rect class="frame" x="{x}" y="{frame.top + 1}" width="{CELL_WIDTH - 2}" '
                f'height="{frame.height - 2}"/>'
            )
    yield from (_label(label) for label in drawing.labels if label.bank is None)
    below: dict[tuple[int, str], list[tuple[float, str]]] = {}
    for label in drawing.labels:
        if label.bank is not None and label.bank in shown:
            place = _middle(label.bank, shown), label.text
            below.setdefault((label.middle, label.style), []).append(place)
    for (middle, style), texts in below.items():
        yield _line_of_text(texts, middle + _BASELINE, style)


def _line_of_text(texts: Iterable[tuple[float, str]], y: int, style: str) -> str:
    """Returns texts at one height, each with the place of its middle."""
    parts = (f'<tspan x="{x:g}"{_narrowed(text)}>{escape(text)}</tspan>' for x, text in texts)
    return f'<text class="{style}" y="{y}">{"".join(parts)}</text>'


def _label(label: Label) -> str:
    place = f'x="{LEFT - 4}" y="{label.middle + _BASELINE}"'
    return f'<text class="{label.style} left" {place}>{escape(label.text)}</text>'


def _cell(cell: Cell, shown: range, places: int) -> str:
    width = cell.width * CELL_WIDTH
    texts = "".join(
        f'<text x="{width / 2:g}" y="{y}"{_narrowed(line, cell.width)}>{escape(line)}</text>'
        for line, y in zip(cell.lines, _baselines(cell), strict=True)
    )
    title = f"<title>{escape(cell.title)}</title>" if cell.title else ""
    return (
        f'<g transform="translate({_left(cell.bank, shown)})" '
        f'fill="{ramp_colour(cell.place, places)}">{title}'
        f'<rect width="{width}" height="{cell.height}"/>{texts}</g>'
    )


def _row_of(cell: Cell) -> int:
    return cell.top


def _baselines(cell: Cell) -> Iterator[int]:
    """Yields where in a cell its lines stand, close together around its middle."""
    first = (cell.height - (len(cell.lines) - 1) * _LINE_PITCH) / 2 + _BASELINE
    for number in range(len(cell.lines)):
        yield round(first + number * _LINE_PITCH)


def _narrowed(text: str, columns: int = 1) -> str:
    """Returns the attributes that set a text narrower where its columns have no room for it."""
    # Every further column has room for its characters and for what lies between two cells.
    if len(text) <= _CHARACTERS * columns + columns - 1:
        return ""
    widest = _WIDEST_TEXT + (columns - 1) * CELL_WIDTH
    return f' textLength="{widest}" {_NARROWER}'


def _left(bank: int, shown: Sequence[int]) -> int:
    return LEFT + (bank - shown[0]) * CELL_WIDTH


def _middle(bank: int, shown: Sequence[int]) -> float:
    return _left(bank, shown) + CELL_WIDTH / 2
