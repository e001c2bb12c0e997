# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what some workgroups execute: instructions in order, LDS cycles, and addresses.

The emulator computes what a kernel does, in an order of its own and without time. `timing/` plays
a recorded workgroup on a model of the hardware. Nothing is recorded unless a launch is given a
recorder, and then only of a few workgroups, as others mostly do the same.

A wave's instructions are recorded as straight runs [start, stop). An instruction that accesses
memory adds an event each time a wave executes it. The k-th event of an instruction and a wave
belongs to the k-th time that the wave executes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .global_memory import GlobalMemory

Indices = npt.NDArray[np.int64]
WaveIds = npt.NDArray[np.intp]
LaneMask = npt.NDArray[np.bool_]

BLOCK = 64
"""The bytes of a block of memory, which the L1 cache delivers in a cycle."""
LINE = 128
"""The bytes of a line of the L1 and L2 caches of CDNA3 and CDNA4."""


@dataclass(frozen=True, eq=False)
class MemoryEvent:
    """What one wave's execution of an access to memory touches.

    Attributes:
        blocks: how many blocks of 64 bytes.
        lines: the numbers of the cache lines of 128 bytes, ascending.
    """

    blocks: int
    lines: Indices


@dataclass(frozen=True, eq=False)
class WaveTrace:
    """What one wave executed.

    Attributes:
        instructions: [n], the indices of the executed instructions, in order.
        lds_cycles: for each LDS instruction, by its index, the cycles of each execution.
        memory: for each access to memory, by its index, what each execution touched.
    """

    instructions: npt.NDArray[np.int32]
    lds_cycles: dict[int, list[int]]
    memory: dict[int, list[MemoryEvent]]


@dataclass(frozen=True, eq=False)
class WorkgroupTrace:
    """What one workgroup executed.

    Attributes:
        number: the workgroup's place among those that ran, from 0.
        waves: the traces of its waves.
    """

    number: int
    waves: tuple[WaveTrace, ...]


@dataclass(frozen=True)
class BufferUse:
    """How a buffer in memory is used by the workgroups that were recorded.

    Attributes:
        size: the bytes of the buffer.
        bytes_of_workgroup: the mean number of bytes that a workgroup touches, in whole lines.
        shared: whether workgroups that are far from each other touch the same lines.
    """

    size: int
    bytes_of_workgroup: float
    shared: bool = False


@dataclass
class _WaveLog:
    lds_cycles: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    memory: defaultdict[int, list[MemoryEvent]] = field(default_factory=lambda: defaultdict(list))
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)


class TraceRecorder:
    """Records up to `most` workgroups of one launch, spread from the first to the last.

    Attributes:
        finished: the recorded workgroups, in order.
        work: the instructions that the waves of each workgroup executed, recorded or not, in order.
    """

    def __init__(self, most: int = 3) -> None:
        self.most = most
        self.finished: list[WorkgroupTrace] = []
        self.work: list[int] = []
        self._chosen: list[int] = []

    def begin_launch(self, total: int) -> None:
        """Chooses the workgroups to record among `total` that run."""
        count = min(self.most, total)
        last = max(count - 1, 1)
        self._chosen = sorted({round(i * (total - 1) / last) for i in range(count)})
        self.work = [0] * total

    def portion(self, first: int, workgroups: int, waves_per_workgroup: int) -> PortionRecorder:
        """Returns the recorder of a portion of the workgroups, which run together as one machine.

        Args:
            first: the place of the portion's first workgroup among those that run.
            workgroups: how many workgroups the portion has.
        """
        chosen = [number - first for number in self._chosen]
        inside = [number for number in chosen if 0 <= number < workgroups]
        return PortionRecorder(first, workgroups, inside, waves_per_workgroup)

    def end_portion(self, portion: PortionRecorder, work: Sequence[int]) -> None:
        """Keeps what a portion has recorded, and the instructions that its workgroups executed."""
        self.work[portion.first : portion.first + len(work)] = work
        self.finished = sorted([*self.finished, *portion.traces()], key=lambda trace: trace.number)


