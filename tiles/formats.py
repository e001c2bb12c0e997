# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The formats of answers about a tile, by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answers import TileCount, TileSolution

_MODULES = {"text": ".text", "json": ".json_document", "markdown": ".markdown", "html": ".html"}
FORMATS = tuple(_MODULES)


def rendered(
    answer: TileSolution | TileCount,
    form: str,
    *,
    maps: bool = True,
    terminal_width: int = 0,
    colour: bool = False,
) -> str:
    """Returns an answer in one of `FORMATS`.

    Args:
        maps: whether bank maps are part of it.
        terminal_width: the columns of the terminal that text goes to, or 0 where it goes to none.
        colour: whether text has the escape codes of a terminal.
    """
    from .answers import TileSolution

    kind = "solution" if isinstance(answer, TileSolution) else "count"
    render = getattr(import_module(_MODULES[form], __package__), f"{kind}_{form}")
    if form == "text" and terminal_width:
        return render(answer, maps=maps, width=terminal_width, colour=colour)
    if form == "html":
        from ..report.html_page import html_page

        return html_page(str(answer.question), render(answer, maps=maps))
    return render(answer, maps=maps)
