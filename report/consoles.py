# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where text is printed to, to be returned as a whole."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise

from rich import box
from rich.console import Console
from rich.table import Table

PLAIN_WIDTH = 100
"""Columns where the output is not a terminal."""


def text_console(width: int, colour: bool) -> tuple[Console, io.StringIO]:
    """Returns a console that prints text as it is, and the buffer that it prints to."""
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    return console, buffer


def printed(buffer: io.StringIO) -> str:
    """Returns what a console has printed, without blanks that end a line or lines that are empty
    behind another empty one or at the end."""
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    kept = [line for line, after in pairwise([*lines, ""]) if line or after]
    return "\n".join(kept) + "\n"


def figure_table(titles: Sequence[str], *, fold_first: bool = False) -> Table:
    """Returns a table without rows, with words in its first column and figures in all others.

    `fold_first` says whether words that are too wide go on below, as figures do.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    first, *others = titles
    table.add_column(first, overflow="fold" if fold_first else "ellipsis")
    for title in others:
        table.add_column(title, justify="right", overflow="fold")
    return table
