# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from . import columns
from .bank_map_text import LEGEND, map_text
from .columns import (
    Column,
    OfIdeal,
    PerLayout,
    Place,
    Row,
    Unit,
    figure_words,
    shown_value,
)
from .consoles import PLAIN_WIDTH, figure_table, printed, text_console
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
from .headline import Headline
from .measured import words
from .measured.comparison import Measurements
from .shown_maps import AccessMaps, shown_maps
from .source_lines import SourceLines, first_lines

_INDENT = (0, 0, 0, 3)


def text_report(contents: Contents, *, width: int = PLAIN_WIDTH, colour: bool = False) -> str:
    """Returns the report as text; with `colour`, with the escape codes of a terminal."""
    console, buffer = text_console(width, colour)
    if not contents.is_empty:
        console.print(Text(heading(contents), style="bold"), soft_wrap=True)
        headline = Headline.of(contents)
        if headline is not None:
            style = "bold green" if headline.is_clean else "bold red"
            console.print(Text(str(headline), style=style))
            if contents.bank_maps and headline.known:
                console.print()
                console.print(Text(LEGEND, style="dim"))
        console.print()
    maps = shown_maps(contents.allocations) if contents.bank_maps else {}
    sources = SourceLines()
    for function in contents.functions:
        _print_function(console, function, maps)
        _print_sources(console, first_lines(function, sources))
    if contents.is_empty:
        console.print(f"{contents.title}: {NO_ALLOCATIONS}")
    if contents.measured is not None:
        _print_measured(console, contents.measured)
    return printed(buffer)


def _print_function(
    console: Console, function: ReportedFunction, maps: Mapping[int, AccessMaps]
) -> None:
    title = Text(function.title, style="bold")
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
        _print_allocation(console, row, maps)
    console.print()


def _print_sources(console: Console, lines: Mapping[str, str]) -> None:
    """Prints source lines behind their places, each in one line however long it is."""
    if not lines:
        return
    width = max(map(len, lines))
    console.print("  source")
    for place, text in lines.items():
        console.print(Text(f"   {place:<{width}}  {text}"), soft_wrap=True)
    console.print()


def _print_allocation(console: Console, row: AllocationRow, maps: Mapping[int, AccessMaps]) -> None:
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
    for access in row.accesses:
        if access.number in maps:
            _print_bank_maps(console, maps[access.number])


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
        several = isinstance(value, PerLayout | OfIdeal)
        if column.place is not place or (several and not value.figures):
            continue
        title = column.heading(allocation)
        if several:
            title += f" {' / '.join(figure_words(value, allocation))}"
        yield title, column.brief(row) if column.brief else shown_value(value)


def _access_table(row: AllocationRow) -> Table:
    """Returns a table with all words in one wide column, and a column for each figure."""
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), collapse_padding=True, expand=True
    )
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


def _print_measured(console: Console, measurements: Measurements) -> None:
    console.print(Text(words.section_title(measurements), style="bold"), soft_wrap=True)
    for kernel in measurements.kernels:
        console.print(f"\n  {words.kernel_title(kernel)}", soft_wrap=True)
        table = figure_table(words.TITLES, fold_first=True)
        for counter in kernel.counters:
            style = "green" if words.is_exact(counter) else ""
            name, *figures = words.cells(counter, kernel)
            table.add_row(name, *(Text(each, style=style) for each in figures))
        if kernel.counters:
            console.print(Padding(table, _INDENT))
        for reason in words.remarks(kernel):
            console.print(Padding(Text(reason, style="dim"), _INDENT))
    for note in measurements.notes:
        console.print(Padding(Text(note, style="yellow"), _INDENT))


def _print_bank_maps(console: Console, shown: AccessMaps) -> None:
    number = shown.access.number
    if shown.same_as is not None:
        console.print(Padding(Text(f"{number}: {shown.reference}\n"), _INDENT))
    elif not shown.maps:
        console.print(f"   {number}: no lane is ever active")
    else:
        for each in shown.maps:
            title = f"   {number} {each.layouts}, {each.caption}"
            console.print(Text(title, style="bold"), soft_wrap=True)
            end = "" if each.folding else "\n"
            console.print(map_text(each.drawn), soft_wrap=True, end=end)
            if each.folding:
                console.print(Padding(Text(f"{each.folding}\n", style="dim"), _INDENT))
