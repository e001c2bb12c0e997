# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sweep as one HTML file that needs nothing else: the sums, the plot, and every kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from ..bank_model.shown_text import shown_command
from ..report.html_page import html_page
from ..report.html_script import copy_button
from .rows import Row
from .tables import (
    Summary,
    about,
    and_times,
    failure_lines,
    group_lines,
    groups,
    ratio_text,
    summaries,
    summary_lines,
)

# Colours of the plot are for white paper.
_STYLE = (
    "<style>.plot { background: #fff; overflow-x: auto; border-radius: 6px; margin: 1rem 0; } "
    ".plot svg { display: block; }</style>"
)
_ALL_SVG = '<style type="text/css">*{'
_PROLOG, _METADATA = (
    re.compile(r"^.*?(?=<svg)", re.DOTALL),
    re.compile(r"<metadata>.*?</metadata>", re.DOTALL),
)


def sweep_page(rows: Sequence[Row], command: Sequence[str], plot: str) -> str:
    """Returns the whole document; `plot` is the plot of the rows as an SVG file."""
    title = f"LDS bank conflicts of a sweep{and_times(groups(rows))}"
    return html_page(title, "\n".join(_body(rows, command, plot, title)))


def _body(rows: Sequence[Row], command: Sequence[str], plot: str, title: str) -> Iterator[str]:
    found = groups(rows)
    yield f"{_STYLE}<h1>{escape(title)}</h1>"
    yield from _verdicts(summaries(rows))
    yield from (f"<p>{_prose(text)}</p>" for text in about(rows))
    text = shown_command(command)
    yield f"<p><code>{escape(text)}</code> {copy_button(text, 'the command')}</p>"
    yield from _table(summary_lines(rows), 3, "the sums")
    label = f"the figures of the tables for each kernel, relative to {found[0].baseline}"
    yield f'<div class="plot" tabindex="0" role="img" aria-label="{escape(label)}">'
    yield f"{_inline(plot)}</div>"
    for group in found:
        yield f"<details><summary>{escape(group.title)}, {len(group.kernels)} kernels</summary>"
        yield from _table(group_lines(group), 2, group.title)
        yield "</details>"
    failed = [row for row in rows if row.error]
    if failed:
        yield "<h2>Failed</h2>"
        yield from _table(failure_lines(failed), 5, "failures")


def _verdicts(found: Sequence[Summary]) -> Iterator[str]:
    """Yields a line for each target and type: the last mode, which is the best as a rule."""
    last = {each.group.title: each for each in found}
    yield "<ul>"
    for title, each in last.items():
        base = each.group.baseline
        conflicting = f"{each.conflicting:,} of {each.kernels:,} kernels with conflicts"
        grade = "bad" if each.conflicting else "good"
        time = ratio_text(each.predicted_ratio)
        times = f"<b>{time}</b> of the predicted time of {escape(base)}, " if time != "-" else ""
        yield f"<li>{escape(title)}, {escape(each.mode)}: {times}"
        yield f'<span class="{grade}">{conflicting}</span></li>'
    yield "</ul>"


def _prose(markdown: str) -> str:
    """Returns a paragraph whose code stands in backticks."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(markdown))


def _inline(plot: str) -> str:
    """Returns an SVG file as a part of a page, whose styles stay inside."""
    svg = _METADATA.sub("", _PROLOG.sub("", plot, count=1))
    return svg.replace(_ALL_SVG, '<style type="text/css">.plot svg *{')


def _table(lines: Sequence[Sequence[str]], text_columns: int, what: str) -> Iterator[str]:
    """Yields a table whose head is the first line; columns after `text_columns` hold numbers."""
    head, *body = lines
    kinds = ["" if at < text_columns else ' class="n"' for at in range(len(head))]
    yield f'<div class="wide" tabindex="0" role="region" aria-label="table of {escape(what)}">'
    yield "<table><thead><tr>"
    yield from (
        f'<th scope="col"{kind}>{escape(cell)}</th>' for kind, cell in zip(kinds, head, strict=True)
    )
    yield "</tr></thead><tbody>"
    for line in body:
        cells = (f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, line, strict=True))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"
