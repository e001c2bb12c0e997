# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long the LDS is busy with a `cp.async`, from where its lanes read and write.

No manual says it. This is what `ncu` counts on an H200 (`smsp__sass_..._op_ldgsts`), in 1,488
patterns of one warp and in compiled kernels (docs/counters.md). Conflicts are exact in 1,479 of the
patterns, and in the others the most that they may be. Wavefronts are exact in all 913 that go
through the L1 cache or have no operand for the size; past it, with one, they are not.

**Through the L1 cache** (`cp.async.ca`, of 4, 8 or 16 bytes) a copy is served in phases of lanes
that copy 128 bytes. Two lanes of a phase are in each other's way if they write to the same bank, or
read from the same place of lines of 128 bytes. The same line, or the same word, is no excuse. A
phase has as many conflicts as the lane with the most others in its way. It takes a wavefront, and
one for each conflict.

**Past the L1 cache** (`cp.async.cg`, of 16 bytes) a copy has no phases and no conflicts. What the
L2 sends is written by *fills*, each of which takes what it can from one line of global memory to
one line of the LDS, of all lanes of the warp. A line has four sectors of 32 bytes, with two halves.
One fill moves sectors that are alike: of all of them both halves are copied, or only the same one;
they keep their places in the sector, or all change them; and all go to a sector with an even
distance from their own, or all to one with an odd distance. A sector that goes to several places
needs a fill for each.

**Lanes that read nothing**, and write zeros, have to be served in phases. So an issue in which
there are some has phases and conflicts past the L1 cache, too. Such lanes are in nobody's way where
they would read. That is exact for conflicts. How long the LDS is busy depends on the instruction
that ptxas makes of a size that only the program knows, which the PTX does not say: besides phases
and conflicts there may be the fills of the lanes that read, or none, and where all lanes happen to
read there may be phases and conflicts, too. Wavefronts are counted here with the fills, and of
issues in which all lanes read without phases, as in most compiled kernels that were measured. What
rests on that is not called exact.

Worked example: rows of 64 bytes that lie 8,192 bytes apart are copied side by side, 16 bytes a
lane. Each row comes from the first half of a line and is a fill. Past the L1 cache that makes 8
wavefronts. Through it, the lanes of two rows, which are one phase, read from the same places: each
lane has another one in its way, and the 4 phases take 8 wavefronts, of which 4 are conflicts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .accesses import LINE_BYTES, CopySources, bytes_of_rows, from_lines
from .conflicts import BoolArray, IntArray
from .lds_rules import LdsInstruction
from .lds_tables import copy_instruction
from .quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt


_CHUNK = 16
_SECTORS = 4
"""The sectors of 32 bytes, two chunks each, of a line."""
_ISSUE_BYTES = 2 * 8 + 2
"""What a lane's part of an issue takes, as `_cost` is given it."""
_BYPASSING = copy_instruction(_CHUNK, bypasses_l1=True)


WHY_COPIES_CONFLICT = (
    "of the lanes that copy 128 bytes, some write to the same bank, or read from the same place of "
    "lines of global memory"
)
"""What the conflicts of `cp.async` are, for messages."""


@dataclass(frozen=True, eq=False)
class CopyCost:
    """What each issue of a `cp.async` takes.

    Attributes:
        conflicts: what `ncu` counts as bank conflicts, of each issue.
        wavefronts: the LDS cycles of each issue, those of conflicts among them.
        exact: whether the conflicts are exact; if not, they are the most that they may be.
        exact_wavefronts: whether the wavefronts are exact.
    """

    conflicts: npt.NDArray[np.int64]
    wavefronts: npt.NDArray[np.int64]
    exact: bool = True
    exact_wavefronts: bool = True

    @property
    def conflict_cycles(self) -> int:
        """Returns the conflicts of all issues."""
        return int(self.conflicts.sum())

    @property
    def lds_cycles(self) -> int:
        """Returns the wavefronts of all issues."""
        return int(self.wavefronts.sum())

    @property
    def most_conflicts(self) -> int:
        """Returns the conflicts of the issue that has most of them."""
        return int(self.conflicts.max(initial=0))


def copy_cost(
    instruction: LdsInstruction,
    addresses: IntArray,
    copied: CopySources,
    active: BoolArray | None = None,
) -> CopyCost:
    """Returns what a `cp.async` takes that writes to LDS addresses [issues, wave_size]."""
    on = np.ones(addresses.shape, bool) if active is None else active
    reading = copied.reading & on
    # Whole lines further on either side, and where lanes would read that do not, are all one.
    sides = from_lines(addresses, on), from_lines(copied.addresses, reading)
    of_all = copied.shifts, copied.may_read_nothing
    costs = [_cost(instruction, issue, *of_all) for issue in bytes_of_rows((*sides, reading, on))]
    conflicts, wavefronts, exact, exact_wavefronts = zip(*costs, strict=True)
    return CopyCost(
        np.array(conflicts, dtype=np.int64),
        np.array(wavefronts, dtype=np.int64),
        all(exact),
        all(exact_wavefronts),
    )


