# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds out which profiler has written a file, and reads it."""

from __future__ import annotations

from pathlib import Path

from .csv_tables import TableError
from .dispatches import Dispatch, MeasuredFileError, kernel_symbol
from .ncu_table import read_ncu_table
from .rocprof_tables import read_rocprof_table

_COUNTER_FILES = "*counter_collection.csv"
_OTHER_FORMATS = (
    (b"SQLite format 3\0", "it is rocprofv3's database; have it write --output-format csv"),
    (b"{", "it is JSON; have rocprofv3 write --output-format csv"),
    (b"NVR\0", "it is ncu's report; print it by ncu --import FILE --page raw --csv"),
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
    text = data.decode("utf-8-sig", errors="replace")
    try:
        found = _of_ncu(text) or read_rocprof_table(text)
    except TableError as error:
        raise MeasuredFileError(
            f"'{path}': {error}; it takes the CSV of rocprofv3 --pmc, of rocprof, or of ncu --csv"
        ) from None
    if not found:
        raise MeasuredFileError(f"'{path}': its table has no dispatch")
    return found


def _of_ncu(text: str) -> list[Dispatch]:
    """Returns nothing where the text is no table of `ncu`."""
    if '"Kernel Name"' not in text:
        return []
    return [
        Dispatch(
            kernel_symbol(launch.kernel),
            launch.workgroups,
            launch.threads,
            {name: cell.text for name, cell in launch.metrics.items()},
        )
        for launch in read_ncu_table(text)
    ]
