# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporary files and folders that do not outlive a tool, however it ends.

A `with` removes what it made when it is left. A signal or a crash may end a process inside a call
into the compiler, where no `with` can be left: all that a tool's process makes is found in one
folder, which the process that waits for it removes.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from .later_import import imported_later

with imported_later("shutil"):  # It removes folders that have something in them.
    import shutil

_common: Path | None = None


@contextlib.contextmanager
def one_temporary_folder() -> Iterator[None]:
    """Has all that is temporary in one folder, and removes it after processes that were forked.

    Where there is no place for such a folder, all is made where it would be made otherwise.
    """
    global _common
    before, end = None, contextlib.ExitStack()
    with contextlib.suppress(OSError):
        _common = _new_folder()
        before = _pythons_in(str(_common))
        end.enter_context(temporaries_of_others_in(_common))
    try:
        yield
    finally:
        end.close()
        if _common is not None:
            for each in _common.iterdir():
                if each.is_symlink():
                    each.readlink().unlink(missing_ok=True)
                    each.unlink()
            _remove(_common)
            _pythons_in(before)
        _common = None


def _new_folder() -> Path:
    """Makes a folder where `tempfile` would, which takes 2 ms to import."""
    places = map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))
    path = Path(next(filter(None, places), "/tmp"), f"bankwise-{os.urandom(8).hex()}").absolute()
    try:
        path.mkdir(0o700)
    except OSError:
        import tempfile

        return Path(tempfile.mkdtemp(prefix="bankwise-"))
    return path


def _pythons_in(directory: str | None) -> str | None:
    """Has Python make its temporary files in a folder, or where it finds a place; returns where it
    made them before. Where it has made none yet, it asks for the variable TMPDIR when it does."""
    if "tempfile" not in sys.modules:
        return None
    names = vars(sys.modules["tempfile"])
    before, names["tempdir"] = names["tempdir"], directory
    return before


@contextlib.contextmanager
def temporaries_of_others_in(directory: Path) -> Iterator[None]:
    """Has LLVM, and processes that the body starts, make their temporary files in a folder.

    LLVM removes its own where it hears a signal, and a fork is killed with files that it links.
    """
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(directory)
    try:
        yield
    finally:
        del os.environ["TMPDIR"]
        if before is not None:
            os.environ["TMPDIR"] = before


@contextlib.contextmanager
def temporary_directory(prefix: str) -> Iterator[Path]:
    """Makes a folder in the folder for temporary files; removes it with all that it holds."""
    import tempfile

    directory = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield directory
    finally:
        _remove(directory)


def _remove(directory: Path) -> None:
    try:
        directory.rmdir()
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)


def temporary_neighbour(target: Path) -> Path:
    """Makes an empty file beside `target`, so that a rename stays within one file system.

    It has the mode of any new file, or where it is to replace another one is for nobody else yet.
    To ask for the mask of modes one has to set it, for all threads.

    Raises:
        OSError: the folder cannot be written to.
    """
    path = target.with_name(f".{target.name}.{os.urandom(4).hex()}")
    if _common is not None:
        # A link that leads nowhere is all that is left when the file gets its name.
        (_common / path.name).symlink_to(path)
    mode = 0o600 if target.exists() else 0o666
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    return path
