# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers about a tile as a piece of HTML for a notebook, with pictures of the bank maps."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from html import escape

from ..report.bank_map_picture import bank_map_drawing
from ..report.html_page import COLOURS
from ..report.stripes import Drawing, standalone
from ..report.tile_picture import tile_picture
from .answers import TileCount, TileSolution
from .contents import (
    before_and_after,
    code_lines,
    code_title,
    cost_rows,
    layout_title,
    maps_of,
    notes,
    solution_lines,
    swizzle_of,
)

_LEFT = "text-align: left"
_RIGHT = "text-align: right; vertical-align: top"
_BADGE = "color: #fff; padding: 0 .3em; border-radius: 3px; background:"
_BAD, _GOOD = f"{_BADGE} #b3261e", f"{_BADGE} #1a7f37"
"""Notebooks may be light or dark: a badge has its own paper."""
_SIDE_BY_SIDE = "display: flex; flex-wrap: wrap; gap: 8px 12px"
_STRIPES = "display: flex; flex-wrap: wrap; gap: 6px 0; align-items: flex-start"
_BESIDE = "flex: 1 1 320px; min-width: 0"


def solution_html(solution: TileSolution, *, maps: bool = True) -> str:
    """Returns an answer as HTML that needs nothing else; `maps` says whether maps are drawn."""
    return "\n".join(_solution(solution, maps))


def count_html(count: TileCount, *, maps: bool = True) -> str:
    """Returns the costs in one layout as HTML."""
    name = str(count.layout)
    parts = [
        _heading(str(count.question)),
        *_table({name: count}),
        *_list(("note", note) for note in notes(count)),
        *_code(count, name),
        *(_maps({name: count}) if maps else ()),
    ]
    return "\n".join(["<div>", *parts, "</div>"])


def _solution(solution: TileSolution, maps: bool) -> Iterator[str]:
    yield "<div>"
    yield _heading(str(solution.question))
    yield from _table(solution.layouts)
    yield from _list(solution_lines(solution))
    swizzled = swizzle_of(solution)
    if swizzled is not None:
        yield _heading(f"The swizzle: {swizzled.layout}")
        yield from _list((each.name, each.text) for each in solution.notations)
    yield from _code(swizzled or solution.best, code_title(solution))
    if maps:
        yield from _maps(before_and_after(solution))
    yield "</div>"


def _heading(text: str) -> str:
    return f"<p><b>{escape(text)}</b></p>"


def _table(counts: Mapping[str, TileCount]) -> Iterator[str]:
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


def _list(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield "<ul>"
    yield from (f"<li>{escape(title)}: <code>{escape(text)}</code></li>" for title, text in lines)
    yield "</ul>"


def _code(count: TileCount, title: str) -> Iterator[str]:
    yield _heading(f"In C, {title}")
    yield from _list(code_lines(count))
    yield f'<pre style="overflow-x: auto">{escape(count.code.function())}</pre>'


def _maps(counts: Mapping[str, TileCount]) -> Iterator[str]:
    tile = next(iter(counts.values())).question.named.tile
    for maps in maps_of(counts):
        yield f'<div style="{_SIDE_BY_SIDE}">'
        for each in maps:
            lies = tile_picture(each.drawn, tile, each.layout)
            yield f'<div style="{_BESIDE}"><p>{escape(each.caption)}</p>'
            yield from _images(bank_map_drawing(each.drawn), each.caption)
            yield f"<p>{escape(each.folding)}</p>" if each.folding else ""
            yield f"<p>{escape(lies.caption)}</p>"
            yield from _images(lies.drawing, f"where the words of {each.caption} lie")
            yield "</div>"
        yield "</div>"


def _images(drawing: Drawing, caption: str) -> Iterator[str]:
    """Yields the stripes of a picture as images with colours of their own; one has the words."""
    yield f'<div style="{_STRIPES}">'
    for number, svg in enumerate(standalone(drawing, COLOURS)):
        data = base64.b64encode(svg.encode()).decode()
        words = "" if number else escape(caption)
        yield f'<img alt="{words}" src="data:image/svg+xml;base64,{data}" style="max-width: none">'
    yield "</div>"
