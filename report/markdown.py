# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report as Markdown that can be pasted into a GitHub issue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from . import columns
from .bank_map_text import LEGEND, map_text
from .columns import IDEAL_WORDS, Column, Row, Unit, shown_type
from .contents import (
    NO_ALLOCATIONS,
    AllocationRow,
    Contents,
    ReportedFunction,
    function_heading,
    notes_of,
    sums_sentence,
)
from .headline import Headline
from .markdown_text import drawing, escaped, inline_code, table
from .measured import words
from .measured.comparison import Measurements
from .shown_maps import AccessMaps, shown_maps
from .source_lines import SourceLines, first_lines


def markdown_report(contents: Contents) -> str:
    """Returns the whole document."""
    return "\n".join(_lines(contents)) + "\n"


def _lines(contents: Contents) -> Iterator[str]:
    how = ""
    if contents.mitigation:
        how = f", compiled with `--bankwise-mitigation={contents.mitigation}`"
    yield f"### Bank conflicts of {inline_code(contents.title)}{how}"
    headline = Headline.of(contents)
    if headline is not None:
        yield from ("", f"**{escaped(str(headline))}**")
        if contents.bank_maps and headline.known:
            yield from ("", escaped(LEGEND))
    maps = shown_maps(contents.allocations) if contents.bank_maps else {}
    sources = SourceLines()
    for function in contents.functions:
        yield from _function(function, maps)
        yield from _sources(first_lines(function, sources))
    if contents.is_empty:
        yield from ("", f"{NO_ALLOCATIONS.capitalize()}.")
    if contents.measured is not None:
        yield from _measured(contents.measured)


def _sources(lines: Mapping[str, str]) -> Iterator[str]:
    if lines:
        rows = ((escaped(place), inline_code(text)) for place, text in lines.items())
        yield from ("", *table(("at", "source"), (False, False), rows))


def _measured(measurements: Measurements) -> Iterator[str]:
    yield from ("", f"**{escaped(words.section_title(measurements))}**")
    for kernel in measurements.kernels:
        yield from ("", escaped(words.kernel_title(kernel)), "")
        cells = (words.cells(counter, kernel) for counter in kernel.counters)
        rows = ((inline_code(name), *figures) for name, *figures in cells)
        yield from table(words.TITLES, (False, True, True, True), rows)
        for reason in words.remarks(kernel):
            yield from ("", escaped(reason))
    if measurements.notes:
        yield from ("", *(f"* {escaped(note)}" for note in measurements.notes))


def _function(function: ReportedFunction, maps: Mapping[int, AccessMaps]) -> Iterator[str]:
    details = function_heading(function)
    yield ""
    yield f"**{inline_code(function.title)}**" + (f": {escaped(details)}" if details else "")
    if not function.allocations:
        return
    yield ""
    yield sums_sentence(function)
    yield ""
    rows = function.allocations
    titles = [_allocation_title(column) for column in columns.ALLOCATION_COLUMNS]
    yield from _table(columns.ALLOCATION_COLUMNS, titles, rows)
    for row in rows:
        yield from _accesses(row, maps)


def _allocation_title(column: Column[AllocationRow]) -> str:
    if column.unit is Unit.CONFLICT_CYCLES:
        return f"{column.title} before / padded / chosen"
    if column.unit is Unit.CYCLES:
        return f"{column.title} {' / '.join(IDEAL_WORDS)}"
    return column.title


def _table(
    shown: Sequence[Column[Row]], titles: Sequence[str], rows: Sequence[Row]
) -> Iterator[str]:
    numbers = [column.unit.is_number for column in shown]
    return table(titles, numbers, ([_cell(column, row) for column in shown] for row in rows))


def _cell(column: Column[Row], row: Row) -> str:
    shown = column.shown(row)
    if column.unit is Unit.CODE:
        return inline_code(shown)
    return escaped(shown) if column.unit is Unit.WORDS else shown


def _accesses(row: AllocationRow, maps: Mapping[int, AccessMaps]) -> Iterator[str]:
    report = row.report
    if row.accesses:
        yield ""
        yield f"{row.number}. {inline_code(shown_type(report))}"
        yield ""
        titles = [column.heading(report) for column in columns.ACCESS_COLUMNS]
        yield from _table(columns.ACCESS_COLUMNS, titles, row.accesses)
    notes = notes_of(report, row.inputs)
    if notes:
        yield ""
        yield from (f"* {row.number}. {escaped(note)}" for note in notes)
    for access in row.accesses:
        if access.number in maps:
            yield from _bank_maps(maps[access.number])


def _bank_maps(shown: AccessMaps) -> Iterator[str]:
    number = shown.access.number
    if shown.same_as is not None:
        yield from ("", f"{number}: {shown.reference}")
        return
    for each in shown.maps:
        yield from ("", f"{number} {each.layouts}, {escaped(each.caption)}", "")
        yield from drawing(map_text(each.drawn), each.folding)
