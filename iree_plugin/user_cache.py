# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts that are kept from one compile to the next, under the user's cache directory.

A file appears when it is complete, so that several processes may keep the same text at once, and
one that is interrupted leaves none. A file that was changed or cut since counts as none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .atomic_file import OutputError, write_output


@dataclass(frozen=True)
class UserCache:
    """Texts by what they depend on.

    Attributes:
        directory: where they are kept.
    """

    directory: Path = field(default_factory=lambda: _default_directory())

    def read(self, name: str, key: str) -> str | None:
        """Returns the text that is kept under a key; None where there is none.

        Args:
            name: what the file's name begins with, for whoever looks at the directory.
        """
        try:
            return _unsealed(self._file(name, key).read_text())
        except (OSError, ValueError):
            return None

    def keep(self, name: str, key: str, text: str) -> None:
        """Keeps a text under a key, where the directory can be written to."""
        target = self._file(name, key)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_output(str(target), _sealed(text).encode())
        except (OSError, OutputError):
            # A cache that cannot be written costs time, never the compile.
            return

    def _file(self, name: str, key: str) -> Path:
        import hashlib  # Loads a library of its own, and most compiles look nothing up.

        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        return self.directory / f"{name}-{digest}.json"


def _sealed(text: str) -> str:
    """Returns a text behind a line from which `_unsealed` tells whether it is as it was written."""
    import hashlib

    return f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def _unsealed(text: str) -> str:
    """Returns the text that was sealed.

    Raises:
        ValueError: it was changed or cut since. A pipeline of it would fail in some pass, or worse.
    """
    rest = text.partition("\n")[2]
    if text != _sealed(rest):
        raise ValueError("not what was written")
    return rest


def _default_directory() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("bankwise")
