# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One file of decisions that several processes add to, each for functions of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .atomic_file import OutputError

if TYPE_CHECKING:
    from ..passes.decisions import DecisionLog


def keep_decisions(path: Path, log: DecisionLog, functions: Collection[str]) -> None:
    """Puts what `log` holds into a file of decisions, in place of what is there on `functions`.

    Whoever does that at the same time waits. The decisions are sorted by the functions' names, so
    that the file does not depend on which process comes first.

    Raises:
        OutputError: the file cannot be written.
    """
    import fcntl  # Not on Windows, where no process gets here.

    new = json.loads(log.to_json())
    try:
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            new["decisions"] += [
                each for each in _decisions(file.read()) if each.get("function") not in functions
            ]
            new["decisions"].sort(key=lambda each: _order(str(each.get("function"))))
            file.truncate(0)
            file.write(json.dumps(new, indent=2).encode() + b"\n")
    except OSError as error:
        raise OutputError(str(path), error.strerror) from None


def _decisions(text: bytes) -> list[dict[str, Any]]:
    """Returns the decisions of a file; none where it holds something else, which is replaced."""
    try:
        found = json.loads(text)["decisions"]
    except (ValueError, LookupError, TypeError):
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _order(name: str) -> list[tuple[int, str]]:
    """Returns what sorts `dispatch_10` behind `dispatch_9`."""
    return [(int(word), "") if word.isdigit() else (0, word) for word in re.split(r"(\d+)", name)]
