# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The blocks of code of a Markdown page, and what a shell session on it should print.

A block without a language is a shell session: lines behind `$ ` are commands, lines behind `> `
and lines behind a line that ends in a backslash continue them, and all others are what the
command prints. A line `...` stands for any number of lines. A comment in the line above a block
says what else is to be done with it:

    <!-- not run: REASON -->    nothing; the reason says why
    <!-- nightly -->            it is slow, and runs with the nightly tests
    <!-- file: NAME -->         it is the contents of a file, which the commands below it use
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"^(?:<!-- (?P<comment>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
ANY_LINES = "..."


@dataclass(frozen=True)
class Command:
    """A command of a shell session.

    Attributes:
        line: where it stands in its page, from 1.
        text: what a shell gets; its lines.
        printed: the lines that the page shows below it.
    """

    line: int
    text: str
    printed: tuple[str, ...]

    @property
    def shown_file(self) -> str | None:
        """Returns the file that the command only prints, if that is all it does."""
        words = shlex.split(self.text) if self.text.startswith("cat ") else []
        return words[1] if len(words) == 2 else None


@dataclass(frozen=True)
class Block:
    """A block of code: its first line in the page, from 1, its language, text and comment."""

    line: int
    language: str
    text: str
    comment: str

    @property
    def is_session(self) -> bool:
        """Returns whether it is a shell session."""
        return self.language == "" and not self.comment.startswith("file: ")

    @property
    def reason_not_to_run(self) -> str | None:
        """Returns why it is not run, if so."""
        return (
            self.comment.removeprefix("not run: ") if self.comment.startswith("not run") else None
        )

    @property
    def file(self) -> str | None:
        """Returns the name of the file whose contents it shows, if it does."""
        return self.comment.removeprefix("file: ") if self.comment.startswith("file: ") else None

    @property
    def is_nightly(self) -> bool:
        """Returns whether it takes too long for each change."""
        return self.comment == "nightly"

    def commands(self) -> list[Command]:
        """Returns the commands of a shell session, with what they print."""
        found: list[Command] = []
        continued = False
        for number, line in enumerate(self.text.splitlines(), self.line):
            if line.startswith("$ "):
                found.append(Command(number, line[2:], ()))
            elif not found:
                raise ValueError(f"line {number}: {line!r} stands in front of the first command")
            elif continued or line.startswith("> "):
                last = found.pop()
                text = line if continued else line[2:]
                found.append(Command(last.line, f"{last.text}\n{text}", ()))
            else:
                last = found.pop()
                found.append(Command(last.line, last.text, (*last.printed, line)))
            continued = not found[-1].printed and found[-1].text.endswith("\\")
        return found


def blocks(page: Path) -> list[Block]:
    """Returns the blocks of a page, in order."""
    text = page.read_text()
    return [
        Block(
            text.count("\n", 0, found.start("text")) + 1,
            found["language"],
            found["text"],
            found["comment"] or "",
        )
        for found in _FENCE.finditer(text)
    ]


def first_difference(shown: Sequence[str], printed: Sequence[str]) -> str | None:
    """Returns the first line of a page that a command did not print, or None.

    Args:
        shown: the lines of the page; `...` stands for any number of lines.
        printed: the lines that the command printed.
    """
    chunks: list[list[str]] = [[]]
    for line in map(str.rstrip, shown):
        if line.strip() == ANY_LINES:
            chunks.append([])
        else:
            chunks[-1].append(line)
    lines = [line.rstrip() for line in printed]
    first, last = chunks[0], chunks[-1]
    if lines[: len(first)] != first:
        return _unequal(first, lines)
    at = len(first)
    for chunk in chunks[1:]:
        places = range(at, len(lines) - len(chunk) + 1)
        if chunk is last:
            places = places[-1:]
        place = next((p for p in places if lines[p : p + len(chunk)] == chunk), None)
        if place is None:
            return next((line for line in chunk if line not in lines[at:]), chunk[0])
        at = place + len(chunk)
    return None if at == len(lines) or not last else f"(no line; printed: {lines[at]})"


def _unequal(shown: Sequence[str], printed: Sequence[str]) -> str:
    for at, line in enumerate(shown):
        if at >= len(printed) or printed[at] != line:
            return line
    raise AssertionError("the lines are equal")
