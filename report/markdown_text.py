# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What reports and answers about tiles are made of in Markdown: text, code, tables and bank maps.

Everything is escaped that Markdown would take for its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..bank_model.shown_text import shown_text

if TYPE_CHECKING:
    from rich.text import Text

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@&])")


def escaped(text: str) -> str:
    """Returns words in one line that show as they are."""
    return _SPECIAL.sub(r"\\\1", shown_text(" ".join(text.split())))


def inline_code(text: str) -> str:
    """Returns inline code; a table needs its bars escaped even there."""
    shown = shown_text(" ".join(text.split())).replace("|", "\\|")
    ticks = max((len(run) for run in re.findall("`+", shown)), default=0)
    if not ticks:
        return f"`{shown}`"
    fence = "`" * (ticks + 1)
    return f"{fence} {shown} {fence}"


def table(
    titles: Sequence[str], numbers: Sequence[bool], rows: Iterable[Sequence[str]]
) -> Iterator[str]:
    """Yields the lines of a table, whose titles and cells are Markdown already.

    Args:
        titles: one for each column; may be empty.
        numbers: whether each column has numbers, which are aligned to the right.
        rows: the cells.
    """
    yield f"|{''.join(f' {title} |' if title else ' |' for title in titles)}"
    yield f"| {' | '.join('--:' if number else '---' for number in numbers)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def drawing(drawn: Text, below: str = "") -> Iterator[str]:
    """Yields the lines of a drawing in characters, and a line `below` it, if there is one."""
    yield from ("```", drawn.plain.rstrip("\n"), "```")
    if below:
        yield from ("", below)
