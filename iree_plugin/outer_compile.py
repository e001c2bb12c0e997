# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `iree-compile` process that has started this one, and what a tool has to know of it.

`--iree-hal-preprocess-executables-with=TOOL` starts a tool without the flags of the compile, and
with a temporary file as its standard error, which nobody reads when the tool succeeds. Linux has
both in /proc: the command line, and the compile's own standard error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..bank_model.quick_tuple import NamedTuple
from .compile_settings import joined_flags

_COMPILER = "iree-compile"
_PROC = Path("/proc")
# What LLVM calls the file, as iree-compile asks it to.
_DISCARDED_STDERR = "executable-preprocessor-stderr"
_PIDFD_GETFD = 438  # A system call that Python has no function for; its number on every processor.
# These say what a compile prints, times, writes and substitutes, and with which tools: all that
# happens in the outer compile, and must not happen twice.
_OUTER_ALONE = re.compile(r"--?(mlir-|iree-hal-(preprocess|dump|substitute|list)-)")


class OuterCompile(NamedTuple):
    """A running `iree-compile`.

    Attributes:
        pid: its process.
        program: the file that it runs.
        arguments: its command line, without the program's name.
    """

    pid: int
    program: Path
    arguments: tuple[str, ...]

    @staticmethod
    def find() -> OuterCompile | None:
        """Returns the nearest `iree-compile` among the processes that this one comes from.

        There may be a shell between them. Returns None where none can be seen: in another program
        that has loaded the compiler's library, and on systems without /proc.
        """
        for pid in _ancestors():
            try:
                words = (_PROC / str(pid) / "cmdline").read_bytes().removesuffix(b"\0").split(b"\0")
                program = (_PROC / str(pid) / "exe").readlink()
            except OSError:  # It has ended, or belongs to another user.
                return None
            if program.name.removesuffix(" (deleted)") == _COMPILER:
                return OuterCompile(pid, program, tuple(map(os.fsdecode, words[1:])))
        return None


def _ancestors() -> Iterator[int]:
    """Yields the ids of the parent of this process, of its parent, and so on."""
    pid = os.getppid()
    while pid > 1:
        yield pid
        try:
            # The name, in parentheses, may hold anything; the state and the parent follow.
            pid = int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return


def passed_on(flags: Sequence[str]) -> tuple[str, ...]:
    """Returns those of the outer compile's flags that a compile of one of its executables takes."""
    return tuple(flag for flag in joined_flags(flags) if not _OUTER_ALONE.match(flag))


def show_messages(outer: OuterCompile | None) -> None:
    """Makes the outer compile's standard error that of this process, if ours is a file that the
    compiler throws away.

    It stays as it is where the other one cannot be reached.
    """
    try:
        if not Path("/proc/self/fd/2").readlink().name.startswith(_DISCARDED_STDERR):
            return
        pid = os.getppid() if outer is None else outer.pid
        stream = _shared_stderr(pid)
        if stream < 0:
            # A file is appended to: what the other process writes later may still go over it.
            stream = os.open(f"/proc/{pid}/fd/2", os.O_WRONLY | os.O_APPEND)
    except OSError:  # A socket cannot be opened.
        return
    os.dup2(stream, 2)
    os.close(stream)


def _shared_stderr(pid: int) -> int:
    """Returns the standard error of another process, with the place that it has reached in a file.

    Returns -1 where the system does not let one process have the files of another.
    """
    if not hasattr(os, "pidfd_open"):
        return -1
    import ctypes

    process = os.pidfd_open(pid)
    try:
        return ctypes.CDLL(None).syscall(_PIDFD_GETFD, process, 2, 0)
    finally:
        os.close(process)
