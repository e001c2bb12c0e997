# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of the tables that compare mitigations on the emulated chips.

A row holds what one kernel or program counts under each mitigation, and says why it fails. This
file also has what all such tables share: the file that keeps finished rows, and the loop that
measures those that are open.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track

from ..emulator.counters import (
    BANK_CONFLICTS,
    GLOBAL_TRANSACTIONS,
    LDS_CYCLES,
    LDS_INSTRUCTIONS,
    VALU_INSTRUCTIONS,
)
from ..iree_plugin.atomic_file import write_output
from ..passes.decisions import DecisionLog

_LDS_BYTES = "LDS bytes"
_COLUMNS = (
    ("conflict cycles", BANK_CONFLICTS),
    ("LDS instructions", LDS_INSTRUCTIONS),
    (_LDS_BYTES, _LDS_BYTES),
    ("LDS cycles", LDS_CYCLES),
    ("VALU instructions", VALU_INSTRUCTIONS),
    ("64-byte blocks", GLOBAL_TRANSACTIONS),
)
COUNTERS = tuple(name for _, name in _COLUMNS if name != _LDS_BYTES)
"""The names of the counters that a row holds."""

MITIGATIONS = ("none", "stock", "auto")
RESULTS = Path(__file__).parent / "results"

INTERRUPTED = 130
"""What a shell reports of a program that Ctrl-C ended."""


@dataclass(frozen=True)
class Figures:
    """One kernel under one mitigation; counters are sums over the workgroups that ran."""

    counters: dict[str, int]
    lds_bytes: int
    workgroups: int
    emulated: int

    def figure(self, name: str) -> int:
        """A counter by its name, or the LDS bytes."""
        return self.lds_bytes if name == _LDS_BYTES else self.counters[name]


@dataclass(frozen=True)
class Reason:
    """What an allocation got in the end, and why; cycles by the model, None where not known."""

    allocation: str
    action: str
    reason: str
    cycles_before: int | None
    cycles_after: int | None

    @property
    def explains_conflicts(self) -> bool:
        """Whether conflicts may be left in this allocation."""
        return self.cycles_after != 0

    def __str__(self) -> str:
        counts = (self.cycles_before, self.cycles_after)
        before, after = ("?" if count is None else f"{count:,}" for count in counts)
        return f"{self.allocation}: {self.action}: {self.reason} ({before} -> {after} cycles)"


def reasons_of(log: DecisionLog) -> tuple[Reason, ...]:
    """The decisions that stand at the end of a compile."""
    return tuple(
        Reason(
            d.allocation,
            f"{d.action.value} {d.detail}".strip(),
            d.reason,
            d.conflict_cycles_before,
            d.conflict_cycles_after,
        )
        for d in log
        if log.stands(d)
    )


