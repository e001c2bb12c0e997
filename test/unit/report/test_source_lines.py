# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text at a location: what is read, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankwise.report.source_lines import SourceLines


def test_a_line_is_read_once_and_without_indentation(tmp_path: Path) -> None:
    path = tmp_path / "with:colon.mlir"
    path.write_text("first\n  second  \n")
    lines = SourceLines()
    assert lines.line(f"{path}:2:3") == "second"
    path.unlink()
    assert lines.line(f"{path}:1:1") == "first"
    assert lines.line(f"{path}:9:1") == lines.line(f"{path}:0:1") == ""


def test_lines_are_whole_unless_nobody_has_written_them(tmp_path: Path) -> None:
    path = tmp_path / "a.mlir"
    path.write_text("\n".join(["x" * 9_999, "y" * 12_345, "\ta\tb \x1b[2J"]))
    assert SourceLines().line(f"{path}:1:1") == "x" * 9_999
    assert SourceLines().line(f"{path}:2:1") == f"{'y' * 10_000} ... and 2,345 more characters"
    assert SourceLines().line(f"{path}:3:1") == "a b \\x1b[2J"


@pytest.mark.parametrize("place", ["", "-:1:1", "none.mlir:1:1", "a.mlir", "a.mlir:x:1", "/:1:1"])
def test_what_is_no_place_in_a_file_has_no_line(place: str) -> None:
    assert SourceLines().line(place) == ""


def test_what_is_no_text_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "bytecode.mlirbc"
    path.write_bytes(b"ML\xefR\r")
    assert SourceLines().line(f"{path}:1:1") == ""
    assert SourceLines().line("/dev/zero:1:1") == ""
    assert SourceLines().line("a\0b:1:1") == ""
