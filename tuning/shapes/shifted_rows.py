# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads parts of rows that begin at any element by aligned words, which are shifted into place.

Rows of an odd number of 16-bit elements begin at addresses that only 2 divides, so that no load is
wider than an element. A buffer is one run of elements, though. Eight elements from element p on lie
in the words of four elements that begin at p - p mod 4, such as those from element 4k + 3 on:

    . . . a  b c d e  f g h .      ->      a b c d e f g h

Three loads bring them in the place of eight. p mod 4 is a number of the lane's own: pairs of
elements are chosen by a select, and single elements by a shift of two pairs.

Words are whole ones of the buffer, whose length they divide. Words that have only elements behind
the end of the row may lie behind the end of the buffer: its last word is loaded in their place.

Of an image of which a convolution takes every second element, words bring two for one that is
wanted, and still are fewer loads: from element 4k + 3 on

    . . . a  . b . c  . d . .      ->      a b c d
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from math import gcd, prod

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ..costs.gathered_copies import Words

_BITS, _PAIR_BITS = 16, 32
_WORD_BITS = 64
"""Those of a word. Longer ones have to be shifted further, and shorter ones are more loads."""
FUNNEL_SHIFT = "llvm.fshr.i32"
"""The lower half of two words that are shifted to the right together: one instruction."""
PERMUTE = "llvm.nvvm.prmt"
"""Any four bytes of two words, by a number of four digits that say which."""
_LOWER_HALVES, _UPPER_HALVES = 0x5410, 0x7632
"""The numbers by which `PERMUTE` takes the lower or the upper halves of two words."""


def word_elements(
    shape: Sequence[int], row: int, element: ir.Type, alignment: int, most_bits: int = _WORD_BITS
) -> int:
    """Returns how many elements make a word by which rows of odd lengths are read.

    0 stands for a buffer that has other rows, or does not consist of words.

    Args:
        shape: that of the buffer, which has no gaps.
        row: how many elements a row has.
        alignment: the bytes of which the address of its first element is a multiple.
        most_bits: those of the longest word that is asked for.
    """
    if element_bits(element) != _BITS or DYNAMIC in shape or row % 2 == 0:
        return 0
    elements = gcd(prod(shape), alignment * 8 // _BITS, most_bits // _BITS)
    return elements if elements > 1 else 0


class ShiftedRows(NamedTuple):
    """A buffer from which parts of rows are read.

    Attributes:
        memory: the buffer, of one dimension.
        word: how many elements a word has.
        row: how many elements a row has.
    """

    memory: ir.Value
    word: int
    row: int

    def read(
        self, at: Builder, place: ir.Value, column: ir.Value, count: int, *, may_end: bool = True
    ) -> ir.Value:
        """Emits the read of `count` elements, of which those behind the end of the row are zeros.

        Args:
            place: the number of the first element in the buffer, in which it lies.
            column: its number in the row, a multiple of `count`.
            count: a multiple of the elements of a word.
            may_end: whether the row may end before all of them.
        """
        shifted = self.pairs(at, place, count)
        if may_end:
            shifted = self._within(at, shifted, column, count)
        whole = at.from_elements(shifted, [count // 2])
        return at.bitcast(whole, [count], ir.MemRefType(self.memory.type).element_type)

    def pairs(
        self, at: Builder, place: ir.Value, count: int, step: int = 1, multiple: int = 1
    ) -> list[ir.Value]:
        """Emits the read of an even number of elements, and returns them two by two.

        Args:
            place: the number of the first element in the buffer, in which it lies.
            step: 1 for neighbours, 2 for every second element.
            multiple: what divides `place`.
        """
        inside = at.andi(place, at.index(self.word - 1))
        words = Words.covering(count, step, self.word, multiple)
        pairs = self._pairs(at, at.subi(place, inside), words.number)
        # The first word begins that many elements early. Each bit of the number but the lowest one
        # moves whole pairs, and the lowest one moves all elements by half a pair.
        further = at.index_cast(inside, _PAIR_BITS)
        known = gcd(self.word, multiple)
        distance = self.word // 4
        while 2 * distance >= known and distance:
            bit = at.andi(further, at.constant(further.type, 2 * distance))
            is_set = at.cmpi("ne", bit, at.constant(further.type, 0))
            later = pairs[distance:]
            pairs = [at.select(is_set, *each) for each in zip(later, pairs, strict=False)]
            distance //= 2
        odd = at.constant(further.type, 0)
        if known == 1:
            odd = at.andi(further, at.constant(further.type, 1))
        elif step == 1:
            return pairs[: count // 2]
        if step == 1:
            by = at.muli(odd, at.constant(odd.type, _BITS))
            ends = islice(pairwise(pairs), count // 2)
            return [at.intrinsic(FUNNEL_SHIFT, [high, low, by], low.type) for low, high in ends]
        upper = at.muli(odd, at.constant(odd.type, _UPPER_HALVES - _LOWER_HALVES))
        halves = at.addi(upper, at.constant(odd.type, _LOWER_HALVES))
        ends = zip(pairs[:count:2], pairs[1:count:2], strict=True)
        return [at.intrinsic(PERMUTE, [low, high, halves], low.type) for low, high in ends]

    def _pairs(self, at: Builder, begin: ir.Value, words: int) -> list[ir.Value]:
        """Emits loads of so many words from `begin` on, and returns their pairs."""
        kind = ir.MemRefType(self.memory.type)
        vector, half = at.vector_type([self.word], kind.element_type), self.word // 2
        last = at.index(kind.shape[0] - self.word)
        pairs: list[ir.Value] = []
        for number in range(words):
            place = at.addi(begin, at.index(number * self.word)) if number else begin
            place = at.minui(place, last) if number else place
            loaded = at.load(vector, self.memory, [place], self.word * _BITS // 8)
            word = at.bitcast(loaded, [half], at.integer_type(_PAIR_BITS))
            pairs += [at.extract(word, [each]) for each in range(half)]
        return pairs

    def _within(
        self, at: Builder, pairs: Sequence[ir.Value], column: ir.Value, count: int
    ) -> list[ir.Value]:
        """Returns pairs of elements with zeros for elements behind the end of the row."""
        there = self.row % count
        is_last = at.cmpi("eq", column, at.index(self.row - there))
        kind = pairs[0].type
        zero, low = at.constant(kind, 0), at.constant(kind, (1 << _BITS) - 1)
        kept = list(pairs[: there // 2])
        for first, each in enumerate(pairs[there // 2 :], there // 2):
            inside = at.andi(each, low) if 2 * first + 1 == there else zero
            kept.append(at.select(is_last, inside, each))
        return kept
