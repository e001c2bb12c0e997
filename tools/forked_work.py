# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work in a forked process, so that whatever ends that process does not end this one.

The compiler's library crashes, or ends its process, where memory runs out, on an assertion and on a
flag that it does not know; and no handler of Python's runs during a call into it, which may take
minutes. So it works in another process, and this one waits: it hears signals at once, removes what
is temporary, and says how the other one has ended. The fork is made before the library is loaded,
and takes a millisecond.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

from ..iree_plugin.temporary_files import one_temporary_folder
from ..iree_plugin.unverified import ended_in_work, watched
from .interruption import WORDS, Interrupted

_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_TOLD = (*WORDS, signal.SIGKILL, signal.SIGPIPE)
"""Signals that somebody sends, or that say that nobody reads what is written."""
_TOLD_ALREADY = 0.1
"""Seconds in which a process ends that a terminal has told of a signal. LLVM, which removes its
files then, has no handler for a second one until that is done."""


def run_forked(work: Callable[[], int]) -> int:
    """Does work in a forked process; returns its exit code, or minus the signal that has ended it.

    Where it has ended while IR was not verified, the work is done again, with all verified.

    Raises:
        Interrupted: this process was told to end; the other one has ended.
        OSError: there can be no other process.
    """
    with _temporary_folder():
        with watched():
            code = _forked(work)
            again = ended_in_work() and -code not in _TOLD
        return _forked(work) if again else code


@contextlib.contextmanager
def _temporary_folder() -> Iterator[None]:
    """Has all that is temporary in one folder; a signal that comes while that is made or removed is
    heard afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WORDS)
    try:
        with one_temporary_folder():
            try:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                yield
            finally:
                signal.pthread_sigmask(signal.SIG_BLOCK, WORDS)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _forked(work: Callable[[], int]) -> int:
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WORDS)
    try:
        child = os.fork()
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise OSError(error.errno, f"no process can be started: {error.strerror}") from None
    if child == 0:
        for number in WORDS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _end_with(parent)
        _work_and_leave(work)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except Interrupted:
        signal.pthread_sigmask(signal.SIG_BLOCK, WORDS)
        time.sleep(_TOLD_ALREADY)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)
        raise


def _work_and_leave(work: Callable[[], int]) -> None:
    code = 1
    try:
        code = work()
    except BaseException as error:
        # Whatever it is: the copy must not go on in the caller's place.
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        os._exit(code)


def _end_with(parent: int) -> None:
    """Lets this process be ended when its parent is killed, where the system can do that."""
    if sys.platform == "linux":
        import ctypes  # The compiler's bindings load it too.

        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)
