# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What would take the bank conflicts of one access away: padding or a swizzle, tried on the model.

The lanes that meet in a bank are a multiple of some bytes apart. Two changes of all addresses bring
them to different banks: bytes that are left free behind each such stretch, and an XOR of the
number of the stretch into the place within it. Both are tried on the addresses of the issue of a
wave that conflicts most. What is said is what the model counts then, for that access alone: another
access to the same tile may want another layout, which `bankwise-tile` finds for both together.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..bank_model.conflicts import conflict_cycles, phase_costs
from ..bank_model.lds_rules import LdsInstruction

Row = npt.NDArray[np.int64]

_WORD = 4
_MOST_PADDING = 64
"""The most bytes of padding that are tried."""
_UNITS = (4, 8, 16)
"""The bytes that a swizzle moves in one piece."""


class ConflictingIssue(NamedTuple):
    """One issue of an LDS instruction by a wave.

    Attributes:
        addresses: [64] the byte address of each lane; -1 for one that takes no part.
        conflicts: its conflict cycles.
    """

    instruction: LdsInstruction
    addresses: Row
    conflicts: int


class Advice(NamedTuple):
    """A change of all addresses, in words, and the conflict cycles that it leaves."""

    change: str
    conflicts: int


def advice(issue: ConflictingIssue) -> list[Advice]:
    """Returns the padding and the swizzle that leave the fewest conflict cycles, if they help."""
    apart = _bytes_apart(issue)
    if not apart:
        return []
    best = (
        min(tried, key=lambda each: each.conflicts, default=None)
        for tried in (_paddings(issue, apart), _swizzles(issue, apart))
    )
    return [each for each in best if each is not None and each.conflicts < issue.conflicts]


def _bytes_apart(issue: ConflictingIssue) -> int:
    """Returns what the distances of the lanes that meet in the fullest bank are multiples of."""
    instruction, row = issue.instruction, issue.addresses
    active = row >= 0
    costs = phase_costs(instruction, np.where(active, row, 0), active)
    lanes = np.asarray(instruction.phases[int(np.argmax(costs))])
    words = np.unique(row[lanes][active[lanes]] // _WORD)
    banks = words % instruction.banks
    fullest = np.bincount(banks, minlength=instruction.banks).argmax()
    meeting = words[banks == fullest]
    return gcd(*(int(each) for each in np.diff(meeting))) * _WORD if len(meeting) > 1 else 0


def _paddings(issue: ConflictingIssue, apart: int) -> Iterator[Advice]:
    step = max(_WORD, issue.instruction.width_bytes & -issue.instruction.width_bytes)
    row = issue.addresses
    for padding in range(step, _MOST_PADDING + 1, step):
        change = f"{padding} bytes of padding behind every {apart} bytes"
        yield Advice(change, _conflicts(issue, row + row // apart * padding))


def _swizzles(issue: ConflictingIssue, apart: int) -> Iterator[Advice]:
    row = issue.addresses
    for unit in _UNITS:
        if apart & (apart - 1) or unit < issue.instruction.width_bytes:
            continue
        for stretches in (1 << bit for bit in range(1, (apart // unit).bit_length())):
            change = f"address ^ (address / {apart} % {stretches} * {unit})"
            yield Advice(change, _conflicts(issue, row ^ (row // apart % stretches * unit)))


def _conflicts(issue: ConflictingIssue, row: Row) -> int:
    active = issue.addresses >= 0
    return int(conflict_cycles(issue.instruction, np.where(active, row, 0), active))
