# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewriting a transpose of bytes in terms of `v_perm_b32` (`bank_model/byte_permutes.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from iree.compiler import ir

from ...bank_model.byte_permutes import transposed
from ...dialect_utils.intrinsics import call_intrinsic
from ...dialect_utils.operation_builder import OperationBuilder

_PERMUTE = "llvm.amdgcn.perm"


def transpose_bytes(operation: ir.Operation, rows: int, columns: int) -> None:
    """Replaces a `vector.transpose` of 8-bit elements whose last two dimensions change places.

    Args:
        rows: of each matrix, a multiple of 4.
        columns: 2, or a multiple of 4.
    """
    kind = ir.VectorType(operation.results[0].type)
    builder = _Builder(operation, kind.element_type)
    count = prod(kind.shape) // (rows * columns)
    source = builder.cast(operation.operands[0], [count * rows, columns])
    result = builder.poison([count * columns, rows])
    for matrix in range(count):
        words = [builder.row(source, matrix * rows + row, columns) for row in range(rows)]
        for column, made in enumerate(transposed(words, columns, builder.permute)):
            result = builder.insert(made, result, matrix * columns + column)
    operation.results[0].replace_all_uses_with(builder.cast(result, kind.shape))
    operation.erase()


class _Builder(OperationBuilder):
    """Creates operations in front of a transpose."""

    def __init__(self, before: ir.Operation, element: ir.Type) -> None:
        super().__init__(before)
        self.element = element
        self.word = ir.IntegerType.get_signless(32, before.context)
        self._constants: dict[int, ir.Value] = {}

    def row(self, source: ir.Value, number: int, columns: int) -> list[ir.Value]:
        """Returns a row of a matrix as words, a row of two bytes in the lower half of one."""
        row = self._extract(source, number, self._vector([columns], self.element))
        if columns == 2:
            half = ir.IntegerType.get_signless(16, self.location.context)
            packed = self.create("vector.bitcast", [row], self._vector([1], half))
            return [self.create("arith.extui", [self._extract(packed, 0, half)], self.word)]
        packed = self.create("vector.bitcast", [row], self._vector([columns // 4], self.word))
        return [self._extract(packed, word, self.word) for word in range(columns // 4)]

    def insert(self, words: Sequence[ir.Value], into: ir.Value, number: int) -> ir.Value:
        """Returns a matrix with these words as a row."""
        row = self.create("vector.from_elements", words, self._vector([len(words)], self.word))
        row = self.create("vector.bitcast", [row], self._vector([4 * len(words)], self.element))
        return self.create("vector.insert", [row, into], into.type, **self._at(number))

    def cast(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        return self.create("vector.shape_cast", [value], self._vector(shape, self.element))

    def poison(self, shape: Sequence[int]) -> ir.Value:
        value = ir.Attribute.parse("#ub.poison", self.location.context)
        return self.create("ub.poison", [], self._vector(shape, self.element), value=value)

    def permute(self, high: ir.Value, low: ir.Value, selector: int) -> ir.Value:
        if selector not in self._constants:
            value = ir.IntegerAttr.get(self.word, selector)
            self._constants[selector] = self.create("arith.constant", [], self.word, value=value)
        operands = [high, low, self._constants[selector]]
        return call_intrinsic(_PERMUTE, operands, self.word, self.point, self.location)

    def _extract(self, source: ir.Value, number: int, kind: ir.Type) -> ir.Value:
        return self.create("vector.extract", [source], kind, **self._at(number))

    def _at(self, number: int) -> dict[str, ir.Attribute]:
        return {"static_position": ir.DenseI64ArrayAttr.get([number], self.location.context)}

    def _vector(self, shape: Sequence[int], element: ir.Type) -> ir.VectorType:
        return ir.VectorType.get(list(shape), element, loc=self.location)
