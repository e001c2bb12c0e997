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
from dataclasses import field
from math import prod
from typing import TypeVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder

_PERMUTE = "llvm.amdgcn.perm"
LOWER, UPPER = 0x05010400, 0x07030602
FIRST, SECOND = 0x05040100, 0x07060302

Word = TypeVar("Word")


def transpose_bytes(operation: ir.Operation, rows: int, columns: int) -> None:
    """Replaces a `vector.transpose` of 8-bit elements whose last two dimensions change places.

    Args:
        rows: of each matrix, a multiple of 4.
        columns: 2, or a multiple of 4.
    """
    kind = ir.VectorType(operation.results[0].type)
    matrices = _Matrices(Builder.before(operation), kind.element_type)
    at = matrices.at
    count = prod(kind.shape) // (rows * columns)
    source = at.shape_cast(operation.operands[0], [count * rows, columns])
    result = at.poison(at.vector_type([count * columns, rows], kind.element_type))
    for matrix in range(count):
        words = [matrices.row(source, matrix * rows + row) for row in range(rows)]
        for column, made in enumerate(transposed(words, columns, matrices.permute)):
            result = matrices.insert(made, result, matrix * columns + column)
    operation.results[0].replace_all_uses_with(at.shape_cast(result, kind.shape))
    operation.erase()


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


@dataclass
class _Matrices:
    """Creates operations on matrices of bytes, four of which are a word."""

    at: Builder
    element: ir.Type
    _constants: dict[int, ir.Value] = field(default_factory=dict)

    def row(self, source: ir.Value, number: int) -> list[ir.Value]:
        """Returns a row of a matrix as words, a row of two bytes in the lower half of one."""
        row = self.at.extract(source, [number])
        (columns,) = ir.VectorType(row.type).shape
        if columns == 2:
            half = self.at.bitcast(row, [1], self.at.integer_type(16))
            return [self.at.extui(self.at.extract(half, [0]), 32)]
        packed = self.at.bitcast(row, [columns // 4], self.at.integer_type(32))
        return [self.at.extract(packed, [word]) for word in range(columns // 4)]

    def insert(self, words: Sequence[ir.Value], into: ir.Value, number: int) -> ir.Value:
        """Returns a matrix with these words as a row."""
        row = self.at.from_elements(words, [len(words)])
        return self.at.insert(self.at.bitcast(row, [4 * len(words)], self.element), into, [number])

    def permute(self, high: ir.Value, low: ir.Value, selector: int) -> ir.Value:
        """Returns four of the eight bytes of two words."""
        if selector not in self._constants:
            self._constants[selector] = self.at.constant(low.type, selector)
        return self.at.intrinsic(_PERMUTE, [high, low, self._constants[selector]], low.type)
