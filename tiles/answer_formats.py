# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An answer about a tile in the format that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answers import Answer


def rendered(
    answer: Answer,
    form: str,
    *,
    maps: bool = True,
    picture: str = "",
    terminal_width: int = 0,
    colour: bool = False,
) -> str:
    """Returns an answer in one of the `FORMATS` of `report/formats.py`.

    Args:
        maps: whether bank maps are part of it.
        picture: the kind of pictures of the whole tile that stand below text, one of `PICTURES`;
            none by default. HTML has both kinds, as long as it has maps.
        terminal_width: the columns of the terminal that text goes to, or 0 where it goes to none.
        colour: whether text has the escape codes of a terminal.
    """
    if form == "json":
        from .answer_json import answer_json

        return answer_json(answer, maps=maps)
    if form == "html":
        from ..report.html_page import html_page
        from .answer_html import answer_html

        return html_page(str(answer.question), answer_html(answer, maps=maps, page=True))
    if form == "markdown":
        from .answer_markdown import answer_markdown, whole_markdown

        text = answer_markdown(answer, maps=maps)
        return f"{text}\n{whole_markdown(answer.picture(picture))}" if picture else text
    from ..report.consoles import PLAIN_WIDTH
    from .answer_text import answer_text

    width = terminal_width or PLAIN_WIDTH
    text = answer_text(answer, maps=maps, width=width, colour=bool(terminal_width) and colour)
    return f"{text}\n{answer.picture(picture)}" if picture else text
