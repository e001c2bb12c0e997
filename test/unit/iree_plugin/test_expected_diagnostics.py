# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matching of diagnostics with `expected-*` comments."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.diagnostics import Diagnostic, Severity, SourceLocation
from bankwise.iree_plugin.expected_diagnostics import ExpectedDiagnostics

FILE = "x.mlir"


def at(line: int, severity: str, message: str, file: str = FILE) -> Diagnostic:
    return Diagnostic(Severity(severity), message, SourceLocation(file, line, 1))


def errors(text: str, *diagnostics: Diagnostic, only_expected: bool = False) -> list[str]:
    expected = ExpectedDiagnostics.of(text, FILE, only_expected=only_expected)
    expected.check(diagnostics)
    return [str(error) for error in expected.finish()]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("op // expected-error {{bad}}", 1),
        ("// expected-error@+1 {{bad}}\nop", 2),
        ("// expected-error @+3 {{bad}}\n\n\nop", 4),
        ("op\n// expected-error @-1 {{bad}}", 1),
        ("op\n// expected-remark @above {{good}}\n// expected-error @above {{bad}}", 1),
        ("// expected-error @below {{bad}}\n// expected-remark @+2 {{good}}\nop", 3),
        ("// expected-error @below {{bad}}  \r\nop", 2),
    ],
)
def test_designators_name_a_line(text: str, line: int) -> None:
    remarks = [at(line, "remark", "very good")] if "remark" in text else []
    if "@+2" in text:
        remarks = [at(4, "remark", "good")]
    assert errors(text, at(line, "error", "a bad op"), *remarks) == []
    elsewhere = errors(text, at(line + 1, "error", "a bad op"), *remarks)
    assert len(elsewhere) == 2
    assert elsewhere[0] == f"{FILE}:{line + 1}:1: error: unexpected error: a bad op"
    assert elsewhere[1].endswith('error: expected error "bad" was not produced')


def test_missing_diagnostic_points_at_its_comment() -> None:
    assert errors("op\n  // expected-warning {{slow}}") == [
        f'{FILE}:2:6: error: expected warning "slow" was not produced'
    ]


def test_other_severity_is_a_near_miss() -> None:
    found = errors("op // expected-error {{bad}}", at(1, "warning", "bad"))
    assert found[0] == (f"{FILE}:1:7: error: 'warning' diagnostic emitted when expecting a 'error'")
    assert "was not produced" in found[1]


def test_unknown_position() -> None:
    nowhere = Diagnostic(Severity.ERROR, "lost")
    assert errors("// expected-error @unknown {{lost}}", nowhere) == []
    assert errors("// expected-error {{lost}}", nowhere)[0] == "error: unexpected error: lost"
    assert len(errors("// expected-error @unknown {{lost}}", at(1, "error", "lost"))) == 2


def test_other_file_is_unexpected() -> None:
    assert len(errors("// expected-error {{bad}}", at(1, "error", "bad", "y.mlir"))) == 2


def test_one_comment_matches_several_diagnostics() -> None:
    assert errors("// expected-note {{n}}", at(1, "note", "n 1"), at(1, "note", "n 2")) == []


def test_text_is_literal_without_re() -> None:
    text = "// expected-error {{f(.*) [x]}}"
    assert errors(text, at(1, "error", "f(.*) [x]")) == []
    assert len(errors(text, at(1, "error", "f(a) x"))) == 2


def test_embedded_patterns() -> None:
    text = "// expected-error-re {{row (of) {{[0-9]+}} x {{a|b}} end}}"
    assert errors(text, at(1, "error", "the row (of) 12 x b end.")) == []
    assert len(errors(text, at(1, "error", "the row (of) 12 x c end."))) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("// expected-error-re {{a {{b}}", "found start of regex with no end '}}'"),
        ("// expected-error-re {{a {{(}} b}}", "invalid regex:"),
    ],
)
def test_malformed_pattern_is_an_error(text: str, reason: str) -> None:
    (only,) = errors(text)
    assert only.startswith(f"{FILE}:1:4: error: {reason}")


def test_only_expected_ignores_the_rest() -> None:
    text = "// expected-error {{bad}}"
    assert errors(text, at(1, "error", "bad"), at(5, "error", "x"), only_expected=True) == []
    assert len(errors(text, only_expected=True)) == 1


def test_comment_must_end_the_line() -> None:
    assert errors("// expected-error {{bad}} in short") == []
