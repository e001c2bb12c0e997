# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers about a tile as a piece of HTML for a notebook, with pictures of the bank maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape

from ..report.pictures import Gallery
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

_LEFT = "text-align: left; white-space: nowrap"
_RIGHT = "text-align: right"
_BAD, _GOOD = "color: #b3261e; font-weight: 600", "color: #1a7f37"


def solution_html(solution: TileSolution) -> str:
    """Returns an answer as HTML that needs nothing else."""
    return "\n".join(_solution(solution))


def count_html(count: TileCount) -> str:
    """Returns the costs in one layout as HTML."""
    name = str(count.layout)
    parts = [
        _heading(str(count.question)),
        *_table({name: count}),
        *_list(("note", note) for note in notes(count)),
        *_code(count, name),
        *_maps({name: count}),
    ]
    return "\n".join(["<div>", *parts, "</div>"])


def _solution(solution: TileSolution) -> Iterator[str]:
    yield "<div>"
    yield _heading(str(solution.question))
    yield from _table(solution.layouts)
    yield from _list(solution_lines(solution))
    swizzled = swizzle_of(solution)
    if swizzled is not None:
        yield _heading(f"The swizzle: {swizzled.layout}")
        yield from _list((each.name, each.text) for each in solution.notations)
    yield from _code(swizzled or solution.best, code_title(solution))
    yield from _maps(before_and_after(solution))
    yield "</div>"


def _heading(text: str) -> str:
    return f"<p><b>{escape(text)}</b></p>"


def _table(counts: Mapping[str, TileCount]) -> Iterator[str]:
    yield "<table>"
    titles = "".join(
        f'<th style="{_RIGHT}">{escape(layout_title(name, count))}</th>'
        for name, count in counts.items()
    )
    yield f"<tr><th></th>{titles}</tr>"
    for row in cost_rows(list(counts.values())):
        styles = [f"{_RIGHT}; {_BAD if each else _GOOD}" for each in row.conflicts]
        styles = styles or [_RIGHT] * len(row.cells)
        cells = "".join(
            f'<td style="{style}">{escape(cell)}</td>'
            for style, cell in zip(styles, row.cells, strict=True)
        )
        yield f'<tr><td style="{_LEFT}">{escape(row.title)}</td>{cells}</tr>'
    yield "</table>"


def _list(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield "<ul>"
    yield from (f"<li>{escape(title)}: <code>{escape(text)}</code></li>" for title, text in lines)
    yield "</ul>"


def _code(count: TileCount, title: str) -> Iterator[str]:
    yield _heading(f"In C, {title}")
    yield from _list(code_lines(count))
    yield f"<pre>{escape(count.code.function())}</pre>"


def _maps(counts: Mapping[str, TileCount]) -> Iterator[str]:
    gallery = Gallery()
    for each in maps_of(counts):
        picture = gallery.picture(each.drawn)
        caption = escape(each.caption, quote=True)
        yield f"<p>{caption}</p>"
        yield (
            f'<img alt="{caption}" src="{picture.data_uri}" width="{picture.width}" '
            f'height="{picture.height}" style="max-width: 100%; height: auto; background: white">'
        )
