# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The chips that can be emulated, and in what they differ.

A chip is a row of `CHIPS`. The rest of the emulator is one for all chips: an instruction that
several chips have is implemented once, under one name, to which `mnemonics.py` leads the names that
a chip has for it. Where chips differ in what an instruction does, its implementation asks the row.

What a row says is from "User Guide for AMDGPU Backend" (LLVM), from the ISA documents of AMD, and
of gfx1250, for which there is none, from LLVM's own tables alone.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Isa(IntEnum):
    """The instruction sets, in the order in which they were published."""

    CDNA2 = 2
    CDNA3 = 3
    CDNA4 = 4
    RDNA3 = 11
    RDNA3_5 = 12
    RDNA4 = 13
    GFX1250 = 14


class Chip(NamedTuple):
    """What a chip has.

    Attributes:
        name: as LLVM names it.
        wave_sizes: the lanes that a wave may have, the usual number first.
        scalars: the scalar registers that the text may name by a number.
        vectors: the vector registers of a lane.
        accumulators: whether a lane has accumulation registers beside them.
    """

    name: str
    isa: Isa
    wave_sizes: tuple[int, ...] = (32, 64)
    scalars: int = 106
    vectors: int = 256
    accumulators: bool = False

    @property
    def is_rdna(self) -> bool:
        """Returns whether the chip has the encodings that began with RDNA.

        gfx1250 has them too.
        """
        return self.isa >= Isa.RDNA3

    @property
    def has_split_counters(self) -> bool:
        """Returns whether each kind of memory has its own counter to wait for, and barriers are
        signalled and waited for apart."""
        return self.isa >= Isa.RDNA4

    @property
    def has_private_descriptor(self) -> bool:
        """Returns whether waves access private memory by a descriptor that swizzles, of which the
        launch gives them the base and the offset of the wave."""
        return self.isa is Isa.CDNA2

    @property
    def has_sram_ecc(self) -> bool:
        """Returns whether vector registers have error correction, if it is not switched off."""
        return not self.is_rdna

    @property
    def has_architected_ids(self) -> bool:
        """Returns whether the ids of a workgroup lie in the trap registers."""
        return self.isa >= Isa.RDNA4


CDNA2 = "gfx90a"
CDNA3 = "gfx942"
CDNA4 = "gfx950"


def _cdna(name: str, isa: Isa) -> Chip:
    return Chip(name, isa, wave_sizes=(64,), scalars=102, accumulators=True)


CHIPS = {
    chip.name: chip
    for chip in (
        _cdna(CDNA2, Isa.CDNA2),
        _cdna(CDNA3, Isa.CDNA3),
        _cdna(CDNA4, Isa.CDNA4),
        *(Chip(f"gfx110{number}", Isa.RDNA3) for number in range(4)),
        *(Chip(f"gfx115{number}", Isa.RDNA3_5) for number in range(2)),
        *(Chip(f"gfx120{number}", Isa.RDNA4) for number in range(2)),
        Chip("gfx1250", Isa.GFX1250, wave_sizes=(32,), vectors=1024),
    )
}
"""The chips that can be emulated, by their names."""

EMULATED_CHIPS = tuple(CHIPS)
"""The chips whose assembly the emulator runs, as LLVM names them."""


def _of(*sets: Isa) -> tuple[str, ...]:
    """Returns the chips with one of some instruction sets."""
    return tuple(chip.name for chip in CHIPS.values() if chip.isa in sets)


GENERIC_CHIPS = {
    "gfx9-4-generic": (CDNA3, CDNA4),
    "gfx11-generic": _of(Isa.RDNA3, Isa.RDNA3_5),
    "gfx12-generic": _of(Isa.RDNA4),
    "gfx12-5-generic": ("gfx1250",),
}
"""The chips that can be emulated of those that code for a generic processor runs on, by its name;
where nobody chooses, it runs on the first ("User Guide for AMDGPU Backend", Generic Processors)."""
