# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m bankwise.bench.layout_pictures`: draws which element of a tile lies on which bank.

The README and `docs/bank_conflicts.md` show these pictures. A panel is a tile in one layout. A cell
is one element, or one group of elements that a lane accesses at once; its colour and its number are
the bank that it lies on. Framed cells are those that the lanes of the first phase of a read want,
so that framed cells of one colour are bank conflicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path

from ..bank_model.bank_map import bank_map
from ..bank_model.layouts import MachineAccess, machine_accesses
from ..bank_model.lds_rules import LdsInstruction
from ..bank_model.shown_text import counted
from ..report.tile_grid import GridCell, WholeTile
from ..report.tile_grid_picture import cell_text
from ..tiles.answer_contents import layout_title
from ..tiles.answers import TileCount
from ..tiles.solve import count

FOLDER = Path(__file__).parents[1] / "docs"

_ROW, _TITLE, _GAP, _MARGIN, _LABEL = 20, 26, 18, 10, 46
"""Heights of a row of cells and of a title, gaps between panels, margins, and the row labels."""


_STYLE = """\
text { fill: #1f2328; } .page { fill: #fff; } .soft text { fill: #59636e; } .cells { stroke: #fff; }
.frames { fill: none; stroke: #1f2328; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .page { fill: #0d1117; } .soft text { fill: #9198a1; }
.cells { stroke: #0d1117; } .banks text { fill: #1f2328; }
.frames { stroke: #cf222e; stroke-width: 3; }
}
"""
"""The cells have light colours, and their numbers are dark, in both schemes."""


@dataclass(frozen=True)
class Drawing:
    """A picture of one tile in several layouts.

    Attributes:
        name: the file in `docs/`, without its suffix.
        read: a pattern of `bankwise-tile`, whose first phase is framed.
        layouts: as `bankwise-tile --layout` takes them, one per panel.
        rows: how many rows of the tile are shown.
        group: elements of a cell.
        cell_width: in pixels.
        beside: whether panels stand beside each other, and not below.
    """

    name: str
    target: str
    tile: str
    read: str
    layouts: tuple[str, ...]
    rows: int
    group: int
    cell_width: int
    beside: bool

    @property
    def path(self) -> Path:
        """Returns where the picture is kept."""
        return FOLDER / f"{self.name}.svg"

    def panels(self) -> list[Panel]:
        """Returns the tile in each of the layouts."""
        return [
            Panel(self, layout, count(self.target, self.tile, read=self.read, layout=layout))
            for layout in self.layouts
        ]


