# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A diagnostic in MLIR's form."""

from __future__ import annotations

from bankwise.dialect_utils.diagnostics import Diagnostic, Severity, SourceLocation, said_once


def test_the_name_of_a_file_is_shown_in_one_line_without_escape_sequences():
    place = SourceLocation("a\n\x1b[31m.mlir", 3, 7)
    shown = str(Diagnostic(Severity.REMARK, "first line\nsecond line", place))
    assert shown == "a\\n\\x1b[31m.mlir:3:7: remark: first line\nsecond line"


def test_what_is_compiled_again_says_nothing_twice_but_errors():
    heard: list[Diagnostic] = []
    say = said_once(heard.append)
    error, *others = [Diagnostic(each, "it is so") for each in (Severity.ERROR, *Severity)]
    for each in (error, *others, *others):
        say(each)
    assert heard == [error, *others, error]
