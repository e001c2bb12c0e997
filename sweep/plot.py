# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sweep as a picture: conflicts, LDS bytes and instructions, a column per target and type."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ..emulator.counters import Counted
from .rows import Row
from .tables import Group, groups


@dataclass(frozen=True)
class _Mark:
    """How a mitigation is drawn. Colours are Okabe and Ito's, which stay apart to all eyes."""

    colour: str
    marker: str
    size: float


_MARKS: Mapping[str, _Mark] = {
    "none": _Mark("#6E6E6E", "x", 6.0),
    "stock": _Mark("#D55E00", "s", 4.0),
    "pad": _Mark("#009E73", "D", 4.0),
    "swizzle": _Mark("#CC79A7", "^", 4.5),
    "auto": _Mark("#0072B2", "o", 4.0),
}
_AT_LEVELS: Mapping[str, Mapping[str, Any]] = {
    "layout": {"colour": "#56B4E9"},
    "exact": {"colour": "#0072B2"},
    "fast": {"colour": "#CC79A7", "marker": "D"},
    "exact/on": {"colour": "#009E73", "marker": "v"},
    "fast/on": {"colour": "#000000", "marker": "^"},
}
"""What a level changes of the mark of its mitigation."""
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "bankwise",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
}


def plot(rows: Sequence[Row]) -> Mapping[str, bytes]:
    """Returns the picture as `png` and `svg`; the same rows give the same bytes."""
    with rc_context(_STYLE):
        figure = _figure(groups(rows))
        return {
            "png": _saved(figure, "png", metadata={"Software": None}, dpi=150),
            "svg": _saved(figure, "svg", metadata={"Date": None}),
        }


def _saved(figure: Figure, format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=format, **options)
    return file.getvalue()


def _figure(found: Sequence[Group]) -> Figure:
    """Returns a column per group that has anything to draw."""
    drawn = [group for group in found if any(row.grid for row in group.rows.values())]
    if not drawn:
        figure = Figure(figsize=(6, 2))
        figure.text(0.5, 0.5, "no kernel has grid totals", ha="center", va="center")
        return figure
    columns = len(drawn)
    figure = Figure(figsize=(1.6 + columns * max(2.6, 5.8 - 0.6 * columns), 8.6))
    figure.set_layout_engine("constrained")
    axes = figure.subplots(
        3, columns, squeeze=False, sharex="col", sharey="row", height_ratios=[1.5, 1, 1.15]
    )
    scale = _ConflictScale.of(drawn)
    for column, group in enumerate(drawn):
        ordered = _by_work(group)
        _conflicts(axes[0, column], group, ordered, scale)
        _lds_bytes(axes[1, column], group, ordered)
        _instructions(axes[2, column], group, ordered)
        axes[0, column].set_title(group.title, fontweight="bold")
        _name_kernels(axes[2, column], ordered)
    most = max(row.lds_bytes for group in drawn for row in group.rows.values())
    axes[1, 0].set_ylim(0, max(1.0, 1.08 * most / 1024))
    axes[1, 0].yaxis.set_major_locator(MaxNLocator(5))
    _scale_instructions(axes[2, 0], drawn)
    for axis, label in zip(
        axes[:, 0],
        (
            "LDS bank conflicts\nof the grid, cycles",
            "LDS of a workgroup, KiB",
            "instructions of the grid\nagainst the baseline's",
        ),
        strict=True,
    ):
        axis.set_ylabel(label)
    figure.align_ylabels(axes[:, 0])
    _legend(figure, drawn)
    return figure


def _by_work(group: Group) -> list[str]:
    """Returns the kernels from the least to the most work; those of equal work keep their order."""
    work = {kernel: row.work for (kernel, _), row in group.rows.items()}
    return sorted(group.kernels, key=lambda kernel: work[kernel])


@dataclass(frozen=True)
class _ConflictScale:
    """The heights on the axis of conflicts, which has decades and below them a shelf for 0.

    A logarithmic axis has no zero. The unit of the axis is a decade, and its foot is at 10 to the
    power of `lowest`. The shelf beneath has a lane for each mitigation, so that none hides another.
    """

    lowest: int
    highest: int
    lanes: int

    @staticmethod
    def of(found: Sequence[Group]) -> _ConflictScale:
        """Returns the scale that all groups fit on."""
        counts = [
            row.grid[Counted.CONFLICTS]
            for group in found
            for row in group.rows.values()
            if row.grid is not None
        ]
        logarithms = [math.log10(count) for count in counts if count] or [0.0]
        lanes = max((len(group.mitigations) for group in found), default=1)
        return _ConflictScale(math.floor(min(logarithms)), math.floor(max(logarithms)) + 1, lanes)

    @property
    def lane(self) -> float:
        """Returns the height of a lane: the shelf takes a fifth of the axis."""
        return 0.2 * (self.highest - self.lowest) / self.lanes

    @property
    def shelf(self) -> tuple[float, float]:
        """Returns the bottom and the top of the shelf."""
        return self.lowest - (self.lanes + 1) * self.lane, self.lowest - self.lane

    def height(self, conflicts: int, lane: int) -> float:
        """Returns where a count is drawn."""
        return math.log10(conflicts) if conflicts else self.shelf[1] - (lane + 0.5) * self.lane


