# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is said of LLVM's tools. A script stands for a tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankwise.runtime import llvm_tools
from bankwise.runtime.llvm_tools import LlvmToolError, run_tool


def test_a_tool_that_does_not_know_the_chip_is_to_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "llvm-mc"
    tool.write_text("#!/bin/sh\necho \"'gfx942' is not a recognized processor (ignoring)\" >&2\n")
    tool.chmod(0o755)
    monkeypatch.setattr(llvm_tools, "find_tool", lambda name: str(tool))
    message = r"'gfx942' is not a recognized processor .*; install a newer LLVM \(Debian: llvm-19"
    with pytest.raises(LlvmToolError, match=message):
        run_tool("llvm-mc", [])
