# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of the tables that compare modes on the emulated chips, and their parts in Markdown.

A row holds what one kernel or program counts in each mode, and says why it fails.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, TypeVar

from ..emulator.counters import Counted
from ..passes.decisions import DecisionLog
from ..runtime.emulated_run import EmulatedRun
from ..sweep.tables import markdown_lines
from .benchmark import BenchRow
from .emulated_runs import MODES, ModeRuns, is_ours

_LDS_BYTES = "LDS bytes"
_COLUMNS = (
    ("conflict cycles", Counted.CONFLICTS),
    ("LDS instructions", Counted.LDS),
    (_LDS_BYTES, _LDS_BYTES),
    ("LDS cycles", Counted.LDS_CYCLES),
    ("VALU instructions", Counted.VALU),
    ("64-byte blocks", Counted.TRANSACTIONS),
)
COUNTERS = tuple(name for _, name in _COLUMNS if name != _LDS_BYTES)
"""The names of the counters that a row holds."""


@dataclass(frozen=True)
class Figures:
    """The figures of one kernel in one mode, with counters of the workgroups that ran."""

    counters: dict[str, int]
    lds_bytes: int
    workgroups: int
    emulated: int

    @classmethod
    def of(cls, run: EmulatedRun) -> Self:
        """Returns the figures of a run."""
        counters = {name: run.counters.get(name, 0) for name in COUNTERS}
        return cls(counters, run.lds_bytes, run.workgroups, run.emulated)

    def figure(self, name: str) -> int:
        """Returns a counter by its name, or the LDS bytes."""
        return self.lds_bytes if name == _LDS_BYTES else self.counters[name]


@dataclass(frozen=True)
class Reason:
    """What an allocation got in the end in a mode, and why.

    The model's cycles are None if they are not known.
    """

    allocation: str
    action: str
    reason: str
    cycles_before: int | None
    cycles_after: int | None
    mode: str = "auto"

    @property
    def explains_conflicts(self) -> bool:
        """Returns whether conflicts may be left in this allocation."""
        return self.cycles_after != 0

    def __str__(self) -> str:
        counts = (self.cycles_before, self.cycles_after)
        before, after = ("?" if count is None else f"{count:,}" for count in counts)
        what = f"{self.allocation}: {self.action}: {self.reason} ({before} -> {after} cycles)"
        return what if self.mode == "auto" else f"{self.mode}: {what}"


def reasons_of(log: DecisionLog, mode: str) -> tuple[Reason, ...]:
    """Returns the decisions that stand at the end of a compile."""
    return tuple(
        Reason(
            d.allocation,
            f"{d.action.value} {d.detail}".strip(),
            d.reason,
            d.conflict_cycles_before,
            d.conflict_cycles_after,
            mode,
        )
        for d in log
        if log.stands(d)
    )


