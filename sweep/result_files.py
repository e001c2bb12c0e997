# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files that a sweep ends with: a page, tables in three formats, and a plot in two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .rows import Row

SUFFIXES = ("csv", "html", "json", "md", "png", "svg")


def result_files(rows: Sequence[Row], command: Sequence[str]) -> Mapping[str, bytes]:
    """Returns what each file holds, by `SUFFIXES`; `command` is the command line of the sweep."""
    # matplotlib takes a second to load; only a sweep that ends needs it.
    from .plot import plot
    from .sweep_page import sweep_page
    from .tables import csv_table, json_table, markdown_table

    drawn = plot(rows)
    return {
        "csv": csv_table(rows).encode(),
        "html": sweep_page(rows, command, drawn["svg"].decode()).encode(),
        "json": json_table(rows, command).encode(),
        "md": markdown_table(rows, command).encode(),
        **drawn,
    }
