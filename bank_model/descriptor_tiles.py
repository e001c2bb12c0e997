# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles in the LDS that matrix units read by a descriptor, as `wgmma` reads B.

A descriptor (PTX ISA, "Matrix descriptor") has a start address, two distances and the mode of a
swizzle. It stands for a matrix of rows of `row_bytes` bytes. Eight rows, one behind the other, make
a block; inside a block the 16-byte groups of a row are moved by an XOR with the number of the
128 bytes that they lie in:

    mode        rows        the group at byte b lies at            as elements of f16
    128 bytes   128 bytes   b ^ (b / 128 mod 8) * 16               xor_shuffle<64, 8, 64, 1>
    64 bytes    64 bytes    b ^ (b / 128 mod 4) * 16               xor_shuffle<32, 8, 64, 1>
    32 bytes    32 bytes    b ^ (b / 128 mod 2) * 16               xor_shuffle<16, 8, 64, 1>

b counts from address 0 of the LDS, so that tiles start at multiples of 1,024 bytes.

B has k (summed) elements and n columns. One instruction takes 32 bytes of k, and n in eights:

* **K-major**: a row has elements of one column, side by side along k. The block holds the columns
  0 to 7, and `stride_bytes` behind it lies the block of the columns 8 to 15.
* **MN-major** (for elements of 16 bits): a row has elements of one k, side by side along n. The
  block holds the k 0 to 7, and `stride_bytes` behind it lies the block of the k 8 to 15. Where n is
  wider than a row, its next columns lie `lead_bytes` behind.

Worked example: a tile of 128 columns and 64 k of f16, K-major. A row is 128 bytes, a block 1,024,
and `stride_bytes` is 1,024. The second 16 of the k start 32 bytes behind the first ones.

Modes, majors and distances were verified on an H200 for the widths 8 to 256: the products are those
of `mma.sync`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .quick_tuple import NamedTuple
from .swizzles import XorShuffle

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

IntArray: TypeAlias = "npt.NDArray[np.int64]"

LANES = 32
"""The lanes of a warp."""
GROUP_WARPS = 4
"""The warps that multiply together: a warpgroup."""
TILE_ALIGNMENT = 1024
"""The bytes of which the start of a tile is a multiple, so that its rows count from there."""
GROUP_BYTES = 16
BLOCK_ROWS = 8
STEP_BYTES = 32
"""Bytes of k that one instruction takes."""
CYCLE_BYTES = 128
"""Bytes that the LDS moves in a cycle: a word of each bank."""
_FIELD = 1 << 14
"""Descriptors have 14 bits for a distance, and for the start, in units of 16 bytes."""


class DescriptorMode(NamedTuple):
    """One of the swizzles that descriptors know.

    Attributes:
        row_bytes: the bytes of a row.
        code: the number of the mode in a descriptor.
    """

    row_bytes: int
    code: int

    @property
    def block_bytes(self) -> int:
        """Returns the bytes of eight rows."""
        return BLOCK_ROWS * self.row_bytes

    def swizzle(self, element_bytes: int) -> XorShuffle:
        """Returns the swizzle of elements of so many bytes."""
        row, group, line = (
            part // element_bytes for part in (self.row_bytes, GROUP_BYTES, CYCLE_BYTES)
        )
        return XorShuffle(row, group, line, 1)

    def __str__(self) -> str:
        return f"{self.row_bytes}-byte mode"


DESCRIPTOR_MODES = (DescriptorMode(128, 1), DescriptorMode(64, 2), DescriptorMode(32, 3))
"""The widest first: its tiles are read without conflicts, and hold the most k."""


class ArrangedPart(NamedTuple):
    """Neighbouring columns of a tile, arranged so that descriptors of one mode give parts of them.

    The columns are cut into blocks as wide as the rows of the mode. The blocks lie one behind the
    other, each with all rows, and the swizzle of the mode moves their groups:

        64 rows of 128 columns of f16  ->  2 blocks of 64 rows, each with xor_shuffle<64, 8, 64, 1>

    Attributes:
        first: the first column.
        rows, columns: how many there are.
        element_bytes: the bytes of an element.
    """

    first: int
    rows: int
    columns: int
    element_bytes: int
    mode: DescriptorMode

    @property
    def begins_aligned(self) -> bool:
        """Returns whether a part that lies behind this one begins where a swizzle does."""
        is_whole = self.rows % BLOCK_ROWS == 0
        return is_whole and self.rows * self.columns * self.element_bytes % TILE_ALIGNMENT == 0

    @property
    def width(self) -> int:
        """Returns the columns of a block."""
        return self.mode.row_bytes // self.element_bytes

    @property
    def blocks(self) -> int:
        """Returns how many blocks there are."""
        return self.columns // self.width

    @property
    def line_rows(self) -> int:
        """Returns how many rows of a block fill all banks."""
        return CYCLE_BYTES // self.mode.row_bytes

    @property
    def swizzle(self) -> XorShuffle:
        """Returns the swizzle of its elements."""
        return self.mode.swizzle(self.element_bytes)

    def place(self, row: IntArray, column: IntArray) -> IntArray:
        """Returns where elements of these rows and columns of the tile lie in the part."""
        block, inside = np.divmod(column - self.first, self.width)
        return self.swizzle.apply((block * self.rows + row) * self.width + inside)


