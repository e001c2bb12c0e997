# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work in a forked process, so that whatever ends that process does not end this one.

The compiler's library ends its process on a flag that it does not know, on an assertion, and where
memory runs out. A caller that must go on then forks before it loads the library: the fork takes a
millisecond, and what this process has imported is there.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from typing import BinaryIO, NamedTuple, NoReturn


class ForkedWork(NamedTuple):
    """What a forked process has left behind.

    Attributes:
        output: what its work returned; empty if it failed.
        messages: what it, and the libraries in it, wrote to standard error.
        failure: how it ended, in a few words; empty if its work was done.
    """

    output: bytes
    messages: str
    failure: str


def run_forked(work: Callable[[], bytes]) -> ForkedWork:
    """Runs `work` in a forked process and waits for it.

    An exception of `work` is the last line of its messages, and a failure.

    Raises:
        OSError: there is no place for its output, or no process can be started.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            _work_and_leave(work, output, messages)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        written, said = (_content(file) for file in (output, messages))
    failure = _ending(code)
    return ForkedWork(b"" if failure else written, said.decode(errors="replace"), failure)


def _work_and_leave(work: Callable[[], bytes], output: BinaryIO, messages: BinaryIO) -> NoReturn:
    code = 1
    try:
        # The handlers are those of this process's own ends, which this copy must not follow.
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        os.dup2(messages.fileno(), 2)
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  The old one may hold its text.
        output.write(work())
        output.flush()
        code = 0
    except BaseException as error:
        # Whatever it is, also an exit: the copy must not go on in the caller's place.
        print(f"error: {error or type(error).__name__}", file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def _ending(code: int) -> str:
    if code < 0:
        return f"the compiler was ended by {signal.Signals(-code).name}"
    return f"the compiler ended with exit code {code}" if code else ""