@dataclass(frozen=True, eq=False)
class Panel:
    """A tile in one layout, counted."""

    drawing: Drawing
    layout: str
    counted: TileCount

    @cached_property
    def cells(self) -> tuple[GridCell, ...]:
        """Returns the rows that are shown, each cell with its bank."""
        tile, lds = self.counted.question.named.tile, self.counted.question.lds
        bits, rows = 8 * lds.bank_width_bytes, self.drawing.rows
        whole = WholeTile(tile, bits, self.instruction.banks, self.drawing.group, rows)
        return whole.by_bank(self.counted.layout).cells

    @cached_property
    def wanted(self) -> frozenset[int]:
        """Returns the numbers of the cells that the lanes of the first phase want."""
        access = self.counted.question.flat[0]
        lanes = list(self.instruction.phases[0])
        return frozenset((access.elements[0][lanes] // self.drawing.group).tolist())

    @property
    def cycles(self) -> int:
        """Returns the cycles of the first phase."""
        return bank_map(self._machine, 0, 0).cycles

    @property
    def title(self) -> str:
        """Returns the layout and what the first phase costs in it."""
        lanes = len(self.instruction.phases[0])
        name = layout_title(self.layout, self.counted)
        return f"{name}: {counted(self.cycles, 'cycle')} for {lanes} lanes"

    @cached_property
    def instruction(self) -> LdsInstruction:
        """Returns the instruction that reads."""
        return self._machine.instruction

    @cached_property
    def _machine(self) -> MachineAccess:
        """Returns the first access of the read, which stays one instruction in these layouts."""
        question = self.counted.question
        (machine,) = machine_accesses(
            question.lds, question.named.tile, self.counted.layout, question.flat[0]
        )
        return machine

    @property
    def size(self) -> tuple[int, int]:
        """Returns the width and the height in pixels."""
        rows = self.drawing.rows
        return _LABEL + len(self.cells) // rows * self.drawing.cell_width, _TITLE + rows * _ROW


DRAWINGS = (
    Drawing(
        name="before_and_after",
        target="sm_80",
        tile="64x64xf16",
        read="columns:128",
        layouts=("plain", "xor_shuffle<64, 8, 64, 1>"),
        rows=8,
        group=8,
        cell_width=50,
        beside=False,
    ),
    Drawing(
        name="column_read",
        target="gfx942",
        tile="32x32xf32",
        read="columns:32",
        layouts=("plain", "padded:1", "xor_shuffle<32, 1, 32, 1>"),
        rows=8,
        group=1,
        cell_width=24,
        beside=False,
    ),
    Drawing(
        name="wide_column_read",
        target="gfx942",
        tile="64x64xf16",
        read="columns:128",
        layouts=("plain", "xor_shuffle<64, 8, 64, 1>"),
        rows=24,
        group=8,
        cell_width=48,
        beside=True,
    ),
)


def svg(drawing: Drawing) -> str:
    """Returns a picture as SVG."""
    panels = drawing.panels()
    widths, heights = zip(*(panel.size for panel in panels), strict=True)
    gaps = _GAP * (len(panels) - 1)
    width, height = max(widths), sum(heights) + gaps
    if drawing.beside:
        width, height = sum(widths) + gaps, max(heights)
    body: list[str] = []
    x = y = _MARGIN
    for panel in panels:
        body += _panel(panel, x, y)
        if drawing.beside:
            x += panel.size[0] + _GAP
        else:
            y += panel.size[1] + _GAP
    width, height = width + 2 * _MARGIN, height + 2 * _MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif">',
            f"<style>\n{_STYLE}</style>",
            f'<rect class="page" width="{width}" height="{height}" rx="6"/>',
            *body,
            "</svg>\n",
        ]
    )


def _panel(panel: Panel, x: int, y: int) -> Iterator[str]:
    """Yields the elements of one panel, the frames last so that no cell covers them."""
    width = panel.drawing.cell_width
    cells: list[str] = []
    numbers: list[str] = []
    frames: list[str] = []
    for number, cell in enumerate(panel.cells):
        left = x + _LABEL + cell.column // len(cell.texts) * width
        top = y + _TITLE + cell.row * _ROW
        hue = cell.colour * 360 // panel.instruction.banks
        cells.append(_rectangle(left, top, width, _ROW, f' fill="hsl({hue},70%,82%)"'))
        numbers.append(f'<text x="{left + width // 2}" y="{top + 14}">{cell_text(cell)}</text>')
        if number in panel.wanted:
            frames.append(_rectangle(left + 1, top + 1, width - 2, _ROW - 2))
    yield f'<text x="{x}" y="{y + 16}" font-size="14">{escape(panel.title)}</text>'
    yield '<g class="soft" font-size="11" text-anchor="end">'
    for row in range(panel.drawing.rows):
        yield f'<text x="{x + _LABEL - 6}" y="{y + _TITLE + row * _ROW + 14}">row {row}</text>'
    yield '</g><g class="cells">'
    yield from cells
    yield '</g><g class="banks" font-size="11" text-anchor="middle">'
    yield from numbers
    yield '</g><g class="frames">'
    yield from frames
    yield "</g>"


def _rectangle(x: int, y: int, width: int, height: int, more: str = "") -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}"{more}/>'


def main() -> None:
    """Writes the pictures."""
    for drawing in DRAWINGS:
        drawing.path.write_text(svg(drawing))
        print(f"wrote {drawing.path}")


if __name__ == "__main__":
    main()
