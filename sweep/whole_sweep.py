# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-sweep` does: measures open cases, and writes tables and plots of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..iree_plugin.atomic_file import OutputError, check_output, write_output
from .cases import Case, cases, kernels_of_file, named_kernels
from .engine import Workers, sweep
from .result_files import SUFFIXES, result_files
from .rows import Row, installed_versions, key_of
from .rows_file import RowsFile, RowsFileError
from .settings import KERNEL_SETS, SweepSettings
from .tables import SweepTableError, read_json_table


@dataclass(frozen=True)
class WholeSweep:
    """The cases of a sweep, and the open file that keeps their rows."""

    settings: SweepSettings
    cases: Sequence[Case]
    file: RowsFile[Row]

    @staticmethod
    @contextmanager
    def opened(settings: SweepSettings) -> Iterator[WholeSweep]:
        """Opens a sweep for the body, once all of its files can be written.

        Raises:
            KernelFileError: the file of kernels cannot be used.
            OutputError: a file cannot be written.
            RowsFileError: the rows cannot be kept.
        """
        chosen = _cases(settings)
        _make_folder(settings.output)
        for suffix in SUFFIXES:
            check_output(str(settings.path(suffix)))
        with RowsFile(settings.path("rows.jsonl"), Row.of_document) as file:
            yield WholeSweep(settings, chosen, file)

    @property
    def outdated(self) -> int:
        """Returns how many rows of the file were measured with other versions."""
        versions = installed_versions()
        return sum(row.versions != versions for row in self.file.rows())

    @property
    def finished(self) -> int:
        """Returns how many cases have a row already."""
        versions = installed_versions()
        return sum(self.file.find(key_of(case, versions)) is not None for case in self.cases)

    @property
    def rows(self) -> list[Row]:
        """Returns the rows of the cases that have run, failed ones included."""
        versions = installed_versions()
        return self.file.latest(key_of(case, versions) for case in self.cases)

    def measure(self, finished: Callable[[Row], None]) -> None:
        """Measures what is open, and calls `finished` with each new row after it is kept.

        Raises:
            SweepError: the sweep cannot go on.
            RowsFileError: a row cannot be kept.
        """
        settings = self.settings
        workers = Workers(settings.jobs, settings.backend, settings.scheduler)
        sweep(self.cases, self.file, workers, finished)

    def write(self, command: Sequence[str]) -> None:
        """Writes the tables and plots of all rows; `command` is the command line of the sweep.

        Raises:
            OutputError: a file cannot be written.
        """
        _write(self.settings, self.rows, command)


def redraw(settings: SweepSettings, table: Path) -> list[Row]:
    """Writes the tables and plots of a sweep again, from its JSON table; returns its rows.

    Raises:
        OSError: the table cannot be read.
        RowsFileError: the table is none, or one of a version that counted something else.
        OutputError: a file cannot be written.
    """
    try:
        rows, command = read_json_table(table.read_bytes())
    except SweepTableError as error:
        raise RowsFileError(f"'{table}': {error}") from None
    _make_folder(settings.output)
    _write(settings, rows, command)
    return rows


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"-o names a folder, which cannot be made: {error.strerror}"
        raise OutputError(str(folder), reason) from None


def _write(settings: SweepSettings, rows: Sequence[Row], command: Sequence[str]) -> None:
    for suffix, data in result_files(rows, command).items():
        write_output(str(settings.path(suffix)), data)


def _cases(settings: SweepSettings) -> list[Case]:
    if settings.kernels in KERNEL_SETS:
        kernels = named_kernels(settings.kernels, settings.dtypes, settings.every)
    else:
        kernels = kernels_of_file(Path(settings.kernels), settings.dtypes, settings.every)
    chosen = settings.targets, settings.modes
    return cases(kernels, *chosen, settings.workgroups, settings.timing)
