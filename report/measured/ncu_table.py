# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables that Nsight Compute's `ncu --csv` prints, one row per metric or one per launch.

The page of details, which is also what `ncu --csv --metrics=...` prints, has a row for each metric
of each launch:

    "ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"
    "0","matmul","(256, 1, 1)","(8, 16, 1)","gpu__time_duration.sum","us","211.94"

Without `--metrics` it has the advice of ncu's rules as well, each in a row without a metric, in
five more columns; the rows of metrics end with a comma before these. What a rule says of bank
conflicts in shared memory are the values of two metrics, and is read as such.

The raw page (`--page raw`) has a row for each launch, a column for each metric, and a first row
that holds the units. The file itself, `.ncu-rep`, is read by `read_ncu_report`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .csv_tables import size_of, table_rows

_NAMES = ("ID", "Kernel Name")
_DETAILS = (*_NAMES, "Metric Name", "Metric Value")
_GRID_METRICS = ("launch__grid_size", "Grid Size")
_BLOCK_METRICS = ("launch__block_size", "Block Size")
"""By their own names, and by the labels that they have in sections."""

_INSTANCES = re.compile(r" \([^()]*\)$")
"""The values of a metric's instances behind their sum, as in `3,670,016 (1; 2)`."""

_CONFLICTS_OF_A_RULE = re.compile(
    r"results in ([0-9][0-9,]*) bank conflicts,\s+which represent [0-9.,]+% of the overall "
    r"([0-9][0-9,]*) wavefronts for shared (load|store)s"
)
"""In the text of the rule `SharedMemoryConflicts`."""
_METRICS_OF_A_RULE = (
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared",
)
"""What its two values are."""
_OPERATIONS = {"load": "ld", "store": "st"}


@dataclass(frozen=True)
class Cell:
    """The value of a metric as `ncu` writes it, such as `1,234.5` or `n/a`."""

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
        key = row.get("Process ID", ""), row["ID"]
        if key not in launches:
            grid, block = row.get("Grid Size", ""), row.get("Block Size", "")
            launches[key] = NcuLaunch(row["Kernel Name"], _product(grid), _product(block))
        launch = launches[key]
        if row["Metric Name"]:
            text = _INSTANCES.sub("", row["Metric Value"])
            launch.metrics[row["Metric Name"]] = Cell(text, row.get("Metric Unit", ""))
        else:
            for name, value in _said_by_a_rule(row.get("Rule Description", "")):
                launch.metrics.setdefault(name, Cell(value, ""))
    return list(map(complete, launches.values()))


def complete(launch: NcuLaunch) -> NcuLaunch:
    """Returns the launch with the sizes that its metrics say where nothing else has."""
    launch.workgroups = launch.workgroups or _whole(launch, _GRID_METRICS)
    launch.threads = launch.threads or _whole(launch, _BLOCK_METRICS)
    return launch


def _rows(text: str) -> Iterator[dict[str, str]]:
    """Yields a row for each metric of each launch, whichever page the table is of."""
    # ncu quotes every field, and the program that it measures prints in between.
    lines = [line for line in text.splitlines() if line.lstrip().startswith('"')]
    if not lines:
        return
    units: dict[str, str] = {}
    for row in table_rows("\n".join(lines), _NAMES, may_end_behind="Metric Value"):
        if set(_DETAILS) <= row.keys():
            yield row
        elif not row["ID"]:
            units = row
        else:
            # Some metrics, such as `memory_l1_wavefronts_shared`, have no `__`.
            known = {name: row[name] for name in row if "_" not in name}
            for name in row.keys() - known.keys():
                unit = units.get(name, "")
                yield known | {"Metric Name": name, "Metric Value": row[name], "Metric Unit": unit}


def _product(size: str) -> int | None:
    """Returns what `(8, 16, 1)` multiplies to; None where there is no number."""
    numbers = [size_of(digits) for digits in re.findall(r"\d+", size)]
    known = [number for number in numbers if number is not None]
    return math.prod(known) if known and len(known) == len(numbers) else None


def _whole(launch: NcuLaunch, names: Sequence[str]) -> int | None:
    cells = (launch.metrics[name] for name in names if name in launch.metrics)
    return next((size_of(cell.text.replace(",", "")) for cell in cells), None)


def _said_by_a_rule(description: str) -> Iterator[tuple[str, str]]:
    """Yields the metrics that a rule's text gives the values of, by name and value."""
    for *values, operation in _CONFLICTS_OF_A_RULE.findall(description):
        for metric, value in zip(_METRICS_OF_A_RULE, values, strict=True):
            yield f"{metric}_op_{_OPERATIONS[operation]}.sum", value
