# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splitting and naming an input; the tools' tests have those that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from iree.compiler.api import Session, Source

from bankwise.iree_plugin.compile_settings import CompileSettings
from bankwise.iree_plugin.input_text import InputText, split_text
from bankwise.iree_plugin.invocations import CompileError, Invocations
from bankwise.iree_plugin.stepped_compile import source_of_file


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (b"", [b""]),
        (b"a\n", [b"a\n"]),
        (b"a\n// -----\nb\n", [b"a\n", b"\n" + b" " * 8 + b"\nb\n"]),
        (b"// -----\nb", [b" " * 8 + b"\nb"]),
        (b"a\n// -----", [b"a\n"]),
        (b"a// -----b", [b"a", b" " * 9 + b"b"]),
    ],
)
def test_split_text_keeps_places(text: bytes, parts: list[bytes]) -> None:
    assert split_text(text, b"// -----") == parts


def test_bytecode_has_one_part() -> None:
    whole = InputText(b"ML\xefR// -----", "k.mlirbc")
    assert whole.parts() == [whole]


def test_parts_keep_the_file() -> None:
    first, second = InputText(b"a\n// -----\nb", "k.mlir").parts()
    assert (first.file, second.file) == ("k.mlir", "k.mlir")
    assert InputText(b"a\n// -----\nb", "k.mlir").parts(None)[0].text == b"a\n// -----\nb"


def read_here(session: Session, path: str) -> Source:
    return InputText.read(path).source(session)


@pytest.mark.parametrize("opened", [source_of_file, read_here])
def test_an_error_in_a_file_with_a_hostile_name_is_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], opened: Callable[[Session, str], Source]
):
    path = tmp_path / "a\x1b[31m\nb.mlir"
    path.write_text("garbage(")
    session = Session()
    with Invocations(session, CompileSettings()) as reading, pytest.raises(CompileError):
        reading.read(opened(session, str(path)))
    first, *_ = capfd.readouterr().err.splitlines()
    assert first.startswith(f"{tmp_path}/a\\x1b[31m\\nb.mlir:1:1: error: custom op 'garbage'")
