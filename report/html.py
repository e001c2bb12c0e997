# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report as one HTML file that needs nothing else: tables, and a picture of every bank map.

Equal pictures are stored once, in a hidden SVG, and shown wherever they belong. All text that
comes from the input is escaped.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from .. import __version__
from . import columns
from .columns import (
    Column,
    PerLayout,
    Row,
    Unit,
    shown_type,
    shown_value,
)
from .contents import (
    NO_ALLOCATIONS,
    AllocationRow,
    Contents,
    ReportedFunction,
    function_heading,
    notes_of,
    sums_lines,
)
from .headline import Headline
from .pictures import Gallery, Picture
from .shown_maps import AccessMaps, shown_maps

_STYLE = """\
:root { color-scheme: light dark; --ink: #1f2328; --paper: #ffffff; --line: #d1d9e0;
  --soft: #59636e; --head: #f6f8fa; --bad: #b3261e; --good: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --line: #3d444d;
  --soft: #9198a1; --head: #151b23; --bad: #ff8a80; --good: #57d175; } }
body { color: var(--ink); background: var(--paper); margin: 2rem auto; padding: 0 1rem;
  max-width: 76rem; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
h3 { font-size: 1rem; margin: 2rem 0 .3rem; }
code { font: .88em ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .8rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left;
  vertical-align: top; }
th { background: var(--head); font-weight: 600; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); }
dl { display: grid; grid-template-columns: max-content auto; gap: .1rem 1rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
figure { margin: .8rem 0; }
figcaption { color: var(--soft); font-size: .9em; margin-bottom: .2rem; }
figure svg { background: #fff; border: 1px solid var(--line); border-radius: 6px;
  max-width: 100%; height: auto; }
.store { position: absolute; width: 0; height: 0; }
footer { color: var(--soft); margin-top: 3rem; font-size: .9em; }
"""


def html_report(contents: Contents) -> str:
    """Returns the whole document."""
    gallery = Gallery()
    body = "\n".join(_body(contents, gallery))
    title = escape(f"Bank conflicts of {contents.title}")
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{_STYLE}</style>
</head>
<body>
{_stored(gallery)}
{body}
</body>
</html>
"""


def _stored(gallery: Gallery) -> str:
    images = "\n".join(
        f'<image id="picture-{picture.number}" width="{picture.width}" '
        f'height="{picture.height}" href="{picture.data_uri}"></image>'
        for picture in gallery.pictures.values()
    )
    return f'<svg class="store" aria-hidden="true"><defs>\n{images}\n</defs></svg>'


def _body(contents: Contents, gallery: Gallery) -> Iterator[str]:
    yield f"<h1>Bank conflicts of {escape(contents.title)}</h1>"
    yield "<dl>"
    chips = ", ".join(contents.archs) or "no target"
    facts = [("chip", escape(chips)), ("source", escape(", ".join(contents.inputs)))]
    if contents.mitigation:
        facts.append(("compiled with", _code(f"--bankwise-mitigation={contents.mitigation}")))
    facts.append(("command", _code(shlex.join(contents.command))))
    yield from (f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    yield "</dl>"
    headline = Headline.of(contents)
    if headline is not None:
        yield f"<p><strong>{escape(str(headline))}</strong></p>"
    maps = shown_maps(contents.allocations)
    for function in contents.functions:
        yield from _function(function, maps, gallery)
    if contents.is_empty:
        yield f"<p>{NO_ALLOCATIONS.capitalize()}.</p>"
    yield (
        "<footer><p>Before: the plain, row-major layout. Padded: 64 bits behind every row, as "
        "stock IREE pads. Conflict cycles are those of one workgroup over the whole kernel, by "
        "the bank model. A picture shows the worst phase of an access: a cell is the lane that "
        "wants a word of the bank, + where lanes share it; every further row costs one cycle."
        f"</p><p>bankwise-report {escape(__version__)}</p></footer>"
    )


def _function(
    function: ReportedFunction, maps: Mapping[int, AccessMaps], gallery: Gallery
) -> Iterator[str]:
    report = function.report
    yield f"<h2><code>@{escape(report.name)}</code></h2>"
    yield f"<p>{escape(function_heading(function))}</p>"
    if not function.allocations:
        return
    cycles, sizes = sums_lines(function)
    yield f"<p>{escape(cycles.capitalize())}; {escape(sizes)}.</p>"
    rows = function.allocations
    titles: list[str] = []
    for column in columns.ALLOCATION_COLUMNS:
        cycles = column.unit is Unit.CONFLICT_CYCLES
        titles += ("before", "padded", "chosen") if cycles else (column.title,)
    yield from _table(columns.ALLOCATION_COLUMNS, titles, rows)
    for row in rows:
        yield from _allocation(row, maps, gallery)


def _table(
    table: Sequence[Column[Row]], titles: Sequence[str], rows: Sequence[Row]
) -> Iterator[str]:
    yield '<div class="wide"><table>'
    heads = "".join(f"<th>{title}</th>" for title in titles)
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for row in rows:
        yield f"<tr>{''.join(_cell(column, row) for column in table)}</tr>"
    yield "</tbody></table></div>"


def _cell(column: Column[Row], row: Row) -> str:
    """Returns the cell of a column in a row, or the three cells of conflict cycles per layout."""
    value = column.value(row)
    shown = escape(shown_value(value))
    if column.unit is Unit.CODE:
        return f"<td>{_code(shown_value(value))}</td>"
    if column.unit is Unit.WORDS:
        return f"<td>{shown}</td>"
    if column.unit is not Unit.CONFLICT_CYCLES:
        return f'<td class="n">{shown}</td>'
    if isinstance(value, PerLayout):
        cells = [(text, value.least or figure != 0) for text, figure in value.parts()]
        return "".join(_cost(text, bad) for text, bad in cells)
    return _cost(shown, bool(value))


def _cost(text: str, bad: bool) -> str:
    return f'<td class="n {"bad" if bad else "good"}">{text}</td>'


def _allocation(
    row: AllocationRow, maps: Mapping[int, AccessMaps], gallery: Gallery
) -> Iterator[str]:
    report = row.report
    yield f"<h3>{row.number}. {_code(shown_type(report))}</h3>"
    if row.accesses:
        titles = [column.heading(report) for column in columns.ACCESS_COLUMNS]
        yield from _table(columns.ACCESS_COLUMNS, titles, row.accesses)
    notes = notes_of(report, row.inputs)
    if notes:
        yield "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"
    for access in row.accesses:
        yield from _figures(maps[access.number], gallery)


def _figures(maps: AccessMaps, gallery: Gallery) -> Iterator[str]:
    number = maps.access.number
    if maps.same_as is not None:
        yield f"<p>{number}: {escape(maps.reference)}</p>"
        return
    if not maps.maps:
        yield f"<p>{number}: no lane is ever active</p>"
    for each in maps.maps:
        text = f"{number} {each.layouts}, {each.caption}"
        folding = f"; {each.folding}" if each.folding else ""
        yield f"<figure><figcaption>{escape(text + folding)}</figcaption>"
        yield f"{_shown(gallery.picture(each.folded.shown), text)}</figure>"


def _shown(picture: Picture, label: str) -> str:
    size = f'width="{picture.width}" height="{picture.height}"'
    box = f'viewBox="0 0 {picture.width} {picture.height}"'
    return (
        f'<svg role="img" aria-label="{escape(label, quote=True)}" {size} {box}>'
        f'<use href="#picture-{picture.number}"></use></svg>'
    )


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
