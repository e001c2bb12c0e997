# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report as Markdown that can be pasted into a GitHub issue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from . import columns
from .bank_map_text import map_text
from .columns import Column, Row, Unit, chosen_word, shown_type
from .conflict_report import AccessGroup, AllocationReport
from .contents import (
    NO_ALLOCATIONS,
    AllocationRow,
    Contents,
    ReportedFunction,
    function_heading,
    notes_of,
    sums_lines,
)
from .text import caption

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@&])")


def markdown_report(contents: Contents) -> str:
    """Returns the whole document."""
    return "\n".join(_lines(contents)) + "\n"


def _lines(contents: Contents) -> Iterator[str]:
    how = ""
    if contents.mitigation:
        how = f", compiled with `--bankwise-mitigation={contents.mitigation}`"
    yield f"### Bank conflicts of {_code(contents.title)}{how}"
    for function in contents.functions:
        yield from _function(function, contents)
    if contents.is_empty:
        yield from ("", f"{NO_ALLOCATIONS.capitalize()}.")


def _function(function: ReportedFunction, contents: Contents) -> Iterator[str]:
    report = function.report
    details = function_heading(function)
    yield ""
    yield f"**{_code('@' + report.name)}**" + (f": {_escaped(details)}" if details else "")
    if not function.allocations:
        return
    yield ""
    cycles, sizes = sums_lines(function)
    yield f"{cycles.capitalize()}; {sizes}."
    yield ""
    rows = function.allocations
    titles = [_allocation_title(column) for column in columns.ALLOCATION_COLUMNS]
    yield from _table(columns.ALLOCATION_COLUMNS, titles, rows)
    for row in rows:
        yield from _accesses(row, contents.bank_maps)


def _allocation_title(column: Column[AllocationRow]) -> str:
    cycles = column.unit is Unit.CONFLICT_CYCLES
    return f"{column.title} before / padded / chosen" if cycles else column.title


def _table(
    table: Sequence[Column[Row]], titles: Sequence[str], rows: Sequence[Row]
) -> Iterator[str]:
    yield f"|{''.join(f' {title} |' if title else ' |' for title in titles)}"
    yield f"| {' | '.join('--:' if column.unit.is_number else '---' for column in table)} |"
    for row in rows:
        yield f"| {' | '.join(_cell(column, row) for column in table)} |"


def _cell(column: Column[Row], row: Row) -> str:
    shown = column.shown(row)
    if column.unit is Unit.CODE:
        return _code(shown)
    return _escaped(shown) if column.unit is Unit.WORDS else shown


def _accesses(row: AllocationRow, bank_maps: bool) -> Iterator[str]:
    report = row.report
    if row.accesses:
        yield ""
        yield f"{row.number}. {_code(shown_type(report))}"
        yield ""
        titles = [column.heading(report) for column in columns.ACCESS_COLUMNS]
        yield from _table(columns.ACCESS_COLUMNS, titles, row.accesses)
    notes = notes_of(report, row.inputs)
    if notes:
        yield ""
        yield from (f"* {row.number}. {_escaped(note)}" for note in notes)
    if bank_maps:
        for access in row.accesses:
            yield from _bank_maps(access.number, report, access.group)


def _bank_maps(number: int, report: AllocationReport, group: AccessGroup) -> Iterator[str]:
    for word, count in (("before", report.before), (chosen_word(report), report.chosen)):
        if count is None or (word != "before" and count is report.before):
            continue
        found = report.bank_map(group, count.layout)
        if found is not None:
            yield from ("", f"{number} {word}, {caption(found, group)}", "")
            yield from ("```", map_text(found).plain.rstrip("\n"), "```")


def _code(text: str) -> str:
    """Returns inline code; a table needs its bars escaped even there."""
    shown = " ".join(text.split()).replace("|", "\\|")
    ticks = max((len(run) for run in re.findall("`+", shown)), default=0)
    if not ticks:
        return f"`{shown}`"
    fence = "`" * (ticks + 1)
    return f"{fence} {shown} {fence}"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
