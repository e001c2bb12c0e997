# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What copies cost whose elements begin anywhere in memory, or lie apart.

The matrix that a convolution multiplies by lies nowhere in memory. Of an image with channels first,
neighbouring columns of the matrix are neighbouring pixels, which begin at odd elements as often as
not, or are every second one. `cp.async` copies neither. Lanes load single elements, or words that
are shifted into place (`tuning/shapes/shifted_rows.py`), and store to the LDS what they have put
together.

A copy of a lane is some elements of a row. The wider it is, the fewer indices are computed; the
narrower, the fewer lines of memory a load of all lanes touches, each of which is a cycle of the
memory that the LDS is a part of:

    8 elements a lane, of 2 bytes, 256 columns: a load of single elements touches 512 bytes, 5 lines
    2 elements a lane:                                                            128 bytes, 2 lines
"""

from __future__ import annotations

import math
from functools import lru_cache

from ...bank_model.quick_tuple import NamedTuple
from .processors import Processor
from .tile_cost import SCHEDULERS

_MOST_KEPT = 256
"""The rows whose copies are kept: all tiles of so many columns ask for the same."""
_WIDTHS, _WORD_SIZES = (8, 4, 2, 1), (2, 4, 8)
_ELEMENT_BYTES, _LINE_BYTES = 2, 128
_MORE_LINES = 0.25
"""How many lines more than its length says a run of memory has, on average."""
_ENOUGH = 1.08
"""Of ways that take up to so many times as long as the best one the widest is taken, whose fewer
instructions are less latency, too. f16 1x3002x1280x1280 of stride 2 takes 1.23 times as long on an
H200 with 8 places a lane as with 4, for which 1.09 times are predicted (128 x 64, 8 warps)."""
_ALONE, _BY_WORDS, _IN_PLACE = (9.0, 3.7), (10.0, 3.1), (0.0, 1.5)
"""The instructions of a copy, and of each of its elements in memory: if lanes load single elements,
words that are shifted, and words that are not."""
_OF_PART = 8.0
"""The instructions of each part of a copy that is read by words of its own."""


class Words(NamedTuple):
    """The words by which neighbours are read.

    Attributes:
        elements: how many a word has.
        number: how many words there are.
        is_shifted: whether the first neighbour may be another element than the first of a word.
    """

    elements: int
    number: int
    is_shifted: bool = True

    @staticmethod
    def covering(count: int, step: int, elements: int, multiple: int = 1) -> Words:
        """Returns how many words have `count` elements, `step` apart, wherever the first one is.

        Args:
            elements: how many a word has, a power of two.
            multiple: what divides the number of the first element in memory.
        """
        latest = elements - math.gcd(elements, multiple)
        return Words(elements, -(-(latest + (count - 1) * step + 1) // elements), latest > 0)


class Gather(NamedTuple):
    """How the elements of an operand lie that is copied element by element, or by shifted words.

    Attributes:
        step: by how many elements of memory neighbours of a row are apart.
        run: how many neighbours are, from each multiple of that number on.
        word: how many elements the longest word has by which the memory can be read; 0 if by none.
        multiple: what divides the number in memory of the first element of each row.
        near: of how many rows that follow each other the elements lie in the same lines.
        pitch: by how many elements of memory a run is apart from the next.
    """

    step: int
    run: int
    word: int = 0
    multiple: int = 1
    near: int = 1
    pitch: int = 0

    def words(self, count: int) -> Words | None:
        """Returns the fewest words that have `count` neighbours, wherever the first one is.

        None stands for single elements, which are no more loads.
        """
        multiple = math.gcd(self.multiple, count * self.step)
        sizes = (size for size in _WORD_SIZES if size <= self.word and self.step <= 2)
        ways = (Words.covering(count, self.step, size, multiple) for size in sizes)
        found = min(ways, key=lambda each: each.number, default=None)
        return found if found and count % 2 == 0 and found.number < count else None

    def copies(self, row: int, width: int, lanes: int) -> GatheredCopy:
        """Returns what a copy of so many elements of a row costs, where rows have `row` of them."""
        part = math.gcd(width, self.run)
        words = self.words(part)
        loads = width // part * words.number if words else width
        along = min(lanes, row // width)
        rows = 1 + (lanes / along - 1) / self.near
        least = (words.elements if words else 1) * _ELEMENT_BYTES * lanes / _LINE_BYTES
        lines = max(least, min(lanes, rows * self._lines(along * width)))
        return GatheredCopy(
            width=width,
            cycles=loads * lines + max(1.0, lanes * width * _ELEMENT_BYTES / _LINE_BYTES),
            instructions=self._instructions(width, part, words),
            registers=loads * (words.elements // 2 if words else 1),
        )

    def _lines(self, count: int) -> float:
        """Returns in how many lines of memory so many neighbours lie.

        Between runs there are elements that no neighbour is: half of an image of stride 2.
        """
        runs, span = count / self.run, count * self.step
        between = runs * max(0, self.pitch - self.run * self.step)
        together = 1 + _MORE_LINES + (span + between) * _ELEMENT_BYTES / _LINE_BYTES
        apart = (1 + runs) * (1 + _MORE_LINES) + span * _ELEMENT_BYTES / _LINE_BYTES
        return min(together, apart)

    def _instructions(self, width: int, part: int, words: Words | None) -> float:
        if words is None:
            of_copy, of_element = _ALONE
            return of_copy + of_element * width
        of_copy, of_element = _BY_WORDS if words.is_shifted else _IN_PLACE
        of_parts = _OF_PART * width / part if words.is_shifted else 0.0
        return of_copy + of_parts + of_element * self.step * width

    def best(self, row: int, processor: Processor) -> GatheredCopy:
        """Returns the copies that take the least time, of those that rows consist of."""
        return _best_copies(self, row, processor)


@lru_cache(_MOST_KEPT)
def _best_copies(gather: Gather, row: int, processor: Processor) -> GatheredCopy:
    ways = [gather.copies(row, each, processor.lanes) for each in _WIDTHS if row % each == 0]
    times = [each.time(processor) / each.width for each in ways]
    return next(each for each, t in zip(ways, times, strict=True) if t <= _ENOUGH * min(times))


class GatheredCopy(NamedTuple):
    """What a copy of all lanes of a warp costs.

    Attributes:
        width: how many elements a lane copies.
        cycles: those of the memory that the LDS is a part of, for loads and the store.
        instructions: of a warp.
        registers: of a lane, for what it loads.
    """

    width: int
    cycles: float
    instructions: float
    registers: int

    def time(self, processor: Processor) -> float:
        """Returns the cycles that a multiprocessor takes for it, beside many others.

        Lanes compute indices and put elements together before they store them, so that the
        schedulers' time comes to that of the memory: in convolutions on an H200 the sum of both is
        0.9 to 1.1 times the cycles that were measured, with 4 to 10 million instructions.
        """
        return self.cycles + self.instructions * processor.issue_cycles / SCHEDULERS
