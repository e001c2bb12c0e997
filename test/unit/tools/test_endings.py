# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors in one line."""

import io
import sys

import pytest

from bankwise.tools.endings import exit_code_of, fail, file_error, open_standard_streams


def test_an_error_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert fail("tool", "wrong") == 1
    assert capsys.readouterr().err == "tool: error: wrong\n"


def test_files_are_named_where_they_are_known() -> None:
    assert file_error(FileNotFoundError(2, "No such file", "a")) == "'a': No such file"
    assert file_error(OSError(28, "No space left")) == "No space left"
    assert file_error(OSError("odd")) == "odd"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("x.so: failed to map segment from shared object"),
        OSError("x.so: failed to map segment from shared object"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_too_little_memory_is_said_however_it_shows(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def main() -> int:
        raise error

    assert exit_code_of("tool", main) == 1
    assert capsys.readouterr().err == "tool: error: this machine has too little memory for it\n"


def test_names_cannot_forge_a_line_or_recolour_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fail("tool", "cannot open 'a\ntool: error: forged\x1b[2J'")
    assert capsys.readouterr().err == (
        "tool: error: cannot open 'a\\ntool: error: forged\\x1b[2J'\n"
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_an_encoding_lacks_is_written_plainly(
    monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
    open_standard_streams()
    print("┌─│ \u03c3 \udcff", flush=True)
    drawn = "┌─│ \u03c3" if encoding == "utf-8" else "+-| \\u03c3"
    assert written.getvalue() == f"{drawn} \\xff\n".encode()
