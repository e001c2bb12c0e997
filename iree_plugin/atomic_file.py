# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Output files that appear under their names only when they are complete."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


class AtomicFile:
    """A file written beside its target and renamed onto it.

    Attributes:
        temporary: the path to write to.
    """

    def __init__(self, path: str) -> None:
        """Reserves the place of `path`; a symbolic link is followed.

        Raises:
            OSError: the directory cannot be written to, or `path` is a directory.
        """
        self._target = Path(path).resolve()
        if self._target.is_dir():
            raise IsADirectoryError(21, "Is a directory", path)
        # A neighbour, so that the final rename stays within one file system.
        handle, name = tempfile.mkstemp(dir=self._target.parent, prefix=f".{self._target.name}.")
        os.close(handle)
        self.temporary = Path(name)

    def keep(self) -> None:
        """Puts the file in place, with the mode of the file that it replaces."""
        mask = os.umask(0)
        os.umask(mask)
        exists = self._target.exists()
        self.temporary.chmod(self._target.stat().st_mode & 0o777 if exists else 0o666 & ~mask)
        self.temporary.replace(self._target)

    def discard(self) -> None:
        """Removes what was written, unless it was kept."""
        self.temporary.unlink(missing_ok=True)


def write_atomically(path: str, data: bytes) -> None:
    """Writes a file that appears complete or not at all; OSError as of `AtomicFile`."""
    file = AtomicFile(path)
    try:
        file.temporary.write_bytes(data)
        file.keep()
    finally:
        file.discard()


def is_stream_or_device(path: str) -> bool:
    """Whether `path` is `-`, a device or a pipe, which a file cannot replace."""
    if path == "-":
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
