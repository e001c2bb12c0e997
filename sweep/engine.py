# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures cases in parallel, and keeps each row of a sweep as soon as it is there."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from ..iree_plugin.temporary_files import temporaries_of_others_in, temporary_directory
from .cases import Case
from .measure import measure
from .rows import Row, empty_row, installed_versions
from .rows_file import KeptRow, Rows

CaseT = TypeVar("CaseT")
RowT = TypeVar("RowT", bound=KeptRow)
ResultT = TypeVar("ResultT")


class SweepError(RuntimeError):
    """A sweep cannot go on; finished rows are kept."""


@dataclass(frozen=True)
class Workers:
    """Where cases are measured.

    Attributes:
        jobs: how many cases are measured at a time; -1 for as many as the backend can.
        backend: joblib's name of a backend; None for the active one, which a surrounding
            `joblib.parallel_config` sets.
        scheduler: the `host:port` of a Dask scheduler.
    """

    jobs: int = -1
    backend: str | None = None
    scheduler: str | None = None


def sweep(
    cases: Sequence[Case],
    file: Rows[Row],
    workers: Workers,
    finished: Callable[[Row], None],
) -> None:
    """Measures the cases that `file` has no row for.

    Args:
        finished: is called with each new row after the row is kept.

    Raises:
        SweepError: as `fill_rows` does.
        RowsFileError: a row cannot be kept.
    """
    versions = installed_versions()
    for row in fill_rows(file, cases, lambda case: empty_row(case, versions), measure, workers):
        finished(row)


def fill_rows(
    kept: Rows[RowT],
    cases: Sequence[CaseT],
    empty_row: Callable[[CaseT], RowT],
    measure: Callable[[CaseT], RowT],
    workers: Workers,
) -> Iterator[RowT]:
    """Measures the cases that have no finished row, and yields each new row once it is kept.

    Args:
        empty_row: makes the row of a case that has not run, for its key.
        measure: makes the row of a case; workers call it.

    Raises:
        SweepError: the workers cannot be had, die, or have other code than this process.
    """
    empty_rows = list(map(empty_row, cases))
    wanted = {row.key for row in empty_rows}
    open_cases = [
        case for case, row in zip(cases, empty_rows, strict=True) if kept.find(row.key) is None
    ]
    for row in measured(open_cases, measure, workers):
        if row.key not in wanted:
            raise SweepError(
                f"a worker has {row.made_with}, this process {empty_rows[0].made_with}: "
                "install the same on all machines"
            )
        kept.append(row)
        yield row


def measured(
    cases: Sequence[CaseT], measure: Callable[[CaseT], ResultT], workers: Workers
) -> Iterator[ResultT]:
    """Measures cases in parallel, and yields each result as soon as it is there.

    Raises:
        SweepError: the workers cannot be had, or die.
    """
    if not cases:
        return
    with _temporaries_of_workers(), _backend(workers):
        parallel = Parallel(n_jobs=min(workers.jobs, len(cases)), return_as="generator_unordered")
        with _deaf_to_interrupts():
            rows: Any = parallel(delayed(measure)(case) for case in cases)
        yield from _until_workers_die(rows)


@contextmanager
def _temporaries_of_workers() -> Iterator[None]:
    """Gives the worker processes a folder for temporary files, which outlives none of them."""
    with (
        temporary_directory("bankwise-sweep-") as directory,
        temporaries_of_others_in(directory),
    ):
        try:
            yield
        finally:
            # True takes the executor that is there, with whatever it was made with.
            executor = get_reusable_executor(reuse=True)  # pyright: ignore[reportArgumentType]
            executor.shutdown(wait=True, kill_workers=True)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Keeps SIGINT from the processes that are started meanwhile.

    A terminal sends Ctrl-C to them too. This process receives it and ends them.
    """
    # The first lock that processes share starts it, and Python 3.11 then lets SIGINT through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _backend(workers: Workers) -> Iterator[None]:
    if workers.backend is None:
        yield
        return
    options = {} if workers.scheduler is None else {"scheduler_host": workers.scheduler}
    try:
        chosen = parallel_config(backend=workers.backend, **options)
    except (ImportError, ValueError, OSError) as error:
        reason = " ".join(str(error).split())
        if workers.backend == "dask" and workers.scheduler is None and "Client" in reason:
            reason = "no Dask client is connected: give --scheduler=HOST:PORT"
        raise SweepError(f"backend '{workers.backend}' cannot be used: {reason}") from None
    with chosen:
        yield


def _until_workers_die(rows: Any) -> Iterator[Any]:
    try:
        yield from rows
    except TerminatedWorkerError:
        raise SweepError(
            "a worker process died, perhaps for want of memory: try fewer --jobs"
        ) from None
    finally:
        rows.close()
