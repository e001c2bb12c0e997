# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a process works on IR that is not verified, as another one sees it that waits for it.

To verify a kernel behind each pass of the compiler takes a fifth of the time of its codegen, and
what passes make is valid. Where it is not, the next pass may end the process. Whoever waits for it
does the work again then, with all verified.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager

_NO, _YES = b"\0", b"\1"

_shared: mmap.mmap | None = None
"""A byte that the process and its forks have in common; None where nobody does the work again."""


@contextmanager
def watched() -> Iterator[None]:
    """Lets forks that the body makes leave out verification."""
    global _shared
    _shared = mmap.mmap(-1, len(_NO))
    try:
        yield
    finally:
        _shared = None


def is_watched() -> bool:
    """Returns whether the work is done again where this process ends in the middle of it."""
    return _shared is not None


def ended_in_work() -> bool:
    """Returns whether a fork has ended, or still is, where nothing was verified."""
    return _shared is not None and _shared[:] == _YES


@contextmanager
def work() -> Iterator[None]:
    """Tells whoever waits that the body works on IR that is not verified."""
    assert _shared is not None
    _shared[:] = _YES
    try:
        yield
    finally:
        _shared[:] = _NO
