# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded workgroups as the flat arrays that `compute_unit.py` plays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..trace import MemoryEvent, WaveTrace, WorkgroupTrace
from .compute_unit import Tape
from .instruction_needs import Code, Kind

T = TypeVar("T")
I64 = npt.NDArray[np.int64]
_UNKNOWN = MemoryEvent(0, np.zeros(0, np.int64))


def tape_of(traces: Sequence[WorkgroupTrace], code: Code) -> Tape:
    """Returns the recorded waves, one after the other."""
    waves = [wave for trace in traces for wave in trace.waves]
    cycles: list[npt.NDArray[np.int32]] = []
    lines: list[I64] = []
    counts: list[int] = []
    bounds, events = [0], [0]
    for wave in waves:
        found, of_events = _accesses(wave, code)
        cycles.append(found)
        lines += of_events
        counts += map(len, of_events)
        bounds.append(bounds[-1] + len(wave.instructions))
        events.append(events[-1] + len(found))
    end = np.full(1, -1, np.int32)
    return Tape(
        waves=len(traces[0].waves),
        instructions=np.concatenate([*(wave.instructions for wave in waves), end]),
        bounds=np.array(bounds, np.int64),
        events=np.array(events, np.int64),
        cycles=np.concatenate([*cycles, end]),
        bounds_of_lines=np.cumsum([0, *counts, 0], dtype=np.int64),
        lines=_own_lines_marked(lines, events[:: len(traces[0].waves)]),
    )


def _own_lines_marked(lines: Sequence[I64], bounds: Sequence[int]) -> I64:
    """Returns all lines in a row, with those negative that one workgroup alone touches.

    Args:
        lines: the lines of each access.
        bounds: where the accesses of each workgroup begin, and where the last ones end.
    """
    places = pairwise(bounds)
    empty = np.zeros(0, np.int64)
    parts = [np.concatenate([empty, *lines[a:b]]) for a, b in places]
    touched, counts = np.unique(
        np.concatenate([np.unique(part) for part in parts]), return_counts=True
    )
    all_lines = np.concatenate(parts)
    return np.where(np.isin(all_lines, touched[counts > 1]), all_lines, -all_lines)


def _accesses(wave: WaveTrace, code: Code) -> tuple[npt.NDArray[np.int32], list[I64]]:
    """Returns the cycles or blocks of all accesses of a wave in order, and the lines of each."""
    executed = wave.instructions[np.isin(code.kind[wave.instructions], (Kind.LDS, Kind.MEMORY))]
    cycles = np.zeros(len(executed), np.int32)
    lines = [_UNKNOWN.lines] * len(executed)
    for index in np.unique(executed).tolist():
        places = np.flatnonzero(executed == index)
        if code.kind[index] == Kind.LDS:
            cycles[places] = list(_each(wave.lds_cycles.get(index, []), len(places), -1))
            continue
        found = list(_each(wave.memory.get(index, []), len(places), _UNKNOWN))
        cycles[places] = [event.blocks for event in found]
        for place, event in zip(places.tolist(), found, strict=True):
            lines[place] = event.lines
    return cycles, lines


def _each(events: Sequence[T], count: int, missing: T) -> Iterator[T]:
    """Yields an event for each of `count` executions.

    There are other numbers of events than executions where nothing is recorded (a lane's private
    memory), or where lanes go to different memories (`flat_*`); the events are then repeated, or
    left out.
    """
    for number in range(count):
        yield events[number % len(events)] if events else missing