def _points(
    group: Group, ordered: Sequence[str], mitigation: str, value: Any
) -> tuple[list[int], list[float]]:
    """Returns the x and y of the rows that have a value."""
    found = [
        (x, value(group.rows[kernel, mitigation]))
        for x, kernel in enumerate(ordered)
        if (kernel, mitigation) in group.rows
    ]
    return [x for x, y in found if y is not None], [y for _, y in found if y is not None]


def _draw(
    axis: Axes, xs: Sequence[float], ys: Sequence[float], mark: _Mark, filled: bool = True
) -> None:
    axis.plot(xs, ys, alpha=0.9, clip_on=False, **_drawn(mark, filled))


def _drawn(mark: _Mark, filled: bool) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": mark.marker,
        "markersize": mark.size,
        "markeredgecolor": mark.colour,
        "markerfacecolor": mark.colour if filled else "none",
        "markeredgewidth": 1.0,
    }


def _mark(mode: str) -> _Mark:
    """Returns how a mode is drawn: a mitigation, or one with a level and with or without tiles."""
    mitigation, _, rest = mode.partition("/")
    mark = _MARKS.get(mitigation, _Mark("#000000", "+", 6.0))
    return replace(mark, **_AT_LEVELS.get(rest, {}))


def _conflicts(axis: Axes, group: Group, ordered: Sequence[str], scale: _ConflictScale) -> None:
    axis.axhspan(*scale.shelf, color="#EEF2F6", zorder=0)
    for lane, mitigation in enumerate(group.mitigations):

        def height(row: Row, lane: int = lane) -> float | None:
            if row.grid is None:
                return None
            return scale.height(row.grid[Counted.CONFLICTS], lane)

        _draw(axis, *_points(group, ordered, mitigation, height), _mark(mitigation))
    step = -(-(scale.highest - scale.lowest) // 6)
    decades = list(range(scale.lowest, scale.highest + 1, step))
    axis.set_yticks([sum(scale.shelf) / 2, *decades], ["0", *(f"$10^{{{d}}}$" for d in decades)])
    axis.set_ylim(scale.shelf[0], scale.highest)


def _lds_bytes(axis: Axes, group: Group, ordered: Sequence[str]) -> None:
    for mitigation in group.mitigations:

        def kibibytes(row: Row) -> float | None:
            return None if row.error else row.lds_bytes / 1024

        _draw(axis, *_points(group, ordered, mitigation, kibibytes), _mark(mitigation))


_COUNTED = ((Counted.LDS, "LDS", True), (Counted.VALU, "VALU", False))


def _instructions(axis: Axes, group: Group, ordered: Sequence[str]) -> None:
    """Draws LDS instructions filled and VALU instructions hollow; the baseline is the line at 1."""
    axis.axhline(1, color=_mark(group.baseline).colour, linewidth=1.2, zorder=1)
    for mitigation in group.mitigations:
        if mitigation == group.baseline:
            continue
        for counter, _, filled in _COUNTED:

            def ratio(row: Row, counter: str = counter) -> float | None:
                return _ratio(group, row, counter)

            points = _points(group, ordered, mitigation, ratio)
            _draw(axis, *points, _mark(mitigation), filled)


def _ratio(group: Group, row: Row, counter: str) -> float | None:
    """Returns a counter of the grid against the baseline's, where both are known."""
    base = group.rows.get((row.kernel, group.baseline))
    if row.grid is None or base is None or not base.grid or not base.grid[counter]:
        return None
    return row.grid[counter] / base.grid[counter]


def _scale_instructions(axis: Axes, found: Sequence[Group]) -> None:
    """Makes room for all ratios, a tenth around 1 at the least, and for the legend."""
    ratios = [
        _ratio(group, row, counter) or 1.0
        for group in found
        for row in group.rows.values()
        for counter, _, _ in _COUNTED
    ]
    low, high = min(0.9, *ratios), max(1.1, *ratios)
    margin = 0.05 * (high - low)
    axis.set_ylim(low - margin, high + 4 * margin)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.2f}x"))
    handles = [
        _handle(_Mark("#444444", "o", 4.0), f"{name} instructions", filled)
        for _, name, filled in _COUNTED
    ]
    axis.legend(handles=handles, loc="upper right", frameon=False, fontsize=8, ncols=2)


def _name_kernels(axis: Axes, ordered: Sequence[str]) -> None:
    """Names some kernels: the axis runs over their order by work."""
    step = max(1, -(-len(ordered) // 10))
    shown = list(range(0, len(ordered), step))
    names = [ordered[x].removeprefix("attention_").removeprefix("matmul_") for x in shown]
    axis.set_xticks(shown, names, rotation=40, ha="right", rotation_mode="anchor", fontsize=7.5)
    axis.set_xlim(-0.03 * len(ordered) - 0.5, 1.03 * len(ordered) - 0.5)
    axis.set_xlabel(f"{len(ordered)} kernels by work")


def _legend(figure: Figure, found: Sequence[Group]) -> None:
    baselines = {group.baseline for group in found}
    names = dict.fromkeys(m for group in found for m in group.mitigations)
    handles = [
        _handle(_mark(name), f"{name} (baseline)" if name in baselines else name) for name in names
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)


def _handle(mark: _Mark, label: str, filled: bool = True) -> Line2D:
    return Line2D([], [], label=label, **_drawn(mark, filled))
