# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers about a tile as a piece of HTML, for a notebook or for a page of its own.

A page has more than a notebook shows: a legend, a choice of phases, buttons that copy, and pictures
of the whole tile by lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from ..report.bank_map_picture import bank_map_drawing
from ..report.html_legend import MAP_TERMS, legend_with, ramp
from ..report.html_page import code, headline_number
from ..report.html_script import BANK_VIEW, copy_button, picture_choice, whole_tile_choice
from ..report.tile_picture import tile_picture
from .answer_contents import (
    Contents,
    MapsShown,
    code_lines,
    cost_rows,
    layout_title,
    maps_of,
    phases_of,
)
from .counts import CountedLayout
from .html_images import picture_html
from .pictures import WholePicture, whole_pictures

_LEFT = "text-align: left"
_RIGHT = "text-align: right; vertical-align: top"
_BADGE = "color: #fff; padding: 0 .3em; border-radius: 3px; white-space: nowrap; background:"
_BAD, _GOOD = f"{_BADGE} #b3261e", f"{_BADGE} #1a7f37"
"""Notebooks may be light or dark: a badge has its own paper."""
_SIDE_BY_SIDE = "display: flex; flex-wrap: wrap; gap: 8px 12px"
_MOST_CHARACTERS = 138_000
"""Of an answer on a page: pictures by lane that would make it longer are left out."""
_BESIDE = "flex: 1 1 640px; min-width: 0"
"""So wide that the 32 banks of a line of memory are a line of the page, where there is room."""

_TERMS = (
    (
        "conflict cycles",
        "LDS cycles that bank conflicts cost, in all waves of the workgroup, each access run once.",
    ),
    (
        "plain, padded, swizzled",
        "row-major; row-major with a gap behind every row; groups of elements exchanged by an XOR.",
    ),
    *MAP_TERMS,
    (
        "the whole tile",
        "by bank: rows and columns of the tile, each cell with the bank of its elements; what a "
        "phase wants of one bank waits. By lane: lines and banks of memory, each cell with the "
        "lane that accesses it. Point at a cell to see more.",
    ),
)


def answer_html(shown: Contents, *, maps: bool = True, page: bool = False) -> str:
    """Returns an answer as HTML that needs nothing else.

    Args:
        maps: whether bank maps and pictures are drawn.
        page: whether it is for a page of its own.
    """
    text = "\n".join(_answer(shown, maps, page))
    if maps and page:
        text += _whole(shown.drawn, _MOST_CHARACTERS - len(text))
    return f"{text}\n</div>"


def _answer(shown: Contents, maps: bool, page: bool) -> Iterator[str]:
    yield "<div>"
    yield from _verdict(shown) if page else (_heading(str(shown.question)),)
    yield from _table(shown.layouts)
    yield from _list(shown.lines())
    if shown.written_swizzle is not None:
        yield _heading(f"The swizzle: {shown.written_swizzle.layout}")
        yield "<ul>"
        for each in shown.notations:
            text = escape(each.text)
            if each.is_expressible:
                text = _copied(each.text, f"for {each.name}")
                text += f" ({escape(each.note)})" if each.note else ""
            yield f"<li>{escape(each.name)}: {text}</li>"
        yield "</ul>"
    yield _heading(f"In C, {shown.code_title}")
    lines = [(title, _copied(code, f"the {title}")) for title, code in code_lines(shown.written)]
    yield from _list(lines, html=True)
    function = shown.written.code.function()
    yield f'<pre style="overflow-x: auto">{escape(function)}</pre>'
    yield f"<p>{copy_button(function, 'the function')}</p>"
    if maps:
        yield from _pictures(shown.drawn, page)


def _verdict(shown: Contents) -> Iterator[str]:
    """Yields what the page is about, and what comes of it, in one line that is seen first."""
    yield f"<h1>{escape(str(shown.question))}</h1>"
    counted = shown.counted
    before = next(iter(shown.layouts.values()))
    numbers, layout, size = f"{counted.conflict_cycles:,}", shown.chosen_title, ""
    if before is not counted:
        numbers = f"{before.conflict_cycles:,} → {numbers}"
        layout = f"plain → {layout}"
        size = f"{before.lds_bytes:,} → "
    what = f"conflict cycles, {layout}; {size}{counted.lds_bytes:,} LDS bytes"
    yield from headline_number(numbers, what, is_good=not counted.conflict_cycles)


def _copied(text: str, what: str) -> str:
    """Returns code with a button that copies it."""
    return f"{code(text)} {copy_button(text, what)}"


def _heading(text: str) -> str:
    return f"<p><b>{escape(text)}</b></p>"


