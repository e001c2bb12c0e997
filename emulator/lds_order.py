# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Races on the LDS in kernels whose waves wait for each other by words of the LDS.

Barriers alone do not order the accesses of such kernels: a wave that has seen a flag may read what
was stored before the flag was. So each wave has a clock, and knows up to which time of each other
wave of its workgroup everything has happened before (vector clocks, as in "FastTrack", Flanagan and
Freund, PLDI 2009). A wave's time advances when it stores. Each word holds what the waves knew that
stored to it. Who polls the word (`polling.py`), or updates it by an atomic, knows that too from
then on. At a barrier all waves learn everything.

Two accesses of different waves to a byte race if neither happened before the other, and one of them
is a store, or one is an atomic and the other a load. A load or an atomic that polls a byte does not
race with an aligned store of 1, 2, 4 or 8 bytes.

A load of a whole word may be a *guess*: what the word holds is loaded, and a compare-and-swap
expects it there, as where an atomic is made of a loop. Compilers load plainly for that. A guess
does not race with atomics, if the wave's next access to the word is a compare-and-swap before it
comes to a barrier.

Worked example: wave 0 stores data and then a flag, which wave 1 polls before it loads the data.
Wave 0 stores the flag at its time 2, and the word of the flag holds [2, 0]. Wave 1, whose clock was
[0, 1], polls it and has [2, 1]. The data were stored at time 1 of wave 0, which is not after 2, so
that the load of the data is no race. Without the flag wave 1 knows time 0, and it is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .issued_access import WORD, IssuedAccess

Bytes = npt.NDArray[np.int64]
Times = npt.NDArray[np.int32]
_WHOLE_STORES = (1, 2, 4, 8)
_SWAPPED = (4, 8)


class Racing(NamedTuple):
    """Two accesses that race: the byte, and wave and instruction of both.

    `verb` and `other_verb` say what they do to the byte.
    """

    byte: int
    wave: int
    verb: str
    instruction: int
    other: int
    other_verb: str
    other_instruction: int


class _Last:
    """The last access of one kind to each byte, of each wave of its workgroup or of any wave.

    Attributes:
        times: [waves of a workgroup, bytes], the time of the wave; 0 where there was none.
        instructions: likewise, the index of the instruction.
    """

    def __init__(self, verb: str, waves: int, size: int) -> None:
        self.verb = verb
        self.times: Times = np.zeros((waves, size), np.int32)
        self.instructions: Times = np.zeros((waves, size), np.int32)

    def note(self, wave: int, where: Bytes, time: int, instruction: int) -> None:
        """Notes an access of a wave, by its place in its workgroup, to some bytes."""
        self.times[wave, where] = time
        self.instructions[wave, where] = instruction


