# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sums of a sweep as text that fits a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

from ..emulator.counters import Counted
from .rows import Row
from .tables import TIMES_HEAD, Summary, ratio_text, summaries, summary_table, times_cells


def terminal_table(rows: Sequence[Row], width: int) -> str:
    """Returns the first of three forms that fits, and the last one where none does.

    A Markdown table, a table per target and type with short heads and a legend, or a block of lines
    for each mode. Predicted times are a table of their own in the second form. No figure and no
    head is ever cut.

    Args:
        width: the columns of the terminal; 0 for as many as are needed.
    """
    wide = summary_table(rows)
    if not width or _width(wide) <= width:
        return wide
    found = summaries(rows)
    table = "\n".join([*_tables(found), textwrap.fill(_legend(found), width)])
    return table if _width(table) <= width else "\n".join(map(_block, found))


def _width(text: str) -> int:
    return max(map(len, text.splitlines()))


_HEAD = ("mode", "conflicts", "in", "LDS", "LDS-i", "VALU", "SALU", "floor")


def _legend(found: Sequence[Summary]) -> str:
    baselines = " or ".join(dict.fromkeys(each.group.baseline for each in found))
    times = "; predicted time: the geometric mean of the kernels' times over those of " + baselines
    return (
        "conflicts: conflict cycles of all grids; in: kernels with conflicts; LDS: the most LDS "
        f"bytes of a workgroup; LDS-i, VALU, SALU: instructions over those of {baselines}; "
        "floor: LDS cycles over the fewest that the data take"
        + (times if any(each.predicted_microseconds for each in found) else "")
    )


def _tables(found: Iterable[Summary]) -> Iterable[str]:
    """Yields the tables for each target and type, under a line that names them."""
    for title, group in groupby(found, key=_title):
        summed = list(group)
        yield title
        if any(each.predicted_microseconds for each in summed):
            times = ((each.mode, *times_cells(each)) for each in summed)
            yield from _aligned([("mode", *TIMES_HEAD), *times])
            yield ""
        yield from _aligned([_HEAD, *((each.mode, *_figures(each)) for each in summed)])
        yield ""


def _aligned(lines: Sequence[Sequence[str]]) -> Iterable[str]:
    """Yields lines of cells as columns, all but the first of which end at the same place."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *others in lines:
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells])


def _title(summary: Summary) -> str:
    return f"{summary.group.title}, {summary.kernels:,} kernels"


def _figures(summary: Summary) -> list[str]:
    """Returns what a mode has under all heads but the first."""
    counts = (summary.conflicts, summary.conflicting, summary.lds_bytes)
    ratios = [summary.ratios[name] for name in (Counted.LDS, Counted.VALU, Counted.SALU)]
    return [*(f"{n:,}" for n in counts), *map(ratio_text, [*ratios, summary.cycles_over_floor])]


_LINES = (
    "conflict cycles", "kernels with conflicts", "LDS bytes, largest", "LDS instructions", "VALU",
    "SALU", "LDS cycles / floor",
)  # fmt: skip


def _block(summary: Summary) -> str:
    names, figures = _LINES, _figures(summary)
    if summary.predicted_microseconds:
        names, figures = (*TIMES_HEAD, *names), [*times_cells(summary), *figures]
    width = max(map(len, figures))
    lines = (f"  {name:<22} {text:>{width}}" for name, text in zip(names, figures, strict=True))
    return "\n".join([f"{_title(summary)}, {summary.mode}", *lines])
