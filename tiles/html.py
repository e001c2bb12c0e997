# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers about a tile as a piece of HTML, for a notebook or for a page of its own.

A page has more than a notebook shows: a legend, a choice of phases, buttons that copy, and pictures
of the whole tile by lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape

from ..report.bank_map_picture import bank_map_drawing
from ..report.html_script import copy_button, picture_choice
from ..report.tile_picture import tile_picture
from .contents import (
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
from .html_legend import legend
from .pictures import whole_pictures

_LEFT = "text-align: left"
_RIGHT = "text-align: right; vertical-align: top"
_BADGE = "color: #fff; padding: 0 .3em; border-radius: 3px; white-space: nowrap; background:"
_BAD, _GOOD = f"{_BADGE} #b3261e", f"{_BADGE} #1a7f37"
"""Notebooks may be light or dark: a badge has its own paper."""
_SIDE_BY_SIDE = "display: flex; flex-wrap: wrap; gap: 8px 12px"
_BESIDE = "flex: 1 1 320px; min-width: 0"


def answer_html(shown: Contents, *, maps: bool = True, page: bool = False) -> str:
    """Returns an answer as HTML that needs nothing else.

    Args:
        maps: whether bank maps and pictures are drawn.
        page: whether it is for a page of its own.
    """
    return "\n".join(_answer(shown, maps, page))


def _answer(shown: Contents, maps: bool, page: bool) -> Iterator[str]:
    yield "<div>"
    yield _heading(str(shown.question))
    yield from _table(shown.layouts)
    yield from _list(shown.lines(), code=False)
    if shown.written_swizzle is not None:
        yield _heading(f"The swizzle: {shown.written_swizzle.layout}")
        yield "<ul>"
        for each in shown.notations:
            text = escape(each.text)
            if each.is_expressible:
                text = f"<code>{text}</code> {copy_button(each.text, f'for {each.name}')}"
            yield f"<li>{escape(each.name)}: {text}</li>"
        yield "</ul>"
    yield _heading(f"In C, {shown.code_title}")
    yield from _list(code_lines(shown.written))
    function = shown.written.code.function()
    yield f'<pre style="overflow-x: auto">{escape(function)}</pre>'
    yield f"<p>{copy_button(function, 'the function')}</p>"
    if maps:
        yield from _pictures(shown.drawn, page)
    yield "</div>"


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


def _list(lines: Iterable[tuple[str, str]], *, code: bool = True) -> Iterator[str]:
    """Yields titles and texts as a list; the texts are code or sentences."""
    start, end = ("<code>", "</code>") if code else ("", "")
    yield "<ul>"
    yield from (f"<li>{escape(title)}: {start}{escape(text)}{end}</li>" for title, text in lines)
    yield "</ul>"


def _pictures(counts: Mapping[str, CountedLayout], page: bool) -> Iterator[str]:
    """Yields the bank maps of all arguments, and the whole tile."""
    question = next(iter(counts.values())).question
    if page:
        yield from legend(question.lanes.wave_size)
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
    yield from _whole(counts, page)


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


def _whole(counts: Mapping[str, CountedLayout], page: bool) -> Iterator[str]:
    """Yields the whole tile, folded: by bank, and on a page by lane."""
    kinds = {"banks": "the bank of each element"}
    if page:
        kinds["lanes"] = "the lane of each word"
    for kind, words in kinds.items():
        yield f"<details><summary>The whole tile: {words}</summary>"
        pictures = whole_pictures(counts, kind).pictures
        # The layouts of one argument stand beside each other.
        for start in range(0, len(pictures), len(counts)):
            yield f'<div style="{_SIDE_BY_SIDE}">'
            for picture in pictures[start : start + len(counts)]:
                yield f'<div style="{_BESIDE}">'
                yield from picture_html(picture.drawing, picture.caption, page=page)
                yield "</div>"
            yield "</div>"
        yield "</details>"
