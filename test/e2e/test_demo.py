# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`make demo` prints what the README quotes."""

import re
from importlib import resources
from pathlib import Path

import pytest

from bankwise.tools.demo import _next_steps

from .conftest import Tool

EXAMPLES = Path(str(resources.files("bankwise") / "examples"))


def test_the_demo_prints_both_examples(tool: Tool) -> None:
    result = tool("python", "-m", "bankwise.tools.demo")
    assert result.returncode == 0, result.stderr
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.split("\n")]
    figures = [row for row in cells if len(row) == 3]
    assert [row[1:] for row in figures if row[0].startswith("conflict cycles")] == [
        ["2,176", "0"],
        ["16,640", "0"],
    ]
    assert [row[1:] for row in figures if row[0] == "LDS bytes"] == [
        ["42,496", "40,960"],
        ["50,432", "49,152"],
    ]
    assert result.stderr.splitlines() == [
        "demo: 1 of 2: attention_f16 for gfx942, both ways ...",
        "demo: 2 of 2: attention_f32 for gfx942, both ways ...",
    ]


@pytest.mark.nightly
def test_it_ends_with_commands_that_run(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = _next_steps(EXAMPLES)
    commands = [
        " ".join(line.replace("\\\n", " ").split())
        for line in re.findall(r"  (bankwise-(?:tile|run) (?:[^\n]*\\\n)*[^\n]*)", said)
    ]
    assert [command.split()[0] for command in commands] == ["bankwise-run", "bankwise-tile"]
    for command in commands:
        done = tool(*command.split())
        assert done.returncode == 0, done.stderr
