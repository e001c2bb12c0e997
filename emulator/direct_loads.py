# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads from memory straight to the LDS that are under way, and who touches their bytes too early.

Such a load (`buffer_load_dword ... lds`, `global_load_lds_dwordx4`) writes no register, and whole
words of the LDS. They are there once the wave that issued it has waited until vmcnt is low enough.
The emulator puts them there at once and marks them until the wait comes. Until then nobody may
touch them, the wave itself included. From the wait on they are a store of that wave like any other,
which waves without a barrier between race with.

gfx1250's `global_load_async_to_lds_b128` has a counter of its own, asynccnt.

A wave numbers the instructions that the counter counts. They finish in the order of issue: after a
wait for n, all are done but the last n. Worked example:

    buffer_load_dword v0, s[4:7], 0 offen lds       number 1, marks its words
    buffer_load_dword v1, v0, s[4:7], 0 offen       number 2
    s_waitcnt vmcnt(1)                              all up to 2 - 1 are done: the marks go
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .assembly import Kernel
from .emulation_errors import MissingWaitError
from .issued_access import WORD, Indices, IssuedAccess, WaveIds
from .waits import queue_of_direct_loads, wait_text


@dataclass(eq=False)
class Load:
    """One issue of a direct load.

    Attributes:
        numbers: [n], the number that the load has in each of its waves.
        words: the words of the LDS that the load writes.
    """

    access: IssuedAccess
    numbers: Indices
    words: Indices


class DirectLoads:
    """The direct loads of one machine that may be under way.

    Args:
        lds_bytes: the bytes of LDS of all workgroups together.
    """

    def __init__(self, kernel: Kernel, waves: int, lds_bytes: int) -> None:
        self._kernel = kernel
        self._issued = np.zeros(waves, np.int64)
        # By word of the LDS the key of the load that writes it, or 0.
        self._marks = np.zeros(-(-lds_bytes // WORD), np.int32)
        self._loads: dict[int, Load] = {}
        self._made = 0

    def count(self, waves: WaveIds) -> None:
        """Gives an instruction that vmcnt counts its number in each of `waves`."""
        self._issued[waves] += 1

    def begin(self, access: IssuedAccess, words: Indices, numbers: Indices | None = None) -> None:
        """Marks the words of a load as not yet written.

        `numbers` are those of the load in its waves, by default the ones that were counted last.
        """
        self._made += 1
        if numbers is None:
            numbers = self._issued[access.waves]
        self._loads[self._made] = Load(access, numbers, words)
        self._marks[words] = self._made

    def settle(self, waves: WaveIds, count: int) -> list[tuple[Load, npt.NDArray[np.bool_]]]:
        """Takes away the marks of loads that are done after `waves` have waited for `count`.

        Returns:
            These loads, and in which of their waves [n] they are done. Where one is not done in
            all, the caller begins it again for the others.
        """
        done_up_to = np.full(len(self._issued), -1)
        done_up_to[waves] = self._issued[waves] - count
        settled: list[tuple[Load, npt.NDArray[np.bool_]]] = []
        for key, load in list(self._loads.items()):
            done = load.numbers <= done_up_to[load.access.waves]
            if done.any():
                del self._loads[key]
                self._marks[load.words[self._marks[load.words] == key]] = 0
                settled.append((load, done))
        return settled

    def check(self, words: Indices, what: str) -> None:
        """Refuses an access to `words` that a load may yet have to write.

        Args:
            what: says what happens to a byte, such as "is read".

        Raises:
            MissingWaitError: the message names the load and the wait.
        """
        if not self._loads:
            return
        marks = self._marks[words]
        if not marks.any():
            return
        word = int(words[marks != 0][0])
        raise MissingWaitError(self._message(word, what))

    def _message(self, word: int, what: str) -> str:
        load = self._loads[int(self._marks[word])]
        access = load.access
        starts = access.offsets.reshape(-1) // WORD
        addresses = access.addresses
        addresses = addresses if access.active is None else addresses[:, access.active]
        place = int(np.flatnonzero((starts <= word) & (word < starts + access.width // WORD))[0])
        wave = int(access.owners.reshape(-1)[place])
        byte = int(addresses.reshape(-1)[place]) + WORD * (word - int(starts[place]))
        number = int(load.numbers[access.waves == wave][0])
        younger = int(self._issued[wave]) - number
        instruction = self._kernel.instructions[access.instruction]
        chip = self._kernel.chip
        wait = wait_text(chip, (queue_of_direct_loads(chip),), younger)
        return (
            f"LDS byte {byte} {what} before the load of line {instruction.line} "
            f"('{' '.join(instruction.text.split())}') has written it for certain: wave {wave}, "
            f"which loads it, needs '{wait}' before, and any other wave a barrier behind that wait"
        )
