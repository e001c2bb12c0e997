# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text at a source location, for reports that show it beside an access."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..bank_model.shown_text import shown_text
from .contents import ReportedFunction, short_location

_MOST_BYTES = 16 << 20
"""No larger file is read; a source that people write is smaller."""
_MOST_CHARACTERS = 10_000
"""People write no longer lines; programs write weights into lines of megabytes."""


@dataclass
class SourceLines:
    """Reads the lines that locations name, each file once.

    A location names a file as the compiler has found it: relative to the current directory. What is
    no readable text, such as stdin, a file that is gone, or bytecode, has no lines.
    """

    _files: dict[str, list[str]] = field(default_factory=dict)

    def line(self, location: str) -> str:
        """Returns the line at `file:line:column`, without spaces around it; empty without one.

        A tab becomes a space, and what does not print is escaped. Of a line that nobody has written
        by hand the end is left out, with the number of characters.
        """
        parts = location.rsplit(":", 2)
        if len(parts) != 3 or not parts[1].isascii() or not parts[1].isdigit():
            return ""
        number = int(parts[1])
        lines = self._lines(parts[0])
        if not 0 < number <= len(lines):
            return ""
        text = lines[number - 1].strip().replace("\t", " ")
        more = len(text) - _MOST_CHARACTERS
        end = f" ... and {more:,} more characters" if more > 0 else ""
        return shown_text(text[:_MOST_CHARACTERS]) + end

    def _lines(self, file: str) -> list[str]:
        if file not in self._files:
            self._files[file] = _read(Path(file))
        return self._files[file]


def first_lines(function: ReportedFunction, sources: SourceLines) -> dict[str, str]:
    """Returns the source lines of a function's allocations and of the first of each row's accesses.

    The result has the short place of each line, in the order of the report. Places whose lines
    cannot be read are left out.
    """
    found: dict[str, str] = {}
    for row in function.allocations:
        firsts = (access.group.locations[:1] for access in row.accesses)
        for location in (row.report.location, *(each for first in firsts for each in first)):
            text = sources.line(location)
            if text:
                found.setdefault(short_location(location, row.inputs), text)
    return found


def _read(path: Path) -> list[str]:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return []
        # Bytecode and other binary files are no text in UTF-8.
        return path.read_bytes().decode().split("\n")
    except (OSError, ValueError):
        return []
