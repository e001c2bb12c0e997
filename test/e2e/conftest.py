# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running the installed tools as a user would."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bankwise.test.tool_server import ToolServer, tool_server

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

BIN = Path(sys.executable).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves to the nightly tests what `@pytest.mark.sampled` does not keep.

    Of a table that is every second case. A grid names its parameters, as in
    `sampled("dtype", "arch")`, and keeps the squares of one colour, so that every value stays.
    """
    seen: dict[tuple[str, str], list[object]] = {}
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is None:
            continue
        assert isinstance(item, pytest.Function)
        function, place = item.nodeid.partition("[")[0], 0
        for name in sampled.args or ("",):
            values = seen.setdefault((function, name), [])
            value = item.callspec.params[name] if name else item.name
            if value not in values:
                values.append(value)
            place += values.index(value)
        if place % 2:
            item.add_marker(pytest.mark.nightly)


@pytest.fixture(scope="session")
def server() -> Iterator[ToolServer]:
    with tool_server() as started:
        yield started


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
