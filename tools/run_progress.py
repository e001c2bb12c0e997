# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far `bankwise-run` is with a long emulation, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ..emulator.supervision import RunState

_FIRST, _ON_TERMINAL = 2.0, 0.5
"""Seconds to the first state of the line on a terminal, and between two of them."""


@contextmanager
def emulation_progress() -> Iterator[Callable[[RunState], None]]:
    """Yields what the emulator tells how far it is.

    On a terminal one line says it, from a few seconds on, which goes at the end. Elsewhere a line
    is printed after the first ten seconds, and then every half a minute.
    """
    lines = ProgressLines(sys.stderr)
    try:
        yield lines.tell
    finally:
        lines.clear()


@dataclass
class ProgressLines:
    """Prints how far a run is, where it is time to."""

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    _began: float = field(init=False)
    _next: float = field(init=False)
    _shown: bool = False

    def __post_init__(self) -> None:
        self.terminal = self.stream.isatty()
        self._began = self.clock()
        self._next = self._began + _FIRST

    def tell(self, state: RunState) -> None:
        """Takes the state of a run."""
        now = self.clock()
        if now < self._next:
            return
        self._next = now + _ON_TERMINAL
        if not self.terminal:
            # What a log gets is what a sweep prints there; few runs are so long.
            from ..sweep.progress import LATE, SOON

            if now < self._began + SOON:
                self._next = self._began + SOON
                return
            self._next = now + LATE
        self._shown = True
        # A terminal goes back to the start of its line, and forgets what stood there.
        before, after = ("\r\x1b[K", "") if self.terminal else ("", "\n")
        print(f"{before}{state_line(state)}", end=after, file=self.stream, flush=True)

    def clear(self) -> None:
        """Takes the line of a terminal away."""
        if self._shown and self.terminal:
            print("\r\x1b[K", end="", file=self.stream, flush=True)


def state_line(state: RunState) -> str:
    """Returns a run's state in one line, as `k: 8 of 128 workgroups, 20,000 steps, at k.s:12`."""
    kernel, place = state.kernel, state.instruction.line
    where = f", at {kernel.source}:{place}" if kernel.source else ""
    return (
        f"{kernel.name}: {state.done:,} of {state.total:,} workgroups, then {state.steps:,} steps"
        f"{where}"
    )
