# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions can be read at a glance: at most 50 lines, at most 15 ways through."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from bankwise.bench.architecture_picture import ROOT, rooms

MOST_LINES = 50
MOST_WAYS = 15
EXCEPTIONS = {
    "dialect_utils/memory/vector_layouts.py: _backwards": "a short case for each kind of op",
}
"""Functions that are longer or more branched, each with the reason."""


def long_functions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            last = node.end_lineno
            assert last is not None
            if last - node.lineno >= MOST_LINES:
                yield f"{path.relative_to(ROOT)}: {node.name}"


def branched_functions() -> Iterator[str]:
    command = [
        *(sys.executable, "-m", "ruff", "check", "--isolated", "--output-format=concise"),
        *("--select=C901", f"--config=lint.mccabe.max-complexity={MOST_WAYS}", *rooms()),
    ]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    for line in run.stdout.splitlines():
        if "C901" in line:
            yield f"{line.split(':')[0]}: {line.split('`')[1]}"


def test_functions_are_short_and_straight() -> None:
    found = {
        name
        for room in rooms()
        for path in sorted((ROOT / room).rglob("*.py"))
        for name in long_functions(path)
    }
    if find_spec("ruff") is None:
        pytest.skip("ruff is not installed")
    assert found.union(branched_functions()) == EXCEPTIONS.keys()
    assert len(EXCEPTIONS) <= 3