@dataclass(frozen=True)
class EmulatedRow(BenchRow):
    """One kernel on one chip.

    Attributes:
        source: a digest of the module.
        tolerance: the largest error of a right result.
        figures: the figures of each mode that did not fail.
        equal: whether outputs are bitwise equal in all modes that keep the bits.
        error: the largest error of all outputs, against NumPy.
        reasons: the reasons of each mode of ours, one for each allocation.
    """

    modes: ClassVar[tuple[str, ...]] = MODES
    """What rows of this type compare, in the order of their columns."""

    source: str = ""
    tolerance: float = 0.0
    figures: dict[str, Figures] = field(default_factory=dict)
    equal: bool = False
    error: float = math.inf
    reasons: tuple[Reason, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """Returns a key that rows of the same measurement share."""
        return *super().key, self.source

    @property
    def failed(self) -> bool:
        """Returns whether a mode failed or is missing, so that the row is to be measured again."""
        return bool(self.errors) or self.figures.keys() != set(self.modes)

    def of_runs(self, found: ModeRuns, error: Callable[[EmulatedRun], float]) -> Self:
        """Returns this row with what runs gave.

        `error` computes the largest error of a run's outputs.
        """
        if not found.runs:
            return replace(self, errors=dict(found.errors))
        return replace(
            self,
            figures={mode: Figures.of(run) for mode, run in found.runs.items()},
            errors=dict(found.errors),
            equal=found.equal,
            error=max(map(error, found.distinct)),
            reasons=tuple(
                reason
                for mode, log in found.decisions.items()
                if mode in found.runs
                for reason in reasons_of(log, mode)
            ),
        )

    @property
    def ours(self) -> list[str]:
        """Returns the modes that are judged, as far as they did not fail."""
        return [mode for mode in self.figures if is_ours(mode)]

    def count(self, mode: str, counter: str) -> int | None:
        """Returns a counter, if the mode did not fail."""
        figures = self.figures.get(mode)
        return None if figures is None else figures.counters[counter]

    @property
    def uses_lds(self) -> bool:
        """Returns whether any mode takes LDS."""
        return any(figures.lds_bytes for figures in self.figures.values())

    @property
    def extra_lds(self) -> int:
        """Returns how many LDS bytes one of our modes takes at most above stock's."""
        stock = self.figures.get("stock")
        if stock is None or not self.ours:
            return 0
        return max(0, *(self.figures[mode].lds_bytes - stock.lds_bytes for mode in self.ours))

    def instruction_ratio(self, mode: str) -> float:
        """Returns the LDS instructions of a mode over stock's.

        The ratio is 1 where one of them failed or both have none.
        """
        stock, ours = (self.count(m, Counted.LDS) for m in ("stock", mode))
        if stock is None or ours is None or stock == ours:
            return 1.0
        return ours / stock if stock else math.inf

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        found = super().faults
        if len(self.figures) > 1 and not self.equal:
            found.append("outputs differ")
        if self.figures and not self.error <= self.tolerance:
            found.append(f"results are wrong: error {self.error:.1e}")
        for mode in self.ours:
            if self.count(mode, Counted.CONFLICTS) and not any(
                reason.explains_conflicts for reason in self.reasons if reason.mode == mode
            ):
                found.append(f"{mode} has conflicts without a reason")
        if self.extra_lds:
            found.append(f"{self.extra_lds} LDS bytes above stock")
        return found


def digest(*texts: str) -> str:
    """Returns a digest of a module's text, and of what else decides how it is compiled."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


RowT = TypeVar("RowT", bound=EmulatedRow)

_FIGURES_HEAD = ("kernel", "result", "workgroups run", *(title for title, _ in _COLUMNS), "error")


def chip_tables(rows: Sequence[EmulatedRow], *, tolerances: bool = False) -> list[str]:
    """Returns a heading and a table of figures for each chip, perhaps with the rows' tolerances."""
    parts: list[str] = []
    for chip in dict.fromkeys(row.target for row in rows):
        lines = [[*_FIGURES_HEAD, "tolerance"]]
        lines += [[*_figures(row), f"{row.tolerance:.1e}"] for row in rows if row.target == chip]
        shown = lines if tolerances else [line[:-1] for line in lines]
        parts += [f"## {chip}", markdown_lines(shown, text_columns=2)]
    return parts


def notes(title: str, noted: Sequence[tuple[BenchRow, str]], *head: str) -> list[str]:
    """Returns a heading and a table of remarks on single rows; nothing where there are none."""
    lines = [[row.target, row.kernel, text] for row, text in noted]
    return [f"## {title}", markdown_lines([head, *lines], text_columns=3)] if noted else []


def reasons_where(
    rows: Sequence[RowT], chosen: Callable[[RowT, str], bool]
) -> list[tuple[RowT, str]]:
    """Returns the reasons of the rows and modes that `chosen` picks."""
    return [(row, str(each)) for row in rows for each in row.reasons if chosen(row, each.mode)]


def faults_of(rows: Sequence[BenchRow]) -> list[tuple[BenchRow, str]]:
    """Returns each fault with its row."""
    return [(row, fault) for row in rows for fault in row.faults]


def _figures(row: EmulatedRow) -> list[str]:
    """Returns the cells of a row; each figure is that of the modes side by side."""
    known = [row.figures.get(mode) for mode in row.modes]
    extents = dict.fromkeys(f"{f.emulated} of {f.workgroups}" for f in known if f)
    cells = [
        " / ".join("-" if f is None else f"{f.figure(name):,}" for f in known)
        for _, name in _COLUMNS
    ]
    error = f"{row.error:.1e}" if row.figures else "-"
    return [row.kernel, _result(row), ", ".join(extents) or "-", *cells, error]


def _result(row: EmulatedRow) -> str:
    if row.faults:
        return f"FAILED: {'; '.join(row.faults)}"
    return "bitwise equal" if row.uses_lds else "bitwise equal, no LDS"
