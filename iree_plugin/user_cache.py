# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is kept from one compile to the next, in a folder that is the user's alone.

A file appears when it is complete, so that several processes may keep the same at once, and one
that is interrupted leaves none. A file that was changed or cut since counts as none. Some of what
is kept is code: nothing is read from a folder that belongs to somebody else or that others can
write to, nor from one that depends on where the process is started.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import field
from pathlib import Path

from ..bank_model.quick_dataclass import dataclass
from .atomic_file import AtomicFile, OutputError


@dataclass(frozen=True)
class UserCache:
    """Texts and bytes by what they depend on.

    Attributes:
        directory: where they are kept; with None, nothing is.
    """

    directory: Path | None = field(default_factory=lambda: _default_directory())

    def read(self, name: str, key: str) -> str | None:
        """Returns the text that is kept under a key; None where there is none.

        Args:
            name: what the file's name begins with, for whoever looks at the directory.
        """
        data = self.read_bytes(name, key)
        try:
            return None if data is None else data.decode()
        except ValueError:
            return None

    def keep(self, name: str, key: str, text: str) -> None:
        """Keeps a text under a key, where the directory can be written to and is the user's."""
        self.keep_bytes(name, key, text.encode())

    def read_bytes(self, name: str, key: str) -> bytes | None:
        """Returns the bytes that are kept under a key; None where there are none."""
        try:
            file = self._file(name, key)
            return None if file is None else _unsealed(_content(file))
        except (OSError, ValueError):
            return None

    def keep_bytes(self, name: str, key: str, data: bytes) -> None:
        """Keeps bytes as `keep` does."""
        # A cache that cannot be written costs time, never the compile.
        with contextlib.suppress(OSError, OutputError):
            if self.directory is not None:
                self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = self._file(name, key)
            if file is not None:
                # Whatever is in its place is replaced, a pipe too.
                with AtomicFile(str(file)) as written:
                    written.temporary.write_bytes(_sealed(data))
                    written.keep()

    def _file(self, name: str, key: str) -> Path | None:
        """Returns the file of a key; None where the directory is not the user's alone.

        Raises:
            OSError: there is no directory.
        """
        import hashlib  # Loads a library of its own, and most compiles look nothing up.

        if self.directory is None or not _is_private(self.directory):
            return None
        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        return self.directory / f"{name}-{digest}"


def _is_private(directory: Path) -> bool:
    """Returns whether a folder is this user's, and nobody else could have written to it.

    If others can read it, they cannot do so from now on.
    """
    found = directory.stat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        return False
    if found.st_mode & 0o077:
        directory.chmod(0o700)
    return True


def _content(file: Path) -> bytes:
    """Returns what a file holds; a pipe or a device in its place is never waited for.

    Raises:
        OSError: it cannot be read, or is no file.
    """
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return opened.read()


def _sealed(data: bytes) -> bytes:
    """Returns bytes behind a line from which `_unsealed` tells whether they are as written."""
    import hashlib

    return hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def _unsealed(data: bytes) -> bytes:
    """Returns the bytes that were sealed.

    Raises:
        ValueError: they were changed or cut since. A pipeline of them would fail in some pass, or
            worse.
    """
    rest = data.partition(b"\n")[2]
    if data != _sealed(rest):
        raise ValueError("not what was written")
    return rest


def _default_directory() -> Path | None:
    from platformdirs import user_cache_path

    # XDG_CACHE_HOME and HOME may hold a path that depends on the current folder.
    found = user_cache_path("bankwise")
    return found if found.is_absolute() else None
