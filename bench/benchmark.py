# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every benchmark does: it measures its cases, keeps their rows, shows them, and judges them.

A benchmark is a set of cases, a type of rows that knows how one case is measured and what makes it
fail, and a table of all rows. The rest stands here: the arguments, the workers, going on where a
run was stopped, the files, and the exit code.
"""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from rich.console import Console

from ..emulator.chips import EMULATED_CHIPS
from ..emulator.timing.constants import TIMED_CHIPS
from ..iree_plugin.atomic_file import write_output
from ..sweep.engine import SweepError, Workers, fill_rows
from ..sweep.progress import progress
from ..sweep.rows import installed_versions
from ..sweep.rows_file import Rows, RowsFile
from ..sweep.tables import markdown_lines
from .documents import of_document

RESULTS = Path(__file__).parent / "results"

INTERRUPTED = 130
"""What a shell reports of a program that Ctrl-C ended."""


@dataclass(frozen=True)
class BenchRow:
    """What one case gave, and why it failed.

    Attributes:
        kernel: the name of the kernel or the program.
        target: the GPU that it was compiled for.
        mode: how it was compiled, where a row is of one mode.
        code: a digest of the code that compiles and emulates. Other code measures the case again.
        errors: why something could not be measured, by the mode that failed.
    """

    kernel: str
    target: str
    mode: str = ""
    code: str = field(default_factory=lambda: installed_versions().code, kw_only=True)
    errors: dict[str, str] = field(default_factory=dict, kw_only=True)

    @classmethod
    def of_case(cls, case: Any) -> Self:
        """Returns the row of a case that has not run: a kernel, a target, and maybe a mode."""
        kernel, *rest = case
        return cls(kernel.name, *rest)

    def measured(self, case: Any) -> Self:
        """Returns this row of a case with its figures."""
        raise NotImplementedError

    @classmethod
    def measure(cls, case: Any) -> Self:
        """Returns the row of one case; what fails is in the row too."""
        row = cls.of_case(case)
        found, errors = each_mode(["it"], lambda _: row.measured(case))
        return found.get("it") or replace(row, errors=errors)

    @classmethod
    def of_document(cls, **document: Any) -> Self:
        """Returns the row that JSON holds.

        Older records call the target a chip, or have no digest of the code.
        """
        if "chip" in document:
            document["target"] = document.pop("chip")
        if isinstance(document.get("error"), str):
            error = document.pop("error")
            document["errors"] = {"it": error} if error else {}
        return of_document(cls, {"code": "", **document})

    @property
    def key(self) -> tuple[str, ...]:
        """Returns a key that rows of the same measurement share."""
        return self.kernel, self.target, self.mode, self.code

    @property
    def made_with(self) -> str:
        """Says which code has measured the row."""
        return f"code {self.code}"

    @property
    def failed(self) -> bool:
        """Returns whether something could not be measured, so that it is to be measured again."""
        return bool(self.errors)

    @property
    def label(self) -> str:
        """Returns what the row is of."""
        return f"{self.kernel} for {self.target}" + (f", {self.mode}" if self.mode else "")

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        return [f"{mode} fails: {first_line(text)}" for mode, text in self.errors.items()]


CaseT = TypeVar("CaseT")
FoundT = TypeVar("FoundT")
RowT = TypeVar("RowT", bound=BenchRow)


def first_line(text: str) -> str:
    """Returns the first line of an error's text, which fits into a table."""
    return text.strip().split("\n", 1)[0]


def each_mode(
    modes: Sequence[str], made: Callable[[str], FoundT]
) -> tuple[dict[str, FoundT], dict[str, str]]:
    """Returns what `made` gives for each mode, and why it failed for the others."""
    found: dict[str, FoundT] = {}
    errors: dict[str, str] = {}
    for mode in modes:
        try:
            found[mode] = made(mode)
        except Exception as error:
            # Whatever fails, the other figures are wanted.
            errors[mode] = f"{type(error).__name__}: {error}"
    return found, errors


def table(
    rows: Sequence[RowT], by: Sequence[str], columns: Mapping[str, Callable[[list[RowT]], object]]
) -> str:
    """Returns a Markdown table with a line for each group of rows.

    Args:
        by: the attributes that rows of one group share, which are the heads of their columns too.
        columns: what is shown of a group, by the head of its column.
    """

    def group_of(row: RowT) -> tuple[str, ...]:
        return tuple(str(getattr(row, name)) for name in by)

    lines = [[*by, *columns]]
    for group in dict.fromkeys(map(group_of, rows)):
        its_rows = [row for row in rows if group_of(row) == group]
        cells = (make(its_rows) for make in columns.values())
        shown = (f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells)
        lines.append([*group, *shown])
    return markdown_lines(lines, len(by))


def total(name: str) -> Callable[[list[Any]], int]:
    """Returns what sums an attribute over rows: a number, or what is true or has a length."""

    def summed(rows: list[Any]) -> int:
        values = (getattr(row, name) for row in rows)
        return sum(value if isinstance(value, int) else len(value) for value in values)

    return summed


