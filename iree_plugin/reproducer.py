# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pipeline that a file of MLIR names itself, as the compiler writes it behind a crash.

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(canonicalize)",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
"""

from __future__ import annotations

import re
from typing import NamedTuple

_METADATA = b"{-#"
_BEGIN = re.compile(rb"\bmlir_reproducer\s*:\s*\{")
_ENTRY = re.compile(rb'\s*(\w+)\s*:\s*("(?:[^"\\]|\\.)*"|true|false)\s*,?')
_END = re.compile(rb"\s*\}\s*,?")
_ESCAPE = re.compile(rb'\\([0-9A-Fa-f]{2}|[nt"\\])')
_LETTERS = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}
_FLAGS = ("disable_threading", "verify_each")


class ReproducerError(ValueError):
    """A text without a pipeline that can be run; `position` is the offset of the fault in it."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class Reproducer(NamedTuple):
    """What a text says of how it is to be run.

    Attributes:
        pipeline: the text of the pipeline.
        position: where it begins in the text.
        verify_each: whether the IR is verified after each pass.
        rest: the text with blanks in its place. The compiler would warn of a resource that it does
            not know; all other places stay.
    """

    pipeline: str
    position: int
    verify_each: bool
    rest: bytes

    @staticmethod
    def of(text: bytes) -> Reproducer:
        """Reads the reproducer in a text. Threads are not disabled: no result depends on them.

        Raises:
            ReproducerError: there is none, or it is not as the compiler writes it.
        """
        metadata = text.rfind(_METADATA)
        begin = _BEGIN.search(text, metadata) if metadata >= 0 else None
        if begin is None:
            raise ReproducerError("the input names no pipeline: it has no 'mlir_reproducer'", 0)
        values: dict[str, bytes] = {}
        places: dict[str, int] = {}
        at = begin.end()
        while entry := _ENTRY.match(text, at):
            name, at = entry[1].decode(), entry.end()
            values[name], places[name] = entry[2], entry.start(2)
        end = _END.match(text, at)
        if end is None:
            raise ReproducerError("expected a name with a text, true or false", at)
        pipeline = values.pop("pipeline", b"")
        if not pipeline.startswith(b'"'):
            raise ReproducerError("the reproducer has no 'pipeline' with a text", begin.start())
        for name, value in values.items():
            if name not in _FLAGS or value not in (b"true", b"false"):
                known = ", ".join(("pipeline", *_FLAGS))
                raise ReproducerError(f"'{name}' cannot be used here ({known})", places[name])
        blank = re.sub(rb"[^\n]", b" ", text[begin.start() : end.end()])
        return Reproducer(
            _ESCAPE.sub(_unescaped, pipeline[1:-1]).decode(errors="replace"),
            places["pipeline"] + 1,
            values.get("verify_each") != b"false",
            text[: begin.start()] + blank + text[end.end() :],
        )


def _unescaped(match: re.Match[bytes]) -> bytes:
    return _LETTERS.get(match[1]) or bytes.fromhex(match[1].decode())
