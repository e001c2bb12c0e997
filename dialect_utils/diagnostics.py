# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Diagnostics in MLIR's form: `file:line:column: severity: message`.

The upstream bindings can emit errors but no warnings or remarks, so the passes report
through a sink that the tools print from (or compare with `expected-*` comments).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path

from iree.compiler import ir

from ..bank_model.quick_dataclass import dataclass
from ..bank_model.quick_tuple import NamedTuple
from ..bank_model.shown_text import shown_text


class Severity(Enum):
    """The four severities of an MLIR diagnostic, spelled as MLIR prints them."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


_FILE_LOCATION = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')


class SourceLocation(NamedTuple):
    """A position in a source file; line and column count from 1."""

    file: str
    line: int
    column: int

    @staticmethod
    def of(location: ir.Location) -> SourceLocation | None:
        """Returns the first file position inside `location`, or None when it has none."""
        match = _FILE_LOCATION.search(str(location))
        if match is None:
            return None
        return SourceLocation(_unescape(match[1]), int(match[2]), int(match[3]))

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def location_at(place: str, operation: ir.Operation) -> ir.Location:
    """Returns `file:line:column` as a location, or the operation's own where it is none."""
    parts = place.rsplit(":", 2)
    if len(parts) != 3:
        return operation.location
    return ir.Location.file(parts[0], int(parts[1]), int(parts[2]), context=operation.context)


def _unescape(text: str) -> str:
    """Undoes the escapes of an MLIR string: `\\\\` and two hexadecimal digits for a UTF-8 byte."""
    if "\\" not in text:
        return text
    plain = re.sub(
        rb"\\(\\|[0-9A-Fa-f]{2})",
        lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 16)]),
        text.encode(),
    )
    return plain.decode(errors="replace")


class Diagnostic(NamedTuple):
    """One message of a pass or of the compiler."""

    severity: Severity
    message: str
    location: SourceLocation | None = None

    def __str__(self) -> str:
        place = f"{shown_text(str(self.location))}: " if self.location else ""
        return f"{place}{self.severity.value}: {self.message}"


class PassFailure(Exception):
    """Raised by a pass that cannot go on; becomes an error diagnostic at `location`."""

    def __init__(self, location: ir.Location, message: str) -> None:
        super().__init__(message)
        self.location = location
        self.message = message


def raised(error: BaseException, *, besides: Sequence[str] = ()) -> str:
    """Returns what somebody else's code has raised, and where: `KeyError at theirs.py:3: 'a'`.

    Args:
        besides: parts of the names of files that are not theirs; if it was raised in one, the
            place is left out.
    """
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    is_theirs = not any(each in last.filename for each in besides)
    place = f" at {Path(last.filename).name}:{last.lineno}" if is_theirs else ""
    return f"{type(error).__name__}{place}: {error}"


class Refusal(Exception):
    """Raised where a pass finds that it cannot understand an allocation, or must not change it.

    Whoever decides on the allocation catches it, once, and says it to the user.

    Attributes:
        reason: what is in the way, without the allocation's name: "its shape is dynamic".
        location: the `file:line:column` to blame; empty for the allocation itself.
    """

    def __init__(self, reason: str, location: ir.Location | str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        is_text = isinstance(location, str)
        self.location = location if is_text else str(SourceLocation.of(location) or "")


def refuse_for(reason: str | None) -> None:
    """Raises a `Refusal` with the reason of the bank model, which has no such type, if it has one.

    Raises:
        Refusal: there is a reason.
    """
    if reason is not None:
        raise Refusal(reason)


def print_to_stderr(diagnostic: Diagnostic) -> None:
    """Prints a diagnostic to stderr, as sinks do by default."""
    print(diagnostic, file=sys.stderr)


def said_once(consume: Callable[[Diagnostic], None]) -> Callable[[Diagnostic], None]:
    """Returns what consumes errors, and remarks and warnings that it has not consumed already.

    Where a fork is killed, kernels are compiled again.
    """
    said: set[Diagnostic] = set()

    def consume_new(diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.ERROR or diagnostic not in said:
            said.add(diagnostic)
            consume(diagnostic)

    return consume_new


@dataclass
class DiagnosticSink:
    """Where passes send warnings and remarks; remarks only when they are asked for.

    Attributes:
        brief: whether remarks are left out that say that something stays as it was at no cost.
            Decisions say it too.
    """

    consume: Callable[[Diagnostic], None] = print_to_stderr
    remarks: bool = False
    brief: bool = False

    def warning(self, location: ir.Location, message: str) -> None:
        """Reports a warning at `location`."""
        self.consume(Diagnostic(Severity.WARNING, message, SourceLocation.of(location)))

    def remark(self, location: ir.Location, message: str, *, stays: bool = False) -> None:
        """Reports a remark at `location` when remarks are enabled.

        Args:
            stays: whether it says that something stays as it was, and costs nothing that way.
        """
        if self.remarks and not (stays and self.brief):
            self.consume(Diagnostic(Severity.REMARK, message, SourceLocation.of(location)))
