# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares predicted times of AMD GPUs with published ones.

python -m bankwise.bench.timing_validation [-o bench/results]

Writes timing_validation.json and timing_validation.md. No constant of the model was fitted to a
point that validates. The spread of the kernels' errors gives the bounds that predictions carry.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ..emulator.timing.error_bounds import SHORT_MICROSECONDS
from ..iree_plugin.atomic_file import write_output
from ..sweep.tables import markdown_lines
from .benchmark import RESULTS
from .timing_points import (
    HOST_MICROSECONDS,
    VALIDATES,
    Point,
    instruction_points,
    kernel_points,
)

NAME = "timing_validation"


@dataclass(frozen=True)
class Row:
    """A published figure and the model's; `error` is how much larger the model's is, as a part."""

    name: str
    chip: str
    family: str
    unit: str
    published: float
    predicted: float
    role: str
    source: str

    @property
    def error(self) -> float:
        """Returns how much larger the model's figure is, as a part of the published one."""
        return self.predicted / self.published - 1

    @classmethod
    def of(cls, point: Point) -> Row:
        """Returns the row of a point, whose prediction is made."""
        values = asdict(point)
        values.pop("predict")
        return cls(**values, predicted=round(point.predict(), 3))


def validating(rows: Iterable[Row], family: str) -> list[Row]:
    """Returns the rows of a family to which nothing was fitted."""
    return [row for row in rows if row.family == family and row.role == VALIDATES]


def bounds(rows: Iterable[Row], least: float = 0.0) -> tuple[float, float]:
    """Returns the smallest and the largest ratio of measured to predicted time of kernels.

    The first is rounded down to hundredths, the second up. What a call takes besides its kernel is
    taken off both times. Kernels that are predicted to take less than `least` microseconds are left
    out.
    """
    times = [
        (row.published - HOST_MICROSECONDS, row.predicted - HOST_MICROSECONDS)
        for row in validating(rows, "kernels")
    ]
    ratios = [published / predicted for published, predicted in times if predicted >= least]
    return math.floor(min(ratios) * 100) / 100, math.ceil(max(ratios) * 100) / 100


def ratio_bound(rows: Iterable[Row], least: float = 0.0) -> float:
    """Returns the factor by which the ratio of the times of two layouts of a matmul may be off.

    That is the largest one of the record, rounded up to hundredths, without what a call takes
    besides its kernel. Kernels that are predicted to take less than `least` microseconds are left
    out.
    """
    layouts: defaultdict[str, list[float]] = defaultdict(list)
    for row in validating(rows, "kernels"):
        if row.predicted - HOST_MICROSECONDS >= least:
            published = row.published - HOST_MICROSECONDS
            layouts[row.name.split(",")[0]].append(published / (row.predicted - HOST_MICROSECONDS))
    return math.ceil(max(max(each) / min(each) for each in layouts.values()) * 100) / 100


def read_rows(path: Path = RESULTS / f"{NAME}.json") -> list[Row]:
    """Returns the rows of the record."""
    return [Row(**row) for row in json.loads(path.read_text())["rows"]]


def _table(rows: Sequence[Row]) -> str:
    lines = [["what", "chip", "unit", "published", "predicted", "error", "role", "source"]]
    for row in rows:
        digits = 1 if row.published < 1000 else 0
        figures = (f"{value:,.{digits}f}" for value in (row.published, row.predicted))
        lines.append(
            [row.name, row.chip, row.unit, *figures, f"{row.error:+.1%}", row.role, row.source]
        )
    return markdown_lines(lines, text_columns=3)


def page(rows: Sequence[Row]) -> str:
    """Returns the table of all rows, and what follows from them, as Markdown."""
    parts = ["# Predicted times of AMD GPUs against published ones\n"]
    parts.append(f"Made by `python -m bankwise.bench.{NAME}`. No AMD GPU was used here.\n")
    for family, title in (
        ("kernels", "Kernels"),
        ("counters", "Counters"),
        ("instructions", "Instructions"),
    ):
        errors = [abs(row.error) for row in validating(rows, family)]
        low, high = statistics.median(errors), max(errors)
        parts.append(f"## {title}\n")
        parts.append(
            f"{len(errors)} points validate: the median error is {low:.1%}, "
            f"the largest {high:.1%}.\n"
        )
        parts.append(_table([row for row in rows if row.family == family]) + "\n")
    low, high = bounds(rows)
    long_low, long_high = bounds(rows, SHORT_MICROSECONDS)
    parts.append(
        f"A call of a matmul takes {HOST_MICROSECONDS} us besides its kernel, which the smallest "
        f"matmul gives. Without it the kernels take from {low} to {high} times what is predicted, "
        f"and from {long_low} to {long_high} times where that is {SHORT_MICROSECONDS:.0f} us or "
        "more. These are the bounds of predictions. The ratio of two layouts of a matmul is off by "
        f"a factor of at most {ratio_bound(rows)}, and {ratio_bound(rows, SHORT_MICROSECONDS)} "
        "where both are predicted to take that long.\n"
    )
    return "\n".join(parts)


def main() -> int:
    """Writes the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "-o", "--output", type=Path, default=RESULTS, help="the folder of the files"
    )
    folder = parser.parse_args().output
    rows = [Row.of(point) for point in (*kernel_points(), *instruction_points())]
    text = json.dumps({"version": 1, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
    write_output(str(folder / f"{NAME}.json"), text.encode())
    write_output(str(folder / f"{NAME}.md"), page(rows).encode())
    print(page(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
