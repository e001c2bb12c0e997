# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a long emulation is, on a terminal and in a log."""

from __future__ import annotations

import io

import pytest

from bankwise.emulator.supervision import RunState
from bankwise.tools.run_progress import ProgressLines

from ..emulator.small_kernels import kernel

KERNEL = kernel("\ts_nop 0")
LINE = "k: 8 of 128 workgroups, then 20,000 steps, at small.s:3"
STATE = RunState(KERNEL, 8, 128, 20_000, KERNEL.instructions[0])


class Stream(io.StringIO):
    """A stream that may be a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def printed(terminal: bool, seconds: list[float]) -> str:
    """Returns what is printed where the state is told after so many seconds."""
    stream = Stream(terminal)
    times = iter([0.0, *seconds])
    lines = ProgressLines(stream, lambda: next(times))
    for _ in seconds:
        lines.tell(STATE)
    lines.clear()
    return stream.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_a_short_run_prints_nothing(terminal: bool):
    assert printed(terminal, [0.1, 1.0, 1.9]) == ""


def test_a_log_gets_a_line_after_ten_seconds_and_one_every_half_a_minute():
    assert printed(False, [3, 9, 11, 20, 39, 42, 60]) == f"{LINE}\n{LINE}\n"


def test_a_terminal_has_one_line_that_goes_in_the_end():
    text = printed(True, [2.5, 2.6, 3.1])
    assert text == f"\r\x1b[K{LINE}\r\x1b[K{LINE}\r\x1b[K"
