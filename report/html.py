# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report as one HTML file that needs nothing else: the headline, tables, and pictures.

Equal pictures are drawn once. All text that comes from the input is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from .. import __version__
from ..bank_model.layouts import PlainLayout
from ..bank_model.shown_text import shown_command, shown_text
from . import columns
from .columns import shown_type
from .contents import (
    NO_ALLOCATIONS,
    AllocationRow,
    Contents,
    ReportedFunction,
    Sums,
    function_heading,
    notes_of,
    sums_sentence,
)
from .headline import Headline
from .html_accesses import access_section, source_line
from .html_index import anchor, kernel_index
from .html_legend import legend
from .html_measured import measured_section
from .html_page import code, headline_number, html_page
from .html_script import copy_button
from .html_tables import access_table, allocation_table, cost, words_of
from .html_whole_tile import whole_tile_section
from .markdown import markdown_report
from .shown_maps import AccessMaps, Choices, all_phase_choices, shown_maps
from .source_lines import SourceLines


def html_report(contents: Contents) -> str:
    """Returns the whole document."""
    body = "\n".join(part for part in _body(contents) if part)
    return html_page(f"Bank conflicts of {contents.title}", body)


def _body(contents: Contents) -> Iterator[str]:
    yield f"<h1>Bank conflicts of {escape(contents.title)}</h1>"
    headline = Headline.of(contents)
    if headline is not None:
        yield from _headline(headline, contents)
    yield from _facts(contents)
    yield '<p class="copies">' + copy_button(markdown_report(contents), "as Markdown, for an issue")
    yield copy_button(shown_command(contents.command), "the command") + "</p>"
    if contents.measured is not None:
        yield from measured_section(contents.measured)
    maps = shown_maps(contents.allocations)
    choices = all_phase_choices(maps.values())
    shown = [function for function in contents.functions if function.allocations]
    if len(shown) > 1:
        assert headline is not None  # There is LDS.
        yield from kernel_index(shown, headline.word)
    if maps:
        yield from legend()
    sources = SourceLines()
    for number, function in enumerate(shown, start=1):
        yield f'<h2 id="{anchor(number)}">{code(function.title)}</h2>'
        yield from _function(function, maps, choices, sources, several=len(shown) > 1)
    yield from _without_allocations(contents)
    if contents.is_empty:
        yield f"<p>{NO_ALLOCATIONS.capitalize()}.</p>"
    yield f"<footer><p>bankwise-report {escape(__version__)}, by the command</p>"
    yield f"<p>{code(shown_command(contents.command))}</p></footer>"


def _headline(headline: Headline, contents: Contents) -> Iterator[str]:
    """Yields the one number, and what it is compared with."""
    yield from headline_number(headline.number, headline.what, is_good=headline.is_clean)
    if not headline.known:
        return
    sums = Sums.of([each.report for each in contents.allocations]).of_layouts
    stands_plain = headline.proposed and headline.standing == headline.before
    plain = "plain, as the IR stands" if stands_plain else "plain"
    padded = "stock's padding of these accesses" if headline.ours else "stock's padding"
    rows = [(plain, "before"), (padded, "padded")]
    if headline.proposed and not stands_plain:
        rows.append(("as the IR stands", "standing"))
    rows.append((headline.word, "chosen"))
    most = max(1, *(sums[name][0] for _, name in rows))
    least = "" if headline.complete else "at least "
    yield '<div class="wide" tabindex="0" role="region" aria-label="sums of the layouts"><table>'
    yield '<thead><tr><th scope="col">layout</th><th scope="col" class="n">conflict cycles</th>'
    several = sum(bool(each.allocations) for each in contents.functions) > 1
    # Kernels do not have their LDS at the same time: the index has the bytes of each.
    sizes = "" if several else '<th scope="col" class="n">LDS bytes</th>'
    yield f'<th class="bar" aria-hidden="true"></th>{sizes}</tr>'
    yield "</thead><tbody>"
    for title, name in rows:
        cycles, size = sums[name]
        bar = f'<span style="width: {100 * cycles / most:.1f}%"></span>' if cycles else ""
        yield f'<tr><th scope="row">{title}</th>{cost(f"{least}{cycles:,}", bool(cycles))}'
        sizes = "" if several else f'<td class="n">{size:,}</td>'
        yield f'<td class="bar" aria-hidden="true">{bar}</td>{sizes}</tr>'
    yield "</tbody></table></div>"


def _facts(contents: Contents) -> Iterator[str]:
    chips = ", ".join(contents.archs) or "no target"
    facts = [
        ("chip", escape(chips)),
        ("source", escape(", ".join(map(shown_text, contents.inputs)))),
    ]
    if contents.mitigation:
        facts.append(("compiled with", code(f"--bankwise-mitigation={contents.mitigation}")))
    yield "<dl>"
    yield from (f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    yield "</dl>"


def _function(
    function: ReportedFunction,
    maps: Mapping[int, AccessMaps],
    choices: Choices,
    sources: SourceLines,
    *,
    several: bool,
) -> Iterator[str]:
    yield f"<p>{escape(function_heading(function))}</p>"
    if several:
        yield f"<p>{escape(sums_sentence(function))}</p>"
    yield from allocation_table(function.allocations)
    for row in function.allocations:
        yield from _allocation(row, maps, choices, sources)


def _without_allocations(contents: Contents) -> Iterator[str]:
    """Yields the functions without allocations to show, those for the same reason together."""
    names: dict[str, list[str]] = {}
    for function in contents.functions:
        if not function.allocations:
            names.setdefault(function_heading(function), []).append(function.title)
    if names:
        yield "<h2>Other functions</h2><ul>"
        for heading, own in names.items():
            shown = ", ".join(map(code, own))
            yield f"<li>{shown}: {escape(heading)}</li>"
        yield "</ul>"


def _allocation(
    row: AllocationRow,
    maps: Mapping[int, AccessMaps],
    choices: Choices,
    sources: SourceLines,
) -> Iterator[str]:
    report = row.report
    yield f'<h3 id="allocation-{row.number}">{row.number}. {code(shown_type(report))}</h3>'
    if report.location:
        yield f"<p>{source_line(report.location, sources)}</p>"
    chosen, button = report.chosen, ""
    if chosen is not None and not isinstance(chosen.layout, PlainLayout):
        button = copy_button(str(chosen.layout), "the layout")
    yield from words_of(columns.ALLOCATION_COLUMNS, row, button)
    if row.accesses:
        yield from access_table(row)
    notes = notes_of(report, row.inputs)
    if notes:
        yield "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"
    yield from whole_tile_section(row)
    for access in row.accesses:
        yield from access_section(maps[access.number], choices.get(access.number, ()), sources)
