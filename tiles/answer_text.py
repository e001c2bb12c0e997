# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers about a tile for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..report.bank_map_text import map_text
from ..report.consoles import PLAIN_WIDTH, figure_table, printed, text_console
from .answer_contents import Contents, code_lines, cost_rows, layout_title, maps_of
from .counts import CountedLayout


def answer_text(
    shown: Contents, *, width: int = PLAIN_WIDTH, colour: bool = False, maps: bool = True
) -> str:
    """Returns an answer as text; `maps` says whether bank maps are drawn."""
    console, buffer = text_console(width, colour)
    console.print(Text(str(shown.question), style="bold"))
    console.print(_table(shown.layouts))
    _print_lines(console, shown.lines())
    if shown.written_swizzle is not None:
        console.print()
        console.print(Text(f"The swizzle: {shown.written_swizzle.layout}", style="bold"))
        _print_lines(console, ((n.name, n.shown) for n in shown.notations))
    if any(shown.choice()):
        console.print()
    _print_code(console, shown.written, shown.code_title)
    if maps:
        _print_maps(console, shown.drawn)
    return printed(buffer)


def _table(counts: Mapping[str, CountedLayout]) -> Table:
    table = figure_table(["", *(layout_title(name, count) for name, count in counts.items())])
    for row in cost_rows(list(counts.values())):
        cells = [Text(cell) for cell in row.cells]
        for cell, conflicts in zip(cells, row.conflicts, strict=False):
            cell.stylize("red" if conflicts else "green")
        table.add_row(Text(row.title), *cells)
    return table


def _print_lines(console: Console, lines: Iterable[tuple[str, str]]) -> None:
    """Prints titles, and texts in a column beside them."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for title, text in lines:
        grid.add_row(Text(f"  {title}", style="dim"), Text(text))
    if grid.row_count:
        console.print(grid)


def _print_code(console: Console, count: CountedLayout, title: str) -> None:
    console.print(Text(f"In C, {title}", style="bold"))
    _print_lines(console, code_lines(count))
    console.print()
    # Code is pasted: it is never wrapped.
    for line in count.code.function().splitlines():
        console.print(Text(f"  {line}"), soft_wrap=True)


def _print_maps(console: Console, counts: Mapping[str, CountedLayout]) -> None:
    for each in chain.from_iterable(maps_of(counts)):
        console.print()
        console.print(Text(each.caption, style="bold"), soft_wrap=True)
        console.print(map_text(each.drawn), soft_wrap=True, end="")
        if each.folding:
            console.print(Text(each.folding, style="dim"))
