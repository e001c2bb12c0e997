# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler names its inputs in one line, without escape sequences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from iree.compiler.api import Session, Source

from bankwise.iree_plugin.compile_settings import CompileSettings
from bankwise.iree_plugin.input_text import InputText
from bankwise.iree_plugin.stepped_compile import CompileError, SteppedCompile, source_of_file


def read_here(session: Session, path: str) -> Source:
    return InputText.read(path).source(session)


@pytest.mark.parametrize("opened", [source_of_file, read_here])
def test_an_error_in_a_file_with_a_hostile_name(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], opened: Callable[[Session, str], Source]
):
    path = tmp_path / "a\x1b[31m\nb.mlir"
    path.write_text("garbage(")
    session = Session()
    with SteppedCompile(session, CompileSettings()) as reading, pytest.raises(CompileError):
        reading.parse(opened(session, str(path)))
    first, *_ = capfd.readouterr().err.splitlines()
    assert first.startswith(f"{tmp_path}/a\\x1b[31m\\nb.mlir:1:1: error: custom op 'garbage'")
