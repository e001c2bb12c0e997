# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted and measured times of tiles as Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from ...sweep.tables import markdown_lines
from ..gpu.modes import STOCK
from ..gpu.record import Record
from .compiled_tiles import MODE
from .forcing import predicted_microseconds
from .pairs import TiledKernel, timed_pairs
from .ranks import Comparison, correlation, mean_logarithmic_error


def comparisons(record: Record) -> list[Comparison]:
    """Returns measured times, and what today's model predicts for the same tiles."""
    times = {case: 1000 * time for case, time in record.milliseconds().items()}
    return [
        found
        for kernel in timed_pairs()
        if (found := _comparison(kernel, record.conditions.target, times)) is not None
    ]


def _comparison(
    kernel: TiledKernel, target: str, times: dict[tuple[str, str], float]
) -> Comparison | None:
    name = kernel.kernel.name
    tiles = {each: tile for each, tile in kernel.by_label().items() if (name, each) in times}
    if not tiles:
        return None
    predicted = predicted_microseconds(kernel, list(tiles.values()), target, MODE)
    return Comparison(
        name,
        {each: times[name, each] for each in tiles},
        dict(zip(tiles, predicted, strict=True)),
        times.get((name, MODE)),
    )


def markdown(record: Record) -> str:
    """Returns how well the predictions order the tiles, and all times.

    Raises:
        RuntimeError: the record has times of no pair.
    """
    found = comparisons(record)
    if not found:
        raise RuntimeError("the record has times of no tile")
    where = record.conditions
    parts = [
        f"{where.device}, {where.target} code, {record.date}, clocks: {where.clocks}",
        summary(found),
        "## All tiles, microseconds\n\n" + _tiles(found, record),
    ]
    return "\n\n".join(parts) + "\n"


def summary(found: Sequence[Comparison]) -> str:
    """Returns a line for each kernel, and figures over all of them."""
    head = ("kernel", "tiles", "rank correlation", "best tile", "predicted best tile")
    lines = [[*head, "its time over the best", "the compiler's choice over the best"]]
    for each in found:
        taken = "" if each.taken_loss is None else f"{each.taken_loss:.3f}x"
        numbers = (str(len(each.measured)), f"{each.correlation:.3f}", each.best, each.foreseen)
        lines.append([each.kernel, *numbers, f"{each.foreseen_loss:.3f}x", taken])
    if not any(line[-1] for line in lines[1:]):
        lines = [line[:-1] for line in lines]
    losses, pairs = [each.foreseen_loss for each in found], sum(len(e.measured) for e in found)
    middle = statistics.median(each.correlation for each in found)
    text = [
        f"{pairs} pairs of a kernel and a tile: rank correlation {correlation(found):.3f} over "
        f"all, {middle:.3f} in the median of the kernels. "
        f"The predicted best tile takes at most {max(losses):.3f}x the time of the best measured "
        f"one, {statistics.median(losses):.3f}x in the median. The root mean square of the "
        f"logarithmic error is {mean_logarithmic_error(found):.3f}.",
        markdown_lines(lines, text_columns=1),
    ]
    return "\n\n".join(text)


def _tiles(found: Sequence[Comparison], record: Record) -> str:
    rows = record.by_case()
    lines = [["kernel", "tile", "measured", "predicted", "ratio", "registers", "over stock"]]
    for each in found:
        stock = rows.get((each.kernel, STOCK))
        for tile in sorted(each.measured, key=lambda tile: each.measured[tile]):
            time, predicted = each.measured[tile], each.predicted[tile]
            registers = str(rows[each.kernel, tile].figures.registers)
            ratio = f"{time / 1000 / stock.figures.milliseconds:.3f}x" if stock else ""
            cells = (
                f"{time:.1f}",
                microseconds(predicted),
                f"{predicted / time:.2f}x",
                registers,
                ratio,
            )
            lines.append([each.kernel, tile, *cells])
    return markdown_lines(lines, text_columns=2)


def microseconds(predicted: float) -> str:
    """Returns a predicted time as tables show it."""
    return f"{predicted:.1f}" if math.isfinite(predicted) else "does not fit"
