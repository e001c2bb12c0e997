# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs that are read here rather than by the compiler: their parts, and what is wrong in them.

Text that is split into parts is padded with newlines, so that every diagnostic points into the file
that the user wrote.
"""

from __future__ import annotations

import sys
from pathlib import Path

from iree.compiler.api import Session, Source

from ..bank_model.quick_tuple import NamedTuple
from ..bank_model.shown_text import shown_text
from ..dialect_utils.diagnostics import Diagnostic, SourceLocation
from .embedding import bytecode_source

SPLIT_MARKER = "// -----"
STDIN_NAME = "<stdin>"
_BYTECODE_MAGIC = b"ML\xefR"


class InputText(NamedTuple):
    """MLIR text or bytecode, and the file that diagnostics name."""

    text: bytes
    file: str

    @staticmethod
    def read(path: str) -> InputText:
        """Reads a file, or stdin for `-`.

        Raises:
            OSError: it cannot be read.
        """
        if path == "-":
            return InputText(sys.stdin.buffer.read(), STDIN_NAME)
        return InputText(Path(path).read_bytes(), path)

    @property
    def is_bytecode(self) -> bool:
        """Returns whether this is no text."""
        return self.text.startswith(_BYTECODE_MAGIC)

    def parts(self, marker: str | None = SPLIT_MARKER) -> list[InputText]:
        """Returns the parts of a text between `marker`; one for bytecode, or without a marker."""
        if marker is None or self.is_bytecode:
            return [self]
        return [InputText(part, self.file) for part in split_text(self.text, marker.encode())]

    def place(self, position: int) -> SourceLocation:
        """Returns the place in the file of the character at an offset of the text."""
        line = self.text.count(b"\n", 0, position) + 1
        column = position - self.text.rfind(b"\n", 0, position)
        return SourceLocation(self.file, line, column)

    def show(self, diagnostic: Diagnostic) -> None:
        """Prints to stderr as the compiler does: the message, the source line and a caret."""
        location = diagnostic.location
        if location is None:
            print(f"<unknown>:0: {diagnostic}", file=sys.stderr)
            return
        print(diagnostic, file=sys.stderr)
        lines = self.text.split(b"\n")
        if location.file == shown_text(self.file) and 0 < location.line <= len(lines):
            line = lines[location.line - 1].decode(errors="replace").rstrip("\r")
            before = line[: max(location.column - 1, 0)]
            indent = "".join("\t" if character == "\t" else " " for character in before)
            print(f"{line}\n{indent}^", file=sys.stderr)

    def source(self, session: Session) -> Source:
        """Returns what the compiler parses; its diagnostics show the file's name as text."""
        name = shown_text(self.file)
        if self.is_bytecode:
            return bytecode_source(session, self.text, name)
        # Text is read up to a final zero.
        return Source.wrap_buffer(session, self.text + b"\0", buffer_name=name)


def split_text(text: bytes, marker: bytes) -> list[bytes]:
    """Splits at every `marker`; each part is padded so that its text keeps its lines and columns.

    `a\\n// -----\\nb` becomes `a\\n` and, with the eight columns of the marker, `\\n        \\nb`.
    Parts without a single character are left out, but one part remains.
    """
    parts: list[bytes] = []
    start = 0
    for part in text.split(marker):
        column = start - (text.rfind(b"\n", 0, start) + 1)
        if part:
            parts.append(b"\n" * text.count(b"\n", 0, start) + b" " * column + part)
        start += len(part) + len(marker)
    return parts or [b""]
