# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporary files and folders that do not outlive the process, however it ends.

A `with` removes what it made when it is left. A signal may end a process that is inside a call into
the compiler, where no `with` can be left: what is there at that moment is known here, as `atexit`
knows functions.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

_present: set[Path] = set()
# Held while something is made, so that nothing exists that is not known.
_lock = threading.RLock()
_ATTEMPTS = 3


def make_temporary(make: Callable[[], str]) -> Path:
    """Returns the path that `make` has made, and remembers it until `forget_temporary`."""
    with _lock:
        path = Path(make())
        _present.add(path)
    return path


def forget_temporary(path: Path) -> None:
    """Says that `path` has been removed, or is temporary no longer."""
    with _lock:
        _present.discard(path)


@contextlib.contextmanager
def temporary_directory(prefix: str) -> Iterator[Path]:
    """Makes a folder in the system's folder for temporary files; removes it with all it holds."""
    directory = make_temporary(lambda: tempfile.mkdtemp(prefix=prefix))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        forget_temporary(directory)


def remove_all_temporaries() -> None:
    """Removes everything that is there. The process must end then: no more can be made."""
    # Not released. A thread that dies with it in its hands must not stop the end of the process.
    _lock.acquire(timeout=1)
    for path in list(_present):
        # Another thread may write into a folder while it is being removed.
        for _ in range(_ATTEMPTS):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            if not path.exists():
                break
