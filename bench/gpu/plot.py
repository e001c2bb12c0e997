# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A record of times as a picture: ratios to FlashAttention-2's times, and to cuBLAS's."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ...sweep.plot_page import Mark
from .kernels import ATTENTION, MATMUL, TimedKernel
from .modes import EXACT, FAST, LAYOUT, NONE, PAD, STOCK, mode_and_target
from .ratios import Ratios, libraries_of
from .record import Record
from .table import shown

MARKS = {
    STOCK: Mark("#D55E00", "s"),
    NONE: Mark("#CC79A7", "d"),
    PAD: Mark("#E69F00", "D"),
    LAYOUT: Mark("#56B4E9", "v"),
    EXACT: Mark("#009E73", "^"),
    FAST: Mark("#0072B2", "o"),
    "efficient": Mark("#6E6E6E", "x"),
    "cudnn": Mark("#000000", "+"),
}
"""The mark of each mode and library."""
_SIZES = {ATTENTION: "batch x sequence x head size, type", MATMUL: "M x N x K, type"}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "bankwise",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
"""How all plots look, as `rc_context` takes it."""
_TICKS = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256)


def svg(record: Record) -> bytes:
    """Returns the picture; the same record gives the same bytes.

    Raises:
        RuntimeError: no kernel has a time of the library that it is compared with.
    """
    ratios = Ratios.of(record)
    panels = [
        _Panel.of(ratios, function, base)
        for function in (ATTENTION, MATMUL)
        for base in libraries_of(function)
    ]
    panels = [panel for panel in panels if panel.kernels]
    if not panels:
        raise RuntimeError("the record has no times of FlashAttention-2 or cuBLAS to compare with")
    with rc_context(STYLE):
        widths = [len(panel.kernels) + 1 for panel in panels]
        figure = Figure(figsize=(2.5 + 0.45 * sum(widths), 5.2))
        figure.set_layout_engine("constrained")
        axes = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)[0]
        for axis, panel in zip(axes, panels, strict=True):
            panel.draw(axis)
        where = record.conditions
        figure.suptitle(
            f"Kernel times measured on {where.device}, over those of a library's kernel of the "
            f"same shape ({where.target} code, {record.date})"
        )
        handles = {
            label: handle
            for axis in axes
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False
        )
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


@dataclass(frozen=True)
class _Panel:
    """The kernels of a family that are compared with one library."""

    ratios: Ratios
    function: str
    base: str
    kernels: list[TimedKernel]

    @staticmethod
    def of(ratios: Ratios, function: str, base: str) -> _Panel:
        """Returns the panel of a family and a library."""
        known = [k for k in ratios.family(function) if ratios.library(k) == base]
        return _Panel(ratios, function, base, known)

    def draw(self, axis: Axes) -> None:
        """Draws a point for each kernel and series, on a logarithmic axis.

        It is hollow where the code is for another GPU than the record's.
        """
        base = self.base
        axis.axhline(1, color="#CC79A7", linewidth=1.4, label=shown(base), zorder=1)
        heights: list[float] = [1.0]
        drawn = [each for each in self.ratios.series(self.function) if each != base]
        for number, series in enumerate(drawn):
            # Side by side, so that no mark hides an equal one.
            beside = 0.6 * ((number + 0.5) / len(drawn) - 0.5)
            points = [(x, self.ratios.ratio(k, series, base)) for x, k in enumerate(self.kernels)]
            known = [(x + beside, y) for x, y in points if y is not None]
            if not known:
                continue
            heights += [y for _, y in known]
            mode, target = mode_and_target(series)
            mark = MARKS[mode]
            axis.plot(
                *zip(*known, strict=True),
                linestyle="none",
                marker=mark.marker,
                color=mark.colour,
                markerfacecolor="none" if target else mark.colour,
                markersize=5,
                label=shown(series),
            )
        axis.set_yscale("log")
        axis.set_ylim(0.85 * min(heights), 1.18 * max(heights))
        axis.yaxis.set_major_locator(FixedLocator(_TICKS))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}x"))
        axis.grid(axis="y", color="#E4E4E4", linewidth=0.7)
        axis.set_axisbelow(True)
        axis.set_ylabel(f"time over that of {shown(base)}")
        axis.set_title(f"{self.function}s", fontweight="bold")
        axis.set_xlabel(_SIZES[self.function])
        for x in range(1, len(self.kernels)):
            axis.axvline(x - 0.5, color="#E4E4E4", linewidth=0.5, zorder=0.5)
        labels = [kernel.label.replace("_", " ") for kernel in self.kernels]
        axis.set_xticks(range(len(labels)), labels, rotation=55, ha="right", fontsize=8)
