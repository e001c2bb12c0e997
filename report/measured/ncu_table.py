# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables that Nsight Compute's `ncu --csv` prints, one row per metric or one per launch.

The page of details, which is also what `ncu --csv --metrics=...` prints, has a row for each metric
of each launch:

    "ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"
    "0","matmul","(256, 1, 1)","(8, 16, 1)","gpu__time_duration.sum","us","211.94"

The raw page (`--page raw`) has a row for each launch, a column for each metric, and a first row
that holds the units.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .csv_tables import size_of, table_rows

_NAMES = ("ID", "Kernel Name")
_DETAILS = (*_NAMES, "Metric Name", "Metric Value")
_GRID_METRIC = "launch__grid_size"
_BLOCK_METRIC = "launch__block_size"


@dataclass(frozen=True)
class Cell:
    """The value of a metric as `ncu` writes it, such as `1,234.5`, `n/a` or `3 (1; 2)`."""

    text: str
    unit: str


@dataclass
class NcuLaunch:
    """One launch of a kernel.

    Attributes:
        workgroups: how many the grid has; None where the table does not say it.
        threads: the lanes of a workgroup; None where the table does not say it.
        metrics: the values by the names of the metrics.
    """

    kernel: str
    workgroups: int | None
    threads: int | None
    metrics: dict[str, Cell] = field(default_factory=dict)


def read_ncu_table(text: str) -> list[NcuLaunch]:
    """Returns the launches in what `ncu --csv` printed, in their order; none without a table.

    Raises:
        TableError: a table is broken.
    """
    launches: dict[tuple[str, str], NcuLaunch] = {}
    for row in _rows(text):
        if not row["Metric Name"]:  # A line of advice.
            continue
        key = row.get("Process ID", ""), row["ID"]
        if key not in launches:
            grid, block = row.get("Grid Size", ""), row.get("Block Size", "")
            launches[key] = NcuLaunch(row["Kernel Name"], _product(grid), _product(block))
        launch = launches[key]
        launch.metrics[row["Metric Name"]] = Cell(row["Metric Value"], row.get("Metric Unit", ""))
    for launch in launches.values():
        launch.workgroups = launch.workgroups or _whole(launch.metrics.get(_GRID_METRIC))
        launch.threads = launch.threads or _whole(launch.metrics.get(_BLOCK_METRIC))
    return list(launches.values())


def _rows(text: str) -> Iterator[dict[str, str]]:
    """Yields a row for each metric of each launch, whichever page the table is of."""
    # ncu quotes every field, and the program that it measures prints in between.
    lines = [line for line in text.splitlines() if line.lstrip().startswith('"')]
    if not lines:
        return
    units: dict[str, str] = {}
    for row in table_rows("\n".join(lines), _NAMES):
        if set(_DETAILS) <= row.keys():
            yield row
        elif not row["ID"]:
            units = row
        else:
            known = {name: row[name] for name in row if "__" not in name}
            for name in row.keys() - known.keys():
                unit = units.get(name, "")
                yield known | {"Metric Name": name, "Metric Value": row[name], "Metric Unit": unit}


def _product(size: str) -> int | None:
    """Returns what `(8, 16, 1)` multiplies to; None where there is no number."""
    numbers = [size_of(digits) for digits in re.findall(r"\d+", size)]
    known = [number for number in numbers if number is not None]
    return math.prod(known) if known and len(known) == len(numbers) else None


def _whole(cell: Cell | None) -> int | None:
    text = cell.text.replace(",", "") if cell is not None else ""
    return size_of(text)
