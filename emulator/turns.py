# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets the portions of a launch take turns, and finds out when none can go on.

A launch runs in portions of workgroups. A portion mostly runs to its end, and the next one starts.
A portion whose waves all wait for others hands over: to the other portions that have started, and
then to a new one, as long as the chip has room for its workgroups. So programs end whose workgroups
wait for each other as far as the chip runs them at once.

After a *round* each portion that has not ended has had a turn, in which each of its waves that does
not wait at a barrier has gone on. Where no portion ended or started in a round, and no register, no
byte of LDS and no byte of memory differs from what it was a round before, nothing will ever change.
To compare costs time, and is done after 1, 2, 4, 8, ... rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from .emulation_errors import StepLimitError
from .global_memory import GlobalMemory


class Turn(Protocol):
    """A portion of workgroups that takes turns."""

    def advance(self) -> bool:
        """Runs until all waves have ended, and returns True, or until all wait for others."""
        ...

    def digest(self) -> bytes:
        """Returns what is equal where neither registers nor LDS nor the waves' places differ."""
        ...

    def live_workgroups(self) -> int:
        """Returns how many workgroups have not ended."""
        ...

    def stuck(self, detail: str) -> StepLimitError:
        """Returns the error that names where the waves are."""
        ...


TurnT = TypeVar("TurnT", bound=Turn)


def take_turns(
    start: Callable[[int], TurnT | None], resident: int, memory: GlobalMemory, waiting: str = ""
) -> Iterator[TurnT]:
    """Runs portions to their ends, and yields each when it has ended.

    Args:
        start: starts a portion of at most so many workgroups; returns None if none is left.
        resident: how many workgroups run at once.
        waiting: what an error says of workgroups that have not run, where there are some.

    Raises:
        StepLimitError: the portions wait for each other without end.
    """
    live: list[TurnT] = []
    rounds, before = 0, b""
    left = True
    while left or live:
        moved = False
        for portion in list(live):
            if portion.advance():
                moved = True
                live.remove(portion)
                yield portion
        room = resident - sum(portion.live_workgroups() for portion in live)
        if left and room > 0:
            portion = start(room)
            left = portion is not None
            if portion is not None:
                moved = True
                if portion.advance():
                    yield portion
                else:
                    memory.watched = True
                    live.append(portion)
        rounds = 0 if moved else rounds + 1
        if rounds and rounds & rounds - 1 == 0:
            before = _digest(live, memory)
        elif rounds > 1 and rounds - 1 & rounds - 2 == 0 and _digest(live, memory) == before:
            raise live[0].stuck(waiting if left else "")


def _digest(live: Sequence[Turn], memory: GlobalMemory) -> bytes:
    return b"".join([str(memory.changes).encode(), *(portion.digest() for portion in live)])


def waves_text(waves: Sequence[int]) -> str:
    """Returns how messages name waves: `wave 1`, or `4 waves (0-2, 7)`."""
    ordered = sorted(waves)
    runs: list[list[int]] = []
    for wave in ordered:
        if runs and wave == runs[-1][-1] + 1:
            runs[-1][1:] = [wave]
        else:
            runs.append([wave])
    shown = ["-".join(map(str, run)) for run in runs[:_MOST_RUNS]]
    text = ", ".join(shown + ["..."] * (len(runs) > _MOST_RUNS))
    return f"wave {text}" if len(ordered) == 1 else f"{len(ordered)} waves ({text})"


_MOST_RUNS = 4
