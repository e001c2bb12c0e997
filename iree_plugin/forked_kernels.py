# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work on the kernels of a module in forked processes, a kernel at a time in each.

IREE works on kernels in threads, beside each other. Passes in Python would wait for each other, for
the interpreter's lock. So a process that is the tool's own is forked when its module is configured:
each fork has all that is loaded and parsed, works on the kernels that it takes, and sends what has
become of them. What a fork does not send, because it failed or was killed, is worked on here, as it
would be without forks, so that errors are said once and in order. So is everything where the system
has no more processes or files.

No other thread works meanwhile: a fork would inherit its locks. MLIR's are ended before.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from iree.compiler import ir

from ..bank_model.quick_tuple import NamedTuple
from .embedding import one_thread
from .ending_forks import end_fork, wait_for_ending

_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_NUMBER_BYTES = 4
_LENGTH_BYTES = 8
_MOST = 16
"""Forks beyond that gain little, and each has memory of its own."""
_MOST_WAITING = 4096 // _NUMBER_BYTES
"""The numbers that every pipe holds; kernels beyond are worked on without forks."""


_THREADS = Path("/proc/self/task")
_WORKER = b"llvm-worker-"
_SECONDS_TO_END = 0.1
"""Within these the system forgets a thread that has ended."""
_INTERRUPTIONS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


_results = -1
"""In a fork, where it writes what it sends."""


def may_fork() -> bool:
    """Returns whether the process may be forked, and has processors for that.

    Its threads are MLIR's and the importing one then.
    """
    if sys.platform != "linux" or processors() < 2:
        return False
    import threading

    from .early_import import wait_for_imports

    wait_for_imports()
    return threading.active_count() == 1


def processors() -> int:
    """Returns on how many processors the process may run."""
    return len(os.sched_getaffinity(0))


def longest_of(kernels: Sequence[int]) -> set[int]:
    """Returns which kernels have forks for what only decides, too.

    Kernels differ in length, so that processors are idle while all wait for the longest ones. Those
    that begin when others have ended are not among these.

    Args:
        kernels: their numbers, the longest first.
    """
    return {*kernels[: processors()]}


class Sent(NamedTuple):
    """What has become of a kernel in a fork.

    Attributes:
        result: what the work has returned.
        printed: what the compiler has printed to the standard error meanwhile.
    """

    result: Any
    printed: bytes


class _Fork(NamedTuple):
    process: int
    results: IO[bytes]
    parts: bytearray


