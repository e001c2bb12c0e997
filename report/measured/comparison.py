# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured counters of kernels beside those that the bank model predicts for the same grids."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...bank_model.shown_text import shown_text
from ...dialect_utils.memory.copied_addresses import WORST_WORKGROUP
from ..conflict_report import FunctionReport
from .dispatches import Dispatch, MeasuredFileError, whole_number
from .predictions import PREDICTIONS, UNPREDICTED
from .reading import read_measured

_MOST_NAMES = 3


@dataclass(frozen=True)
class MeasuredCounter:
    """One counter of a kernel, in each of its dispatches.

    Attributes:
        name: the profiler's name.
        measured: the counts of the dispatches, in their order.
        predicted: the bank model's count for the whole grid; None where it has none.
        why_not: why there is no prediction; empty where there is one.
    """

    name: str
    measured: tuple[int, ...]
    predicted: int | None
    why_not: str = ""

    @property
    def typical(self) -> int:
        """Returns the median of the dispatches; of an even number of them, the lower one."""
        return statistics.median_low(self.measured)

    @property
    def spread(self) -> tuple[int, int] | None:
        """Returns the least and the most count; None where all dispatches have the same."""
        least, most = min(self.measured), max(self.measured)
        return (least, most) if least < most else None

    @property
    def ratio(self) -> float | None:
        """Returns measured over predicted: 1 where both are 0; None where only the latter is."""
        if self.predicted is None or (self.typical and not self.predicted):
            return None
        return self.typical / self.predicted if self.predicted else 1.0


@dataclass(frozen=True)
class MeasuredKernel:
    """The dispatches of one kernel with one grid.

    Attributes:
        name: the kernel's symbol.
        workgroups: those of the grid; None where the files do not say it.
        dispatches: how many there were.
        least: whether the predictions are lower bounds, because something is not known.
    """

    name: str
    workgroups: int | None
    dispatches: int
    counters: tuple[MeasuredCounter, ...]
    least: bool


@dataclass(frozen=True)
class Measurements:
    """All that `--measured` adds to a report: kernels, and what could not be compared, in lines."""

    files: tuple[str, ...]
    kernels: tuple[MeasuredKernel, ...]
    notes: tuple[str, ...]


def compare(files: Sequence[str], reports: Sequence[FunctionReport]) -> Measurements:
    """Returns the counters in the profilers' files beside what the reports predict.

    Raises:
        MeasuredFileError: a file cannot be read, or has none of the reports' functions.
    """
    dispatches = [each for file in files for each in read_measured(file)]
    functions = {each.name: each for each in reports if not each.on_cpu}
    measured = {each.kernel for each in dispatches}
    ours = [name for name in functions if name in measured]
    if not ours:
        raise MeasuredFileError(
            f"{_listed(map(_quoted, files), len(files))}: none of the measured kernels "
            f"({_names(sorted(measured))}) is a function of this report ({_names(functions)})"
        )
    kernels: list[MeasuredKernel] = []
    notes: list[str] = []
    for name in ours:
        alike = [each for each in reports if each.name == name]
        its = [each for each in dispatches if each.kernel == name]
        reason = _why_not_comparable(alike, its)
        if reason:
            notes.append(f"@{name} is not compared: {reason}")
        else:
            kernels += _kernels(functions[name], its, notes)
    others = sorted(measured - functions.keys())
    if others:
        notes.append(f"measured, but not in this report: {_names(others)}")
    with_lds = {name for name, each in functions.items() if each.allocations or each.unread}
    missing = [name for name in functions if name in with_lds - measured]
    if missing:
        notes.append(f"in this report, but not measured: {_names(missing)}")
    return Measurements(tuple(files), tuple(kernels), tuple(map(shown_text, notes)))


def _why_not_comparable(alike: Sequence[FunctionReport], its: Sequence[Dispatch]) -> str:
    """Returns why the dispatches are not known to be of the one function of their name."""
    if len(alike) > 1:
        return f"{len(alike)} functions of this report have its name"
    (report,) = alike
    if report.unread or report.uncompiled:
        return report.note
    if report.allocations and not any(each.standing for each in report.allocations):
        return "none of its allocations could be counted"
    threads = {each.threads for each in its if each.threads is not None}
    if report.launch is not None and threads - {report.launch.threads}:
        sizes = " and ".join(map(str, sorted(threads)))
        return (
            f"its workgroups were measured with {sizes} lanes and have {report.launch.threads} "
            "here, so that another compile was measured"
        )
    return ""


def _kernels(
    report: FunctionReport, its: Sequence[Dispatch], notes: list[str]
) -> Iterator[MeasuredKernel]:
    """Yields the dispatches of a function, those with the same grid together."""
    least = any(each.unknown for each in report.allocations)
    if any(WORST_WORKGROUP in each.assumptions for each in report.allocations):
        notes.append(f"@{report.name}: {WORST_WORKGROUP}")
    for workgroups in dict.fromkeys(each.workgroups for each in its):
        alike = [each for each in its if each.workgroups == workgroups]
        values, broken = _values(alike)
        notes += (f"@{report.name}: {problem}" for problem in broken)
        counters = [
            MeasuredCounter(name, counts, *_predicted(name, report, workgroups))
            for name, counts in values.items()
        ]
        if not counters:
            notes.append(
                f"@{report.name}: none of its counters is about LDS; measure "
                f"{next(iter(PREDICTIONS))} or, with ncu, {_first_of_ncu()}"
            )
        # Passes of one run measure other counters of the same dispatches.
        count = max((len(each.measured) for each in counters), default=len(alike))
        yield MeasuredKernel(report.name, workgroups, count, tuple(counters), least)


def _values(dispatches: Sequence[Dispatch]) -> tuple[Mapping[str, tuple[int, ...]], list[str]]:
    """Returns the counts of the counters that matter, and what is wrong with those of them that
    are none."""
    values: dict[str, tuple[int, ...]] = {}
    broken: list[str] = []
    for name in (*PREDICTIONS, *UNPREDICTED):
        texts = [each.counters[name] for each in dispatches if name in each.counters]
        try:
            counts = tuple(map(whole_number, texts))
        except (ValueError, OverflowError) as error:
            broken.append(f"{name} was not measured: {error}")
            continue
        if counts:
            values[name] = counts
    return values, broken


def _predicted(name: str, report: FunctionReport, workgroups: int | None) -> tuple[int | None, str]:
    if name not in PREDICTIONS:
        return None, UNPREDICTED[name]
    if workgroups is None:
        return None, "the file does not say how many workgroups the grid has"
    return PREDICTIONS[name].of(report) * workgroups, ""


def _first_of_ncu() -> str:
    return next(name for name in PREDICTIONS if "__" in name and "_op_" in name)


def _names(names: Iterable[str]) -> str:
    each = list(names)
    return _listed((f"@{name}" for name in each), len(each)) or "none"


def _quoted(file: str) -> str:
    return f"'{file}'"


def _listed(names: Iterable[str], count: int) -> str:
    """Returns the first few names, and how many more there are."""
    shown = ", ".join(name for name, _ in zip(names, range(_MOST_NAMES), strict=False))
    return f"{shown} and {count - _MOST_NAMES} more" if count > _MOST_NAMES else shown
