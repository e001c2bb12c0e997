# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The assembly with what was counted beside each line, and the source lines that conflict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..bank_model.shown_text import shown_text
from .assembly import Kernel, text_lines
from .conflict_advice import advice
from .counters import Counters, Counts
from .source_conflicts import SourceConflicts, conflicts_by_line
from .source_locations import SourceLine

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


def annotate(
    text: str, kernel: Kernel, counters: Counters, spent: Sequence[tuple[int, str]] = ()
) -> str:
    """Returns the kernel's lines of the assembly `text`, with counts before them.

    Beside each instruction stand its executions by waves, its LDS conflict cycles and the 64-byte
    blocks of global memory that it touched. A count of 0 is left out, and so is a column without
    any other; a line with conflicts begins with `>`. Where the assembly names the lines of its
    source, that of a line with conflicts stands beside it, and a table at the end sums the
    conflicts up by source line. Below stands what would help against each conflict.

    Args:
        spent: for each instruction the cycles that waves are predicted to spend there, and for what
            most of them; empty where nothing is predicted.
    """
    lines = text_lines(text)
    indices = {instruction.line: i for i, instruction in enumerate(kernel.instructions)}
    first, last = _extent(lines, kernel)
    conflicts = conflicts_by_line(kernel, counters)
    width = max((len(_shown(row.line)) for row in conflicts if row.line), default=0)
    columns = [column for column in _COLUMNS if column.counts(counters).any()]
    rows = [
        _row(kernel, counters, columns, spent, indices.get(number), lines[number - 1], width)
        for number in range(first, last + 1)
    ]
    titles = [f"{column.title:>{column.width}}" for column in columns]
    if spent:
        titles.append(_spent_cell("predicted cycles", "most of them"))
    if width:
        titles.append(f" {'source':<{width}}".rstrip())
    found = [f"  {' '.join(titles)}", *rows, *_table(conflicts), *_suggestions(kernel, counters)]
    return "\n".join(found) + "\n"


def _extent(lines: list[str], kernel: Kernel) -> tuple[int, int]:
    """Returns the lines of the kernel's label and of its last instruction, counted from 1."""
    labels = (f"{kernel.name}:", f'"{kernel.name}":')
    start = next(n for n, line in enumerate(lines, 1) if line.strip().startswith(labels))
    return start, kernel.instructions[-1].line


def _shown(place: SourceLine | None) -> str:
    return "" if place is None else shown_text(str(place))


def _spent_cell(cycles: str, reason: str) -> str:
    return f"{cycles:>16} {reason:<32}"


def _row(
    kernel: Kernel,
    counters: Counters,
    columns: Sequence[_Column],
    spent: Sequence[tuple[int, str]],
    index: int | None,
    line: str,
    width: int,
) -> str:
    """Returns one line of the text, which is instruction `index` if it is one.

    `width` is that of the column of source lines; 0 if there is none.
    """
    cells: list[str] = []
    for column in columns:
        count = 0 if index is None else int(column.counts(counters)[index])
        cells.append(f"{f'{count:,}' if count else '':>{column.width}}")
    if spent:
        cycles, reason = (0, "") if index is None else spent[index]
        cells.append(_spent_cell(f"{cycles:,}" if cycles else "", reason if cycles else ""))
    conflicts = index is not None and bool(counters.lds_conflict_cycles[index])
    if width:
        place = kernel.locations[index] if index is not None and conflicts else None
        cells.append(f" {_shown(place):<{width}}")
    mark = _MARK if conflicts else " "
    return f"{mark} {' '.join(cells)}  {shown_text(line.expandtabs(8))}".rstrip()


def _table(conflicts: list[SourceConflicts]) -> list[str]:
    """Returns the lines of the table of conflicts by source line; none without conflicts."""
    if not conflicts:
        return []
    total = sum(row.cycles for row in conflicts)
    lines = [
        f"  {row.cycles:>12,} {row.cycles / total:>11.1%} {row.executions:>14,}  "
        f"{_shown(row.line) or '(no source line)'}"
        for row in conflicts
    ]
    titles = f"  {'conflicts':>12} {'of all':>11} {'executions':>14}  source"
    return ["", "conflict cycles by source line", titles, *lines]


def _suggestions(kernel: Kernel, counters: Counters) -> list[str]:
    """Returns the lines that say what would help against the conflicts of each instruction.

    Instructions of one name that the same would help share a line.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for place, issue in sorted(counters.worst.items()):
        instruction = kernel.instructions[place]
        tried = [f"{each.change}: {each.conflicts}" for each in advice(issue)]
        helps = " or ".join(tried) or "no padding and no swizzle of its rows helps"
        line = kernel.locations[place]
        cycles = f"{issue.conflicts} conflict cycles a wave; {helps}"
        found.setdefault((instruction.mnemonic, cycles), []).append(
            _shown(line) if line else str(instruction.line)
        )
    if not found:
        return []
    lines = [
        f"  {mnemonic} of line {', '.join(dict.fromkeys(places))}: {text}"
        for (mnemonic, text), places in found.items()
    ]
    return ["", "what would help, each tried alone on the bank model", *lines]