@dataclass(frozen=True)
class Benchmark(Generic[CaseT, RowT]):
    """The cases of a benchmark, how each is measured, and how all rows are shown.

    Attributes:
        title: stands before the progress.
        row: the type of the rows.
        cases: returns the cases that the arguments of a command line ask for.
        show: makes what is printed at the end.
        texts: make the files that are written at the end beside the rows, by suffix.
        measures: what runs in parallel, in the plural.
        jobs: how many of these run at a time if the user does not say.
        every: what `--every` counts, if there is such an option.
        output: the file that the rows are written to at the end, as JSON, in the directory that the
            user may name. Until then each is a line of a file `.rows.jsonl` beside it, from which
            the next run goes on.
        backend: joblib's backend; `threading` where each case runs processes of its own.
        arguments: adds other arguments to the command line.
    """

    title: str
    row: type[RowT]
    cases: Callable[[Namespace], Sequence[CaseT]]
    show: Callable[[Sequence[RowT]], str]
    texts: Mapping[str, Callable[[Sequence[RowT]], str]] = field(default_factory=dict)
    measures: str = "compiles"
    jobs: int = 2
    every: str = ""
    output: Path | None = None
    backend: str | None = None
    arguments: Callable[[ArgumentParser], object] = lambda parser: None

    def main(self, description: str | None) -> int:
        """Runs the command of the benchmark; returns its exit code.

        Args:
            description: the documentation of the benchmark's module.
        """
        parser = bench_parser(description, self.measures, jobs=self.jobs, every=self.every)
        if self.output is not None:
            about = "the directory of the rows"
            parser.add_argument("-o", "--output", type=Path, default=self.output.parent, help=about)
        self.arguments(parser)
        arguments = parser.parse_args()
        cases = self.cases(arguments)
        if not cases:
            parser.error("these arguments choose no case")
        output = self.output and arguments.output / self.output.name
        return self.run(cases, arguments.jobs, output)

    def run(self, cases: Sequence[CaseT], jobs: int, output: Path | None = None) -> int:
        """Measures what is open, writes and shows all rows; returns the command's exit code."""
        if output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
        with self._kept(output) as kept:
            rows, stopped = self.fill(kept, cases, jobs)
        if output is not None:
            for suffix, text in {"json": _document, **self.texts}.items():
                write_output(str(output.with_suffix(f".{suffix}")), text(rows).encode())
        has_faults = self.report(rows)
        return INTERRUPTED if stopped else int(has_faults)

    def report(self, rows: Sequence[RowT]) -> bool:
        """Prints what is shown of the rows, and why some of them fail; returns whether any does."""
        print(self.show(rows))
        faults = [f"{row.label}: {fault}" for row in rows for fault in row.faults]
        print(*faults, sep="\n", end="\n" if faults else "")
        return bool(faults)

    def fill(self, kept: Rows[RowT], cases: Sequence[CaseT], jobs: int) -> tuple[list[RowT], bool]:
        """Measures the cases that have no finished row, and keeps each row at once.

        Returns:
            The rows of all cases that have run, and whether Ctrl-C ended the loop.

        Raises:
            SystemExit: the workers cannot be had, or die; the message says so.
        """
        console = Console(stderr=True)
        keys = [self.row.of_case(case).key for case in cases]
        finished = sum(kept.find(key) is not None for key in keys)
        if finished:
            console.print(f"{finished} of {len(cases)} rows are finished")
        workers = Workers(jobs, self.backend)
        interrupted = False
        try:
            with progress(self.title, len(cases) - finished, console=console) as watch:
                for row in fill_rows(kept, cases, self.row.of_case, self.row.measure, workers):
                    watch.advance(failed=bool(row.faults))
        except KeyboardInterrupt:
            interrupted = True
        except SweepError as error:
            raise SystemExit(f"{self.title}: error: {error}; finished rows are kept") from None
        return kept.latest(keys), interrupted

    def _kept(self, output: Path | None) -> AbstractContextManager[Rows[RowT]]:
        if output is None:
            return nullcontext(Rows())
        return RowsFile(output.with_suffix(".rows.jsonl"), self.row.of_document)


def _document(rows: Sequence[BenchRow]) -> str:
    """Returns rows as JSON, a line each."""
    lines = ",\n".join(f"  {json.dumps(asdict(row))}" for row in rows)
    return f'{{"version": 1, "rows": [\n{lines}\n]}}\n'


def bench_parser(
    description: str | None, measured: str, *, jobs: int = 2, every: str = ""
) -> ArgumentParser:
    """Returns the command line of a benchmark that measures many kernels.

    Args:
        description: the module's documentation.
        measured: what runs in parallel, in the plural.
        jobs: how many of these run at a time if the user does not say.
        every: what `--every` counts, if there is such an option.
    """
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    if every:
        parser.add_argument("--every", type=count, default=1, help=f"take every Nth {every}")
    parser.add_argument("--jobs", type=int, default=jobs, help=f"{measured} at a time")
    return parser


def count(text: str) -> int:
    """Returns a number from 1, as a type of arguments."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError("expects a number from 1")
    return int(text)


def pattern(text: str) -> re.Pattern[str]:
    """Returns a regular expression, as a type of arguments."""
    try:
        return re.compile(text)
    except re.error as error:
        raise ArgumentTypeError(f"this is no regular expression: {error}") from None


def emulated_arguments(parser: ArgumentParser) -> None:
    """Adds the emulated chips, and which names of kernels are chosen."""
    chips = "chips that are emulated"
    parser.add_argument(
        "--targets", nargs="+", choices=EMULATED_CHIPS, default=TIMED_CHIPS, help=chips
    )
    about = "kernels in whose names it is found"
    parser.add_argument("--only", type=pattern, default="", metavar="REGEX", help=about)
