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
    came: list[Interrupted] = []

    def interrupt(number: int, _frame: object) -> NoReturn:
        came.append(Interrupted(number))
        raise came[-1]

    try:
        for number in WORDS:
            if signal.getsignal(number) is signal.SIG_IGN:
                # LLVM hears it all the same, and removes the files that it is writing.
                signal.pthread_sigmask(signal.SIG_BLOCK, [number])
            else:
                signal.signal(number, interrupt)
        return main()
    except BaseException as error:
        if isinstance(error, Interrupted):
            came.append(error)
        if not came:
            raise
        # NumPy's C code makes an ImportError of what a signal raises while NumPy is loaded.
        signal.pthread_sigmask(signal.SIG_BLOCK, WORDS)  # A second one would be a second line.
        import contextlib

        with contextlib.suppress(OSError):  # The exit code says it.
            os.write(2, f"{program}: error: {came[-1]}\n".encode())
        return came[-1].exit_code
