# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nsight Compute's own file, `.ncu-rep`, read by NVIDIA's package `ncu-report`.

The package is the extra `ncu` of this project, since it weighs 53 MB and is not free software.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from .csv_tables import TableError
from .ncu_table import Cell, NcuLaunch, complete

ENDINGS = (".ncu-rep", ".ncu-repz")
BEGINNING = b"NVR\0"
"""How such a file begins, unless it is compressed."""

_PACKAGE = "ncu_report"


def read_ncu_report(path: str) -> list[NcuLaunch]:
    """Returns the launches in a file of `ncu`, in their order; none where it holds none.

    Raises:
        TableError: the package is missing, or cannot read the file.
    """
    try:
        package: Any = importlib.import_module(_PACKAGE)
    except ImportError as error:
        raise TableError(
            "it is ncu's report, which NVIDIA's package ncu-report reads: pip install "
            f"'bankwise[ncu]' (or print it by ncu --import FILE --page raw --csv; {error})"
        ) from None
    try:
        context = package.load_report(path)
        return [_launch(action) for action in _actions(context)]
    # It raises whatever its C++ threw.
    except Exception as error:
        raise TableError(f"ncu-report cannot read it: {error}") from None


def _actions(context: Any) -> Iterator[Any]:
    for number in range(context.num_ranges()):
        launches = context.range_by_idx(number)
        yield from map(launches.action_by_idx, range(launches.num_actions()))


def _launch(action: Any) -> NcuLaunch:
    launch = NcuLaunch(action.name(), None, None)
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        if metric is not None and (value := metric.value()) is not None:
            launch.metrics[name] = Cell(str(value), metric.unit())
    return complete(launch)
