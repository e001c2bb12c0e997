# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The assembly with what was counted beside each line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .assembly import Kernel
from .counters import Counters, Counts

_MARK = ">"


@dataclass(frozen=True)
class _Column:
    """A counter beside each line."""

    title: str
    width: int
    counts: Callable[[Counters], Counts]


_COLUMNS = (
    _Column("executions", 12, lambda counters: counters.executions),
    _Column("conflicts", 12, lambda counters: counters.lds_conflict_cycles),
    _Column("64-byte blocks", 14, lambda counters: counters.global_transactions),
)


def annotate(text: str, kernel: Kernel, counters: Counters) -> str:
    """Returns the kernel's lines of the assembly `text`, with counts before them.

    Beside each instruction stand its executions by waves, its LDS conflict cycles and the 64-byte
    blocks of global memory that it touched. A count of 0 is left out, and a line with conflicts
    begins with `>`.
    """
    lines = text.splitlines()
    indices = {instruction.line: i for i, instruction in enumerate(kernel.instructions)}
    first, last = _extent(lines, kernel)
    rows = [
        _row(counters, indices.get(number), lines[number - 1]) for number in range(first, last + 1)
    ]
    title = " ".join(f"{column.title:>{column.width}}" for column in _COLUMNS)
    return "\n".join([f"  {title}", *rows]) + "\n"


def _extent(lines: list[str], kernel: Kernel) -> tuple[int, int]:
    """Returns the lines of the kernel's label and of its last instruction, counted from 1."""
    start = next(n for n, line in enumerate(lines, 1) if line.startswith(f"{kernel.name}:"))
    return start, kernel.instructions[-1].line


def _row(counters: Counters, index: int | None, line: str) -> str:
    """Returns one line of the text, which is instruction `index` if it is one."""
    cells: list[str] = []
    for column in _COLUMNS:
        count = 0 if index is None else int(column.counts(counters)[index])
        cells.append(f"{f'{count:,}' if count else '':>{column.width}}")
    mark = _MARK if index is not None and counters.lds_conflict_cycles[index] else " "
    return f"{mark} {' '.join(cells)}  {line.expandtabs(8)}".rstrip()
