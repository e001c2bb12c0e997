# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report as Markdown that can be pasted into a GitHub issue."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    notes_of,
    short_location,
    shown_access,
    shown_instructions,
    shown_type,
    sums_lines,
)
from .text import caption, map_text

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@&])")


def markdown_report(contents: Contents) -> str:
    """The whole document."""
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
    yield "| | allocation | at | conflict cycles before / padded / chosen | LDS bytes | decision |"
    yield "| --: | --- | --- | --: | --: | --- |"
    for numbered in function.allocations:
        yield _allocation_row(numbered, contents)
    for numbered in function.allocations:
        yield from _accesses(numbered, contents)


def _allocation_row(numbered: NumberedAllocation, contents: Contents) -> str:
    report = numbered.report
    cycles = sizes = "not known"
    counts = (report.before, report.padded, report.chosen)
    known = [count for count in counts if count is not None]
    if len(known) == len(counts):
        least = "at least " if report.unknown else ""
        cycles = least + " / ".join(f"{count.conflict_cycles:,}" for count in known)
        sizes = " / ".join(f"{count.lds_bytes:,}" for count in known)
        if report.is_proposed:
            cycles += " (proposed)"
    elif report.lds_bytes is not None:
        sizes = f"{report.lds_bytes:,}"
    place = short_location(report.location, contents.inputs)
    cells = (
        str(numbered.number),
        _code(shown_type(report)),
        _escaped(place),
        cycles,
        sizes,
        _escaped(report.decision),
    )
    return f"| {' | '.join(cells)} |"


def _accesses(numbered: NumberedAllocation, contents: Contents) -> Iterator[str]:
    report = numbered.report
    if numbered.accesses:
        yield ""
        yield f"{numbered.number}. {_code(shown_type(report))}"
        yield ""
        yield (
            "| | access | at | instructions | lanes' pattern | runs | before | padded | "
            f"{chosen_word(report)} |"
        )
        yield "| --: | --- | --- | --- | --- | --: | --: | --: | --: |"
    for access in numbered.accesses:
        group = access.group
        cells = (
            str(access.number),
            shown_access(group),
            _escaped(group_place(group, contents.inputs)),
            _code(shown_instructions(report, group)),
            _code(str(group.pattern)),
            f"{group.runs:,}",
            *(f"{count:,}" for count in cycles_of(report, group)),
        )
        yield f"| {' | '.join(cells)} |"
    notes = notes_of(report, contents.inputs)
    if notes:
        yield ""
        yield from (f"* {numbered.number}. {_escaped(note)}" for note in notes)
    if contents.bank_maps:
        for access in numbered.accesses:
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
    """Inline code; a table needs its bars escaped even there."""
    shown = " ".join(text.split()).replace("|", "\\|")
    ticks = max((len(run) for run in re.findall("`+", shown)), default=0)
    if not ticks:
        return f"`{shown}`"
    fence = "`" * (ticks + 1)
    return f"{fence} {shown} {fence}"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
