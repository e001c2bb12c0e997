# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposing bytes in the registers of a lane with `v_perm_b32`.

`v_perm_b32(high, low, selector)` makes a word of any four bytes of two words. By the CDNA3 ISA, a
byte of the selector from 0 to 3 takes a byte of `low`, and one from 4 to 7 a byte of `high`. Two
rounds transpose a block of 4 x 4 bytes, of which the words are the rows a, b, c and d:

    a0 a1 a2 a3   lower(a, b) = a0 b0 a1 b1   first(lower(a, b), lower(c, d))  = a0 b0 c0 d0
    b0 b1 b2 b3   upper(a, b) = a2 b2 a3 b3   second(lower(a, b), lower(c, d)) = a1 b1 c1 d1
    c0 c1 c2 c3   lower(c, d) = c0 d0 c1 d1   first(upper(a, b), upper(c, d))  = a2 b2 c2 d2
    d0 d1 d2 d3   upper(c, d) = c2 d2 c3 d3   second(upper(a, b), upper(c, d)) = a3 b3 c3 d3

These are two instructions for each word of the result. LLVM makes three of the same transpose when
it is written as single bytes, two `v_perm_b32` and a `v_lshl_or_b32`. Rows of two bytes need no
`upper`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

LOWER, UPPER = 0x05010400, 0x07030602
FIRST, SECOND = 0x05040100, 0x07060302

Word = TypeVar("Word")


def permuted(high: int, low: int, selector: int) -> int:
    """Returns what `v_perm_b32` makes of two words, for bytes of the selector from 0 to 7."""
    both = (high << 32) | low
    picked = [both >> 8 * (selector >> 8 * byte & 7) & 0xFF for byte in range(4)]
    return sum(value << 8 * byte for byte, value in enumerate(picked))


def transposed(
    rows: Sequence[Sequence[Word]], columns: int, permute: Callable[[Word, Word, int], Word]
) -> list[list[Word]]:
    """Returns the words of each column of a matrix of bytes.

    Args:
        rows: the words of each row, a multiple of 4 rows. A row of two bytes has one word, of which
            the upper half does not matter.
        columns: 2, or a multiple of 4.
        permute: what `v_perm_b32` does with a high word, a low word and a selector.
    """
    found: list[list[Word]] = [[] for _ in range(columns)]
    for first in range(0, len(rows), 4):
        for number in range(len(rows[first])):
            a, b, c, d = (row[number] for row in rows[first : first + 4])
            for half, selector in enumerate((LOWER, UPPER)[: columns // 2]):
                left, right = permute(b, a, selector), permute(d, c, selector)
                for place, last in enumerate((FIRST, SECOND)):
                    column = 4 * number + 2 * half + place
                    found[column].append(permute(right, left, last))
    return found
