# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is wrong with a question about a tile."""

from __future__ import annotations

from operator import index

from ..bank_model.shown_text import shown_text


class TileArgumentError(ValueError):
    """An argument that cannot be used; the message names it, and says what can be used.

    Attributes:
        argument: its name in Python, such as `tile` or `read`; the command line's flag is the same.
        reason: the message without the name.
    """

    def __init__(self, argument: str, reason: str) -> None:
        super().__init__(f"{argument}: {reason}")
        self.argument = argument
        self.reason = reason


class AccessError(ValueError):
    """What is wrong with an access, in a few words; whoever knows the argument names it."""


class LayoutTextError(ValueError):
    """What is wrong with the text of a layout, in a few words."""


def whole_number(argument: str, value: object) -> int:
    """Returns an argument that has to be a whole number; truths are none.

    Raises:
        TileArgumentError: it is none; the message names the argument.
    """
    try:
        if not isinstance(value, bool):
            return index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        pass
    raise TileArgumentError(argument, f"{shortened(repr(value))} is no whole number")


_SHOWN = 80


def shortened(text: str) -> str:
    """Returns a user's text as an error shows it: in one line, and not more than its beginning."""
    line = shown_text(" ".join(text[: 10 * _SHOWN].split()))
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."
