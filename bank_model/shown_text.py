# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How text that is the user's, such as the name of a file, appears in messages and reports.

The name of a file may hold any character: escape sequences that recolour a terminal or set its
title, line breaks that forge a second message, bytes that are no text. Whatever a message shows of
the user's passes through `shown_text` once. It lies in the lowest room, so that all rooms can ask,
and with it how numbers of things are shown.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from os.path import commonprefix

_NEARLY = 0.05
"""How much less alike than the closest name another one may be that is suggested beside it."""
_FIRST_LONE_BYTE, _LAST_LONE_BYTE = 0xDC80, 0xDCFF
"""Characters in whose place Python holds the bytes 0x80 to 0xFF of a name that is no UTF-8."""


def shown_text(text: str) -> str:
    """Returns text in one line, with everything that does not print as Python would escape it.

    Control characters, line breaks of all kinds, marks that change the direction of writing, and
    bytes that are no text become escapes such as `\\n`, `\\x1b` and `\\u202e`.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def shown_command(words: Iterable[str]) -> str:
    """Returns a command in one line that a shell takes as it is shown.

    Words are quoted where it is needed. Those that do not print are quoted as bash and zsh do it,
    such as $'a\\n'.
    """
    return " ".join(shlex.quote(w) if w.isprintable() else _ansi_quoted(w) for w in words)


def counted(count: int, noun: str, *, separator: str = "") -> str:
    """Returns a number of things, such as `1 lane` or `2 lanes`.

    Args:
        separator: what stands between thousands, such as a comma.
    """
    return f"{count:{separator}} {noun}{'' if count == 1 else 's'}"


def counted_are(count: int, noun: str) -> str:
    """Returns how a sentence on them begins, such as `1 lane is` or `2 lanes are`."""
    return f"{counted(count, noun)} {'is' if count == 1 else 'are'}"


def did_you_mean(name: str, known: Iterable[str], least: float = 0.6) -> str:
    """Returns the end of a message on a name that is not known, such as `; did you mean 'fast'?`.

    It is empty where no known name is alike.

    Args:
        least: how much alike a name must be, between 0 and 1, by difflib's ratio.
    """
    import difflib  # Only messages on errors need it.

    names = [*known]
    # What all of them begin with says nothing of how much alike they are.
    begin = commonprefix([name, *names])  # noqa: RUF071
    rest = name.removeprefix(begin)
    rests = [each.removeprefix(begin) for each in names]
    close = difflib.get_close_matches(rest, rests, n=2, cutoff=least)
    ratios = [difflib.SequenceMatcher(None, each, rest).ratio() for each in close]
    nearest = [
        f"'{begin}{each}'"
        for each, ratio in zip(close, ratios, strict=True)
        if ratio > ratios[0] - _NEARLY
    ]
    return f"; did you mean {' or '.join(nearest)}?" if nearest else ""


def _ansi_quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{shown_text(escaped)}'"


def _escape(character: str) -> str:
    code = ord(character)
    if _FIRST_LONE_BYTE <= code <= _LAST_LONE_BYTE:
        return f"\\x{code & 0xFF:02x}"
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
