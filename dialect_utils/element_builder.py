# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computing a vector element by element, where an instruction takes scalars or pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from iree.compiler import ir

from .intrinsics import call_intrinsic
from .operation_builder import OperationBuilder


class ElementBuilder(OperationBuilder):
    """Creates operations in front of an operation, on scalars and on vectors of static sizes."""

    def __init__(self, before: ir.Operation) -> None:
        super().__init__(before, ("arith", "llvm", "vector"))

    def elements(self, value: ir.Value) -> list[ir.Value]:
        """Returns the elements of a vector in row-major order, or the scalar itself."""
        kind = value.type
        if not isinstance(kind, ir.VectorType):
            return [value]
        count = math.prod(kind.shape)
        flat = self.shaped(value, [count])
        return [self._extract(flat, number) for number in range(count)]

    def joined(self, elements: Sequence[ir.Value], kind: ir.Type) -> ir.Value:
        """Returns a value of type `kind` with these elements; a scalar has one."""
        if not isinstance(kind, ir.VectorType):
            (element,) = elements
            return element
        flat = self._vector([len(elements)], kind.element_type)
        return self.shaped(self.create("vector.from_elements", elements, flat), kind.shape)

    def shaped(self, vector: ir.Value, shape: Sequence[int]) -> ir.Value:
        """Returns a vector with the elements of `vector` in another shape, or in its own."""
        kind = ir.VectorType(vector.type)
        if list(kind.shape) == list(shape):
            return vector
        result = self._vector(shape, kind.element_type)
        return self.create("vector.shape_cast", [vector], result)

    def call(self, intrinsic: str, operands: Sequence[ir.Value], result: ir.Type) -> ir.Value:
        """Returns the result of an LLVM intrinsic."""
        return call_intrinsic(intrinsic, operands, result, self.point, self.location)

    def _extract(self, vector: ir.Value, number: int) -> ir.Value:
        position = ir.DenseI64ArrayAttr.get([number], self.location.context)
        kind = ir.VectorType(vector.type).element_type
        return self.create("vector.extract", [vector], kind, static_position=position)

    def _vector(self, shape: Sequence[int], element: ir.Type) -> ir.VectorType:
        return ir.VectorType.get(list(shape), element, loc=self.location)
