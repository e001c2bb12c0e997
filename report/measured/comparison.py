# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured counters of kernels beside those that the bank model predicts for the same grids."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...bank_model.features import features_of
from ...bank_model.shown_text import shown_text
from ...dialect_utils.memory.copied_addresses import WORST_WORKGROUP
from ..conflict_report import FunctionReport
from .dispatches import Dispatch, MeasuredFileError, share, whole_number
from .predictions import PREDICTIONS, SHARES, UNPREDICTED, is_about_lds
from .reading import read_measured

_MOST_NAMES = 3


@dataclass(frozen=True)
class MeasuredCounter:
    """One counter of a kernel, in each of its dispatches.

    Attributes:
        name: the profiler's name.
        measured: the counts of the dispatches, in their order: whole numbers, or shares.
        predicted: the bank model's count for the whole grid; None where it has none.
        why_not: why there is no prediction; empty where there is one.
        remark: what to know of the comparison; empty if there is nothing.
        unit: what a share is in: "%", or nothing.
        at_most: whether the prediction is an upper bound.
        blind: whether a profiler is known to read 0 there, whatever the LDS does.
    """

    name: str
    measured: tuple[float, ...]
    predicted: float | None
    why_not: str = ""
    remark: str = ""
    unit: str = ""
    at_most: bool = False
    blind: bool = False

    @property
    def typical(self) -> float:
        """Returns the median of the dispatches; of an even number of them, the lower one."""
        return statistics.median_low(self.measured)

    @property
    def spread(self) -> tuple[float, float] | None:
        """Returns the least and the most count; None where all dispatches have the same."""
        least, most = min(self.measured), max(self.measured)
        return (least, most) if least < most else None

    @property
    def ratio(self) -> float | None:
        """Returns measured over predicted: 1 where both are 0; None where only the latter is, of an
        upper bound, and where nothing was counted."""
        if (
            self.predicted is None
            or self.at_most
            or self.blind
            or (self.typical and not self.predicted)
        ):
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
            _counter(name, counts, report, workgroups, least) for name, counts in values.items()
        ]
        if not counters:
            notes.append(f"@{report.name}: {_nothing_compared(alike)}")
        # Passes of one run measure other counters of the same dispatches.
        count = max((len(each.measured) for each in counters), default=len(alike))
        yield MeasuredKernel(report.name, workgroups, count, tuple(counters), least)


def _nothing_compared(dispatches: Sequence[Dispatch]) -> str:
    """Returns why no counter of the dispatches is shown, and what to measure."""
    names = dict.fromkeys(name for each in dispatches for name in each.counters)
    about_lds = [name for name in names if is_about_lds(name)]
    what = (
        f"none of its counters about the LDS ({_listed(about_lds, len(about_lds))}) is known here"
        if about_lds
        else "none of its counters is about LDS"
    )
    return f"{what}; measure {next(iter(PREDICTIONS))} or, with ncu, {_first_of_ncu()}"


def _values(
    dispatches: Sequence[Dispatch],
) -> tuple[Mapping[str, tuple[float, ...]], list[str]]:
    """Returns the counts of the counters that matter, and what is wrong with those of them that
    are none."""
    values: dict[str, tuple[float, ...]] = {}
    broken: list[str] = []
    for name in (*PREDICTIONS, *UNPREDICTED):
        texts = [each.counters[name] for each in dispatches if name in each.counters]
        try:
            counts = tuple(map(share if name in SHARES else whole_number, texts))
        except (ValueError, OverflowError) as error:
            broken.append(f"{name} was not measured: {error}")
            continue
        if counts:
            values[name] = counts
    return values, broken


def _counter(
    name: str,
    counts: tuple[float, ...],
    report: FunctionReport,
    workgroups: int | None,
    least: bool,
) -> MeasuredCounter:
    if name not in PREDICTIONS:
        return MeasuredCounter(name, counts, None, UNPREDICTED[name])
    prediction = PREDICTIONS[name]
    of_one = prediction.of(report)
    if of_one is None:
        return MeasuredCounter(name, counts, None, "no access of the report takes an LDS cycle")
    why_not = ""
    if prediction.is_share and least:
        why_not = "it is a share, and not all uses of the LDS are known"
    elif not prediction.is_share and workgroups is None:
        why_not = "the file does not say how many workgroups the grid has"
    blind = _why_blind(name, report.arch) if not any(counts) else ""
    scale = 1 if prediction.is_share or workgroups is None else workgroups
    return MeasuredCounter(
        name,
        counts,
        None if why_not else of_one * scale,
        why_not,
        blind or prediction.remark(report),
        prediction.unit,
        prediction.at_most(report),
        bool(blind),
    )


def _why_blind(name: str, arch: str) -> str:
    """Returns why a count of 0 says nothing on a chip; empty where it does."""
    features = features_of(arch)
    if name not in features.blind_counters:
        return ""
    return f"on {arch} it reads 0 whatever the LDS does ({features.blind_counters_source})"


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
