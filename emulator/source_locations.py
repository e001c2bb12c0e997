# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lines of the source that instructions were made from, as `.file` and `.loc` say.

    .file   1 "/home/me" "transpose.hip"
    .loc    1 12 33 is_stmt 0

A `.loc` holds for the instructions that follow it, up to the next one. Line 0 says that the
compiler has made an instruction of no line ("Using as", chapter "Assembler Directives"; DWARF 5,
6.2.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class SourceLine:
    """A line of a source file, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


_FILE = re.compile(r'^\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
_LOC = re.compile(r"^\.loc\s+(\d+)\s+(\d+)")


@dataclass
class LocationReader:
    """Follows the directives of a file, line by line.

    Attributes:
        current: the line of the source that the next instruction was made from; None if unknown.
        files: the files' names by their numbers, as the compiler was given them.
    """

    current: SourceLine | None = None
    files: dict[int, str] = field(default_factory=dict[int, str])

    def read_line(self, code: str) -> None:
        """Takes the next line, without comment and surrounding blanks."""
        if found := _FILE.match(code):
            # The directory stands before the name, and is missing where the name has it.
            self.files[int(found[1])] = found[3] or found[2]
        elif found := _LOC.match(code):
            file, line = int(found[1]), int(found[2])
            known = line > 0 and file in self.files
            self.current = SourceLine(self.files[file], line) if known else None
