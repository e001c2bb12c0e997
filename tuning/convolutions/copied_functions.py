# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of functions, on which it is tried out what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from iree.compiler import ir


@contextmanager
def copy_of(function: ir.Operation) -> Iterator[ir.Operation]:
    """Gives the body a copy of a function beside it, which is erased behind the body."""
    with ir.InsertionPoint(function):
        copied = function.clone()
    try:
        yield copied.operation
    finally:
        copied.operation.erase()
