# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ends forks that are not needed any more, without waiting for them.

A fork of a process with the compiler gives its memory back for 3 to 5 ms before it has ended, in
which the process goes on.
"""

from __future__ import annotations

import contextlib
import os
import signal

_ending: list[int] = []
"""Forks of this process that have not been waited for."""


def end_fork(process: int) -> None:
    """Kills a fork that has not ended. It stays in the table of processes until
    `wait_for_ending`."""
    # Where SIGCHLD is ignored, its number may be that of somebody's process by now.
    with contextlib.suppress(ChildProcessError):
        if os.waitpid(process, os.WNOHANG) == (0, 0):
            os.kill(process, signal.SIGKILL)
            _ending.append(process)


def wait_for_ending() -> None:
    """Waits until all forks have ended that `end_fork` was called for."""
    while _ending:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(_ending[-1], 0)
        _ending.pop()
