# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running the installed tools as a user would."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bankwise.test.tool_server import ToolServer

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

BIN = Path(sys.executable).parent


@pytest.fixture
def tool(tmp_path: Path, server: ToolServer) -> Tool:
    """Runs a tool of the environment in a fresh directory."""

    def run(name: str, *arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*server.command(name), *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=tmp_path,
            timeout=300,
        )

    return run
