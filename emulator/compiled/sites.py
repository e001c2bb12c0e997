# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What code knows of the accesses of an instruction to the LDS or to memory.

Which bytes a group's lanes access is a *pattern*: their addresses in the LDS, or in memory those
relative to the 64-byte block of the wave's lowest one. What a pattern costs, and what is to be
noted of it for races, is found out by the instruction's step when the pattern is first met. From
then on the code moves the data itself, and counts how often it did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..counters import Counters
from ..issued_access import IssuedAccess
from ..lds import LdsState
from ..wave_state import Machine, WaveGroup

Numbers = npt.NDArray[np.int64]
MOST_PATTERNS = 64


class SiteField(IntEnum):
    """The numbers of a site that code reads and writes, 8 bytes each, by their places."""

    KEY = 0
    """The address where the pattern of the group that runs is put together."""
    SIZE = auto()
    """Its bytes."""
    PATTERNS = auto()
    """The address of the known patterns, one after the other."""
    COUNT = auto()
    """How many are known."""
    LAST = auto()
    """The number of the one that was met last."""
    HITS = auto()
    """The address of how often each was met."""
    NOTED = auto()
    """The address of the epoch for each in which its access was last noted."""
    MOVES = auto()
    """The address of what is added to each wave's addresses in memory to find the bytes here."""


class Kind(IntEnum):
    """What a site accesses."""

    LDS_LOAD = 0
    LDS_STORE = auto()
    LOAD = auto()
    STORE = auto()
    SCALAR_LOAD = auto()

    @property
    def in_lds(self) -> bool:
        """Returns whether it is an access to the LDS."""
        return self in (Kind.LDS_LOAD, Kind.LDS_STORE)


class Traffic(Protocol):
    """Counts the blocks of memory that waves touch."""

    def remembered(self, relative: Numbers, width: int) -> Numbers:
        """Returns the transactions and the useful bytes of each wave, [2, n]."""
        ...


Effect = Callable[[Counters, int], None]


@dataclass(eq=False)
class Patterns:
    """The patterns of the accesses of one group of waves at a site.

    Attributes:
        key: where the pattern of the group is put together.
        known: [MOST_PATTERNS, bytes], the patterns that have been met.
        hits: how often code has met each of them since it was last counted.
        noted: of each, the epoch in which its access to the LDS was last noted.
        moves: [waves], see `SiteField.MOVES`.
        accesses: the accesses to the LDS of the patterns.
        effects: add a number of accesses to the counters.
    """

    key: npt.NDArray[np.uint8]
    known: npt.NDArray[np.uint8]
    hits: Numbers
    noted: Numbers
    moves: Numbers
    accesses: list[IssuedAccess | None] = field(default_factory=list[IssuedAccess | None])
    effects: list[Effect] = field(default_factory=list[Effect])

    def clear(self) -> None:
        """Forgets the patterns."""
        self.accesses.clear()
        self.effects.clear()

    def count(self, counters: Counters) -> None:
        """Adds to the counters what code has done."""
        if self.hits.any():
            for number, effect in enumerate(self.effects):
                if self.hits[number]:
                    effect(counters, int(self.hits[number]))
            self.hits[:] = 0