class ForkedKernels:
    """Forks that work on kernels until the body of a `with` is left.

    Whoever made it calls `wait_for_ending` then, at last before the process ends.

    Args:
        context: that of the module.
        kernels: their numbers.
        work: works on a kernel by its number, and returns what can be pickled.
        most: how many forks there are at most.
    """

    def __init__(
        self,
        context: ir.Context,
        kernels: Sequence[int],
        work: Callable[[int], object],
        most: int = _MOST,
    ) -> None:
        self._work = work
        self._sent: dict[int, Sent | None] = {}
        self._forks: list[_Fork] = []
        most = min(len(kernels), processors(), most)
        wait_for_ending()  # They have memory and numbers that the next ones may need.
        # There may be no more processes, or files. The forks that there are do it.
        with contextlib.suppress(OSError), contextlib.ExitStack() as end:
            numbers, to_fill = os.pipe()
            end.callback(os.close, numbers)
            with os.fdopen(to_fill, "wb") as file:
                for number in kernels[:_MOST_WAITING]:
                    file.write(number.to_bytes(_NUMBER_BYTES, "little"))
            # The threads of IREE's pool are not in a fork, but the pool believes that they are, so
            # that whatever was given to it there would wait for ever.
            end.enter_context(one_thread(context))
            while len(self._forks) < most and _has_no_busy_threads():
                self._forks.append(self._fork(numbers))

    def __bool__(self) -> bool:
        """Returns whether there is a fork."""
        return bool(self._forks)

    def __enter__(self) -> ForkedKernels:
        return self

    def __exit__(self, *unused: object) -> None:
        for fork in self._forks:
            fork.results.close()
            end_fork(fork.process)
        self._forks.clear()

    def sent(self, number: int) -> Sent | None:
        """Waits for a kernel; returns what was sent, or None where no fork has done the work."""
        # A selector of another kind would be a file, and there may be no more.
        with selectors.PollSelector() as selector:
            for fork in self._forks:
                selector.register(fork.results, selectors.EVENT_READ, fork)
            while number not in self._sent and selector.get_map():
                for key, _ in selector.select():
                    if not self._receive(key.data):
                        selector.unregister(key.fileobj)
        return self._sent.pop(number, None)

    def _receive(self, fork: _Fork) -> bool:
        """Takes what a fork has sent; returns whether more may come."""
        part = os.read(fork.results.fileno(), 1 << 20)
        fork.parts.extend(part)
        while len(fork.parts) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(fork.parts[:_LENGTH_BYTES], "little")
            if len(fork.parts) < end:
                break
            number, sent = pickle.loads(fork.parts[_LENGTH_BYTES:end])
            self._sent[number] = sent
            del fork.parts[:end]
        return bool(part)

    def _fork(self, numbers: int) -> _Fork:
        reading, writing = os.pipe()
        results = os.fdopen(reading, "rb", buffering=0)
        parent = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        # An interruption would take a fork to where this process deals with its own.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTIONS)
        try:
            with warnings.catch_warnings():
                # Python warns of every other thread, those that wait for work among them.
                warnings.simplefilter("ignore", DeprecationWarning)
                process = os.fork()
            if process == 0:
                try:
                    _end_with(parent)
                    signal.pthread_sigmask(signal.SIG_SETMASK, before)
                    for each in (results, *(fork.results for fork in self._forks)):
                        each.close()
                    self._work_on(numbers, writing)
                finally:
                    os._exit(0)
        except OSError:
            results.close()
            raise
        finally:
            os.close(writing)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return _Fork(process, results, bytearray())

    def _work_on(self, numbers: int, results: int) -> None:
        """Works on kernels until all are taken."""
        global _results
        _results = results
        printed = os.memfd_create("bankwise")
        os.dup2(printed, 2)
        while taken := os.read(numbers, _NUMBER_BYTES):
            number = int.from_bytes(taken, "little")
            os.ftruncate(printed, 0)
            os.lseek(printed, 0, os.SEEK_SET)
            try:
                result = self._work(number)
                _send(number, Sent(result, os.pread(printed, printed_bytes(), 0)))
            except Exception:  # It fails again where its errors are heard.
                _send(number, None)
        wait_for_ending()


def printed_bytes() -> int:
    """Returns how much has been printed to the standard error of a fork, of the kernel in work."""
    sys.stderr.flush()
    return os.lseek(2, 0, os.SEEK_CUR)


def tell(number: int, result: object) -> None:
    """Sends something of a kernel ahead, from the fork that works on it: `sent(~number)` is it."""
    _send(~number, Sent(result, b""))


def _send(number: int, sent: Sent | None) -> None:
    text = pickle.dumps((number, sent), pickle.HIGHEST_PROTOCOL)
    _write_all(_results, len(text).to_bytes(_LENGTH_BYTES, "little") + text)


def print_sent(said: bytes) -> None:
    """Prints what the compiler has said in a fork, as it does."""
    if said:
        sys.stderr.flush()
        with contextlib.suppress(OSError):
            os.write(2, said)


def _has_no_busy_threads() -> bool:
    """Returns whether no other thread may hold a lock, which no fork would ever get.

    MLIR's context has ended its workers. Others of LLVM's, which its tools share, wait for work.
    """
    until = time.monotonic() + _SECONDS_TO_END
    while sum(not _is_worker(each) for each in _THREADS.iterdir()) > 1:
        if time.monotonic() > until:
            return False
        time.sleep(_SECONDS_TO_END / 100)
    return True


def _is_worker(thread: Path) -> bool:
    try:
        return (thread / "comm").read_bytes().startswith(_WORKER)
    except FileNotFoundError:
        return True  # It has ended.


def _write_all(descriptor: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _end_with(parent: int) -> None:
    """Lets a fork end when its parent does, without a word."""
    import ctypes

    for number in _INTERRUPTIONS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
