# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-sweep`: kernels x types x targets x mitigations, as one table and a plot."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..iree_plugin.atomic_file import OutputError, check_output, write_output
from ..sweep.result_files import SUFFIXES, result_files
from .endings import fail, fail_with_file
from .signals import WORDS, Interrupted, exit_code, raised_signals
from .sweep_arguments import KERNEL_SETS, SweepSettings, parse_arguments
from .usage import UsageError

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..sweep.cases import Case
    from ..sweep.rows import Row
    from ..sweep.rows_file import RowsFile

PROGRAM = "bankwise-sweep"


@dataclass(frozen=True)
class _Stop:
    """Why a sweep has stopped early, and what it exits with."""

    reason: str
    exit_code: int = 1

    @staticmethod
    def by(interrupt: KeyboardInterrupt) -> _Stop:
        """Returns the stop by a signal."""
        if isinstance(interrupt, Interrupted):
            return _Stop(str(interrupt), interrupt.exit_code)
        return _Stop(WORDS[signal.SIGINT], exit_code(signal.SIGINT))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool; returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(parse_arguments(words), words)
    except (UsageError, OutputError) as error:
        return fail(PROGRAM, str(error))
    except OSError as error:
        return fail_with_file(PROGRAM, error)


def _run(settings: SweepSettings, words: Sequence[str]) -> int:
    # Everything heavy is imported only now: usage errors answer at once.
    from ..sweep.cases import KernelFileError
    from ..sweep.engine import SweepError
    from ..sweep.rows import Row
    from ..sweep.rows_file import RowsFile, RowsFileError

    try:
        chosen = _cases(settings)
        settings.output.mkdir(parents=True, exist_ok=True)
        for suffix in SUFFIXES:
            check_output(str(settings.path(suffix)))
        with RowsFile(settings.path("rows.jsonl"), Row) as file:
            stopped = _measure(settings, chosen, file)
            return _finish(settings, words, chosen, file, stopped)
    except (KernelFileError, RowsFileError, SweepError) as error:
        return fail(PROGRAM, str(error))


def _cases(settings: SweepSettings) -> list[Case]:
    from ..sweep.cases import cases, kernels_of_file, named_kernels

    if settings.kernels in KERNEL_SETS:
        kernels = named_kernels(settings.kernels, settings.dtypes, settings.every)
    else:
        kernels = kernels_of_file(Path(settings.kernels), settings.dtypes, settings.every)
    return cases(kernels, settings.targets, settings.mitigations, settings.workgroups)


def _measure(settings: SweepSettings, chosen: Sequence[Case], file: RowsFile[Row]) -> _Stop | None:
    """Measures what is open; returns why it stopped early, if it did."""
    from ..sweep.engine import SweepError, Workers, sweep
    from ..sweep.rows import installed_versions, key_of

    versions = installed_versions()
    others = sum(row.versions != versions for row in file.rows())
    for count, what in ((others, "of other versions"), (file.unreadable, "that cannot be read")):
        if count:
            print(f"{file.path}: {count} rows {what} are left out", file=sys.stderr)
    kept = sum(file.find(key_of(case, versions)) is not None for case in chosen)
    if kept:
        print(f"{file.path}: {kept} of {len(chosen)} rows are finished", file=sys.stderr)
    workers = Workers(settings.jobs, settings.backend, settings.scheduler)
    with _progress() as progress:
        task = progress.add_task("sweep", total=len(chosen), completed=kept, last="")

        def finished(row: Row) -> None:
            label = f"{row.kernel} {row.dtype} {row.target} {row.mitigation}"
            progress.update(task, advance=1, last=label)

        try:
            with raised_signals():
                sweep(chosen, file, workers, finished)
        except KeyboardInterrupt as interrupt:
            return _Stop.by(interrupt)
        except SweepError as error:
            return _Stop(str(error))
    return None


@contextmanager
def _progress() -> Iterator[Progress]:
    """Shows a bar on stderr, if that is a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        yield progress


def _finish(
    settings: SweepSettings,
    words: Sequence[str],
    chosen: Sequence[Case],
    file: RowsFile[Row],
    stopped: _Stop | None,
) -> int:
    """Writes tables and plots of the rows that are there, and says what they hold."""
    from ..sweep.rows import installed_versions, key_of
    from ..sweep.tables import summary_table

    versions = installed_versions()
    rows = file.latest(key_of(case, versions) for case in chosen)
    if rows:
        _write(settings, rows, [PROGRAM, *map(shlex.quote, words)])
        print(summary_table(rows))
    failed = [row for row in rows if row.error]
    for row in failed[:_MOST_SHOWN]:
        what = f"{f'{row.kernel} {row.dtype}'.strip()} for {row.target}, {row.mitigation}"
        print(f"{PROGRAM}: error: {what}: {row.error.splitlines()[0]}", file=sys.stderr)
    if stopped:
        left = len(chosen) - len(rows) + len(failed)
        line = f"{stopped.reason}; {left} of {len(chosen)} rows are open: {_AGAIN}"
        return fail(PROGRAM, line, stopped.exit_code)
    if failed:
        return fail(PROGRAM, f"{len(failed)} of {len(chosen)} rows failed: {_AGAIN}")
    return 0


_MOST_SHOWN = 10
_AGAIN = "the same command goes on with them"


def _write(settings: SweepSettings, rows: Sequence[Row], command: Sequence[str]) -> None:
    contents = result_files(rows, command)
    for suffix, data in contents.items():
        write_output(str(settings.path(suffix)), data)
    print(f"wrote {settings.output / settings.stem}.{{{','.join(contents)}}}")


if __name__ == "__main__":
    from .commands import sweep_command

    sweep_command()
