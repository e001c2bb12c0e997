# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..bank_model.bank_map import BankMap
from . import columns
from .bank_map_text import map_text, phase_caption
from .columns import (
    Column,
    PerLayout,
    Place,
    Row,
    Unit,
    chosen_word,
    layout_words,
    shown_value,
)
from .conflict_report import AccessGroup, AllocationReport
from .consoles import text_console
from .contents import (
    NO_ALLOCATIONS,
    AccessRow,
    AllocationRow,
    Contents,
    ReportedFunction,
    function_heading,
    heading,
    notes_of,
    sums_lines,
)

PLAIN_WIDTH = 100
"""Columns where the output is not a terminal."""
_INDENT = (0, 0, 0, 3)


def text_report(contents: Contents, *, width: int = PLAIN_WIDTH, colour: bool = False) -> str:
    """Returns the report as text; with `colour`, with the escape codes of a terminal."""
    console, buffer = text_console(width, colour)
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
    for row in function.allocations:
        console.print()
        _print_allocation(console, row, contents.bank_maps)
    console.print()


def _print_allocation(console: Console, row: AllocationRow, bank_maps: bool) -> None:
    report = row.report
    console.print(_first_line(columns.ALLOCATION_COLUMNS, row, ". "))
    for _, text in _lines(columns.ALLOCATION_COLUMNS, row, Place.LINE):
        console.print(Padding(Text(text), _INDENT))
    for title, text in _lines(columns.ALLOCATION_COLUMNS, row, Place.TITLED_LINE):
        console.print(f"   {title}: {text}")
    if row.accesses:
        console.print(Padding(_access_table(row), _INDENT))
    for note in notes_of(report, row.inputs):
        style = "yellow" if report.unknown else ""
        console.print(Padding(Text(note, style=style), _INDENT))
    if bank_maps:
        for access in row.accesses:
            _print_bank_maps(console, access.number, report, access.group)


def _first_line(table: Sequence[Column[Row]], row: Row, separator: str) -> Text:
    heads = [column.shown(row) for column in table if column.place is Place.HEAD]
    line = Text(separator.join(heads), style="bold")
    for column in table:
        beside = column.shown(row) if column.place is Place.SIDE else ""
        line.append(f"  {beside}" if beside else "", style="not bold")
    return line


def _lines(table: Sequence[Column[Row]], row: Row, place: Place) -> Iterator[tuple[str, str]]:
    """Returns the titles and values of a row that have a line each, at `place`."""
    allocation = row.allocation
    for column in table:
        value = column.value(row)
        if column.place is not place or (isinstance(value, PerLayout) and not value.figures):
            continue
        title = column.heading(allocation)
        if isinstance(value, PerLayout):
            title += f" {' / '.join(layout_words(allocation))}"
        yield title, column.brief(row) if column.brief else shown_value(value)


def _access_table(row: AllocationRow) -> Table:
    """Returns a table with all words in one wide column, and a column for each figure."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), expand=True)
    figures = [column for column in columns.ACCESS_COLUMNS if column.unit.is_number]
    words = [column for column in columns.ACCESS_COLUMNS if not column.unit.is_number]
    for position, column in enumerate(figures):
        table.add_column(column.heading(row.report), justify="right", no_wrap=True)
        if position == 0:
            table.add_column(words[0].heading(row.report), overflow="fold", ratio=1)
    for access in row.accesses:
        what = _first_line(words, access, ": ")
        for _, text in _lines(words, access, Place.LINE):
            what.append(f"\n{text}", style="not bold")
        for title, text in _lines(words, access, Place.TITLED_LINE):
            what.append(f"\n{title}: {text}", style="not bold")
        number, *others = (_figure(column, access) for column in figures)
        table.add_row(number, what, *others)
    return table


def _figure(column: Column[AccessRow], row: AccessRow) -> Text:
    value = column.value(row)
    costs = column.unit is Unit.CONFLICT_CYCLES
    return Text(shown_value(value), style=("red" if value else "green") if costs else "")


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
    """Returns which phase it is, and what it takes."""
    return phase_caption(found, f"{group.issue_name} {found.issue}" if group.issues > 1 else "")