@dataclass(frozen=True)
class EmulatedRow:
    """One kernel on one chip.

    Attributes:
        source: digest of the module.
        code: digest of the sources that compile and emulate.
        tolerance: the largest error of a right result.
        figures: by mitigation, where it did not fail.
        errors: by mitigation, where it failed.
        equal: whether all outputs are bitwise equal.
        error: the largest of all outputs, against NumPy.
        reasons: of `auto`, one for each allocation.
    """

    kernel: str
    chip: str
    source: str
    code: str
    tolerance: float
    figures: dict[str, Figures] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    equal: bool = False
    error: float = math.inf
    reasons: tuple[Reason, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for the same measurement."""
        return self.kernel, self.chip, self.source, self.code

    def count(self, mitigation: str, counter: str) -> int | None:
        """A counter, if the mitigation did not fail."""
        figures = self.figures.get(mitigation)
        return None if figures is None else figures.counters[counter]

    @property
    def uses_lds(self) -> bool:
        """Whether any mitigation takes LDS."""
        return any(figures.lds_bytes for figures in self.figures.values())

    @property
    def extra_lds(self) -> int:
        """LDS bytes above stock's."""
        stock, auto = (self.figures.get(m) for m in ("stock", "auto"))
        return max(0, auto.lds_bytes - stock.lds_bytes) if stock and auto else 0

    @property
    def instruction_ratio(self) -> float:
        """LDS instructions of `auto` over stock's; 1 where one of them failed or both have none."""
        stock, auto = (self.count(m, LDS_INSTRUCTIONS) for m in ("stock", "auto"))
        if stock is None or auto is None or stock == auto:
            return 1.0
        return auto / stock if stock else math.inf

    @property
    def faults(self) -> list[str]:
        """Why the row fails; empty if it does not."""
        found = [f"{m} fails: {first_line(text)}" for m, text in self.errors.items()]
        if len(self.figures) > 1 and not self.equal:
            found.append("outputs differ")
        if self.figures and not self.error <= self.tolerance:
            found.append(f"results are wrong: error {self.error:.1e}")
        if self.count("auto", BANK_CONFLICTS) and not any(
            r.explains_conflicts for r in self.reasons
        ):
            found.append("conflicts without a reason")
        if self.extra_lds:
            found.append(f"{self.extra_lds} LDS bytes above stock")
        return found


RowT = TypeVar("RowT", bound=EmulatedRow)
CaseT = TypeVar("CaseT")


class KeptRows(Generic[RowT]):
    """Finished rows, in a JSON file that is replaced whenever one is added."""

    def __init__(self, path: Path, code: str, row_type: type[RowT]) -> None:
        """Reads the rows of the same `code`; the next row that is added drops the others."""
        self._path = path
        self._rows: dict[tuple[str, ...], RowT] = {}
        if path.exists():
            for document in json.loads(path.read_text())["rows"]:
                row = _row_of(document, row_type)
                if row.code == code:
                    self._rows[row.key] = row

    def find(self, key: tuple[str, ...]) -> RowT | None:
        """The row of this key, if there is one."""
        return self._rows.get(key)

    def add(self, row: RowT) -> None:
        """Keeps a row.

        Raises:
            OutputError: the file cannot be written.
        """
        self._rows[row.key] = row
        lines = ",\n".join(f"  {json.dumps(asdict(each))}" for each in self._rows.values())
        write_output(str(self._path), f'{{"version": 1, "rows": [\n{lines}\n]}}\n'.encode())


def _row_of(document: dict[str, Any], row_type: type[RowT]) -> RowT:
    figures = {name: Figures(**each) for name, each in document.pop("figures").items()}
    reasons = tuple(Reason(**each) for each in document.pop("reasons"))
    return row_type(**document, figures=figures, reasons=reasons)


def first_line(text: str) -> str:
    """What fits into a table of an error's text."""
    return text.strip().split("\n", 1)[0]


def fill_rows(
    kept: KeptRows[RowT],
    cases: Sequence[CaseT],
    empty_row: Callable[[CaseT], RowT],
    measure: Callable[[CaseT], RowT],
    title: str,
    jobs: int,
) -> tuple[list[RowT], bool]:
    """Measures the cases that have no finished row, and keeps each row at once.

    Args:
        empty_row: makes the row of a case that has not run, for its key.
        measure: is called in worker processes.
        title: stands before the progress bar.
        jobs: how many cases run at a time.

    Returns:
        The rows of all cases that have run, and whether Ctrl-C ended the loop.
    """
    console = Console(stderr=True)
    keys = [empty_row(case).key for case in cases]
    found = [kept.find(key) for key in keys]
    open_cases = [case for case, row in zip(cases, found, strict=True) if not row or row.errors]
    if len(open_cases) < len(cases):
        console.print(f"{len(cases) - len(open_cases)} of {len(cases)} rows are finished")
    interrupted = False
    try:
        rows: Any = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(measure)(case) for case in open_cases
        )
        for row in track(rows, title, total=len(open_cases), console=console):
            kept.add(row)
            for fault in row.faults:
                console.print(f"{row.chip} {row.kernel}: {fault}", markup=False, soft_wrap=True)
    except KeyboardInterrupt:
        interrupted = True
    return [row for row in map(kept.find, keys) if row], interrupted


FIGURES_HEAD = ("kernel", "result", "workgroups run", *(title for title, _ in _COLUMNS), "error")
"""The head of a table whose lines are those of `figures_line`."""


def figures_line(row: EmulatedRow) -> list[str]:
    """A row's cells; those with figures list the mitigations side by side."""
    known = [row.figures.get(mitigation) for mitigation in MITIGATIONS]
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
