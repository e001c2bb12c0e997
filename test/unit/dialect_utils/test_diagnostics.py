# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A diagnostic in MLIR's form."""

from __future__ import annotations

from bankwise.dialect_utils.diagnostics import Diagnostic, Severity, SourceLocation


def test_the_name_of_a_file_is_shown_in_one_line_without_escape_sequences():
    place = SourceLocation("a\n\x1b[31m.mlir", 3, 7)
    shown = str(Diagnostic(Severity.REMARK, "first line\nsecond line", place))
    assert shown == "a\\n\\x1b[31m.mlir:3:7: remark: first line\nsecond line"
