# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where text is printed to, to be returned as a whole."""

from __future__ import annotations

import io

from rich.console import Console


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
