# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sweep as a picture: predicted times, conflicts, LDS bytes and instructions of each shape.

Figures of whole grids grow with the shape. What is drawn is therefore relative to the reference
mode's figure of the same shape, so that large shapes hide no small ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ..bank_model.shown_text import counted
from ..emulator.counters import Counted
from ..emulator.library_settings import no_settings_of_the_folder
from .plot_page import Mark, Page, marks_of, plot_style
from .rows import Row
from .shapes import Level, ShapeAxis
from .tables import Group, groups

with no_settings_of_the_folder():
    from matplotlib.axes import Axes
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

_TALL_PANEL, _LANE, _PANEL, _LABEL_LINE = 1.6, 0.13, 1.05, 0.16
"""The heights of the panel of conflicts, of a zero line, of other panels, of labels, in inches."""
_TITLE, _BREAK, _GAP = 0.3, 0.08, 0.14
"""What is free above these panels, in inches."""
_LETTER = 0.068
"""The most inches that a small letter is wide."""
_MOST_LABELS = 150


@dataclass(frozen=True)
class GroupPlot:
    """The rows of one type on one target, relative to the reference mode's.

    Attributes:
        reference: the mode that figures are relative to, as in tables: `stock` if it was swept.
    """

    group: Group
    reference: str
    axis: ShapeAxis
    marks: Mapping[str, Mark]

    @staticmethod
    def of(group: Group, marks: Mapping[str, Mark]) -> GroupPlot:
        """Returns what is drawn of a group; `marks` are those of all modes on the page."""
        work = {kernel: row.work for (kernel, _), row in group.rows.items()}
        used = {mode: marks[mode] for mode in group.modes}
        return GroupPlot(group, group.baseline, ShapeAxis.of(work), used)

    def share(self, row: Row, counter: str, of: str) -> float | None:
        """Returns a counter of a row's grid over another one of the reference's grid.

        Nothing is nothing, whatever it is compared with. None says that the row's grid is not
        known, or the reference's is not, or has none of what is counted.
        """
        if row.grid is None:
            return None
        if row.grid[counter] == 0:
            return 0.0
        base = self.group.rows.get((row.kernel, self.reference))
        if base is None or not base.grid or not base.grid[of]:
            return None
        return row.grid[counter] / base.grid[of]

    def conflicts(self, row: Row) -> float | None:
        """Returns the conflict cycles of a row over all LDS cycles of the reference."""
        return self.share(row, Counted.CONFLICTS, Counted.LDS_CYCLES)

    def predicted(self, row: Row) -> float | None:
        """Returns the predicted time of a row over the reference's; None where one is missing."""
        base = self.group.rows.get((row.kernel, self.reference))
        times = [each and each.predicted_microseconds for each in (row, base)]
        return times[0]["expected"] / times[1]["expected"] if times[0] and times[1] else None

    def points(
        self, mode: str, value: Callable[[Row], float | None]
    ) -> tuple[list[float], list[float]]:
        """Returns the x and y of a mode's rows that have a value, beside those of other modes."""
        modes = self.group.modes
        beside = 0.7 * (modes.index(mode) - (len(modes) - 1) / 2) / len(modes)
        xs: list[float] = []
        ys: list[float] = []
        for place, kernel in enumerate(self.axis.kernels):
            row = self.group.rows.get((kernel, mode))
            y = None if row is None else value(row)
            if y is not None:
                xs.append(place + beside)
                ys.append(y)
        return xs, ys

    @property
    def title(self) -> str:
        """Returns what the rows are of, and how many cannot be drawn."""
        count = len(self.axis.kernels)
        noun = f"{self.axis.family} shape" if self.axis.family else "kernel"
        where = ", ".join(part for part in (self.group.target, self.group.dtype) if part)
        hidden = sum(self.conflicts(row) is None for row in self.group.rows.values())
        note = f"; without totals to compare: {counted(hidden, 'row')}" if hidden else ""
        return f"{where}: {counted(count, noun)}{note}"


def plot(rows: Sequence[Row]) -> Mapping[str, bytes]:
    """Returns the picture as `png` and `svg`; the same rows give the same bytes."""
    with plot_style():
        return plotted_page(rows).saved()


