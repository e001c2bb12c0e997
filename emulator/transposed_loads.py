# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads whose lanes exchange what they have read, so that each gets a column of a small matrix.

Each lane reads a few neighbouring elements, a row. Then its element number r comes from another
lane, by a fixed pattern, whatever the addresses were.

* gfx950, `ds_read_b64_tr_b*` (CDNA4 ISA): 16 lanes read 16 columns. A lane has E = 64 / bits
  elements of one row, and 16 / E neighbours have a row of 16. Lane i gets column i: its element r
  is element i % E of lane (16 / E) r + i // E. With 16-bit elements, lanes 0..3 read row 0, lanes
  4..7 row 1, and lane 5 gets, as its element 2, the second element that lane 9 read.
* gfx1250, `ds_load_tr16_b128` and `global_load_tr16_b128`, and RDNA4's `global_load_tr_b128` in
  waves of 32: 8 lanes read 8 rows of 8 elements, and lane i of them gets column i.
* gfx1250, `ds_load_tr8_b64`: likewise, but each 8 lanes that get columns get them from 4 lanes and
  another 4: lanes 0..7 from lanes 0..3 and 8..11, and lanes 8..15 from lanes 4..7 and 12..15.

The patterns of gfx1250 are those of Triton's guide to its transposing loads ("fullTile": the bases
of lanes and registers). AMD's ROCjitsu has the same for `global_load_tr16_b128` and RDNA4's
`global_load_tr_b128`, and Triton (pull request 7616) measured the latter. Nothing that was found
says which lanes exchange in the other such loads of RDNA4, `global_load_tr_b64` and those of waves
of 64 lanes, nor in gfx1250's of 4 and 6 bits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .emulation_errors import UnknownInstructionError
from .instruction_text import Instruction

U32 = npt.NDArray[np.uint32]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TransposedLoad:
    """A load after which lanes exchange elements.

    Attributes:
        width: the bytes that each lane reads and gets.
        bits: the bits of an element.
        source_lane: [lanes, elements], the lane from which each element of a lane comes. Lanes
            exchange among themselves in groups of so many.
        source_element: [lanes, elements], which of its elements that is.
    """

    width: int
    bits: int
    source_lane: Indices
    source_element: Indices

    def exchange(self, words: U32) -> U32:
        """Returns what lanes get for the words [words, n, lanes] that they have read."""
        count, group = self.width // 4, len(self.source_lane)
        tiles = words.reshape(count, -1, words.shape[-1] // group, group)
        rows = _unpack(np.ascontiguousarray(np.moveaxis(tiles, 0, -1)), self.bits)
        packed = _pack(rows[:, :, self.source_lane, self.source_element], self.bits)
        return np.moveaxis(packed, -1, 0).reshape(words.shape)


def _of_cdna4(bits: int) -> TransposedLoad:
    elements = 64 // bits
    lane, element = np.indices((16, elements))
    return TransposedLoad(8, bits, 16 // elements * element + lane // elements, lane % elements)


def _of_eight_lanes(bits: int, lane_of_eight: int, lane_of_four: int) -> TransposedLoad:
    """Returns a load of 8 elements a lane, whose pattern is linear in the bits of its numbers.

    Args:
        lane_of_eight: the source lane of the first element of lane 8.
        lane_of_four: the source lane of element 4 of lane 0.
    """
    lane, element = np.indices((16, 8))
    source = lane // 8 * lane_of_eight + element % 4 + element // 4 * lane_of_four
    return TransposedLoad(bits, bits, source, lane % 8)


_OF_16_BITS = _of_eight_lanes(16, lane_of_eight=8, lane_of_four=4)
_LOADS: Mapping[str, TransposedLoad] = {
    **{f"ds_read_b64_tr_b{bits}": _of_cdna4(bits) for bits in (16, 8, 4)},
    "ds_load_tr16_b128": _OF_16_BITS,
    "ds_load_tr8_b64": _of_eight_lanes(8, lane_of_eight=4, lane_of_four=8),
    "global_load_tr16_b128": _OF_16_BITS,
    "global_load_tr_b128": _OF_16_BITS,
}
_NAME = re.compile(r"_(load|read)_(b\d+_)?tr\d*_b\d+$")


def is_transposed_load(instruction: Instruction) -> bool:
    """Returns whether an instruction is a transposing load, whether there is a model of it or not.

    It has the name that the emulator has it by.
    """
    return _NAME.search(instruction.mnemonic) is not None


def transposed_load(instruction: Instruction) -> TransposedLoad:
    """Returns what a transposing load does, in waves of 32 lanes except for gfx950's.

    Raises:
        UnknownInstructionError: nobody says which lanes exchange.
    """
    load = _LOADS.get(instruction.mnemonic)
    if load is None:
        raise UnknownInstructionError(instruction, "no text says which lanes exchange")
    return load


def _unpack(words: U32, bits: int) -> npt.NDArray[np.unsignedinteger]:
    """Splits words [..., words] into elements [..., elements], the low bits first."""
    if bits == 16:
        return words.view(np.uint16)
    octets = words.view(np.uint8)
    if bits == 8:
        return octets
    low, high = octets & np.uint8(15), octets >> np.uint8(4)
    return np.stack([low, high], axis=-1).reshape(*octets.shape[:-1], -1)


def _pack(elements: npt.NDArray[np.unsignedinteger], bits: int) -> U32:
    """Puts elements together to words; the reverse of `_unpack`."""
    if bits == 4:
        elements = elements[..., 0::2] | elements[..., 1::2] << np.uint8(4)
    return np.ascontiguousarray(elements).view(np.uint32)
