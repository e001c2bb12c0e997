# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SIGHUP, SIGINT and SIGTERM end a tool with one line, and not with a traceback.

A tool imports this before all else, and it imports nothing.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

WORDS = {
    signal.SIGHUP: "hung up",
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
}
"""The signals, and what the tools say of each."""


class Interrupted(KeyboardInterrupt):
    """One of the signals. The exit code is what a shell reports of a program that it ended."""

    def __init__(self, number: int) -> None:
        super().__init__(WORDS[signal.Signals(number)])
        self.exit_code = 128 + number


def run_interruptibly(program: str, main: Callable[[], int]) -> int:
    """Runs a tool, in which each of the signals raises Interrupted; returns its exit code."""
    try:
        for number in WORDS:
            if signal.getsignal(number) is signal.SIG_IGN:
                # LLVM hears it all the same, and removes the files that it is writing.
                signal.pthread_sigmask(signal.SIG_BLOCK, [number])
            else:
                signal.signal(number, _interrupt)
        return main()
    except Interrupted as interrupt:
        signal.pthread_sigmask(signal.SIG_BLOCK, WORDS)  # A second one would be a second line.
        import contextlib

        with contextlib.suppress(OSError):  # The exit code says it.
            os.write(2, f"{program}: error: {interrupt}\n".encode())
        return interrupt.exit_code


def _interrupt(number: int, _frame: object) -> NoReturn:
    raise Interrupted(number)