def plotted_page(rows: Sequence[Row]) -> Page:
    """Returns the page with all groups that have anything to draw, one below the other."""
    drawn = [group for group in groups(rows) if any(row.grid for row in group.rows.values())]
    if not drawn:
        page = Page(4.0)
        page.head("no kernel has grid totals", {})
        return page
    marks = marks_of(list(dict.fromkeys(mode for each in drawn for mode in each.modes)))
    plots = [GroupPlot.of(group, marks) for group in drawn]
    references = {each.reference for each in plots}
    page = Page(min(9.5, max(4.8, 0.25 * max(len(group.kernels) for group in drawn))))
    page.head(
        "LDS bank conflicts and instructions of whole grids, counted on the emulator"
        + ("; predicted times" if any(group.timed for group in drawn) else ""),
        {f"{mode} (reference)" if mode in references else mode: marks[mode] for mode in marks},
    )
    decades = _decades(plots)
    for each in plots:
        _draw_group(page, each, decades)
    return page


def _draw_group(page: Page, drawn: GroupPlot, decades: range) -> None:
    timed = [page.axes(_PANEL, above=_TITLE)] if drawn.group.timed else []
    for panel in timed:
        _draw_ratios(panel, drawn, drawn.predicted, f"predicted time\nover {drawn.reference}'s")
    top = page.axes(_TALL_PANEL, _GAP if timed else _TITLE, *timed)
    (*timed, top)[0].set_title(drawn.title, loc="left", fontsize=9.5, fontweight="bold", pad=6)
    _draw_conflicts(top, drawn, decades)
    zeros = page.axes(_LANE * len(drawn.group.modes), shared=top, above=_BREAK)
    _draw_zeros(zeros, drawn)
    _mark_break(top, zeros)
    panels = [page.axes(_PANEL, shared=top, above=_GAP) for _ in range(3)]
    _draw_kibibytes(panels[0], drawn)
    ratios = ((Counted.LDS, "LDS"), (Counted.VALU, "VALU"))
    for panel, (counter, name) in zip(panels[1:3], ratios, strict=True):
        share = partial(drawn.share, counter=counter, of=counter)
        _draw_ratios(panel, drawn, share, f"{name} instructions\nover {drawn.reference}'s")
    for panel in (*timed, top, zeros, *panels):
        _separate(panel, drawn.axis)
        panel.tick_params(axis="x", length=0, labelbottom=False)
    top.set_xlim(-0.8, len(drawn.axis.kernels) - 0.2)
    _label_shapes(panels[-1], drawn.axis)
    page.skip(_tick_height(drawn.axis) + _LABEL_LINE * (len(drawn.axis.levels) - 1) + _GAP)


def _decades(plots: Sequence[GroupPlot]) -> range:
    """Returns the powers of 10 around all shares of conflicts, from 1 % to 100 % at the least."""
    shares = [each.conflicts(row) for each in plots for row in each.group.rows.values()]
    logarithms = [math.log10(share) for share in shares if share] or [0.0]
    return range(min(-2, math.floor(min(logarithms))), max(0, math.ceil(max(logarithms))) + 1)


def _draw_conflicts(axis: Axes, drawn: GroupPlot, decades: range) -> None:
    """Draws what conflicts there are, on a logarithmic axis, which has no zero."""
    for mode, mark in drawn.marks.items():
        axis.plot(*drawn.points(mode, lambda row: drawn.conflicts(row) or None), **mark.drawn())
    axis.set_yscale("log")
    axis.set_ylim(10.0 ** decades[0], 10.0 ** decades[-1])
    axis.yaxis.set_major_locator(FixedLocator([10.0**decade for decade in decades]))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    axis.spines["bottom"].set_visible(False)
    axis.set_ylabel(f"bank conflict cycles,\n% of {drawn.reference}'s LDS cycles")


