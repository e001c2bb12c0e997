# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bank maps as pictures: banks across, cycles down, a coloured cell per lane."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..bank_model.bank_map import BankMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Cells = tuple[tuple[tuple[int, ...], ...], ...]
"""What a picture shows: for each bank, for each of its words, the lanes that want it."""

_INCHES_PER_CELL = 0.3
_MARGIN_INCHES = (0.62, 0.12, 0.5, 0.12)
"""The margins on the left, on the right, at the top and at the bottom."""
_CONFLICT = "#c62828"
_INK = "#1f2328"


@dataclass(frozen=True)
class Picture:
    """An SVG picture and its size in CSS pixels."""

    number: int
    svg: bytes
    width: int
    height: int

    @property
    def data_uri(self) -> str:
        """Returns the picture as a `data:` address."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"


@dataclass
class Gallery:
    """The distinct pictures of a report; equal maps share one."""

    pictures: dict[tuple[Cells, int], Picture] = field(default_factory=dict)

    def picture(self, found: BankMap) -> Picture:
        """Returns the picture of a map, drawn when it is first asked for."""
        cells: Cells = tuple(tuple(word.lanes for word in words) for words in found.words_by_bank)
        wave_size = sum(map(len, found.instruction.phases))
        key = (cells, wave_size)
        if key not in self.pictures:
            number = len(self.pictures) + 1
            self.pictures[key] = draw(cells, wave_size, number)
        return self.pictures[key]


def draw(cells: Cells, wave_size: int, number: int = 1, form: str = "svg") -> Picture:
    """Draws a map; lanes are coloured by their number, conflicting banks framed in red."""
    # matplotlib takes a second to load; only pictures need it.
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    banks = len(cells)
    cycles = max(1, *map(len, cells))
    left, right, top, bottom = _MARGIN_INCHES
    width = banks * _INCHES_PER_CELL + left + right
    height = cycles * _INCHES_PER_CELL + top + bottom
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height)
    )
    _draw_lanes(axes, cells, wave_size)
    _frame_conflicts(axes, cells)
    _label(axes, banks, cycles)
    buffer = io.BytesIO()
    # Texts stay texts, and nothing of the file depends on the time or on chance.
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bankwise"}):
        figure.savefig(buffer, format=form, metadata=nothing if form == "svg" else None, dpi=150)
    return Picture(number, buffer.getvalue(), round(width * 96), round(height * 96))


def _draw_lanes(axes: Axes, cells: Cells, wave_size: int) -> None:
    """Draws a coloured cell for each word, with the number of its first lane."""
    import matplotlib as mpl
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    colours = mpl.colormaps["viridis"]
    rectangles: list[Rectangle] = []
    fills: list[tuple[float, float, float, float]] = []
    for bank, words in enumerate(cells):
        for cycle, lanes in enumerate(words):
            first, *sharing = lanes
            colour = colours(0.12 + 0.88 * first / max(wave_size - 1, 1))
            rectangles.append(Rectangle((bank, cycle), 1, 1))
            fills.append(colour)
            red, green, blue, _ = colour
            dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.55
            axes.text(
                bank + 0.5,
                cycle + 0.54,
                f"{first}{'+' if sharing else ''}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else _INK,
            )
    axes.add_collection(
        PatchCollection(rectangles, facecolors=fills, edgecolors="white", linewidths=0.6)
    )


def _frame_conflicts(axes: Axes, cells: Cells) -> None:
    """Frames the banks that deliver more than one word."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    frames = [
        Rectangle((bank + 0.04, 0.04), 0.92, len(words) - 0.08)
        for bank, words in enumerate(cells)
        if len(words) > 1
    ]
    axes.add_collection(
        PatchCollection(frames, facecolors="none", edgecolors=_CONFLICT, linewidths=1.8)
    )


def _label(axes: Axes, banks: int, cycles: int) -> None:
    axes.set_xlim(0, banks)
    axes.set_ylim(cycles, 0)
    axes.set_xticks([bank + 0.5 for bank in range(banks)], map(str, range(banks)), fontsize=7)
    axes.set_yticks(
        [cycle + 0.5 for cycle in range(cycles)], map(str, range(1, cycles + 1)), fontsize=7
    )
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("bank", fontsize=8, color=_INK)
    axes.set_ylabel("cycle", fontsize=8, color=_INK)
    axes.tick_params(length=0, pad=2, colors="#59636e")
    axes.set_facecolor("#f6f8fa")
    for side in axes.spines.values():
        side.set_color("#d1d9e0")
