# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a report shows, in whatever format: numbered allocations and accesses, and the sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..bank_model.shown_text import counted, shown_text
from .conflict_report import LAYOUTS, AccessGroup, AllocationReport, FunctionReport
from .measured.comparison import Measurements

NO_ALLOCATIONS = "no workgroup allocations"


@dataclass(frozen=True, eq=False)
class AccessRow:
    """A group of alike accesses to an allocation, and its number in the report."""

    number: int
    group: AccessGroup
    allocation: AllocationReport
    inputs: Sequence[str]


@dataclass(frozen=True, eq=False)
class AllocationRow:
    """An allocation, its number in the report, and its accesses that are shown.

    `inputs` are those of the whole report.
    """

    number: int
    report: AllocationReport
    accesses: tuple[AccessRow, ...]
    inputs: Sequence[str]

    @property
    def allocation(self) -> AllocationReport:
        """Returns the allocation that the row is about, as that of an access row."""
        return self.report


@dataclass(frozen=True, eq=False)
class ReportedFunction:
    """A function with the allocations of it that were asked for."""

    report: FunctionReport
    file: str
    allocations: tuple[AllocationRow, ...]

    @property
    def title(self) -> str:
        """Returns the function's symbol with its `@`, or what it is without one."""
        return f"@{shown_text(self.report.name)}" if self.report.name else "unnamed function"


@dataclass(frozen=True, eq=False)
class Contents:
    """A whole report.

    `mitigation` is the compile's, or empty where IR was read; `command` is the command line;
    `measured` are a profiler's counters, where files of it were given.
    """

    inputs: tuple[str, ...]
    command: tuple[str, ...]
    mitigation: str
    functions: tuple[ReportedFunction, ...]
    bank_maps: bool
    measured: Measurements | None = None

    @property
    def allocations(self) -> Iterator[AllocationRow]:
        """Yields the allocations of all functions."""
        for function in self.functions:
            yield from function.allocations

    @property
    def is_empty(self) -> bool:
        """Returns whether there is no function at all."""
        return not self.functions

    @property
    def archs(self) -> tuple[str, ...]:
        """Returns the architectures of the functions, each once."""
        return tuple(dict.fromkeys(f.report.arch for f in self.functions if f.report.arch))

    @property
    def title(self) -> str:
        """Returns the inputs by their names alone."""
        names = (Path(name).name if name != "-" else "<stdin>" for name in self.inputs)
        return ", ".join(map(shown_text, names))


class SelectionError(ValueError):
    """A number that no allocation or access of the report has."""


def number_report(
    reports: Sequence[tuple[str, FunctionReport]],
    inputs: Sequence[str],
    allocations: frozenset[int] = frozenset(),
    accesses: frozenset[int] = frozenset(),
) -> tuple[ReportedFunction, ...]:
    """Gives (file, function report) pairs numbers from 1, and keeps what is asked for.

    By default everything is kept.

    Raises:
        SelectionError: a number that does not occur.
    """
    functions: list[ReportedFunction] = []
    allocation_count = access_count = 0
    selected = bool(allocations or accesses)
    for file, report in reports:
        kept: list[AllocationRow] = []
        for allocation in report.allocations:
            allocation_count += 1
            numbered: list[AccessRow] = []
            for group in allocation.groups:
                access_count += 1
                if not accesses or access_count in accesses:
                    numbered.append(AccessRow(access_count, group, allocation, inputs))
            chosen = not allocations or allocation_count in allocations
            if chosen and (numbered or not accesses):
                kept.append(AllocationRow(allocation_count, allocation, tuple(numbered), inputs))
        if kept or not selected:
            functions.append(ReportedFunction(report, file, tuple(kept)))
    for flag, numbers, count in (
        ("allocation", allocations, allocation_count),
        ("access", accesses, access_count),
    ):
        for number in sorted(numbers):
            if number > count:
                have = f"the report has {count}" if count else "the report has none"
                raise SelectionError(f"--{flag}={number}: {have}")
    if selected and not functions:
        raise SelectionError("the allocations that were asked for have none of these accesses")
    return tuple(functions)


