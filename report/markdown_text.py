# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text and code inside Markdown, with everything escaped that Markdown would take for its own."""

from __future__ import annotations

import re

from ..bank_model.shown_text import shown_text

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
