# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ladder of the README: what each level does to kernel times, with other libraries beside it.

A bar is the geometric mean of the times of some kernels over stock IREE's, and a thin line goes
from the kernel that gains most to the one that gains least. The picture has colours of its own for
readers who prefer dark pages, and is as wide as a narrow page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ..gpu.modes import EXACT, FAST, LAYOUT, NONE, STOCK
from ..gpu.ratios import Ratios
from ..gpu.references import CUBLAS, SERIES
from ..gpu.timed_kernels import ATTENTION, MATMUL, TimedKernel

PICTURE = Path(__file__).parents[2] / "docs" / "ladder.svg"
DTYPE = "f16"
OF_SM_90 = ("cudnn", CUBLAS)
"""The libraries whose kernels are made for sm_90; all other code of the record is for sm_80."""

_LEVELS = {
    NONE: "no mitigation",
    STOCK: "stock IREE",
    LAYOUT: "layouts alone",
    EXACT: "exact, the default",
    FAST: "fast",
}
_WIDTH, _MARGIN, _LABELS, _FIGURES = 560, 14, 188, 72
_BARS = _WIDTH - _LABELS - _FIGURES - _MARGIN
_ROW, _BAR, _HEAD, _GAP, _FOOT = 27, 17, 50, 12, 64
_STYLE = """\
text { font: 15px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
.page { fill: #ffffff; } .title { font-weight: 600; } .soft { fill: #59636e; font-size: 13px; }
.stock { fill: #8c959f; } .ours { fill: #0072b2; } .other { fill: #d98c00; }
.range { stroke: #1f2328; stroke-width: 1.5; } .one { stroke: #8c959f; stroke-dasharray: 3 3; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .page { fill: #0d1117; } .soft { fill: #9198a1; }
.stock { fill: #6e7681; } .ours { fill: #4aa8e0; } .other { fill: #e0a030; }
.range { stroke: #e6edf3; } .one { stroke: #6e7681; }
}
"""


@dataclass(frozen=True)
class Rung:
    """The times of a mode or a library over stock IREE's.

    Attributes:
        series: the mode, or the key of the library.
        mean: the geometric mean over the kernels.
        least, most: the ratios of the kernels that gain most and least.
        kernels: how many have a time in both.
    """

    series: str
    mean: float
    least: float
    most: float
    kernels: int

    @property
    def label(self) -> str:
        """Returns what stands beside the bar."""
        name = _LEVELS.get(self.series) or SERIES[self.series]
        return f"{name} (sm_90 code)" if self.series in OF_SM_90 else name

    @property
    def style(self) -> str:
        """Returns the class of the bar."""
        if self.series in (NONE, STOCK):
            return "stock"
        return "ours" if self.series in _LEVELS else "other"


def kernels(ratios: Ratios, function: str) -> list[TimedKernel]:
    """Returns the kernels of a panel: the attentions or the matmuls of f16."""
    return [kernel for kernel in ratios.family(function) if kernel.dtype == DTYPE]


def rungs(ratios: Ratios, function: str) -> list[Rung]:
    """Returns the rungs that a record has, from no mitigation to the libraries.

    `fast` is left out where it is no other than `exact`.
    """
    found: list[Rung] = []
    for series in (NONE, STOCK, LAYOUT, EXACT, FAST, *SERIES):
        known = [ratios.ratio(kernel, series, STOCK) for kernel in kernels(ratios, function)]
        over_stock = [ratio for ratio in known if ratio is not None]
        mean = ratios.mean(kernels(ratios, function), series, STOCK)
        if mean is not None:
            found.append(Rung(series, mean.ratio, min(over_stock), max(over_stock), mean.kernels))
    exact = next((rung.mean for rung in found if rung.series == EXACT), None)
    return [rung for rung in found if rung.series != FAST or rung.mean != exact]


def svg(ratios: Ratios) -> str:
    """Returns the picture of a record; the same record gives the same text."""
    panels = [(function, rungs(ratios, function)) for function in (ATTENTION, MATMUL)]
    longest = max(rung.most for _, rows in panels for rung in rows)
    body: list[str] = []
    y = _MARGIN
    for function, rows in panels:
        body += _panel(ratios, function, rows, y, _BARS / longest)
        y += _HEAD + _ROW * len(rows) + _GAP
    where = ratios.record.conditions
    body += [
        _text(_MARGIN, y + 12, f"{where.device}, {ratios.record.date}. Shorter is better.", "soft"),
        _text(_MARGIN, y + 30, "Thin line: from the shape that gains most to the least.", "soft"),
    ]
    height = y + _FOOT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" height="{height}" role="img">',
            f"<style>\n{_STYLE}</style>",
            f'<rect class="page" width="{_WIDTH}" height="{height}" rx="6"/>',
            *body,
            "</svg>\n",
        ]
    )


def _panel(
    ratios: Ratios, function: str, rows: Sequence[Rung], y: int, scale: float
) -> Iterator[str]:
    """Yields the elements of a panel; `scale` is the length of 1x in pixels."""
    many = len(kernels(ratios, function))
    target = ratios.record.conditions.target
    yield _text(_MARGIN, y + 16, f"{function.capitalize()}s in {DTYPE}: time over stock", "title")
    yield _text(_MARGIN, y + 36, f"geometric mean of {many} shapes, {target} code", "soft")
    top, left = y + _HEAD, _LABELS + _MARGIN
    one = left + scale
    yield f'<path class="one" d="M{one:.1f} {top}V{top + _ROW * len(rows)}"/>'
    for rung in rows:
        middle = top + _ROW / 2
        yield _text(left - 8, middle + 5, rung.label, "", ' text-anchor="end"')
        yield (
            f'<rect class="{rung.style}" x="{left}" y="{middle - _BAR / 2:.1f}" '
            f'width="{rung.mean * scale:.1f}" height="{_BAR}"/>'
        )
        if rung.most > rung.least:
            first, last = left + rung.least * scale, left + rung.most * scale
            yield f'<path class="range" d="M{first:.1f} {middle:g}H{last:.1f}"/>'
        figure = f"{rung.mean:.2f}x"
        yield _text(_WIDTH - _MARGIN, middle + 5, figure, "title", ' text-anchor="end"')
        top += _ROW


def _text(x: float, y: float, text: str, style: str, more: str = "") -> str:
    named = f' class="{style}"' if style else ""
    return f'<text{named} x="{x:g}" y="{y:g}"{more}>{escape(text)}</text>'
