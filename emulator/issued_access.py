# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An access to the LDS as a group of waves issues it: which bytes it touches, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from .byte_access import ByteAccess, Offsets

LaneMask = npt.NDArray[np.bool_]
WaveIds = npt.NDArray[np.intp]
Indices = npt.NDArray[np.int64]
CountT = TypeVar("CountT", int, npt.NDArray[np.int64])

WORD = 4
"""The bytes of the largest granule of the LDS that accesses are compared by."""


@dataclass(frozen=True, eq=False)
class Touched:
    """The granules that an access touches.

    Attributes:
        granules: [g], the numbers of the granules in ascending order.
        lowest: [g], the lowest wave that touches each of them.
        highest: [g], the highest wave that touches each of them.
    """

    granules: Indices
    lowest: Indices
    highest: Indices


class LdsCycles(NamedTuple, Generic[CountT]):
    """The LDS cycles of one issue of an instruction: of a wave, or [workgroups] of each workgroup.

    Attributes:
        conflicts: the cycles beyond one per phase.
        all: the cycles of all phases, conflicts included.
        floor: the fewest cycles that the data volume takes.
    """

    conflicts: CountT
    all: CountT
    floor: CountT


@dataclass(eq=False)
class IssuedAccess:
    """The bytes that one issue of an instruction touches, and what was found out about them.

    Attributes:
        serial: the number of this access; no other access has it.
        instruction: the index of the instruction.
        waves: [n], the waves that execute the instruction.
        addresses: [parts, n, lanes], the first byte of each lane within the LDS of its workgroup.
            An instruction such as `ds_read2_b32` touches several parts.
        active: [n, lanes], the lanes that take part; None if all do.
        width: the bytes that a lane touches of each part.
        offsets: the places of the first bytes in `LdsState.bytes`, [parts, n, lanes], or
            [parts, m] for the m lanes that take part where not all do.
        place: reads and writes the bytes.
        touched: the granules that the access touches, by the size of a granule in bytes, as far as
            they have been asked for. Those of the first workgroup alone stand under -size.
        defined_at: how many stores had put undefined bits into the LDS when all bytes of the access
            were last seen to be defined. They still are while that number stays the same.
        cycles: what one issue costs each workgroup; None before it is counted.
        wave_cycles: [n], the cycles of all phases that one issue costs each wave; None likewise.
        workgroups: how many neighbouring workgroups the waves make up that touch the same bytes of
            their LDS each; 0 if they are other waves, or touch other bytes.
    """

    serial: int
    instruction: int
    waves: WaveIds
    addresses: Offsets
    active: LaneMask | None
    width: int
    offsets: Offsets
    place: ByteAccess
    touched: dict[int, Touched]
    defined_at: int = -1
    cycles: LdsCycles[Indices] | None = None
    wave_cycles: Indices | None = None
    workgroups: int = 0

    @property
    def granule(self) -> int:
        """Returns the size of the largest granule, up to a word, that is only touched whole."""
        divisors = self.place.alignment | self.width | WORD
        return divisors & -divisors

    @property
    def owners(self) -> WaveIds:
        """Returns the wave to which each of `offsets` belongs."""
        owners = np.broadcast_to(self.waves[:, None], self.addresses.shape)
        return owners if self.active is None else owners[:, self.active]
