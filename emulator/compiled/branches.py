# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What code knows of the control flow of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..step import Step

BARRIER = "barrier"


class Branch(NamedTuple):
    """A branch: its condition, as the end of `s_cbranch_*`, and where it goes to.

    A barrier is a branch behind itself.
    """

    condition: str
    target: int


class StepProgram(NamedTuple):
    """The steps of a program and its control flow, by the indices of instructions.

    Attributes:
        steps: what each instruction does.
        accesses: whether each instruction accesses memory.
        flow: the instructions of the control flow, and those of them that are branches.
        next_flow: for each instruction the first one from there on that `flow` holds.
        polls: the branches at which the executor looks now and then whether waves poll.
    """

    steps: Sequence[Step]
    accesses: Sequence[bool]
    flow: Mapping[int, Branch | None]
    next_flow: Sequence[int]
    polls: Sequence[int]