def _draw_zeros(axis: Axes, drawn: GroupPlot) -> None:
    """Draws the rows without conflicts: each mode has a zero line of its own, so none hides."""
    modes = drawn.group.modes
    for height, (mode, mark) in enumerate(drawn.marks.items()):

        def zero(row: Row, height: int = height) -> float | None:
            return float(height) if drawn.conflicts(row) == 0 else None

        xs, ys = drawn.points(mode, zero)
        axis.plot(xs, ys, **mark.drawn())
        known = sum((kernel, mode) in drawn.group.rows for kernel in drawn.axis.kernels)
        axis.annotate(
            f"0 in {len(xs)} of {known}",
            (1, height),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
        )
    axis.set_ylim(len(modes) - 0.5, -0.5)
    axis.set_yticks(range(len(modes)), [f"{mode}: 0 %" for mode in modes], fontsize=7.5)
    axis.set_facecolor("#EEF2F6")


def _draw_kibibytes(axis: Axes, drawn: GroupPlot) -> None:
    """Draws the LDS of a workgroup, over an axis that begins at zero."""

    def kibibytes(row: Row) -> float | None:
        return None if row.error else row.lds_bytes / 1024

    for mode, mark in drawn.marks.items():
        axis.plot(*drawn.points(mode, kibibytes), clip_on=False, **mark.drawn())
    most = max(row.lds_bytes for row in drawn.group.rows.values())
    axis.set_ylim(0, 1.08 * most / 1024 or 1.0)
    axis.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 4, 5, 8, 10]))
    axis.set_ylabel("LDS of a\nworkgroup, KiB")


def _draw_ratios(
    axis: Axes, drawn: GroupPlot, ratio: Callable[[Row], float | None], label: str
) -> None:
    """Draws a figure over the reference's, which is the line at 1; the axis begins at zero."""
    axis.axhline(1, color=drawn.marks[drawn.reference].colour, linewidth=1.4, zorder=1)
    most = 1.0
    for mode, mark in drawn.marks.items():
        if mode == drawn.reference:
            continue
        xs, ys = drawn.points(mode, ratio)
        axis.plot(xs, ys, clip_on=False, **mark.drawn())
        most = max([most, *ys])
    axis.set_ylim(0, 1.08 * most)
    axis.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}x"))
    axis.set_ylabel(label)


def _mark_break(above: Axes, below: Axes) -> None:
    """Marks where the vertical axis is broken, by two strokes across it."""
    stroke = {
        "marker": [(-1, -0.5), (1, 0.5)],
        "markersize": 7,
        "linestyle": "none",
        "color": "black",
        "markeredgewidth": 0.8,
        "clip_on": False,
    }
    above.plot([0], [0], transform=above.transAxes, **stroke)
    below.plot([0], [1], transform=below.transAxes, **stroke)


def _separate(axis: Axes, shapes: ShapeAxis) -> None:
    """Draws lines between the groups of shapes, the darker the further out."""
    for depth, level in enumerate(shapes.levels[1:]):
        for span in level.spans[:-1]:
            colour = "#E4E4E4" if depth == 0 else "#7F7F7F"
            axis.axvline(span.last + 0.5, color=colour, linewidth=0.7, zorder=0.5)


def _tick_height(shapes: ShapeAxis) -> float:
    """Returns the inches of the innermost labels, which stand upright."""
    return 0.08 + _LETTER * max(3, *(len(span.label) for span in shapes.levels[0].spans))


def _label_shapes(axis: Axes, shapes: ShapeAxis) -> None:
    """Writes the levels of labels beneath axes, and at their left what they are."""
    innermost, *outer = shapes.levels
    step = -(-len(innermost.spans) // _MOST_LABELS)
    shown = innermost.spans[::step]
    axis.tick_params(axis="x", length=2, labelbottom=True)
    axis.set_xticks(
        [span.first for span in shown],
        [span.label for span in shown],
        rotation=90,
        fontsize=6.2 if len(shown) > 40 else 7.5,
    )
    depth = 72 * _tick_height(shapes)
    _name_level(axis, innermost, 8)
    for level in outer:
        for span in level.spans:
            axis.annotate(
                span.label,
                ((span.first + span.last) / 2, 0),
                xycoords=("data", "axes fraction"),
                xytext=(0, -depth),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=8,
            )
        _name_level(axis, level, depth)
        depth += 72 * _LABEL_LINE


def _name_level(axis: Axes, level: Level, depth: float) -> None:
    axis.annotate(
        level.name,
        (0, 0),
        xycoords="axes fraction",
        xytext=(-8, -depth),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8,
    )
