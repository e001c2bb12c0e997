# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grids of whole tiles as pictures: a coloured cell per group of elements or per word."""

from __future__ import annotations

from .stripes import TOP, Cell, Drawing, Label
from .tile_grid import GridCell, TileGrid

_ROW = 18


def tile_grid_drawing(grid: TileGrid) -> Drawing:
    """Returns the picture of a grid; a page shows the grid's caption above it."""
    return Drawing(
        banks=grid.columns,
        height=TOP + len(grid.rows) * _ROW + 1,
        places=grid.colours,
        beds=((TOP, len(grid.rows) * _ROW),),
        cells=tuple(
            Cell(
                bank=cell.column,
                top=TOP + cell.row * _ROW,
                height=_ROW,
                place=cell.colour,
                lines=(cell_text(cell),),
                title=cell.title if grid.titled else "",
                width=len(cell.texts),
            )
            for cell in grid.cells
        ),
        frames=(),
        labels=tuple(
            Label(str(row), TOP + number * _ROW + _ROW // 2) for number, row in enumerate(grid.rows)
        ),
        heading=grid.row_name,
        idle="nothing of the tile lies here",
        step=grid.column_step,
    )


def cell_text(cell: GridCell) -> str:
    """Returns the text of a cell, or from where to where the texts of its columns run."""
    first, last = cell.texts[0], cell.texts[-1]
    return first if first == last else f"{first}-{last}"
