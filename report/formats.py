# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The formats of reports and of answers about tiles, and the pictures of whole tiles, by name.

A renderer is imported when it is used: HTML draws pictures.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .contents import Contents

_RENDERERS = {
    "text": (".text", "text_report"),
    "json": (".json_document", "json_report"),
    "markdown": (".markdown", "markdown_report"),
    "html": (".html", "html_report"),
}
FORMATS = tuple(_RENDERERS)
PICTURES = ("banks", "lanes")
"""Pictures of the whole tile: by the bank of each element, or by the lane of each word."""


def rendered(
    contents: Contents, form: str, *, terminal_width: int = 0, colour: bool = False
) -> str:
    """Returns the report in one of `FORMATS`.

    Args:
        terminal_width: the columns of the terminal that text goes to, or 0 where it goes to none.
        colour: whether text has the escape codes of a terminal.
    """
    module, name = _RENDERERS[form]
    render = getattr(import_module(module, __package__), name)
    if form == "text" and terminal_width:
        return render(contents, width=terminal_width, colour=colour)
    return render(contents)
