# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each wave of a workgroup does from its first instruction to its last one, without gaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..assembly import Kernel
from .constants import CHIPS
from .prediction import Prediction
from .reasons import Reason


@dataclass(frozen=True)
class Span:
    """Cycles from `start` up to `stop` in which a wave does one thing.

    Attributes:
        reason: `ISSUE` where it issues an instruction, and else what it waits for.
        index: the instruction that it issues, or that it waits to issue; of a wait at a barrier,
            the barrier.
    """

    start: int
    stop: int
    reason: Reason
    index: int


def wave_spans(kernel: Kernel, predicted: Prediction, wave: int) -> Iterator[Span]:
    """Yields the spans of a wave of the first workgroup; each begins where the last one stops."""
    executed = predicted.instructions[wave].tolist()
    count = len(executed)
    times = (row[wave, :count].tolist() for row in (predicted.issued, predicted.waited))
    issued, waited = times
    reasons = predicted.reasons[wave, :count].tolist()
    step = int(CHIPS[kernel.arch].issue.value)
    for place, index in enumerate(executed):
        start = issued[place]
        if waited[place]:
            yield Span(start - waited[place], start, Reason(reasons[place]), index)
        last = place + 1 == count
        stop = start + step if last else issued[place + 1] - waited[place + 1]
        if kernel.instructions[index].mnemonic == "s_barrier" and stop > start + step:
            yield Span(start, start + step, Reason.ISSUE, index)
            yield Span(start + step, stop, Reason.BARRIER, index)
        else:
            yield Span(start, stop, Reason.ISSUE, index)