class LdsOrder:
    """What happened before what on the LDS of one machine.

    Args:
        size: the bytes of LDS of all workgroups.
        waves: the waves of all workgroups.
        per: the waves of a workgroup.
        polls: the indices of the instructions that poll.

    Attributes:
        found: the first race.
        checks: whether accesses are checked when they are noted; those that are noted again,
            because they are still under way behind a barrier, have been.
    """

    def __init__(self, size: int, waves: int, per: int, polls: frozenset[int]) -> None:
        self.per = per
        self.polls = polls
        self.found: Racing | None = None
        self.checks = True
        # What each wave knows of the times of those of its workgroup.
        self._clocks: Times = np.tile(np.eye(per, dtype=np.int32), (waves // per, 1))
        self._known_by_word: Times = np.zeros((size // WORD, per), np.int32)
        self._loads = _Last("reads", per, size)
        self._stores = _Last("writes", per, size)
        self._updates = _Last("updates", per, size)
        self._polls = _Last("polls", per, size)
        self._guesses = _Last("reads", per, size)
        # The guesses that race with atomics if no compare-and-swap follows, by wave and byte.
        self._unchecked: dict[tuple[int, int], Racing] = {}
        self._torn = _Last("writes", per, size)

    def load(self, access: IssuedAccess) -> None:
        """Notes a load."""
        polls = access.instruction in self.polls
        for wave, where in _bytes_of_waves(access):
            if polls:
                self._check(wave, where, access, "polls", self._torn)
                self._learn(wave, where)
                self._note(self._polls, wave, where, access)
                continue
            self._check(wave, where, access, "reads", self._stores)
            if access.width in _SWAPPED and not (access.offsets % access.width).any():
                self._check_guesses(wave, where, access, "reads", self._updates)
                self._note(self._guesses, wave, where, access)
            else:
                self._check(wave, where, access, "reads", self._updates)
                self._note(self._loads, wave, where, access)

    def update(self, access: IssuedAccess, compares: bool) -> None:
        """Notes an atomic; `compares` says that it is a compare-and-swap."""
        polls = access.instruction in self.polls
        for wave, where in _bytes_of_waves(access):
            stores = self._torn if polls else self._stores
            self._check(wave, where, access, "updates", stores, self._loads)
            if compares:
                self._guesses.times[wave % self.per, where] = 0
                for byte in where.tolist():
                    self._unchecked.pop((wave, byte), None)
            self._check_guesses(wave, where, access, "updates", self._guesses)
            self._learn(wave, where)
            self._note(self._polls if polls else self._updates, wave, where, access)
            self._tell(wave, where)

    def store(self, access: IssuedAccess, alike: bool) -> None:
        """Notes a store; with `alike` all waves store the same values where they meet."""
        width = access.width
        whole = width in _WHOLE_STORES and not (access.offsets % width).any()
        stored: Bytes = np.zeros(0, np.int64)
        for wave, touched in _bytes_of_waves(access):
            where = touched
            if alike:
                where = np.setdiff1d(where, stored)
                stored = np.union1d(stored, where)
            others = [self._stores, self._loads, self._guesses, self._updates]
            self._check(wave, where, access, "writes", *others, *([] if whole else [self._polls]))
            self._note(self._stores, wave, where, access)
            if not whole:
                self._note(self._torn, wave, where, access)
            self._tell(wave, where)

    def pass_barrier(self, complete: npt.NDArray[np.bool_]) -> None:
        """Lets all waves of the workgroups `complete` know everything that has happened there."""
        clocks = self._clocks.reshape(-1, self.per, self.per)
        clocks[complete] = clocks[complete].max(axis=1, keepdims=True)
        # What happens behind the barrier is later than all that a wave knows of another.
        clocks[complete] += np.eye(self.per, dtype=np.int32)

    def end_guesses(self, complete: npt.NDArray[np.bool_]) -> None:
        """Takes the guesses that no compare-and-swap has followed for loads.

        Args:
            complete: [workgroups], the workgroups whose waves are at a barrier or at their end.
        """
        for key, racing in list(self._unchecked.items()):
            if complete[key[0] // self.per]:
                self.found = self.found or racing
                del self._unchecked[key]

    def _note(self, last: _Last, wave: int, where: Bytes, access: IssuedAccess) -> None:
        own = wave % self.per
        last.note(own, where, int(self._clocks[wave, own]), access.instruction)

    def _learn(self, wave: int, where: Bytes) -> None:
        known = self._known_by_word[where // WORD].max(axis=0, initial=0)
        np.maximum(self._clocks[wave], known, out=self._clocks[wave])

    def _tell(self, wave: int, where: Bytes) -> None:
        """Lets the words of some bytes hold what a wave knows, whose time then advances."""
        words = np.unique(where // WORD)
        self._known_by_word[words] = np.maximum(self._known_by_word[words], self._clocks[wave])
        self._clocks[wave, wave % self.per] += 1

    def _check(
        self, wave: int, where: Bytes, access: IssuedAccess, verb: str, *before: _Last
    ) -> None:
        """Looks whether something of other waves did not happen before an access of a wave."""
        for last in before:
            if self.found is None and self.checks:
                self.found = next(self._racing(wave, where, access, verb, last), None)

    def _check_guesses(
        self, wave: int, where: Bytes, access: IssuedAccess, verb: str, last: _Last
    ) -> None:
        """Notes the guesses that race with an atomic: this access, or those that `last` has."""
        if not self.checks:
            return
        for racing in self._racing(wave, where, access, verb, last):
            guessing = racing.other if last is self._guesses else wave
            self._unchecked.setdefault((guessing, racing.byte), racing)

    def _racing(
        self, wave: int, where: Bytes, access: IssuedAccess, verb: str, last: _Last
    ) -> Iterator[Racing]:
        """Yields what of other waves did not happen before an access of a wave."""
        own, known = wave % self.per, self._clocks[wave][:, None]
        unknown = last.times[:, where] > known
        unknown[own] = False
        for other, place in np.argwhere(unknown).tolist():
            byte = int(where[place])
            yield Racing(
                *(byte, wave, verb, access.instruction),
                *(wave - own + other, last.verb, int(last.instructions[other, byte])),
            )


def _bytes_of_waves(access: IssuedAccess) -> list[tuple[int, Bytes]]:
    """Returns the waves of an access in order, each with the bytes that it touches."""
    offsets, owners = access.offsets, access.owners
    found: list[tuple[int, Bytes]] = []
    for wave in np.unique(owners).tolist():
        first = np.unique(offsets[owners == wave])
        found.append((wave, np.unique(first[:, None] + np.arange(access.width))))
    return found