@lru_cache(1024)
def _cost(
    instruction: LdsInstruction,
    issue: bytes,
    shifts: tuple[int, ...],
    may_read_nothing: bool,
) -> _Cost:
    """Returns what an issue takes: those of a kernel, and of layers that are alike, repeat.

    Args:
        issue: where lanes write and read, and then whether they read and take part.
    """
    lanes = len(issue) // _ISSUE_BYTES
    to, source = np.frombuffer(issue, np.int64, 2 * lanes).reshape(2, -1).tolist()
    reading, running = np.frombuffer(issue, np.bool_, offset=16 * lanes).reshape(2, -1)
    taking_part = np.flatnonzero(running).tolist()
    found = _Issue(instruction, to, source, reading.tolist(), taking_part)
    return found.cost(shifts, may_read_nothing)


def least_copy_cycles(
    instruction: LdsInstruction,
    elements: IntArray,
    copied: CopySources,
    active: BoolArray | None,
) -> int:
    """Returns LDS cycles of which a `cp.async` takes no fewer in any layout.

    Args:
        elements: what lanes write, of which equal ones are the same bytes.
    """
    on = np.ones(elements.shape, bool) if active is None else active
    reading = copied.reading & on
    bypasses = instruction.name == _BYPASSING
    cycles = 0
    for there, here, reads, lanes in zip(elements, copied.addresses, reading, on, strict=True):
        written = len({*there[reads].tolist()})
        fills = -(-written * instruction.width_bytes // LINE_BYTES)
        if written == reads.sum():
            lines = [len({*((here[reads] + shift) // LINE_BYTES)}) for shift in copied.shifts]
            fills = max(fills, min(lines))
        cycles += fills if bypasses else 0
        if not bypasses or (lanes & ~reads).any():
            cycles += sum(bool(lanes[list(phase)].any()) for phase in instruction.phases)
    return cycles


_Cost = tuple[int, int, bool, bool]
"""Conflicts and wavefronts, and whether each is exact."""


@dataclass(frozen=True, eq=False)
class _Issue:
    """One issue in one warp: where its lanes write and read, and which take part."""

    instruction: LdsInstruction
    there: list[int]
    here: list[int]
    reads: list[bool]
    lanes: list[int]

    def cost(self, shifts: Sequence[int], may_read_nothing: bool) -> _Cost:
        """Returns the most conflicts and wavefronts that it has with one of the shifts.

        Lanes that read from the same place do so with every shift: fills alone depend on it.

        Args:
            may_read_nothing: whether the program decides which lanes read.
        """
        conflicts = passes = 0
        running = set(self.lanes)
        for phase in self.instruction.phases:
            used = [lane for lane in phase if lane in running]
            if used:
                passes += 1
                conflicts += self._in_the_way(used)
        if self.instruction.name != _BYPASSING:
            return conflicts, passes + conflicts, True, True
        each = {self._fills(chunks) for chunks in self._chunks_read(shifts)}
        fills, are_exact = max(each), len(each) == 1
        if not all(self.reads[lane] for lane in self.lanes):
            return conflicts, passes + conflicts + fills, True, False
        if may_read_nothing:
            return conflicts, fills, not conflicts, False
        return 0, fills, True, are_exact

    def _in_the_way(self, phase: Sequence[int]) -> int:
        """Returns how many other lanes of a phase want what a lane wants on one of its sides, of
        the lane with most of them."""
        banks = {lane: self.there[lane] % LINE_BYTES for lane in phase}
        places = {lane: self.here[lane] % LINE_BYTES for lane in phase if self.reads[lane]}
        at_bank, at_place = Counter(banks.values()), Counter(places.values())
        at_both = Counter((banks[lane], place) for lane, place in places.items())
        return max(
            at_bank[bank] - 1
            if (place := places.get(lane)) is None
            else at_bank[bank] + at_place[place] - at_both[bank, place] - 1
            for lane, bank in banks.items()
        )

    def _chunks_read(self, shifts: Sequence[int]) -> set[tuple[int, ...]]:
        """Returns the chunks that the lanes which read may read, in the order of these lanes.

        Shifts that differ by whole lines, or by less than a chunk, often make no difference.
        """
        read = np.array([self.here[lane] for lane in self.lanes if self.reads[lane]], np.int64)
        if not read.size:
            return {()}
        chunks = (read + np.array(shifts)[:, None]) // _CHUNK
        line = LINE_BYTES // _CHUNK
        chunks -= chunks.min(axis=1, keepdims=True) // line * line
        return {*map(tuple, chunks.tolist())}

    def _fills(self, chunks: Sequence[int]) -> int:
        """Returns the wavefronts in which what the L2 sends is written.

        Args:
            chunks: those that the lanes which read do read.
        """
        written = (self.there[lane] // _CHUNK for lane in self.lanes if self.reads[lane])
        last = dict(zip(written, chunks, strict=True))
        # What of a sector goes to a sector: (chunk of the source, whether the halves change place).
        moved: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
        for target, source in last.items():
            half = source % 2
            moved[source // 2, target // 2].add((half, (source ^ target) % 2))
        fills: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for (source, target), halves in moved.items():
            key = (source // _SECTORS, target // _SECTORS, (source ^ target) % 2)
            for swapped in {each for _, each in halves}:
                parts = [half for half, each in halves if each == swapped]
                fills[(*key, swapped, *sorted(parts))][source] += 1
        return sum(max(sources.values()) for sources in fills.values())
