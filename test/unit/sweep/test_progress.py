# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a long command says of how far it is, on a terminal and in a log."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from bankwise.sweep import progress as module
from bankwise.sweep.progress import LogLines, progress, tracked


def lines_of(total: int, seconds: float, done: int = 0, failing: int = 0) -> list[str]:
    """Returns the lines of a command whose rows take some seconds each."""
    now, lines = [0.0], list[str]()
    watch = LogLines("sweep", total, done, "rows", lines.append, clock=lambda: now[0])
    for number in range(total - done):
        now[0] += seconds
        watch.advance(failed=number < failing)
    return lines


def test_a_line_comes_for_every_tenth():
    lines = lines_of(220, seconds=1, failing=1)
    assert lines[0] == "sweep: 22 of 220 rows, 1 failed, about 3 min left"
    assert [line.split()[1] for line in lines] == [str(22 * n) for n in range(1, 10)]
    assert lines[-1] == "sweep: 198 of 220 rows, 1 failed, about 22 s left"


def test_slow_rows_have_a_line_every_half_minute():
    lines = lines_of(1000, seconds=8)
    assert [line.split()[1] for line in lines[:3]] == ["4", "8", "12"]
    assert lines[0] == "sweep: 4 of 1000 rows, about 2 h left"


def test_lines_keep_their_distance_and_a_short_command_has_none():
    assert lines_of(100, seconds=0.09) == []
    assert [line.split()[1] for line in lines_of(1000, seconds=0.0625)] == [
        "160", "320", "480", "640", "800", "960"]  # fmt: skip


def test_rows_that_were_done_before_take_no_time():
    lines = lines_of(200, seconds=1, done=100)
    assert lines[0] == "sweep: 120 of 200 rows, about 80 s left"


def clock_of(steps: float) -> Callable[[], float]:
    now = [0.0]

    def clock() -> float:
        now[0] += steps
        return now[0]

    return clock


def test_a_log_has_plain_lines_and_the_items_are_yielded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("COLUMNS", "20")
    created = module.LogLines
    monkeypatch.setattr(module, "LogLines", lambda *a: created(*a, clock=clock_of(15.0)))
    assert list(tracked("abc", "[long title] of a check", 3, "kernels")) == ["a", "b", "c"]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "[long title] of a check: 1 of 3 kernels, about 30 s left",
        "[long title] of a check: 2 of 3 kernels, about 15 s left",
    ]


def test_a_terminal_has_a_bar():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100)
    with progress("sweep", 4, done=1, console=console) as watch:
        watch.advance("k f16 gfx942 auto")
    shown = file.getvalue()
    assert "2/4" in shown
    assert "k f16 gfx942 auto" in shown
    assert "2 of 4" not in shown
