# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds out which profiler has written a file, and reads it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .csv_tables import TableError
from .dispatches import Dispatch, MeasuredFileError, kernel_symbol
from .ncu_report import BEGINNING, ENDINGS, read_ncu_report
from .ncu_table import NcuLaunch, read_ncu_table
from .rocprof_tables import read_rocprof_table

_COUNTER_FILES = "*counter_collection.csv"
_OTHER_FORMATS = (
    (
        b"SQLite format 3\0",
        "it is rocprofv3's database; have it write --output-format csv, or convert it by "
        "rocpd convert --output-format csv -i FILE",
    ),
    (b"{", "it is JSON; have rocprofv3 write --output-format csv"),
)
"""How files begin that the profilers write too, and what to do instead."""


def read_measured(path: str) -> list[Dispatch]:
    """Returns the dispatches in a file of a profiler, or in all such files below a directory.

    Raises:
        MeasuredFileError: a file cannot be read, or holds no counters.
    """
    place = Path(path)
    if not place.is_dir():
        return _read_file(place)
    files = sorted(place.rglob(_COUNTER_FILES))
    if not files:
        raise MeasuredFileError(f"'{path}': it holds no {_COUNTER_FILES}, which rocprofv3 writes")
    return [dispatch for file in files for dispatch in _read_file(file)]


def _read_file(path: Path) -> list[Dispatch]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MeasuredFileError(f"cannot open '{path}': {error.strerror}") from None
    for start, remedy in _OTHER_FORMATS:
        if data.startswith(start):
            raise MeasuredFileError(f"'{path}': {remedy}")
    try:
        if data.startswith(BEGINNING) or path.suffix in ENDINGS:
            found = _of_ncu(read_ncu_report(str(path)))
        else:
            text = data.decode("utf-8-sig", errors="replace")
            found = _of_ncu(_ncu_table(text)) or read_rocprof_table(text)
    except TableError as error:
        raise MeasuredFileError(
            f"'{path}': {error}; it takes the CSV of rocprofv3 --pmc, of rocprof, or of ncu --csv, "
            "and ncu's .ncu-rep"
        ) from None
    if not found:
        raise MeasuredFileError(f"'{path}': it has no dispatch")
    return found


def _ncu_table(text: str) -> list[NcuLaunch]:
    """Returns nothing where the text is no table of `ncu`."""
    return read_ncu_table(text) if '"Kernel Name"' in text else []


def _of_ncu(launches: Iterable[NcuLaunch]) -> list[Dispatch]:
    return [
        Dispatch(
            kernel_symbol(launch.kernel),
            launch.workgroups,
            launch.threads,
            {name: cell.text for name, cell in launch.metrics.items()},
        )
        for launch in launches
    ]
