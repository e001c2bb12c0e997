# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One file of decisions that several processes add to, each for functions of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bank_model.json_text import read_json
from .atomic_file import OutputError, write_output

if TYPE_CHECKING:
    from ..passes.decisions import DecisionLog

_NO_DECISIONS = (
    "the file is there and holds something else than decisions of Bankwise; it stays as it is, so "
    "name another file, or remove this one"
)


def check_decisions_file(path: Path) -> None:
    """Finds out, before the work, whether `path` is free or holds decisions.

    Raises:
        OutputError: it holds something else, which is not to be lost, or cannot be read.
    """
    try:
        _decisions(path, path.read_bytes())
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(str(path), error.strerror) from None


def keep_decisions(path: Path, log: DecisionLog, functions: Collection[str]) -> None:
    """Puts what `log` holds into a file of decisions, in place of what is there on `functions`.

    Whoever does that at the same time waits. The decisions are sorted by the functions' names, so
    that the file does not depend on which process comes first. A reader finds the file as it was
    before or as it is afterwards, and nothing in between.

    Raises:
        OutputError: the file holds something else, or cannot be written.
    """
    new = json.loads(log.to_json())
    try:
        with _locked(path) as found:
            others = [each for each in _decisions(path, found) if each["function"] not in functions]
            new["decisions"] += others
            new["decisions"].sort(key=lambda each: _order(each["function"]))
            write_output(str(path), json.dumps(new, indent=2).encode() + b"\n")
    except OSError as error:
        raise OutputError(str(path), error.strerror) from None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bytes]:
    """Locks the file at `path`, makes it if need be, and gives its contents to the body.

    The body puts another file in its place. Whoever has waited for the lock of the old file finds
    out that it is no longer the one at `path`, and begins again. A file that was made here does not
    stay where the body fails.
    """
    import fcntl  # Not on Windows, where no process gets here.

    while True:
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_at(file.fileno(), path):
                continue
            file.seek(0)
            found = file.read()
            try:
                yield found
            except BaseException:
                if not found:
                    path.unlink(missing_ok=True)
                raise
            return


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _decisions(path: Path, text: bytes) -> list[dict[str, Any]]:
    """Returns the decisions of a file; none of an empty one.

    Raises:
        OutputError: the file holds something else.
    """
    if not text:
        return []
    try:
        document = read_json(text)
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.keys() != {"version", "decisions"}:
        raise OutputError(str(path), _NO_DECISIONS)
    found = document["decisions"]
    if document["version"] != 1 or not isinstance(found, list) or not all(map(_is_ours, found)):
        raise OutputError(str(path), _NO_DECISIONS)
    return found


def _is_ours(decision: object) -> bool:
    return isinstance(decision, dict) and all(
        isinstance(decision.get(name), str) for name in ("pass_name", "function", "action")
    )


def _order(name: str) -> list[tuple[int, str]]:
    """Returns what sorts `dispatch_10` behind `dispatch_9`, whatever a file has for a name."""
    # A name begins with what is no number, so that every second part is one; a longer one is larger
    # than a shorter one, and Python would not read one of thousands of digits.
    parts = re.split(r"([0-9]+)", name)
    numbers = (part.lstrip("0") for part in parts[1::2])
    ordered = [(0, parts[0])]
    for number, text in zip(numbers, parts[2::2], strict=True):
        ordered += [(len(number), number), (0, text)]
    return ordered