class ArrangedTile(NamedTuple):
    """A tile of which descriptors can give parts, whatever the number of its columns is.

    The widest mode has as many columns as it divides, and narrower ones have the rest:

        64 rows of 112 columns of f16  ->  64, 32 and 16 columns, in the modes of 128, 64, 32 bytes

    `cp.async` writes what it has of one row and one block in an LDS cycle, which is less in a
    narrower mode.

    Attributes:
        parts: from the first column on.
    """

    parts: tuple[ArrangedPart, ...]

    @staticmethod
    def of(rows: int, columns: int, element_bytes: int) -> ArrangedTile | None:
        """Returns the arrangement of a tile, if there is one."""
        parts: list[ArrangedPart] = []
        first = 0
        for mode in DESCRIPTOR_MODES:
            width = mode.row_bytes // element_bytes
            taken = (columns - first) // width * width
            if taken:
                parts.append(ArrangedPart(first, rows, taken, element_bytes, mode))
                first += taken
        if first == columns and all(part.begins_aligned for part in parts):
            return ArrangedTile(tuple(parts))
        return ArrangedTile.in_one_mode(rows, columns, element_bytes)

    @staticmethod
    def in_one_mode(rows: int, columns: int, element_bytes: int) -> ArrangedTile | None:
        """Returns the arrangement in the widest mode that divides the columns, if there is one."""
        for mode in DESCRIPTOR_MODES:
            if columns * element_bytes % mode.row_bytes == 0:
                part = ArrangedPart(0, rows, columns, element_bytes, mode)
                return ArrangedTile((part,)) if part.begins_aligned else None
        return None

    @property
    def rows(self) -> int:
        """Returns the rows of the tile."""
        return self.parts[0].rows

    @property
    def columns(self) -> int:
        """Returns the columns of the tile."""
        return sum(part.columns for part in self.parts)

    def place(self, elements: IntArray) -> IntArray:
        """Returns where elements lie that are numbered row by row, if parts follow each other."""
        row, column = np.divmod(elements, self.columns)
        places = np.zeros_like(elements)
        for part in self.parts:
            inside = (column >= part.first) & (column < part.first + part.columns)
            found = part.first * part.rows + part.place(row[inside], column[inside])
            places[inside] = found
        return places


class DescribedOperand(NamedTuple):
    """How descriptors give an operand, all but the start address.

    Attributes:
        mn_major: whether a row has elements of one k.
        lead_bytes: how far the columns lie apart that are more than a row; 0 if there are none.
        stride_bytes: how far blocks lie apart.
    """

    mode: DescriptorMode
    mn_major: bool
    lead_bytes: int
    stride_bytes: int

    @property
    def high_bits(self) -> int:
        """Returns the descriptor without its start."""
        # Where the leading distance means nothing, CUTLASS and this module give a 1.
        lead = self.lead_bytes // GROUP_BYTES or 1
        return self.mode.code << 62 | (self.stride_bytes // GROUP_BYTES) << 32 | lead << 16


def described_operand(groups: IntArray, mn_major: bool) -> tuple[DescribedOperand, IntArray] | None:
    """Returns how descriptors give an operand whose groups of 16 bytes lie at known bytes.

    Args:
        groups: [..., columns / 8, 16], the byte at which each group starts, counted from a multiple
            of `TILE_ALIGNMENT`. K-major, the 16 are those of 8 columns times 2 halves of the k;
            MN-major, those of 16 k, of 8 columns each.

    Returns:
        the operand and [...], the bytes at which it starts; None where no descriptor does that in
        all of [...].
    """
    for mode in DESCRIPTOR_MODES:
        plain = mode.swizzle(1).apply(groups)
        start = plain[..., :1, :1]
        found = (_mn_major if mn_major else _k_major)(plain, mode)
        if found is None:
            continue
        lead, stride, expected = found
        if (plain == start + expected).all() and _fits(start, lead, stride, mode, mn_major):
            return DescribedOperand(mode, mn_major, lead, stride), start[..., 0, 0]
    return None


def _k_major(plain: IntArray, mode: DescriptorMode) -> tuple[int, int, IntArray] | None:
    """Returns the distances as the first groups have them, and where groups lie then."""
    tiles = plain.shape[-2]
    stride = _first_distance(plain, 1) if tiles > 1 else mode.block_bytes
    rows = np.add.outer(np.arange(BLOCK_ROWS) * mode.row_bytes, np.arange(2) * GROUP_BYTES)
    return 0, stride, np.add.outer(np.arange(tiles) * stride, rows.ravel())


def _mn_major(plain: IntArray, mode: DescriptorMode) -> tuple[int, int, IntArray] | None:
    tiles, across = plain.shape[-2], mode.row_bytes // GROUP_BYTES
    if tiles > across and tiles % across:
        return None
    lead = _first_distance(plain, across) if tiles > across else 0
    first = plain.reshape(-1, tiles, 2 * BLOCK_ROWS)[0, 0]
    stride = int(first[BLOCK_ROWS] - first[0])
    number, k = np.arange(tiles), np.arange(2 * BLOCK_ROWS)
    columns = number % across * GROUP_BYTES + number // across * lead
    rows = k % BLOCK_ROWS * mode.row_bytes + k // BLOCK_ROWS * stride
    return lead, stride, np.add.outer(columns, rows)


def _first_distance(plain: IntArray, tile: int) -> int:
    first = plain.reshape(-1, *plain.shape[-2:])[0]
    return int(first[tile, 0] - first[0, 0])


def _fits(start: IntArray, lead: int, stride: int, mode: DescriptorMode, mn_major: bool) -> bool:
    """Returns whether a descriptor can say the distances, and blocks begin where the XOR does."""
    inside = start % mode.block_bytes
    # An instruction that starts inside a row must end there.
    begins = (inside == 0) if mn_major else (inside + STEP_BYTES <= mode.row_bytes)
    distances = all(
        0 <= each < _FIELD * GROUP_BYTES and each % mode.block_bytes == 0 for each in (lead, stride)
    )
    return bool(begins.all()) and distances and bool((start >= 0).all())
