# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work on the kernels of a module in forked processes, a kernel at a time in each.

IREE works on kernels in threads, beside each other. Passes in Python would wait for each other, for
the interpreter's lock. So a process that is the tool's own is forked when its module is configured:
each fork has all that is loaded and parsed, works on the kernels that it takes, and sends what has
become of them. What a fork does not send, because it failed or was killed, is worked on here, as it
would be without forks, so that errors are said once and in order.

MLIR's threads are ended before the forks, which would inherit their locks.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import signal
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any, NamedTuple

from iree.compiler import ir

_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_NUMBER_BYTES = 4
_LENGTH_BYTES = 8
_MOST = 16
"""Forks beyond that gain little, and each has memory of its own."""
_MOST_WAITING = 4096 // _NUMBER_BYTES
"""The numbers that every pipe holds; kernels beyond are worked on without forks."""


def may_fork() -> bool:
    """Returns whether the process may be forked: its threads are MLIR's and the importing one."""
    if sys.platform != "linux":
        return False
    import threading

    from .early_import import wait_for_imports

    wait_for_imports()
    return threading.active_count() == 1


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

    Args:
        context: that of the module.
        kernels: their numbers.
        work: works on a kernel by its number, and returns what can be pickled.
    """

    def __init__(
        self, context: ir.Context, kernels: Sequence[int], work: Callable[[int], object]
    ) -> None:
        self._work = work
        self._sent: dict[int, Sent] = {}
        self._forks: list[_Fork] = []
        numbers, to_fill = os.pipe()
        for number in kernels[:_MOST_WAITING]:
            os.write(to_fill, number.to_bytes(_NUMBER_BYTES, "little"))
        os.close(to_fill)
        forks = min(len(kernels), len(os.sched_getaffinity(0)), _MOST)
        context.enable_multithreading(False)
        try:
            for _ in range(forks):
                self._forks.append(self._fork(numbers))
        except OSError:  # There may be no more processes. Those that there are do it.
            pass
        finally:
            os.close(numbers)
            context.enable_multithreading(True)

    def __enter__(self) -> ForkedKernels:
        return self

    def __exit__(self, *unused: object) -> None:
        for fork in self._forks:
            fork.results.close()
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(fork.process, signal.SIGKILL)
                os.waitpid(fork.process, 0)
        self._forks.clear()

    def sent(self, number: int) -> Sent | None:
        """Waits for a kernel; returns what was sent, or None where no fork has worked on it."""
        with selectors.DefaultSelector() as selector:
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
        parent = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process:
            os.close(writing)
            return _Fork(process, os.fdopen(reading, "rb", buffering=0), bytearray())
        try:
            _end_with(parent)
            for each in (reading, *(fork.results.fileno() for fork in self._forks)):
                os.close(each)
            self._work_on(numbers, writing)
        finally:
            os._exit(0)

    def _work_on(self, numbers: int, results: int) -> None:
        """Works on kernels until all are taken, or one fails."""
        printed = os.memfd_create("bankwise")
        os.dup2(printed, 2)
        while taken := os.read(numbers, _NUMBER_BYTES):
            number = int.from_bytes(taken, "little")
            os.ftruncate(printed, 0)
            os.lseek(printed, 0, os.SEEK_SET)
            try:
                result = self._work(number)
            except Exception:
                continue  # It fails again where its errors are heard.
            sys.stderr.flush()
            said = os.pread(printed, os.fstat(printed).st_size, 0)
            text = pickle.dumps((number, Sent(result, said)), pickle.HIGHEST_PROTOCOL)
            _write_all(results, len(text).to_bytes(_LENGTH_BYTES, "little") + text)


def _write_all(descriptor: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _end_with(parent: int) -> None:
    """Lets a fork end when its parent does, without a word."""
    import ctypes

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
