# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptors of buffers, and which bytes of a buffer an access may reach.

A descriptor is 128 bits in four scalar registers. Its base is an address, and `num_records` the
number of bytes or, of a structured buffer, of elements of `stride` bytes.

CDNA3 ISA, "Buffer Resource Descriptor": base in 47:0, stride in 61:48, num_records in 95:64. A raw
access (without `idxen`) is out of range word by word, where its offset reaches num_records -
soffset; a structured one (`idxen`), where the index reaches num_records.

RDNA3 and RDNA4: the same fields, but bits 125:124 (OOB_SELECT) choose what is out of range:

* 0: an index that reaches num_records, or an offset that reaches the stride;
* 1: an index that reaches num_records;
* 2: everything if num_records is 0, and otherwise nothing;
* 3: as a raw access on CDNA3. MLIR's and LLVM's descriptors for checked buffers have this one.

gfx1250, as LLVM 22 makes it (`lowerPointerAsRsrcIntrin`): base in 56:0 and num_records in 101:57,
with whatever lies above being 0. Nothing is published about the other bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .byte_access import Offsets
from .chips import Chip, Isa
from .emulation_errors import EmulationError
from .operands import Source
from .wave_state import WaveGroup

_NO_LIMIT = 1 << 20
"""More bytes than an access has."""
_STRUCTURED, _INDEXED, _UNCHECKED, _RAW = range(4)
_CHECKS = (_RAW, _UNCHECKED, _INDEXED, _STRUCTURED)
"""The checks, those that compilers ask for before the others."""


@dataclass(frozen=True)
class Resource:
    """The fields of a descriptor, each [n, 1], or one number where all waves agree.

    Attributes:
        soffset: the scalar offset of the access.
        private: whether it is that of the private memory of all lanes, on chips where a descriptor
            leads there.
        check: what is out of range, as RDNA numbers it; None for CDNA, where it follows from
            whether the access has an index.
    """

    base: Offsets
    stride: Offsets
    records: Offsets
    soffset: Offsets
    check: int | None
    private: bool = False

    def space(self, offset: Offsets, index: Offsets | None) -> Offsets | None:
        """Returns how many bytes from each lane's address on are in range; None for no limit.

        Args:
            offset: [n, lanes], the sum of the lane's and the instruction's offset.
            index: [n, lanes]; None if the access has none.

        Raises:
            EmulationError: the access has an index, and the check is that of raw buffers.
        """
        check = self.check
        if check is None:
            check = _RAW if index is None else _INDEXED
        if check == _RAW:
            if index is not None:
                raise EmulationError("no model of an index into a buffer that is checked as raw")
            return self.records - self.soffset - offset
        if check == _UNCHECKED:
            if np.all(self.records != 0):
                return None
            return np.where(self.records != 0, _NO_LIMIT, 0) + 0 * offset
        element = np.zeros_like(offset) if index is None else index
        space = _NO_LIMIT if check == _INDEXED else self.stride - offset
        return np.where(element < self.records, space, 0)


def resource_reader(
    chip: Chip, first: int, soffset: Source | None
) -> Callable[[WaveGroup], Resource]:
    """Reads the descriptor in scalar registers `first` to `first + 3`, and the scalar offset.

    Args:
        soffset: reads the scalar offset; None if there is none.
    """
    parse: _Parser = (
        _parse_gfx1250 if chip.isa is Isa.GFX1250 else _parse_rdna if chip.is_rdna else _parse
    )
    parse = _parse_cdna2 if chip.has_private_descriptor else parse
    last_key, last = b"", None

    def read(group: WaveGroup) -> Resource:
        nonlocal last_key, last
        words = [group.s(first + k) for k in range(4)]
        words.append(np.zeros_like(words[0]) if soffset is None else soffset(group))
        if not isinstance(words[0], np.ndarray):
            # Values that write down what is computed with them.
            return parse(group, [each.astype(np.int64)[:, None] for each in words])
        stacked = np.stack(words)
        key = stacked.tobytes()
        if last is None or key != last_key:
            agree = bool((stacked == stacked[:, :1]).all())
            wide = stacked.astype(np.int64)
            last_key, last = key, parse(group, [*(wide[:, 0] if agree else wide[:, :, None])])
        return last

    return read


_Words = Sequence[Offsets]
"""The words of a descriptor and the scalar offset, [n, 1], or one number each."""
_Parser = Callable[[WaveGroup, _Words], Resource]


def _parse(group: WaveGroup, words: _Words) -> Resource:
    """Reads a descriptor of CDNA.

    Bit 63 of the descriptor asks for swizzling, and bit 119 adds the lane's number.
    """
    low, high, records, last, soffset = words
    _expect_plain(group, high >> 31, last)
    return Resource(low | (high & 0xFFFF) << 32, high >> 16 & 0x3FFF, records, soffset, None)


PRIVATE_DESCRIPTOR = (0, 1 << 31, 0xFFFFFFFF, 0x00E00000)
"""The words of the descriptor of private memory, whose base the emulator does not need: swizzled,
with elements of 4 bytes and the lane's number added ("User Guide for AMDGPU Backend", "Private
Segment Buffer")."""


def _parse_cdna2(group: WaveGroup, words: _Words) -> Resource:
    """Reads a descriptor of CDNA2, which may be that of private memory."""
    if (words[1] >> 31 & words[3] >> 23 & 1).all():
        low, _, records, _, soffset = words
        return Resource(0 * low, 0 * low, records, soffset, None, private=True)
    return _parse(group, words)


def _parse_rdna(group: WaveGroup, words: _Words) -> Resource:
    """Reads a descriptor of RDNA3 or RDNA4.

    Bits 63:62 of the descriptor ask for swizzling, and bit 119 adds the lane's number.
    """
    low, high, records, last, soffset = words
    _expect_plain(group, high >> 30, last)
    checks = last >> 28 & 3
    check = next((each for each in _CHECKS if group.holds(checks == each)), None)
    if check is None:
        raise EmulationError("no model of descriptors whose range checks differ between waves")
    base, stride = low | (high & 0xFFFF) << 32, high >> 16 & 0x3FFF
    return Resource(base, stride, records, soffset, check)


def _parse_gfx1250(group: WaveGroup, words: _Words) -> Resource:
    low, high, middle, last, soffset = words
    if not group.holds(last >> 6 == 0):
        raise EmulationError("no model of a descriptor of gfx1250 with a stride or flags")
    records = high >> 25 | middle << 7 | last << 39
    return Resource(low | (high & 0x1FFFFFF) << 32, 0 * low, records, soffset, _RAW)


def _expect_plain(group: WaveGroup, swizzle: Offsets, last: Offsets) -> None:
    if not group.holds(swizzle | last >> 23 & 1 == 0):
        raise EmulationError("no model of buffers that swizzle or add the lane")
