# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of `matmul_table`, what makes one fail, and the file that keeps those that are finished."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..iree_plugin.atomic_file import write_output

CONFLICTS, INSTRUCTIONS = "SQ_LDS_BANK_CONFLICT", "SQ_INSTS_LDS"


@dataclass(frozen=True)
class Figures:
    """One kernel under one mitigation; counters are sums over the workgroups that ran."""

    counters: dict[str, int]
    lds_bytes: int
    workgroups: int
    emulated: int


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


@dataclass(frozen=True)
class Row:
    """One kernel on one chip.

    Attributes:
        source: digest of the module.
        code: digest of the sources that compile and emulate.
        dtype: of the operands.
        figures: by mitigation, where it did not fail.
        errors: by mitigation, where it failed.
        written: elements of the output that were written and compared.
        unwritten: elements that were not, though the whole grid ran.
        equal: whether all outputs are bitwise equal.
        error: the largest, relative to the sum of the products' magnitudes.
        reasons: of `auto`, one for each allocation.
    """

    kernel: str
    dtype: str
    chip: str
    source: str
    code: str
    tolerance: float
    figures: dict[str, Figures] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    written: int = 0
    unwritten: int = 0
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
        stock, auto = (self.count(m, INSTRUCTIONS) for m in ("stock", "auto"))
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
        if self.figures and not self.written:
            found.append("nothing was written")
        if self.unwritten:
            found.append(f"{self.unwritten} elements were not written")
        if self.count("auto", CONFLICTS) and not any(r.explains_conflicts for r in self.reasons):
            found.append("conflicts without a reason")
        if self.extra_lds:
            found.append(f"{self.extra_lds} LDS bytes above stock")
        return found


class KeptRows:
    """Finished rows, in a JSON file that is replaced whenever one is added."""

    def __init__(self, path: Path, code: str) -> None:
        """Reads the rows of the same `code`; the next row that is added drops the others."""
        self._path = path
        self._rows: dict[tuple[str, ...], Row] = {}
        if path.exists():
            for document in json.loads(path.read_text())["rows"]:
                row = _row_of(document)
                if row.code == code:
                    self._rows[row.key] = row

    def find(self, key: tuple[str, ...]) -> Row | None:
        """The row of this key, if there is one."""
        return self._rows.get(key)

    def add(self, row: Row) -> None:
        """Keeps a row.

        Raises:
            OutputError: the file cannot be written.
        """
        self._rows[row.key] = row
        lines = ",\n".join(f"  {json.dumps(asdict(each))}" for each in self._rows.values())
        write_output(str(self._path), f'{{"version": 1, "rows": [\n{lines}\n]}}\n'.encode())


def _row_of(document: dict[str, Any]) -> Row:
    figures = {name: Figures(**each) for name, each in document.pop("figures").items()}
    reasons = tuple(Reason(**each) for each in document.pop("reasons"))
    return Row(**document, figures=figures, reasons=reasons)


def first_line(text: str) -> str:
    """What fits into a table of an error's text."""
    return text.strip().split("\n", 1)[0]
