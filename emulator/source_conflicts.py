# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bank conflicts of a run by the line of the source that they come from."""

from __future__ import annotations

from dataclasses import dataclass

from .assembly import Kernel
from .counters import Counters
from .source_locations import SourceLine


@dataclass(frozen=True)
class SourceConflicts:
    """The conflicts of the instructions that were made from one line of the source.

    Attributes:
        line: the line; None for instructions of which the file does not say it.
        cycles: their LDS conflict cycles.
        executions: how often waves issued those of them that conflict.
    """

    line: SourceLine | None
    cycles: int
    executions: int


def conflicts_by_line(kernel: Kernel, counters: Counters) -> list[SourceConflicts]:
    """Returns the lines whose accesses conflict, the most conflict cycles first.

    The list is empty if the file names no lines at all. `counters` are summed over workgroups.
    """
    if not any(kernel.locations):
        return []
    found: dict[SourceLine | None, tuple[int, int]] = {}
    counts = zip(
        kernel.locations,
        counters.lds_conflict_cycles.tolist(),
        counters.executions.tolist(),
        strict=True,
    )
    for line, cycles, executions in counts:
        if cycles:
            before = found.get(line, (0, 0))
            found[line] = before[0] + cycles, before[1] + executions
    rows = [SourceConflicts(line, *sums) for line, sums in found.items()]
    return sorted(rows, key=lambda row: (-row.cycles, str(row.line)))
