# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A page of plots: axes one below the other, at heights in inches."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..emulator.library_settings import no_settings_of_the_folder

with no_settings_of_the_folder():
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_LEFT, _RIGHT = 1.35, 0.95
"""The margins beside axes, in inches."""


@dataclass(frozen=True)
class Mark:
    """How a mode is drawn. Colours are Okabe and Ito's, which stay apart to all eyes.

    In print without colours, the markers alone tell modes apart.
    """

    colour: str
    marker: str
    size: float = 3.6

    def drawn(self) -> dict[str, Any]:
        """Returns the options of matplotlib."""
        return {
            "linestyle": "none",
            "marker": self.marker,
            "markersize": self.size,
            "color": self.colour,
            "markeredgewidth": 0.8 if self.marker in "x+" else 0.0,
        }


_MARKS: Mapping[str, Mark] = {
    "none": Mark("#6E6E6E", "x"),
    "stock": Mark("#D55E00", "s", 3.2),
    "pad": Mark("#E69F00", "d", 4.2),
    "swizzle": Mark("#CC79A7", "p", 4.0),
    "auto": Mark("#0072B2", "o"),
    "auto/layout": Mark("#56B4E9", "v", 4.0),
    "auto/exact": Mark("#0072B2", "D", 3.2),
    "auto/fast": Mark("#CC79A7", "X", 4.2),
    "auto/exact/on": Mark("#009E73", "P", 4.2),
    "auto/fast/on": Mark("#000000", "^", 4.0),
}
_SPARE = (
    Mark("#CC79A7", "<", 4.0), Mark("#E69F00", ">", 4.0), Mark("#6E6E6E", "h", 4.0),
    Mark("#000000", "*", 4.6), Mark("#D55E00", "+", 4.6),
)  # fmt: skip


def marks_of(modes: Sequence[str]) -> Mapping[str, Mark]:
    """Returns a mark for each mode; those without one of their own get what is left."""
    spare = [mode for mode in modes if mode not in _MARKS]
    others = {mode: _SPARE[number % len(_SPARE)] for number, mode in enumerate(spare)}
    return {mode: _MARKS.get(mode) or others[mode] for mode in modes}


_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # The names of kernels may hold anything.
    "svg.hashsalt": "bankwise",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
}


def plot_style() -> Any:
    """Returns a context in which figures are drawn and saved."""
    return rc_context(_STYLE)


class Page:
    """A figure that axes of one width are added to from its top on."""

    def __init__(self, axes_width: float) -> None:
        self._axes_width = axes_width
        self._width = _LEFT + axes_width + _RIGHT
        self._places: list[tuple[Axes, float, float]] = []
        self._used = 0.0
        self.figure = Figure()

    def skip(self, inches: float) -> None:
        """Leaves some height free."""
        self._used += inches

    def axes(self, height: float, above: float, shared: Axes | None = None) -> Axes:
        """Returns axes of a height, with some height free above them.

        They share the x axis with the axes `shared`.
        """
        axes = self.figure.add_axes((0, 0, 1, 1), sharex=shared, label=str(len(self._places)))
        axes.yaxis.set_label_coords((0.4 - _LEFT) / self._axes_width, 0.5)
        self._used += above + height
        self._places.append((axes, self._used, height))
        return axes

    def head(self, title: str, marks: Mapping[str, Mark]) -> None:
        """Writes a title, and beneath it what each mark stands for."""
        columns = max(1, int(self._width / 1.9))
        self.figure.legend(
            handles=[Line2D([], [], label=label, **mark.drawn()) for label, mark in marks.items()],
            title=title,
            title_fontproperties={"size": 11, "weight": "bold"},
            alignment="left",
            loc="upper left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0,
            borderpad=0.2,
            ncols=columns,
            frameon=False,
            markerscale=1.5,
        )
        self.skip(0.24 + 0.19 * -(-len(marks) // columns))

    def placed(self) -> Figure:
        """Returns the figure with all axes in their places."""
        self.figure.set_size_inches(self._width, self._used)
        for axes, bottom, height in self._places:
            left, width = _LEFT / self._width, self._axes_width / self._width
            axes.set_position((left, 1 - bottom / self._used, width, height / self._used))
        return self.figure

    def saved(self) -> Mapping[str, bytes]:
        """Returns the picture as `png` and `svg`, to be called within `plot_style()`."""
        return {
            "png": self._saved("png", metadata={"Software": None}, dpi=150),
            "svg": self._saved("svg", metadata={"Date": None}),
        }

    def _saved(self, form: str, **options: Any) -> bytes:
        file = io.BytesIO()
        figure = self.placed()
        figure.savefig(file, format=form, bbox_inches="tight", pad_inches=0.1, **options)
        return file.getvalue()
