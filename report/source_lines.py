# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text at a source location, for reports that show it beside an access."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

_MOST_BYTES = 16 << 20
"""No larger file is read; a source that people write is smaller."""
_MOST_CHARACTERS = 240


@dataclass
class SourceLines:
    """Reads the lines that locations name, each file once.

    A location names a file as the compiler has found it: relative to the current directory. What is
    no readable text, such as stdin, a file that is gone, or bytecode, has no lines.
    """

    _files: dict[str, list[str]] = field(default_factory=dict)

    def line(self, location: str) -> str:
        """Returns the line at `file:line:column` without spaces around it; empty without one.

        Long lines are cut off.
        """
        parts = location.rsplit(":", 2)
        if len(parts) != 3 or not parts[1].isascii() or not parts[1].isdigit():
            return ""
        number = int(parts[1])
        lines = self._lines(parts[0])
        if not 0 < number <= len(lines):
            return ""
        text = lines[number - 1].strip()
        return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} ..."

    def _lines(self, file: str) -> list[str]:
        if file not in self._files:
            self._files[file] = _read(Path(file))
        return self._files[file]


def _read(path: Path) -> list[str]:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return []
        # Bytecode and other binary files are no text in UTF-8.
        return path.read_bytes().decode().split("\n")
    except (OSError, ValueError):
        return []
