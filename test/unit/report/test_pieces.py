# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What text and Markdown of reports and of answers about tiles are made of."""

from __future__ import annotations

from rich.text import Text

from bankwise.report.consoles import figure_table, printed, text_console
from bankwise.report.markdown_text import drawing, table


def test_printed_text_has_no_blanks_at_its_ends_and_one_empty_line_at_most() -> None:
    console, buffer = text_console(40, colour=False)
    console.print("one  \n\n  \n\ntwo\n\n")
    assert printed(buffer) == "one\n\ntwo\n"


def test_figures_are_aligned_to_the_right() -> None:
    console, buffer = text_console(40, colour=False)
    figures = figure_table(["words", "figures"])
    figures.add_row("a", "1")
    console.print(figures)
    lines = printed(buffer).splitlines()
    (title,) = (line for line in lines if "figures" in line)
    (row,) = (line for line in lines if "a" in line.split())
    assert title.index("words") == row.index("a")
    assert len(title) == len(row)
    assert row.endswith(" 1")


def test_a_table_says_which_columns_are_numbers() -> None:
    lines = [*table(("", "at", "cycles"), (False, False, True), [("a", "b", "1")])]
    assert lines == ["| | at | cycles |", "| --- | --- | --: |", "| a | b | 1 |"]


def test_a_drawing_is_code_with_a_line_below_it() -> None:
    assert [*drawing(Text("0 1\n2 3\n"))] == ["```", "0 1\n2 3", "```"]
    assert [*drawing(Text("0\n"), "the same")] == ["```", "0", "```", "", "the same"]
