# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparing diagnostics with `expected-*` comments, by the rules of MLIR's `--verify-diagnostics`.

    // expected-error @+1 {{undeclared SSA value}}
    %0 = arith.addi %x, %y : i32

The text between the braces must occur in the message of a diagnostic of that severity at that line.
`@+N` and `@-N` count lines from the comment, `@above` and `@below` mean the nearest line without
such a comment, `@unknown` a diagnostic without a file position; without any of them it is the
comment's own line. `expected-error-re` reads `{{...}}` inside the text as regular expressions.
One comment may match several diagnostics; a line holds one comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field

from ..bank_model.quick_dataclass import dataclass
from ..bank_model.quick_tuple import NamedTuple
from ..dialect_utils.diagnostics import Diagnostic, Severity, SourceLocation

_COMMENT = re.compile(
    r"expected-(error|note|remark|warning)(-re)? *(@([+-][0-9]+|above|below|unknown))? *{{(.*)}}$"
)


class Expectation(NamedTuple):
    """One `expected-*` comment.

    Attributes:
        severity: which kind of diagnostic must come.
        text: what the comment has between its braces.
        pattern: what must occur in the message.
        line: the line that the diagnostic must be at, or None for an unknown position.
        location: where the comment is.
    """

    severity: Severity
    text: str
    pattern: re.Pattern[str]
    line: int | None
    location: SourceLocation

    def error(self, message: str) -> Diagnostic:
        """Returns an error at the comment."""
        return Diagnostic(Severity.ERROR, message, self.location)


@dataclass
class ExpectedDiagnostics:
    """The expectations of one source text, with the errors found so far.

    Attributes:
        expectations: every comment of the text, in order.
        errors: malformed comments, unexpected diagnostics and, after `finish`, missing ones.
        only_expected: whether diagnostics that no comment expects are accepted.
    """

    expectations: list[Expectation]
    errors: list[Diagnostic] = field(default_factory=list)
    only_expected: bool = False
    _seen: set[int] = field(default_factory=set)

    @staticmethod
    def of(text: str, file: str, *, only_expected: bool = False) -> ExpectedDiagnostics:
        """Reads the comments of `text`, the content of `file`."""
        result = ExpectedDiagnostics([], only_expected=only_expected)
        result._read(text, file)
        return result

    def _read(self, text: str, file: str) -> None:
        lines = text.split("\n")
        last_plain_line = 1
        below: list[int] = []
        for number, line in enumerate(lines, start=1):
            match = _COMMENT.search(line.rstrip())
            if match is None:
                for index in below:
                    self.expectations[index] = self.expectations[index]._replace(line=number)
                below.clear()
                last_plain_line = number
                continue
            kind, is_regex, _, place, message = match.groups()
            location = SourceLocation(file, number, match.start() + 1)
            try:
                pattern = _embedded_pattern(message) if is_regex else re.escape(message)
                compiled = re.compile(pattern)
            except ValueError as error:
                self.errors.append(Diagnostic(Severity.ERROR, str(error), location))
                continue
            target: int | None = number
            if place == "unknown":
                target = None
            elif place == "above":
                target = last_plain_line
            elif place == "below":
                below.append(len(self.expectations))
                target = len(lines)
            elif place:
                target = number + int(place)
            self.expectations.append(
                Expectation(Severity(kind), message, compiled, target, location)
            )

    def check(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Compares diagnostics, in any number of calls."""
        for diagnostic in diagnostics:
            self._check_one(diagnostic)

    def _check_one(self, diagnostic: Diagnostic) -> None:
        near_miss: Expectation | None = None
        for index, expectation in enumerate(self.expectations):
            location = diagnostic.location
            if location is None:
                if expectation.line is not None:
                    continue
            elif (location.file, location.line) != (expectation.location.file, expectation.line):
                continue
            if not expectation.pattern.search(diagnostic.message):
                continue
            if expectation.severity is diagnostic.severity:
                self._seen.add(index)
                return
            near_miss = expectation
        if self.only_expected:
            return
        kind = diagnostic.severity.value
        if near_miss is not None:
            self.errors.append(
                near_miss.error(
                    f"'{kind}' diagnostic emitted when expecting a '{near_miss.severity.value}'"
                )
            )
        else:
            message = f"unexpected {kind}: {diagnostic.message}"
            self.errors.append(Diagnostic(Severity.ERROR, message, diagnostic.location))

    def finish(self) -> list[Diagnostic]:
        """Returns all errors; empty if all is well.

        The errors of expectations that nothing matched come last.
        """
        missing = [
            each.error(f'expected {each.severity.value} "{each.text}" was not produced')
            for index, each in enumerate(self.expectations)
            if index not in self._seen
        ]
        return [*self.errors, *missing]


def _embedded_pattern(text: str) -> str:
    """Returns the pattern of text in which `{{...}}` are regular expressions.

    Raises:
        ValueError: a regular expression that does not end or is not valid.
    """
    pattern = ""
    while True:
        plain, opening, text = text.partition("{{")
        pattern += re.escape(plain)
        if not opening:
            return pattern
        inner, closing, text = text.partition("}}")
        if not closing:
            raise ValueError("found start of regex with no end '}}'")
        try:
            re.compile(inner)
        except re.error as error:
            raise ValueError(f"invalid regex: {error}") from None
        pattern += f"(?:{inner})"