def _table(counts: Mapping[str, CountedLayout]) -> Iterator[str]:
    yield '<div style="overflow-x: auto"><table>'
    titles = "".join(
        f'<th scope="col" style="{_RIGHT}">{escape(layout_title(name, count))}</th>'
        for name, count in counts.items()
    )
    yield f'<tr><th scope="col" style="{_LEFT}">layout</th>{titles}</tr>'
    for row in cost_rows(list(counts.values())):
        badges = [_BAD if each else _GOOD for each in row.conflicts] or [""] * len(row.cells)
        cells = "".join(
            f'<td style="{_RIGHT}">{_badge(cell, badge)}</td>'
            for badge, cell in zip(badges, row.cells, strict=True)
        )
        yield f'<tr><th scope="row" style="{_LEFT}; font-weight: 400">{escape(row.title)}</th>'
        yield f"{cells}</tr>"
    yield "</table></div>"


def _badge(text: str, style: str) -> str:
    return f'<span style="{style}">{escape(text)}</span>' if style else escape(text)


def _list(lines: Iterable[tuple[str, str]], *, html: bool = False) -> Iterator[str]:
    """Yields titles and texts as a list; the texts are sentences, or HTML already."""
    yield "<ul>"
    for title, text in lines:
        yield f"<li>{escape(title)}: {text if html else escape(text)}</li>"
    yield "</ul>"


def _pictures(counts: Mapping[str, CountedLayout], page: bool) -> Iterator[str]:
    """Yields the bank maps of all arguments, and in a notebook the whole tile by bank."""
    question = next(iter(counts.values())).question
    if page:
        yield from _legend()
    for number, maps in enumerate(maps_of(counts)):
        choices = list(phases_of(counts, number)) if page else []
        if len(choices) > 1:
            words = ["the worst phase", *(words for words, _ in choices)]
            title = f"{question.accesses[number]}, shown:"
            others = ("\n".join(_maps(each, page)) for _, each in choices)
            yield picture_choice(title, words, others)
        yield f'<div style="{_SIDE_BY_SIDE}">'
        yield from _maps(maps, page)
        yield "</div>"
    if not page:
        yield f"<details><summary>The whole tile: {BANK_VIEW}</summary>"
        yield _beside(whole_pictures(counts, "banks").pictures, page)
        yield "</details>"


def _legend() -> Iterator[str]:
    """Yields the legend, with a sample of a bank map."""
    what = "the lanes of the phase, of a whole tile the banks or the phases"
    colours = f"{what}, from the first {ramp()} to the last"
    return legend_with("How to read the pictures", _TERMS, colours)


def _maps(maps: MapsShown, page: bool) -> Iterator[str]:
    """Yields maps, each above the picture of where its words lie."""
    for each in maps:
        lies = tile_picture(each.drawn, each.tile, each.layout)
        yield f'<div style="{_BESIDE}">'
        yield from picture_html(bank_map_drawing(each.drawn), each.caption, page=page)
        yield f"<p>{escape(each.folding)}</p>" if each.folding else ""
        words = f"where the words of {each.caption} lie"
        yield from picture_html(lies.drawing, lies.caption, words, page=page)
        yield "</div>"


def _whole(counts: Mapping[str, CountedLayout], room: int) -> str:
    """Returns a choice of pictures of the whole tile, as many as take at most `room` characters.

    The first has banks, the others the lanes of each argument, those with most conflicts first.
    """
    first = next(iter(counts.values()))
    banks = _beside(whole_pictures(counts, "banks").pictures, page=True)
    by_lane: list[tuple[str, str]] = []
    chosen = whole_tile_choice(banks, by_lane)
    lanes = whole_pictures(counts, "lanes").pictures
    for number in sorted(
        range(len(first.accesses)), key=lambda each: -first.accesses[each].conflict_cycles
    ):
        # The layouts of one argument stand beside each other.
        start = number * len(counts)
        shown = _beside(lanes[start : start + len(counts)], page=True)
        by_lane.append((str(first.question.accesses[number]), shown))
        more = whole_tile_choice(banks, by_lane)
        if len(more) > room:
            break
        chosen = more
    return f"{chosen}\n<div></div>"


def _beside(pictures: Sequence[WholePicture], page: bool) -> str:
    """Returns pictures beside each other."""
    parts = [f'<div style="{_SIDE_BY_SIDE}">']
    for each in pictures:
        inside = "".join(picture_html(each.drawing, each.caption, page=page))
        parts.append(f'<div style="{_BESIDE}">{inside}</div>')
    return "".join((*parts, "</div>"))