class PortionRecorder:
    """Records some workgroups of one portion of a launch.

    Args:
        first: the place of the portion's first workgroup among those that run.
        workgroups: how many workgroups the portion has.
        chosen: the places of those to record in the portion.
    """

    def __init__(
        self, first: int, workgroups: int, chosen: Sequence[int], waves_per_workgroup: int
    ) -> None:
        self.first = first
        self._chosen = chosen
        self._per = waves_per_workgroup
        recorded = np.isin(np.arange(workgroups), np.array(chosen, np.int64))
        self._recorded = np.repeat(recorded, waves_per_workgroup)
        self._logs = {wave: _WaveLog() for wave in np.flatnonzero(self._recorded).tolist()}

    def traces(self) -> list[WorkgroupTrace]:
        """Returns what was recorded, after the portion has ended."""
        found: list[WorkgroupTrace] = []
        for number in self._chosen:
            logs = [self._logs[number * self._per + wave] for wave in range(self._per)]
            found.append(WorkgroupTrace(self.first + number, tuple(map(_wave_trace, logs))))
        return found

    # -- what happens ----------------------------------------------------------------------------

    def executed(self, waves: WaveIds, start: int, stop: int) -> None:
        """Notes that `waves` have executed the instructions from `start` up to `stop`."""
        for wave in waves[self._recorded[waves]].tolist():
            log = self._logs[wave]
            log.starts.append(start)
            log.stops.append(stop)

    def accessed_lds(self, instruction: int, waves: WaveIds, cycles: Indices) -> None:
        """Notes an access of `waves` [n] to the LDS that takes each of them `cycles` [n]."""
        rows = np.flatnonzero(self._recorded[waves])
        for wave, count in zip(waves[rows].tolist(), cycles[rows].tolist(), strict=True):
            self._logs[wave].lds_cycles[instruction].append(count)

    def accessed_memory(
        self,
        instruction: int,
        waves: WaveIds,
        addresses: Indices,
        width: int,
        active: LaneMask | None,
    ) -> None:
        """Notes an access of `waves` [n] to `width` bytes from each address [n, lanes] on.

        Args:
            active: [n, lanes], the lanes that take part; None if all do.
        """
        for row in np.flatnonzero(self._recorded[waves]).tolist():
            used = addresses[row] if active is None else addresses[row][active[row]]
            ends = np.concatenate([used, used + (width - 1)])
            event = MemoryEvent(len(np.unique(ends // BLOCK)), np.unique(ends // LINE))
            self._logs[int(waves[row])].memory[instruction].append(event)


def _wave_trace(log: _WaveLog) -> WaveTrace:
    starts, stops = np.array(log.starts, np.int64), np.array(log.stops, np.int64)
    lengths = stops - starts
    before = np.cumsum(lengths) - lengths
    instructions = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return WaveTrace(instructions.astype(np.int32), dict(log.lds_cycles), dict(log.memory))


def buffer_uses(traces: Sequence[WorkgroupTrace], memory: GlobalMemory) -> tuple[BufferUse, ...]:
    """Returns how the recorded workgroups use each buffer that they access, in order of address."""
    spans = memory.spans()
    starts = np.array([start for start, _ in spans], np.int64)
    lines: defaultdict[int, float] = defaultdict(float)
    seen: set[int] = set()
    shared: set[int] = set()
    for trace in traces:
        events = [e for wave in trace.waves for found in wave.memory.values() for e in found]
        touched = np.unique(np.concatenate([np.zeros(0, np.int64), *(e.lines for e in events)]))
        # Buffers begin at multiples of lines.
        numbers = np.searchsorted(starts, touched * LINE, side="right") - 1
        for line, number in zip(touched.tolist(), numbers.tolist(), strict=True):
            lines[number] += LINE / len(traces)
            if line in seen:
                shared.add(number)
        seen.update(touched.tolist())
    return tuple(
        BufferUse(spans[number][1], used, number in shared)
        for number, used in sorted(lines.items())
    )
