# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads and stores of all lanes at once, in a memory that is one array of bytes.

Values are u32 words [words, ...]. A value that is narrower than a word fills its low bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

PADDING = 16
"""The array of a memory must be a multiple of this many bytes long."""


def words_of(width: int) -> int:
    """Returns the number of 32-bit words that hold `width` bytes."""
    return -(-width // 4)


class ByteAccess:
    """The access to `width` bytes from each of `offsets` [...] on.

    Attributes:
        alignment: the largest power of two, at most 16, that divides all offsets.
    """

    def __init__(self, offsets: Offsets, width: int) -> None:
        low = int(np.bitwise_or.reduce(offsets, axis=None)) | PADDING
        self.alignment = low & -low
        self._offsets = offsets
        self._width = width
        # Whole aligned elements are indexed as such; what is left, byte by byte.
        self._unit = 0
        for unit in (width, 4) if width % 4 == 0 else (width,):
            if unit in (1, 2, 4, 8, 16) and self.alignment >= unit:
                self._unit = unit
                self._index = offsets >> unit.bit_length() - 1
                break

    def gather(self, memory: Bytes) -> Words:
        """Returns the bytes in `memory` as words [words, ...]."""
        unit, width = self._unit, self._width
        if unit in (1, 2):
            return memory.view(f"u{unit}").take(self._index).astype(np.uint32)[None]
        if unit == 4:
            words = memory.view(np.uint32)
            if width == 4:
                return words.take(self._index)[None]
            return np.stack([words.take(self._index + k) for k in range(width // 4)])
        if unit:
            rows = memory.view(np.uint32).reshape(-1, unit // 4).take(self._index, axis=0)
            return rows.transpose(rows.ndim - 1, *range(rows.ndim - 1))
        pieces = np.zeros((*self._offsets.shape, 4 * words_of(width)), np.uint8)
        pieces[..., :width] = memory[self._offsets[..., None] + np.arange(width)]
        return np.moveaxis(pieces.view(np.uint32), -1, 0)

    def scatter(self, memory: Bytes, words: Words) -> None:
        """Stores `words` [words, ...]; where offsets are equal the last value stays."""
        unit, width = self._unit, self._width
        if unit in (1, 2):
            memory.view(f"u{unit}")[self._index] = words[0].astype(f"u{unit}")
        elif unit == 4:
            for k in range(width // 4):
                memory.view(np.uint32)[self._index + k] = words[k]
        elif unit:
            rows = memory.view(np.uint32).reshape(-1, unit // 4)
            rows[self._index] = words.transpose(*range(1, words.ndim), 0)
        else:
            pieces = np.ascontiguousarray(np.moveaxis(words, 0, -1)).view(np.uint8)
            memory[self._offsets[..., None] + np.arange(width)] = pieces[..., :width]
