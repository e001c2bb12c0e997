# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs: files that appear under their names only when they are complete, and streams."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from .temporary_files import temporary_neighbour

_STDOUT = ("-", "/dev/stdout")


class OutputError(RuntimeError):
    """An output that cannot be written; the message names it and says why."""

    def __init__(self, path: str, reason: str | None) -> None:
        super().__init__(f"cannot write '{path}': {reason}")


class AtomicFile:
    """A file written beside its target and renamed onto it; in a `with`, discarded at the end.

    Attributes:
        temporary: the path to write to.
    """

    def __init__(self, path: str) -> None:
        """Reserves the place of `path`; a symbolic link is followed.

        Raises:
            OutputError: the directory or the file cannot be written to, or `path` is a directory.
        """
        try:
            self._target = Path(path).resolve()
            directory = self._target.parent
            if self._target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not directory.is_dir():
                raise FileNotFoundError(errno.ENOENT, f"there is no directory '{directory}'")
            if self._target.is_file():  # To open a pipe waits for a reader.
                # A rename would replace a file that is protected from being written.
                os.close(os.open(self._target, os.O_WRONLY))
            self.temporary = temporary_neighbour(self._target)
        except OSError as error:
            raise OutputError(path, error.strerror) from None
        except RuntimeError:  # What `resolve` makes of a loop.
            raise OutputError(path, os.strerror(errno.ELOOP)) from None

    def __enter__(self) -> AtomicFile:
        return self

    def __exit__(self, *unused: object) -> None:
        self.discard()

    def keep(self) -> None:
        """Puts the file in place, with the mode of the file that it replaces."""
        with contextlib.suppress(FileNotFoundError):
            self.temporary.chmod(self._target.stat().st_mode & 0o777)
        self.temporary.replace(self._target)

    def discard(self) -> None:
        """Removes what was written, unless it was kept."""
        self.temporary.unlink(missing_ok=True)


def check_output(path: str) -> None:
    """Finds out, before the work, whether `write_output` can write; leaves no trace.

    Raises:
        OutputError: it cannot.
    """
    if not is_stream_or_device(path):
        AtomicFile(path).discard()


def check_distinct(inputs: Iterable[str], outputs: Mapping[str, str | None]) -> None:
    """Makes sure that no output goes over an input, or over another output.

    Args:
        inputs: the files that are read; `-` is the standard input.
        outputs: for each flag the file that it names, if it is given.

    Raises:
        OutputError: one does, or has no place.
    """
    seen = {place_of(path): "an input" for path in inputs if path != "-"}
    for flag, path in outputs.items():
        try:
            place = None if path is None else place_of(path)
        except OSError as error:  # The current folder is gone.
            raise OutputError(str(path), error.strerror) from None
        if path is not None and place is not None:
            if place in seen:
                raise OutputError(path, f"{flag} names {seen[place]}; name another file")
            seen[place] = f"the file of {flag}, too"


def write_output(path: str, data: bytes | memoryview) -> None:
    """Writes to stdout (`-`), a device or a pipe, or a file that appears complete or not at all.

    Raises:
        OutputError: it cannot be written.
        BrokenPipeError: nobody reads on.
    """
    try:
        if path in _STDOUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        elif is_stream_or_device(path):
            Path(path).write_bytes(data)
        else:
            with AtomicFile(path) as file:
                file.temporary.write_bytes(data)
                file.keep()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(path, error.strerror) from None


def is_terminal(path: str) -> bool:
    """Returns whether what is written to `path` appears on a terminal."""
    if path in _STDOUT:
        return sys.stdout.isatty()
    try:
        if not stat.S_ISCHR(Path(path).stat().st_mode):
            return False
        descriptor = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return os.isatty(descriptor)
    finally:
        os.close(descriptor)


def place_of(path: str) -> str | None:
    """Returns what tells whether two outputs would go over each other: one text for stdout, and one
    for each file. Returns None for devices and pipes, which take any number of outputs."""
    if path in _STDOUT:
        return "-"
    return None if is_stream_or_device(path) else os.path.realpath(path)


def is_stream_or_device(path: str) -> bool:
    """Returns whether `path` is stdout, a device or a pipe, which a file cannot replace."""
    if path in _STDOUT:
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
