# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets SIGHUP, SIGINT and SIGTERM end a tool, which says so in one line and tidies up before.

Python calls its handlers between two instructions of the main thread. A compile is a single call
into the compiler, which may take minutes, so that a handler would come late; and an exception that
a handler raises may come up inside a callback, where it is lost. Hence a thread waits for the byte
that Python's own C handler writes at once, and ends the process from there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from .signal_words import WORDS


class Interrupted(KeyboardInterrupt):
    """One of the signals, where a tool goes on to write what it has."""

    def __init__(self, number: int) -> None:
        super().__init__(WORDS[signal.Signals(number)])
        self.exit_code = exit_code(number)


def exit_code(number: int) -> int:
    """Returns what a shell reports of a program that a signal ended.

    It is 129 for SIGHUP, 130 for SIGINT, and 143 for SIGTERM.
    """
    return 128 + number


def end_on_signals(program: str) -> None:
    """Lets the signals end the process with one line, also within a native call."""

    def handle(number: int, _frame: FrameType | None) -> None:
        # Until the thread is there. Nothing temporary can exist so early.
        if not watched:
            for each in WORDS:
                signal.signal(each, signal.SIG_IGN)  # A second one would be a second line.
            _end(program, number)

    watched: list[threading.Thread] = []
    for number in WORDS:
        # What a parent process told us to ignore stays ignored, as under `nohup`.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle)
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)

    def watch() -> None:
        while True:
            number = os.read(read, 1)[0]
            if number in WORDS:
                _end(program, number)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    watched.append(thread)


@contextlib.contextmanager
def raised_signals() -> Iterator[None]:
    """Lets the first signal in the body raise Interrupted; a second does what it did."""
    wakeup = signal.set_wakeup_fd(-1)
    before = {number: signal.getsignal(number) for number in WORDS}

    def restore() -> None:
        for number, handler in before.items():
            if handler is not None:  # None stands for a handler that is not Python's.
                signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)

    def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
        restore()
        raise Interrupted(number)

    for number, handler in before.items():
        if handler not in (signal.SIG_IGN, None):
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        restore()


def let_pipes_end_process() -> None:
    """Lets a closed pipe end the process silently: for the help that the compiler prints."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def _end(program: str, number: int) -> NoReturn:
    try:
        with contextlib.suppress(OSError):
            os.write(2, f"{program}: error: {WORDS[signal.Signals(number)]}\n".encode())
        _terminate_children()
        # A tool that has not imported it has made nothing.
        made = sys.modules.get(f"{_PACKAGE}.iree_plugin.temporary_files")
        remove_all = getattr(made, "remove_all_temporaries", None)
        if remove_all is not None:
            remove_all()
    finally:
        os._exit(exit_code(number))


_PACKAGE = __name__.rsplit(".", 2)[0]


def _terminate_children() -> None:
    """Ends the programs that this process has started, such as a compiler."""
    from pathlib import Path

    for children in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError, ValueError):
            for child in children.read_text().split():
                os.kill(int(child), signal.SIGTERM)
