# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tool whose crash is a line: its work is done in a forked process, which this one waits for.

The compiler's library is in the process of the tool. Where it crashes, nothing of Python runs any
more that could say so, and a shell may print nothing either. The fork is made before anything is
loaded, and takes a millisecond.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from .endings import fail
from .signal_words import WORDS

_CRASHES = frozenset(
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS")
    if hasattr(signal, name)
)
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_TOLD_ALREADY = 0.1
"""Seconds in which a child ends that has heard the signal itself."""


def supervised(program: str, work: Callable[[], int], explain: Callable[[str], str]) -> int:
    """Runs a tool in a process of its own; returns its exit code, 1 where it has crashed.

    Args:
        work: never returns here: it ends its process. It is what deals with signals.
        explain: returns the error of a crash; the name of the signal is given, such as `SIGSEGV`.
    """
    if not hasattr(os, "fork"):
        return work()
    with _held_signals():
        parent = os.getpid()
        child = os.fork()
        before = _pass_signals_on(child) if child else {}
    if child == 0:
        _end_with(parent)
        os._exit(work())
    _, status = os.waitpid(child, 0)
    for number, handler in before.items():
        signal.signal(number, handler)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    if -code in _CRASHES:
        return fail(program, explain(signal.Signals(-code).name))
    if -code == signal.SIGKILL:
        return fail(program, "the compiler was killed (SIGKILL), as where memory runs out")
    _die_by(-code)
    return 128 - code


@contextlib.contextmanager
def _held_signals() -> Iterator[None]:
    """Lets signals wait until it is clear who hears them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WORDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _pass_signals_on(child: int) -> dict[int, Any]:
    """Lets the child hear what this process alone is told; a terminal tells both.

    Returns the handlers that there were.
    """

    def pass_on(number: int, _frame: object) -> None:
        # A child that a terminal has told must not hear it twice: LLVM, which removes its files
        # when a signal comes, has no handler for a second one until that is done.
        time.sleep(_TOLD_ALREADY)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    before: dict[int, Any] = {}
    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, pass_on)
    return before


def _end_with(parent: int) -> None:
    """Lets this process be terminated when its parent is killed, where the system can do that."""
    if sys.platform != "linux":
        return
    import ctypes  # The compiler's bindings load it too.

    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


def _die_by(number: int) -> NoReturn:
    """Ends this process as the signal has ended the other one, such as SIGPIPE."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
