# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report for a terminal, and bank maps drawn in text."""

from __future__ import annotations

import io
from itertools import pairwise

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..bank_model.bank_map import BankMap
from .conflict_report import AccessGroup, AllocationReport
from .contents import (
    NO_ALLOCATIONS,
    Contents,
    NumberedAllocation,
    ReportedFunction,
    chosen_word,
    cycles_of,
    function_heading,
    group_place,
    heading,
    notes_of,
    short_location,
    shown_access,
    shown_instructions,
    shown_type,
    sums_lines,
)

PLAIN_WIDTH = 100
"""Columns where the output is not a terminal."""
_BANKS_PER_LINE = 32
"""Three columns each, so that a line fits into 100."""
_CONFLICT = "bold white on red"
_INDENT = (0, 0, 0, 3)


def text_report(contents: Contents, *, width: int = PLAIN_WIDTH, colour: bool = False) -> str:
    """The report as text; with `colour`, with the escape codes of a terminal."""
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    if not contents.is_empty:
        console.print(Text(heading(contents), style="bold"), soft_wrap=True)
        console.print()
    for function in contents.functions:
        _print_function(console, function, contents)
    if contents.is_empty:
        console.print(f"{contents.title}: {NO_ALLOCATIONS}")
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    kept = [line for line, after in pairwise([*lines, ""]) if line or after]
    return "\n".join(kept) + "\n"


def _print_function(console: Console, function: ReportedFunction, contents: Contents) -> None:
    report = function.report
    title = Text(f"@{report.name}" if report.name else "unnamed function", style="bold")
    details = function_heading(function)
    title.append(f": {details}" if details else "", style="not bold")
    console.print(title, soft_wrap=True)
    if not function.allocations:
        console.print()
        return
    for line in sums_lines(function):
        console.print(f"  {line}")
    for allocation in function.allocations:
        console.print()
        _print_allocation(console, allocation, contents)
    console.print()


def _print_allocation(console: Console, numbered: NumberedAllocation, contents: Contents) -> None:
    report = numbered.report
    line = Text(f"{numbered.number}. {shown_type(report)}", style="bold")
    if report.location:
        line.append(f"  {short_location(report.location, contents.inputs)}", style="not bold")
    console.print(line)
    console.print(Padding(Text(report.decision), _INDENT))
    if report.before is not None and report.padded is not None and report.chosen is not None:
        sizes = (report.before.lds_bytes, report.padded.lds_bytes, report.chosen.lds_bytes)
        shown = " / ".join(f"{size:,}" for size in sizes)
        console.print(f"   LDS bytes before / padded / {chosen_word(report)}: {shown}")
    if numbered.accesses:
        console.print(Padding(_access_table(numbered, contents), _INDENT))
    for note in notes_of(report, contents.inputs):
        style = "yellow" if report.unknown else ""
        console.print(Padding(Text(note, style=style), _INDENT))
    if contents.bank_maps:
        for access in numbered.accesses:
            _print_bank_maps(console, access.number, report, access.group)


def _access_table(numbered: NumberedAllocation, contents: Contents) -> Table:
    report = numbered.report
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), expand=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("access", overflow="fold", ratio=1)
    for name in ("runs", "before", "padded", chosen_word(report)):
        table.add_column(name, justify="right", no_wrap=True)
    for access in numbered.accesses:
        group = access.group
        what = Text(f"{shown_access(group)}: {shown_instructions(report, group)}", style="bold")
        place = group_place(group, contents.inputs)
        what.append(f"  {place}" if place else "", style="not bold")
        what.append(f"\n{group.pattern.short}", style="not bold")
        table.add_row(
            str(access.number),
            what,
            f"{group.runs:,}",
            *(Text(f"{n:,}", style="red" if n else "green") for n in cycles_of(report, group)),
        )
    return table


def _print_bank_maps(
    console: Console, number: int, report: AllocationReport, group: AccessGroup
) -> None:
    assert report.before is not None
    assert report.chosen is not None
    before = report.bank_map(group, report.before.layout)
    after = report.bank_map(group, report.chosen.layout)
    if before is None or after is None:
        console.print(f"   {number}: no lane is ever active")
        return
    word = chosen_word(report)
    if before.words_by_bank == after.words_by_bank:
        word = "before" if report.chosen is report.before else f"before and {word}"
    else:
        _print_bank_map(console, f"{number} before, {caption(before, group)}", before)
    _print_bank_map(console, f"{number} {word}, {caption(after, group)}", after)


def _print_bank_map(console: Console, title: str, found: BankMap) -> None:
    console.print(Text(f"   {title}", style="bold"), soft_wrap=True)
    console.print(map_text(found), soft_wrap=True)


def caption(found: BankMap, group: AccessGroup) -> str:
    """Which phase it is, and what it takes."""
    cycles = "1 cycle" if found.cycles == 1 else f"{found.cycles} cycles"
    phases = len(found.instruction.phases)
    issue = f"{group.issue_name} {found.issue}" if group.issues > 1 else ""
    phase = f"phase {found.phase + 1} of {phases}" if phases > 1 else "its only phase"
    place = ", ".join(part for part in (issue, phase) if part)
    return f"{found.instruction.name}, {place}: {cycles}"


def map_text(found: BankMap) -> Text:
    """The map as a grid: banks across, the words that each bank delivers cycle by cycle down.

    A cell is the lane that wants the word, with `+` where several share it. The last row counts
    the words of each bank; `!` marks conflicts.
    """
    text = Text()
    banks = len(found.words_by_bank)
    for start in range(0, banks, _BANKS_PER_LINE):
        shown = range(start, min(start + _BANKS_PER_LINE, banks))
        text.append("bank" + "".join(f"{bank:>3}" for bank in shown) + "\n", style="dim")
        for cycle in range(found.cycles):
            text.append(f"{cycle + 1:>4}", style="dim")
            for bank in shown:
                words = found.words_by_bank[bank]
                cell = ""
                if cycle < len(words):
                    lanes = words[cycle].lanes
                    cell = f"{lanes[0]}{'+' if len(lanes) > 1 else ''}"
                crowded = len(words) > 1 and cycle < len(words)
                text.append(f"{cell if cell else '.':>3}", style=_CONFLICT if crowded else "")
            text.append("\n")
        text.append("   =", style="dim")
        for bank in shown:
            count = len(found.words_by_bank[bank])
            text.append(f"{count}!".rjust(3) if count > 1 else f"{count:>3}", style="dim")
        text.append("\n")
    return text
