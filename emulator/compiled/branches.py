# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What code knows of the control flow of a program."""

from __future__ import annotations

from typing import NamedTuple

BARRIER = "barrier"


class Branch(NamedTuple):
    """A branch: its condition, as the end of `s_cbranch_*`, and where it goes to.

    A barrier is a branch behind itself.
    """

    condition: str
    target: int
