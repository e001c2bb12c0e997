# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers about a tile as Markdown that can be pasted into a GitHub issue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from ..report.bank_map_text import map_text
from ..report.markdown_text import drawing, escaped, table
from ..report.tile_grid_text import tile_grid_text
from .answer_contents import Contents, code_lines, cost_rows, layout_title, maps_of
from .counts import CountedLayout
from .pictures import WholePictures


def answer_markdown(shown: Contents, *, maps: bool = True) -> str:
    """Returns an answer; `maps` says whether bank maps are drawn."""
    return "\n".join(_answer(shown, maps)) + "\n"


def _answer(shown: Contents, maps: bool) -> Iterator[str]:
    yield f"### {escaped(str(shown.question))}"
    yield from _table(shown.layouts)
    yield from _list(shown.lines())
    if shown.written_swizzle is not None:
        yield from ("", f"**The swizzle: {escaped(str(shown.written_swizzle.layout))}**")
        yield from _list(((each.name, each.shown) for each in shown.notations), code=True)
    yield from ("", f"**In C, {escaped(shown.code_title)}**")
    yield from _list(code_lines(shown.written), code=True)
    yield from ("", "```c", shown.written.code.function(), "```")
    if maps:
        yield from _maps(shown.drawn)


def _table(counts: Mapping[str, CountedLayout]) -> Iterator[str]:
    titles = [escaped(layout_title(name, count)) for name, count in counts.items()]
    costs = cost_rows(list(counts.values()))
    rows = ([escaped(cell) for cell in (row.title, *row.cells)] for row in costs)
    yield from ("", *table(("", *titles), (False, *[True] * len(titles)), rows))


def _list(lines: Iterable[tuple[str, str]], *, code: bool = False) -> Iterator[str]:
    yield ""
    yield from (f"* {title}: {f'`{text}`' if code else escaped(text)}" for title, text in lines)


def whole_markdown(found: WholePictures) -> str:
    """Returns pictures of the whole tile."""
    lines: list[str] = []
    for picture in found.pictures:
        lines += [escaped(picture.caption), "", *drawing(tile_grid_text(picture.grid)), ""]
    return "\n".join(lines[:-1]) + "\n"


def _maps(counts: Mapping[str, CountedLayout]) -> Iterator[str]:
    for each in chain.from_iterable(maps_of(counts)):
        yield from ("", escaped(each.caption), "")
        yield from drawing(map_text(each.drawn), each.folding)