@dataclass(frozen=True)
class Sums:
    """Conflict cycles and LDS bytes of several allocations under the four layouts.

    Attributes:
        of_layouts: (conflict cycles, LDS bytes) by the names of `AllocationReport.layouts`.
        lds_cycles: the LDS cycles as the code stands.
        ideal_cycles: the fewest LDS cycles, each access in the layout that is best for it.
        complete: False where something is not known and the sums are lower bounds.
        nothing_known: whether no allocation could be counted.
    """

    of_layouts: Mapping[str, tuple[int, int]]
    lds_cycles: int
    ideal_cycles: int
    complete: bool
    nothing_known: bool

    @staticmethod
    def of(allocations: Sequence[AllocationReport]) -> Sums:
        """Adds up what is known."""

        def total(layout: str) -> tuple[int, int]:
            counts = [(each, each.layouts[layout]) for each in allocations]
            cycles = sum(0 if count is None else count.conflict_cycles for _, count in counts)
            sizes = (each.lds_bytes or 0 if c is None else c.lds_bytes for each, c in counts)
            return cycles, sum(sizes)

        return Sums(
            {layout: total(layout) for layout in LAYOUTS},
            sum(a.lds_cycles(a.standing) for a in allocations if a.standing is not None),
            sum(a.ideal_cycles for a in allocations),
            all(not a.unknown and a.lds_bytes is not None for a in allocations),
            bool(allocations) and all(a.before is None for a in allocations),
        )


# Words that all formats share.


def short_location(location: str, inputs: Sequence[str]) -> str:
    """Returns a location without directories: `file:line:column`.

    In the only input it is `line:column`.
    """
    file, _, rest = location.partition(":")
    for name in inputs:
        if name != "-" and location.startswith(f"{name}:") and len(inputs) == 1:
            return location[len(name) + 1 :]
    return shown_text(f"{Path(file).name}:{rest}" if rest else location)


def notes_of(allocation: AllocationReport, inputs: Sequence[str]) -> list[str]:
    """Returns unknown uses, assumptions, remarks and the check of the proof, a line each.

    The reason why an allocation could not be counted at all is its decision, and not repeated.
    """
    uses: Counter[str] = Counter()
    for use in allocation.unknown if allocation.before is not None else allocation.unknown[1:]:
        where = f" ({short_location(use.location, inputs)})" if use.location else ""
        uses[f"not known: {use.reason}{where}"] += 1
    notes = [text if count == 1 else f"{text}, {count} times" for text, count in uses.items()]
    notes += [f"assumed: {assumption}" for assumption in allocation.assumptions]
    notes += allocation.remarks
    return notes if allocation.proof is None else [*notes, allocation.proof.text]


def function_heading(function: ReportedFunction) -> str:
    """Returns target and launch in a few words, or why there is nothing to show."""
    report = function.report
    if report.note or not function.allocations:
        return report.note or NO_ALLOCATIONS
    parts = [report.arch] if report.arch else []
    if report.launch is not None:
        launch = report.launch
        waves = counted(launch.waves, "wave")
        parts.append(f"{launch.threads} lanes in {waves} of {launch.subgroup_size}")
    return ", ".join(parts)


def heading(contents: Contents) -> str:
    """Returns what the report is on."""
    how = ""
    if contents.mitigation:
        how = f", compiled with --bankwise-mitigation={contents.mitigation}"
    return f"Bank conflicts of {contents.title}{how}"


def sums_lines(function: ReportedFunction) -> tuple[str, ...]:
    """Returns conflict cycles, LDS cycles and LDS bytes of its allocations in a line each."""
    sums = Sums.of([each.report for each in function.allocations])
    shown = {name: sums.of_layouts[name] for name in ("before", "padded", "chosen")}
    if sums.nothing_known:
        size = sums.of_layouts["standing"][1]
        return "conflict cycles of a workgroup: not known", f"LDS bytes: {size:,}"
    least = "" if sums.complete else "at least "
    if any(each.report.is_proposed for each in function.allocations):
        shown["proposed"] = shown.pop("chosen")
    cycles = ", ".join(f"{count:,} {name}" for name, (count, _) in shown.items())
    sizes = ", ".join(f"{size:,} {name}" for name, (_, size) in shown.items())
    return (
        f"conflict cycles of a workgroup: {least}{cycles}",
        f"LDS cycles: {least}{sums.lds_cycles:,} as it stands, {sums.ideal_cycles:,} ideal",
        f"LDS bytes: {sizes}",
    )


def sums_sentence(function: ReportedFunction) -> str:
    """Returns the sums of its allocations in one sentence."""
    first, *others = sums_lines(function)
    return f"{'; '.join((first[0].upper() + first[1:], *others))}."
