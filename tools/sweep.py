# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-sweep`: kernels x types x targets x modes, as one table and a plot."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..bank_model.shown_text import shown_text
from ..iree_plugin.atomic_file import OutputError
from ..sweep.result_files import SUFFIXES
from .endings import fail, fail_with_file
from .interruption import Interrupted
from .sweep_arguments import parse_arguments
from .usage import UsageError

if TYPE_CHECKING:
    from ..sweep.rows import Row
    from ..sweep.settings import SweepSettings
    from ..sweep.whole_sweep import WholeSweep

PROGRAM = "bankwise-sweep"


@dataclass(frozen=True)
class _Stop:
    """Why a sweep has stopped early, and what it exits with."""

    reason: str
    exit_code: int = 1


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
    from ..sweep.rows_file import RowsFileError
    from ..sweep.whole_sweep import WholeSweep, redraw

    try:
        if settings.redrawn:
            _print_sums(settings, redraw(settings, settings.redrawn))
            return 0
        with WholeSweep.opened(settings) as sweep:
            stopped = _measure(sweep)
            return _finish(sweep, [PROGRAM, *map(shlex.quote, words)], stopped)
    except (KernelFileError, RowsFileError, SweepError) as error:
        return fail(PROGRAM, str(error))


def _measure(sweep: WholeSweep) -> _Stop | None:
    """Measures what is open; returns why it stopped early, if it did."""
    from ..sweep.engine import SweepError
    from ..sweep.progress import progress

    unreadable, kept = sweep.file.unreadable, sweep.finished
    path = shown_text(str(sweep.file.path))
    for count, what in ((sweep.outdated, "of other versions"), (unreadable, "that cannot be read")):
        if count:
            print(f"{path}: {count} rows {what} are left out", file=sys.stderr)
    if kept:
        print(
            f"{path}: {kept} of {len(sweep.cases)} rows are finished",
            file=sys.stderr,
        )
    with progress("sweep", len(sweep.cases), kept) as watch:

        def finished(row: Row) -> None:
            label = f"{row.kernel} {row.dtype} {row.target} {row.mode}"
            watch.advance(shown_text(label), row.failed)

        try:
            sweep.measure(finished)
        except Interrupted as interrupt:
            return _Stop(str(interrupt), interrupt.exit_code)
        except SweepError as error:
            return _Stop(str(error))
    return None


def _finish(sweep: WholeSweep, command: Sequence[str], stopped: _Stop | None) -> int:
    """Has tables and plots written of the rows that are there, and says what they hold."""
    rows, total, settings = sweep.rows, len(sweep.cases), sweep.settings
    if rows:
        sweep.write(command)
        _print_sums(settings, rows)
    failed = [row for row in rows if row.error]
    for row in failed[:_MOST_SHOWN]:
        what = f"{f'{row.kernel} {row.dtype}'.strip()} for {row.target}, {row.mode}"
        fail(PROGRAM, f"{what}: {row.error.splitlines()[0]}")
    if stopped:
        left = total - len(rows) + len(failed)
        line = f"{stopped.reason}; {left} of {total} rows are open: {_AGAIN}"
        return fail(PROGRAM, line, stopped.exit_code)
    if failed:
        return fail(PROGRAM, f"{len(failed)} of {total} rows failed: {_AGAIN}")
    return 0


def _print_sums(settings: SweepSettings, rows: Sequence[Row]) -> None:
    """Names the files that were written, and prints the sums, as wide as the terminal is."""
    from ..sweep.terminal_table import terminal_table

    written = shown_text(str(settings.output / settings.stem))
    print(f"wrote {written}.{{{','.join(SUFFIXES)}}}")
    # Where no terminal reads and COLUMNS names no width, the table is as wide as it comes.
    narrow = sys.stdout.isatty() or "COLUMNS" in os.environ
    print(terminal_table(rows, shutil.get_terminal_size((80, 24)).columns if narrow else 0))


_MOST_SHOWN = 10
_AGAIN = "the same command goes on with them"


if __name__ == "__main__":
    from .commands import sweep_command

    sweep_command()
