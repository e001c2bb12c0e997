# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers about a tile as Markdown that can be pasted into a GitHub issue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from ..report.bank_map_text import map_text
from ..report.markdown_text import escaped
from ..report.tile_grid_text import tile_grid_text
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
from .pictures import WholePictures


def solution_markdown(solution: TileSolution, *, maps: bool = True) -> str:
    """Returns an answer; `maps` says whether bank maps are drawn."""
    return "\n".join(_solution(solution, maps)) + "\n"


def count_markdown(count: TileCount, *, maps: bool = True) -> str:
    """Returns the costs in one layout."""
    named = {str(count.layout): count}
    lines = [
        f"### {escaped(str(count.question))}",
        *_table(named),
        *_list(("note", note) for note in notes(count)),
        *_code(count, str(count.layout)),
        *(_maps(named) if maps else ()),
    ]
    return "\n".join(lines) + "\n"


def _solution(solution: TileSolution, maps: bool) -> Iterator[str]:
    yield f"### {escaped(str(solution.question))}"
    yield from _table(solution.layouts)
    yield from _list(solution_lines(solution))
    swizzled = swizzle_of(solution)
    if swizzled is not None:
        yield from ("", f"**The swizzle: {escaped(str(swizzled.layout))}**")
        yield from _list(((each.name, each.text) for each in solution.notations), code=True)
    yield from _code(swizzled or solution.best, code_title(solution))
    if maps:
        yield from _maps(before_and_after(solution))


def _table(counts: Mapping[str, TileCount]) -> Iterator[str]:
    titles = [escaped(layout_title(name, count)) for name, count in counts.items()]
    yield ""
    yield f"| | {' | '.join(titles)} |"
    yield f"| --- |{' --: |' * len(titles)}"
    for row in cost_rows(list(counts.values())):
        cells = " | ".join(escaped(cell) for cell in row.cells)
        yield f"| {escaped(row.title)} | {cells} |"


def _list(lines: Iterable[tuple[str, str]], *, code: bool = False) -> Iterator[str]:
    yield ""
    yield from (f"* {title}: {f'`{text}`' if code else escaped(text)}" for title, text in lines)


def _code(count: TileCount, title: str) -> Iterator[str]:
    yield from ("", f"**In C, {escaped(title)}**")
    yield from _list(code_lines(count), code=True)
    yield from ("", "```c", count.code.function(), "```")


def whole_markdown(found: WholePictures) -> str:
    """Returns pictures of the whole tile."""
    lines: list[str] = []
    for picture in found.pictures:
        text = tile_grid_text(picture.grid).plain.rstrip("\n")
        lines += [escaped(picture.caption), "", "```", text, "```", ""]
    return "\n".join(lines[:-1]) + "\n"


def _maps(counts: Mapping[str, TileCount]) -> Iterator[str]:
    for each in chain.from_iterable(maps_of(counts)):
        yield from ("", escaped(each.caption), "")
        yield from ("```", map_text(each.drawn).plain.rstrip("\n"), "```")
        if each.folding:
            yield from ("", each.folding)
