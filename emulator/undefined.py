# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The undefined bits of registers and memory, and where they come from.

A register that was never written holds something on the hardware, but nobody knows what. Compilers
read such registers on purpose where the value cannot matter: both halves of a pair of which one is
used, a lane that a select discards. Undefined bits therefore *spread* (`spread.py`), and are an
error only where they matter: in the address of an access, in a branch, in EXEC or MODE, and in
bytes that the host reads. LDS and global memory keep the undefined bits of what was stored.

Every undefined word has an *origin*: the instruction that read a register or an LDS byte to which
nothing had been written. An error names the origin, for that is where a programmer has to look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .assembly import Kernel
from .byte_access import ByteAccess, Bytes, Offsets
from .instruction_text import Instruction

U32 = npt.NDArray[np.uint32]
I32 = npt.NDArray[np.int32]
Rows = slice | npt.NDArray[np.intp]

ALL_BITS = np.uint32(0xFFFFFFFF)
NEVER_WRITTEN = 0
"""The origin of words that nothing was written to and that nobody has read yet."""


@dataclass(eq=False)
class Origins:
    """The texts of origins by their numbers, which count from 1."""

    texts: list[str] = field(default_factory=list[str])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def number(self, text: str) -> int:
        """Returns the number of an origin, which a new text gets."""
        if text not in self.numbers:
            self.texts.append(text)
            self.numbers[text] = len(self.texts)
        return self.numbers[text]

    def text(self, number: int) -> str:
        """Returns the text of an origin."""
        return self.texts[number - 1]


def never_written(name: str, kernel: Kernel, instruction: Instruction) -> str:
    """Returns the text of the origin that a read of `name` is, to which nothing was written."""
    return (
        f"{name}, to which nothing was written before {kernel.source}:{instruction.line} of kernel "
        f"'{kernel.name}' read it: {instruction.text}"
    )


@dataclass(frozen=True, eq=False)
class Undefined:
    """The undefined bits of an array of words.

    Attributes:
        bits: the undefined bits of each word.
        origins: the number of each word's origin, which has no meaning where the word is defined.
    """

    bits: U32
    origins: I32

    def at(self, place: Any) -> Undefined:
        """Returns the undefined bits of the words at an index."""
        return Undefined(self.bits[place], self.origins[place])

    def rearranged(self, change: Callable[[U32], U32]) -> Undefined:
        """Returns the undefined bits after `change` has moved whole words to other places."""
        origins = change(self.origins.view(np.uint32))
        return Undefined(change(self.bits), np.ascontiguousarray(origins).view(np.int32))

    @staticmethod
    def stack(
        parts: Sequence[Undefined | None], shape: tuple[int, ...], axis: int = 0
    ) -> Undefined | None:
        """Joins arrays of one shape along a new axis.

        A part that is None is defined in all bits, and so is the result if it is None.
        """
        if all(part is None for part in parts):
            return None
        nothing = Undefined(np.zeros(shape, np.uint32), np.zeros(shape, np.int32))
        whole = [part or nothing for part in parts]
        return Undefined(
            np.stack([part.bits for part in whole], axis),
            np.stack([part.origins for part in whole], axis),
        )


class DefinedBits:
    """The defined bits of a file of registers.

    Attributes:
        complete: whether all bits of each register are known to be defined in all waves. The row
            of such a register in `bits` has no meaning.
        bits: [registers, ...], the bits that are defined.
        origins: [registers, ...], the origins of the words that have other bits.
        losses: how often a register that was complete got undefined bits.
    """

    def __init__(self, registers: int, *shape: int) -> None:
        self.complete = [False] * registers
        self.losses = 0
        # Pages of zeros take no memory until somebody writes there.
        self.bits = np.zeros((registers, *shape), np.uint32)
        self.origins = np.zeros((registers, *shape), np.int32)

    def undefined(self, index: int, rows: Rows) -> Undefined | None:
        """Returns the undefined bits of a register in some waves; None if no wave has any."""
        if self.complete[index]:
            return None
        missing = ~self.bits[index][rows]
        if missing.any():
            return Undefined(missing, self.origins[index][rows])
        self.complete[index] = bool((self.bits[index] == ALL_BITS).all())
        return None

    def write(self, index: int, rows: Rows, undefined: Undefined | None) -> None:
        """Makes exactly these bits of a register undefined in some waves."""
        if self.complete[index]:
            if undefined is None:
                return
            self.bits[index] = ALL_BITS
            self.complete[index] = False
            self.losses += 1
        if undefined is None:
            self.bits[index][rows] = ALL_BITS
        else:
            self.bits[index][rows] = ~undefined.bits
            self.origins[index][rows] = undefined.origins


class UndefinedBytes:
    """The undefined bits of a memory.

    Attributes:
        bits: a byte for each byte of the memory, in which undefined bits are set.
        origins: of each byte.
    """

    def __init__(self, bits: Bytes) -> None:
        self.bits = bits
        self.origins = np.zeros(len(bits), np.int32)

    def load(self, offsets: Offsets, width: int) -> Undefined | None:
        """Returns the undefined bits of the words [words, ...] of `width` bytes from `offsets` on.

        Returns None if all are defined.
        """
        bits = ByteAccess(offsets, width).gather(self.bits)
        if not bits.any():
            return None
        origins = np.zeros(bits.shape, np.int32)
        for byte in range(width):
            undefined = self.bits[offsets + byte] != 0
            word = origins[byte // 4]
            np.copyto(word, self.origins[offsets + byte], where=undefined & (word == NEVER_WRITTEN))
        return Undefined(np.ascontiguousarray(bits), origins)

    def store(self, offsets: Offsets, width: int, undefined: Undefined | None) -> None:
        """Notes a store of words [words, ...]; all are defined if `undefined` is None."""
        if undefined is None:
            self.bits[offsets[..., None] + np.arange(width)] = 0
            return
        ByteAccess(offsets, width).scatter(self.bits, undefined.bits)
        for byte in range(width):
            self.origins[offsets + byte] = undefined.origins[byte // 4]


class UndefinedBits(Exception):
    """An instruction reads undefined bits of a register. Never leaves the emulator.

    It is raised before the instruction has changed anything. The executor catches it: the
    instruction is run again so that the bits spread, or is reported if they matter to it.

    Attributes:
        wave: the first wave that reads undefined bits.
        lane: the first lane of that wave that does; None for a scalar register.
        name: how the text spells the register.
        origin: what made the bits undefined.
    """

    def __init__(self, wave: int, lane: int | None, name: str, origin: int) -> None:
        super().__init__(name)
        self.wave = wave
        self.lane = lane
        self.name = name
        self.origin = origin

    def message(self, what: str, origins: Origins) -> str:
        """Returns the message if `what`, with which the message begins, must be defined."""
        place = f"wave {self.wave}" if self.lane is None else f"wave {self.wave}, lane {self.lane}"
        if self.origin == NEVER_WRITTEN:
            return f"{what} is undefined ({place}): nothing was written to {self.name}"
        return f"{what} is undefined ({place}): it comes from {origins.text(self.origin)}"
