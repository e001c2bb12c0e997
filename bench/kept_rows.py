# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop of the benchmarks that keep finished rows and go on where they were stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from ..sweep.engine import SweepError, Workers, measured
from ..sweep.progress import progress
from ..sweep.rows_file import KeptRow, Rows

RESULTS = Path(__file__).parent / "results"

INTERRUPTED = 130
"""What a shell reports of a program that Ctrl-C ended."""


class CompiledRow:
    """A row of one kernel, compiled for one target, or the error that this ended with."""

    kernel: str
    target: str
    error: str

    @property
    def key(self) -> tuple[str, str]:
        """Returns a key that rows of the same kernel and target share."""
        return self.kernel, self.target

    @property
    def failed(self) -> bool:
        """Returns whether a compile failed."""
        return bool(self.error)


CaseT = TypeVar("CaseT")
RowT = TypeVar("RowT", bound=KeptRow)


def fill_rows(
    kept: Rows[RowT],
    cases: Sequence[CaseT],
    empty_row: Callable[[CaseT], RowT],
    measure: Callable[[CaseT], RowT],
    title: str,
    workers: Workers,
    finished: Callable[[RowT, Console], object] = lambda row, console: None,
) -> tuple[list[RowT], bool]:
    """Measures the cases that have no finished row, and keeps each row at once.

    Args:
        empty_row: makes the row of a case that has not run, for its key.
        measure: makes the row of a case; workers call it.
        title: stands before the progress.
        finished: is called with each new row, and may print to the console.

    Returns:
        The rows of all cases that have run, and whether Ctrl-C ended the loop.

    Raises:
        SystemExit: the workers cannot be had, or die; the message says so.
    """
    console = Console(stderr=True)
    keys = [empty_row(case).key for case in cases]
    open_cases = [case for case, key in zip(cases, keys, strict=True) if kept.find(key) is None]
    if len(open_cases) < len(cases):
        console.print(f"{len(cases) - len(open_cases)} of {len(cases)} rows are finished")
    interrupted = False
    try:
        with progress(title, len(open_cases), console=console) as watch:
            for row in measured(open_cases, measure, workers):
                kept.append(row)
                finished(row, console)
                watch.advance(failed=row.failed)
    except KeyboardInterrupt:
        interrupted = True
    except SweepError as error:
        raise SystemExit(f"{title}: error: {error}; finished rows are kept") from None
    return kept.latest(keys), interrupted
