# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`make demo` prints what the README quotes."""

from .conftest import Tool


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
