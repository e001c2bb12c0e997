# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The assembly with what was counted beside each line."""

from __future__ import annotations

from .assembly import Kernel
from .counters import Counters

_MARK = ">"
_HEADER = ("executions", "conflicts", "64-byte blocks")


def annotate(text: str, kernel: Kernel, counters: Counters) -> str:
    """The kernel's lines of the assembly `text`, with counts before them.

    Beside each instruction stand its executions by waves, its LDS conflict cycles and the 64-byte
    blocks of global memory that it touched; what is 0 is left out. Lines with conflicts begin
    with `>`.
    """
    lines = text.splitlines()
    counts = {
        instruction.line: (
            int(counters.executions[index]),
            int(counters.lds_conflict_cycles[index]),
            int(counters.global_transactions[index]),
        )
        for index, instruction in enumerate(kernel.instructions)
    }
    first, last = _extent(lines, kernel)
    rows = [_row(counts.get(number), lines[number - 1]) for number in range(first, last + 1)]
    return "\n".join([_title(), *rows]) + "\n"


def _extent(lines: list[str], kernel: Kernel) -> tuple[int, int]:
    """From the kernel's label to its last instruction, counted from 1."""
    start = next(n for n, line in enumerate(lines, 1) if line.startswith(f"{kernel.name}:"))
    return start, kernel.instructions[-1].line


def _title() -> str:
    return f"  {_HEADER[0]:>12} {_HEADER[1]:>12} {_HEADER[2]:>14}"


def _row(counts: tuple[int, ...] | None, line: str) -> str:
    executions, conflicts, blocks = counts or (0, 0, 0)
    cells = [f"{count:,}" if count else "" for count in (executions, conflicts, blocks)]
    mark = _MARK if conflicts else " "
    return f"{mark} {cells[0]:>12} {cells[1]:>12} {cells[2]:>14}  {line.expandtabs(8)}".rstrip()
