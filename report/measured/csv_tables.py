# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table inside what a profiler has written: lines of other programs around it are skipped."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Sequence

_SIZE = re.compile(r"[0-9]{1,18}")
"""More digits are those of no grid, and Python would not even read thousands of them."""


class TableError(ValueError):
    """Text that holds no table, or a table that cannot be read; the message says why."""


def table_rows(
    text: str, *heads: Collection[str], may_end_behind: str = ""
) -> Iterator[dict[str, str]]:
    """Yields the rows of the first table whose header has all columns of one of `heads`.

    Lines before the header and lines that have another number of fields are not of the table, but
    for those that end behind the column `may_end_behind`, with a comma: what they leave out is
    empty. A header that comes again, as in files that were joined, begins another table of the same
    columns.

    Raises:
        TableError: there is no such header, or the text is no CSV.
    """
    header: list[str] | None = None
    try:
        # A line break inside of quotes would join a broken line with all that follow.
        for fields in csv.reader(text.splitlines(), skipinitialspace=True):
            if any(set(head) <= set(fields) for head in heads):
                header = fields
            elif header is not None and len(fields) == len(header):
                yield dict(zip(header, fields, strict=True))
            elif header is not None and _ends_behind(header, fields, may_end_behind):
                yield dict.fromkeys(header, "") | dict(zip(header, fields, strict=False))
    except csv.Error as error:
        raise TableError(f"it is no CSV: {error}") from None
    if header is None:
        raise TableError("it has no table of counters")


def _ends_behind(header: Sequence[str], fields: Sequence[str], column: str) -> bool:
    """Returns whether a row's last field is the empty one behind the comma behind a column."""
    return column in header and header.index(column) == len(fields) - 2 and not fields[-1]


def columns_of(row: Sequence[str] | dict[str, str], *names: str) -> str:
    """Returns the first of the columns `names` that a row has; empty if it has none."""
    return next((name for name in names if name in row), "")


def size_of(text: str) -> int | None:
    """Returns a size such as `256`; None where the text is none."""
    return int(text) if _SIZE.fullmatch(text) else None
