# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report's two tables as HTML: what a row is about in its head, and a column for each figure.

Words that take lines, such as decisions and formulas, stand below the tables: a narrow window has
no room for more columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from . import columns
from .columns import IDEAL_WORDS, Column, PerLayout, Place, Row, Unit, shown_value
from .contents import AllocationRow
from .html_page import code

_BELOW_TITLE = {Unit.BYTES: ("before", "padded", "chosen"), Unit.CYCLES: IDEAL_WORDS}
"""What the figures of an allocation are, where a cell has several of them."""


def allocation_table(rows: Sequence[AllocationRow]) -> Iterator[str]:
    """Yields the table of allocations."""
    figures = _figures(columns.ALLOCATION_COLUMNS)
    heads: list[str] = []
    below: list[str] = []
    for column in figures:
        if column.unit is Unit.CONFLICT_CYCLES:
            heads.append(f'<th scope="colgroup" colspan="3">{escape(column.title)}</th>')
            below += (_head(word) for word in ("before", "padded", "chosen"))
        else:
            title = escape(column.title)
            words = _BELOW_TITLE.get(column.unit)
            if words:
                title += f'<br><span class="soft">{" / ".join(words)}</span>'
            heads.append(f'<th scope="col" class="n" rowspan="2">{title}</th>')
    yield from _opening("allocations")
    yield f'<tr><th scope="col" rowspan="2">allocation</th>{"".join(heads)}</tr>'
    yield f"<tr>{''.join(below)}</tr></thead><tbody>"
    for row in rows:
        words = _first_line(columns.ALLOCATION_COLUMNS, row, f"#allocation-{row.number}")
        yield _row(words, figures, row)
    yield "</tbody></table></div>"


def access_table(row: AllocationRow) -> Iterator[str]:
    """Yields the table of the accesses to an allocation."""
    figures = _figures(columns.ACCESS_COLUMNS)
    heads = "".join(_head(column.heading(row.report)) for column in figures)
    yield from _opening("accesses")
    yield f'<tr><th scope="col">access</th>{heads}</tr></thead><tbody>'
    for access in row.accesses:
        words = _first_line(columns.ACCESS_COLUMNS, access, f"#access-{access.number}")
        yield _row(words, figures, access)
    yield "</tbody></table></div>"


def words_of(table: Sequence[Column[Row]], row: Row, button: str = "") -> Iterator[str]:
    """Yields the words that the table leaves out of a row, such as the decision, as paragraphs.

    `button` stands behind the first of them.
    """
    for column in table:
        if not column.unit.is_number and column.place in (Place.LINE, Place.TITLED_LINE):
            yield f"<p>{_words(column, row)}{button and f' {button}'}</p>"
            button = ""


def _figures(table: Sequence[Column[Row]]) -> list[Column[Row]]:
    """Returns the columns of figures; the number of a row has no title and stands in its head."""
    return [column for column in table if column.title and column.unit.is_number]


def _head(title: str) -> str:
    return f'<th scope="col" class="n">{escape(title)}</th>'


def _opening(what: str) -> Iterator[str]:
    yield f'<div class="wide" tabindex="0" role="region" aria-label="table of the {what}">'
    yield "<table><thead>"


def _row(words: str, figures: Sequence[Column[Row]], row: Row) -> str:
    cells = "".join(_cell(column, row) for column in figures)
    return f'<tr><th scope="row">{words}</th>{cells}</tr>'


def _first_line(table: Sequence[Column[Row]], row: Row, link: str) -> str:
    """Returns the number of a row, its name and its place."""
    heads = [column for column in table if column.place is Place.HEAD and column.title]
    beside = [column.shown(row) for column in table if column.place is Place.SIDE]
    first, *others = (_words(column, row) for column in heads)
    line = f'<a href="{link}">{row.number}.</a> <b>{first}</b>'
    line += "".join(f' <span class="soft">{escape(text)}</span>' for text in beside if text)
    return "<br>".join((line, *others))


def _words(column: Column[Row], row: Row) -> str:
    """Returns a value in words, behind its title where the title is not plain from the place."""
    shown = column.shown(row)
    text = code(shown) if column.unit is Unit.CODE else escape(shown)
    return f"{escape(column.title)}: {text}" if column.place is Place.TITLED_LINE else text


def _cell(column: Column[Row], row: Row) -> str:
    """Returns the cell of a column in a row, or the three cells of conflict cycles per layout."""
    value = column.value(row)
    if column.unit is not Unit.CONFLICT_CYCLES:
        return f'<td class="n">{escape(shown_value(value))}</td>'
    if isinstance(value, PerLayout):
        return "".join(cost(text, value.least or figure != 0) for text, figure in value.parts())
    return cost(shown_value(value), bool(value))


def cost(text: str, bad: bool) -> str:
    """Returns a cell with conflict cycles, marked where there are some."""
    return f'<td class="n {"bad" if bad else "good"}">{escape(text)}</td>'
