# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewriting a transpose of bytes in terms of `v_perm_b32` (`bank_model/byte_permutes.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from iree.compiler import ir

from ...bank_model.byte_permutes import transposed
from ...dialect_utils.builders import Builder

_PERMUTE = "llvm.amdgcn.perm"


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
