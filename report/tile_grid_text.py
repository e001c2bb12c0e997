# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grids of whole tiles in text: one number per column, dots where nothing of the tile lies."""

from __future__ import annotations

from rich.text import Text

from .tile_grid import TileGrid

_NARROW, _WIDE = (3, 32), (4, 16)
"""Characters of a column, and columns of a line, which fits into 100; more continue below."""


def tile_grid_text(grid: TileGrid) -> Text:
    """Draws a grid: the numbers of its columns, then its rows."""
    text = Text()
    width = max(4, len(grid.row_name), *(len(str(row)) for row in grid.rows))
    shown = {
        (cell.row, cell.column + number): each
        for cell in grid.cells
        for number, each in enumerate(cell.texts)
    }
    fits = max(map(len, shown.values()), default=0) < _NARROW[0]
    wide, at_once = _NARROW if fits else _WIDE
    for start in range(0, grid.columns, at_once):
        columns = range(start, min(start + at_once, grid.columns))
        numbers = "".join(f"{column * grid.column_step:>{wide}}" for column in columns)
        text.append(f"{grid.row_name:<{width}}{numbers}\n", style="dim")
        for number, row in enumerate(grid.rows):
            text.append(f"{row:>{width}}", style="dim")
            cells = "".join(f"{shown.get((number, column), '.'):>{wide}}" for column in columns)
            text.append(f"{cells}\n")
    return text
