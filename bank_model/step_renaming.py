# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renaming an index of a distributed contraction, so that the steps of a lane lie side by side.

A matrix instruction takes a piece of each operand. Along one dimension, the lanes of a wave hold
the piece in *slots*: each slot is `unit` neighbours, held by one group of lanes. A wave goes over
its part of the dimension, a *block*, in several *steps*, so that a place in the block is

    place = (step * slots + slot) * unit + element.

A lane has the same slot in all steps: what it holds of two steps is `slots * unit` places apart,
and takes two accesses. The renaming moves the lowest `merged` steps between slot and element:

    renamed = ((step // merged * slots + slot) * merged + step % merged) * unit + element.

Example: MFMA_F32_16x16x16_F16 has 4 slots of 4 elements along k. Lane group 1 holds the places 4 to
7 in step 0, and 20 to 23 in step 1. With `merged = 2` it holds 8 to 15: one access of 16 bytes.

A renaming permutes the places of a block. So it changes no result if whatever has the index in this
block is renamed alike:

* An index that is not summed over names rows or columns of the result. Each is computed from the
  same numbers in the same order, in another lane or register, and is stored at its own place.
* An index that is summed over pairs elements of the two operands. If both go to the same place, the
  pairs are the same, but they are added in another order.

**Proof on lanes.** Where a transfer begins in every lane must be exactly what the formula says. Let
`size` be the number of rows, and of columns, that an instruction computes. In all AMD matrix
instructions of one block, lane l holds row (or column) l % size of an operand, and lanes with the
same l // size hold the same part of what is summed over: element e of one is multiplied by element
e of the other. The AMD Matrix Instruction Calculator shows it for each instruction.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from .coalescing import WIDEST_BYTES
from .quick_tuple import NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


Offsets: TypeAlias = "npt.NDArray[np.int64]"
"""The offset at which each lane begins along a dimension, as [waves, lanes of a wave]."""


class StepRenaming(NamedTuple):
    """The renaming of one block.

    Attributes:
        slots: the groups of lanes that hold different places in one step.
        unit: the neighbours that a slot holds.
        merged: how many steps become neighbours; 1 renames nothing.
    """

    slots: int
    unit: int
    merged: int

    def renamed(self, place: int) -> int:
        """Returns where the element at `place` of the block goes."""
        place, element = divmod(place, self.unit)
        step, slot = divmod(place, self.slots)
        outer, step = divmod(step, self.merged)
        return ((outer * self.slots + slot) * self.merged + step) * self.unit + element


def possible_merges(steps: int, unit: int, element_bits: int) -> tuple[int, ...]:
    """Returns how many steps may become neighbours: all powers of two that divide the steps, and
    whose elements a lane moves at once."""
    most = WIDEST_BYTES * 8 // (unit * element_bits)
    return tuple(
        merged
        for merged in (2, 4, 8, 16)
        if merged <= most and steps % merged == 0 and element_bits % 8 == 0
    )


class Slot(Enum):
    """Which part of its number says what a lane holds along a dimension."""

    ROW = 2
    """The remainder by the size: a row or a column of the result."""
    DEPTH = 1
    """The quotient: the index that is summed over."""


def slot_places(offsets: Offsets, slot: Slot, size: int) -> tuple[int, ...] | None:
    """Returns where each slot begins; None where the offset depends on anything else."""
    table = _table(offsets, size)
    places = table[0, :, 0] if slot is Slot.DEPTH else table[0, 0, :]
    along = places[:, None] if slot is Slot.DEPTH else places[None, :]
    return tuple(map(int, places)) if (table == along).all() else None


def ignores(offsets: Offsets, slot: Slot, size: int) -> bool:
    """Returns whether lanes of one wave that differ in this slot alone begin at the same offset."""
    table = _table(offsets, size)
    return bool((table == np.take(table, [0], axis=slot.value)).all())


def is_uniform(offsets: Offsets) -> bool:
    """Returns whether all lanes of a wave begin at the same offset."""
    return bool((offsets == offsets[:, :1]).all())


def are_slots(places: tuple[int, ...], unit: int) -> bool:
    """Returns whether the slots are all the multiples of `unit` below their end, each once."""
    return sorted(places) == list(range(0, len(places) * unit, unit))


def _table(offsets: Offsets, size: int) -> Offsets:
    return offsets.reshape(offsets.shape[0], offsets.shape[1] // size, size)