class Site:
    """An instruction whose accesses code carries out.

    Args:
        number: its number in its region.
        pc: its index.
        kind: what it accesses.
        width: the bytes of a lane; of each part, if an access to the LDS has several.

    Attributes:
        traffic: counts its accesses to memory.
        fields: what code reads and writes (`SiteField`).
        patterns: the patterns of the group that runs.
    """

    def __init__(self, number: int, pc: int, kind: Kind, width: int) -> None:
        self.number = number
        self.pc = pc
        self.kind = kind
        self.width = width
        self.traffic: Traffic | None = None
        self.fields = np.zeros(len(SiteField), np.int64)
        self.patterns: Patterns | None = None
        self._of_waves: dict[bytes, Patterns] = {}

    def select(self, group: WaveGroup) -> None:
        """Gets ready for a group of waves."""
        key = group.waves.tobytes()
        found = self._of_waves.get(key)
        if found is None:
            if len(self._of_waves) >= MOST_PATTERNS:
                self.forget(group.machine)
            found = self._of_waves[key] = self._patterns(group)
        self.patterns = found
        arrays = (found.key, found.known, found.hits, found.noted, found.moves)
        key_at, known_at, hits_at, noted_at, moves_at = (
            array.__array_interface__["data"][0] for array in arrays
        )
        size, count = len(found.key), len(found.effects)
        self.fields[:] = (key_at, size, known_at, count, 0, hits_at, noted_at, moves_at)

    def _patterns(self, group: WaveGroup) -> Patterns:
        lane, mask = (4, 8) if self.kind.in_lds else (8, 0)
        size = group.count * (group.lanes * lane + mask)
        return Patterns(
            np.zeros(size, np.uint8),
            np.zeros((MOST_PATTERNS, size), np.uint8),
            np.zeros(MOST_PATTERNS, np.int64),
            np.zeros(MOST_PATTERNS, np.int64),
            np.zeros(group.count, np.int64),
        )

    def forget(self, machine: Machine | None) -> None:
        """Forgets all patterns, after what code has done is counted in a machine's counters."""
        for patterns in self._of_waves.values():
            if machine is not None:
                patterns.count(machine.workgroup_counters)
        self._of_waves.clear()
        self.patterns = None
        self.fields[SiteField.COUNT] = 0

    def count(self, counters: Counters) -> None:
        """Adds to the counters what code has done."""
        for patterns in self._of_waves.values():
            patterns.count(counters)

    def learn(self, group: WaveGroup, epoch: int) -> bool:
        """Keeps the pattern with which the step has just run, if code may carry it out.

        Returns:
            Whether the numbers of other patterns have changed.
        """
        patterns, machine = self.patterns, group.machine
        if patterns is None or self.kind is Kind.SCALAR_LOAD:
            return False
        full = len(patterns.effects) == MOST_PATTERNS
        if full:
            patterns.count(machine.workgroup_counters)
            patterns.clear()
            self.fields[SiteField.COUNT] = 0
        self._keep(group, patterns, epoch)
        return full

    def _keep(self, group: WaveGroup, patterns: Patterns, epoch: int) -> None:
        machine = group.machine
        number = len(patterns.effects)
        access: IssuedAccess | None = None
        if self.kind.in_lds:
            access = machine.lds.last_access(self.pc)
            if access is None or not _may_repeat(machine.lds, access, self.kind):
                return
            effect = _lds_effect(self.pc, access)
        else:
            relative = patterns.key.view(np.int64).reshape(group.count, -1)
            if self.kind is Kind.STORE and not _separate(relative, self.width):
                return
            effect = self._memory_effect(group, relative)
        patterns.known[number] = patterns.key
        patterns.noted[number] = epoch
        patterns.accesses.append(access)
        patterns.effects.append(effect)
        self.fields[SiteField.COUNT] = number + 1
        self.fields[SiteField.LAST] = number

    def _memory_effect(self, group: WaveGroup, relative: Numbers) -> Effect:
        if self.traffic is None:
            return lambda counters, times: None
        workgroups, pc = len(group.machine.workgroups), self.pc
        transactions, useful = np.zeros((2, workgroups), np.int64)
        counts = self.traffic.remembered(relative, self.width)
        np.add.at(transactions, group.workgroup_index, counts[0])
        np.add.at(useful, group.workgroup_index, counts[1])

        def effect(counters: Counters, times: int) -> None:
            counters.global_transactions[pc] += transactions * times
            counters.global_useful_bytes[pc] += useful * times

        return effect


def _lds_effect(pc: int, access: IssuedAccess) -> Effect:
    cycles = access.cycles
    assert cycles is not None

    def effect(counters: Counters, times: int) -> None:
        counters.lds_conflict_cycles[pc] += cycles.conflicts * times
        counters.lds_cycles[pc] += cycles.all * times
        counters.lds_floor_cycles[pc] += cycles.floor * times

    return effect


def _may_repeat(lds: LdsState, access: IssuedAccess, kind: Kind) -> bool:
    """Returns whether code may repeat an access: to defined bytes, with nothing else to note."""
    if not lds.repeats(access):
        return False
    if kind is Kind.LDS_LOAD:
        return True
    return lds.stores_alone(access) and _in_order(access.offsets.ravel(), access)


def _in_order(offsets: npt.NDArray[Any], access: IssuedAccess) -> bool:
    """Returns whether the order in which words are stored cannot matter, or is that of lanes."""
    one_word = access.width <= 4 and len(access.addresses) == 1
    ordered = np.sort(offsets)
    return one_word or not len(ordered) or bool((np.diff(ordered) >= access.width).all())


def _separate(relative: Numbers, width: int) -> bool:
    """Returns likewise of the lanes of each wave; those that take no part have -1."""
    if width <= 4:
        return True
    rows = (np.sort(row[row >= 0]) for row in relative)
    return not (relative[relative >= 0] % 4).any() and all(
        bool((np.diff(row) >= width).all()) for row in rows
    )
