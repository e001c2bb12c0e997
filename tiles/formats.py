# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The formats of answers about a tile, by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answers import TileCount, TileSolution

_MODULES = {"text": ".text", "json": ".json_document", "markdown": ".markdown", "html": ".html"}
FORMATS = tuple(_MODULES)
PICTURES = ("banks", "lanes")
"""Of the whole tile: by the bank of each element, or by the lane of each word."""


def rendered(
    answer: TileSolution | TileCount,
    form: str,
    *,
    maps: bool = True,
    picture: str = "",
    terminal_width: int = 0,
    colour: bool = False,
) -> str:
    """Returns an answer in one of `FORMATS`.

    Args:
        maps: whether bank maps are part of it.
        picture: the kind of pictures of the whole tile that stand below text, `banks` or `lanes`;
            none by default. HTML has both kinds, as long as it has maps.
        terminal_width: the columns of the terminal that text goes to, or 0 where it goes to none.
        colour: whether text has the escape codes of a terminal.
    """
    from .answers import TileSolution

    kind = "solution" if isinstance(answer, TileSolution) else "count"
    render = getattr(import_module(_MODULES[form], __package__), f"{kind}_{form}")
    if form == "text" and terminal_width:
        text = render(answer, maps=maps, width=terminal_width, colour=colour)
        return _with_picture(text, answer, form, picture)
    if form == "html":
        from ..report.html_page import html_page

        return html_page(str(answer.question), render(answer, maps=maps, page=True))
    return _with_picture(render(answer, maps=maps), answer, form, picture)


def _with_picture(text: str, answer: TileSolution | TileCount, form: str, picture: str) -> str:
    """Returns an answer with pictures of the whole tile behind it."""
    from .markdown import whole_markdown

    if not picture or form not in ("text", "markdown"):
        return text
    found = answer.picture(picture)
    return f"{text}\n{whole_markdown(found) if form == 'markdown' else found}"
