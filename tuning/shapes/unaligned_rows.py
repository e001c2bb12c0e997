# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads parts of rows that begin at any element, on GPUs that load vectors from any address.

AMD's lanes load up to 16 bytes of global memory from wherever they lie. So a lane can own 8
elements of a row of 75, though rows begin at odd elements. No load leaves its row: the last part is
read a few elements earlier, where the row has as many, and shifted to its place.

    row of 11 elements, parts of 8:       a b c d e f g h | i j k
    the second one is read from d on:           d e f g h i j k   ->   i j k 0 0 0 0 0

What is shifted are words of 4 bytes. By how much is the same for all rows, so that words which are
cut are made of two others by one instruction each, and lanes elsewhere in the row select what they
have read.

Loads are of the binding itself. Of a buffer with bounds (`amdgpu.fat_raw_buffer_cast`) LLVM loads
element by element what is not aligned.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import gcd

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.element_types import element_bits
from .shifted_rows import FUNNEL_SHIFT

_WORD_BITS, _MOST_BITS = 32, 128


def is_read_unaligned(row: int, count: int, element: ir.Type) -> bool:
    """Returns whether parts of rows are to be read from any address.

    They are where a part may cross the end of its row.

    Args:
        row: how many elements a row has.
        count: how many a part has, which begins at a multiple of them.
    """
    bits = element_bits(element)
    if bits is None or bits % 8 or _WORD_BITS % bits or not 1 < count <= row or row % count == 0:
        return False
    return count * bits % _WORD_BITS == 0 and count * bits <= _MOST_BITS


def widest_part(row: int, length: int, begin: int, element: ir.Type) -> int:
    """Returns how many elements of a row are read at once at most.

    Args:
        row: how many elements a row has.
        length: how many a row of a tile has, those behind the end of the row included.
        begin: what the first of them is a multiple of.
    """
    bits = element_bits(element) or _MOST_BITS
    widest = gcd(length, begin, max(1, _MOST_BITS // bits))
    return widest if is_read_unaligned(row, widest, element) else gcd(row, length, begin)


class UnalignedRows(NamedTuple):
    """A buffer from which parts of rows are read.

    Attributes:
        memory: the buffer with its true shape.
    """

    memory: ir.Value

    def read(
        self,
        at: Builder,
        indices: Sequence[ir.Value],
        count: int,
        *,
        may_end: bool = True,
        ahead: bool = False,
    ) -> ir.Value:
        """Emits the read of `count` elements, of which those behind the end of the row are zeros.

        Args:
            indices: of the first element, inside the buffer; the last of them is a multiple of
                `count`, or what is read is of no use.
            may_end: whether the row may end before all of them.
            ahead: whether the load is to be known as one that may run a step ahead.
        """
        kind = ir.MemRefType(self.memory.type)
        row, element = kind.shape[-1], kind.element_type
        *outer, column = indices
        bits = element_bits(element) or 8
        first = at.minui(column, at.index(row - count)) if may_end else column
        part = at.vector_type([count], element)
        place = [*outer, first]
        if ahead:
            loaded = at.transfer_read(self.memory, part, place)
        else:
            loaded = at.load(part, self.memory, place, bits // 8)
        if not may_end:
            return loaded
        length = count * bits // _WORD_BITS
        read = at.bitcast(loaded, [length], at.integer_type(_WORD_BITS))
        words = [at.extract(read, [each]) for each in range(length)]
        shifted = _shifted(at, words, (count - row % count) * bits)
        is_last = at.cmpi("eq", column, at.index(row - row % count))
        kept = [at.select(is_last, *each) for each in zip(shifted, words, strict=True)]
        return at.bitcast(at.from_elements(kept, [length]), [count], element)


def _shifted(at: Builder, words: Sequence[ir.Value], bits: int) -> list[ir.Value]:
    """Returns words that are shifted together towards the first, and filled with zeros."""
    begin, inside = divmod(bits, _WORD_BITS)
    zero = at.constant(words[0].type, 0)
    left = [*words[begin:], *[zero] * (begin + 1)]
    if not inside:
        return left[: len(words)]
    by = at.constant(words[0].type, inside)
    return [
        zero if low is zero else at.intrinsic(FUNNEL_SHIFT, [high, low, by], low.type)
        for low, high in pairwise(left)
    ]
