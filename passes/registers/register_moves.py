# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Putting the registers that hold a vector into another order, before the vector is distributed.

`iree_vector_ext.to_simt` gives the registers of a lane as a vector of batch, outer and element
tiles, and `to_simd` makes an undistributed vector of such registers, which may be of another shape.
IREE's distribution folds one into the other, so that what is between them is all that is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from ...bank_model.layout_digits import RegisterOrder
from ...bank_model.nested_layout import NestedLayout


class RegisterMoves:
    """Builds operations that put the registers of a vector into another order, at one place."""

    def __init__(self, point: ir.InsertionPoint, location: ir.Location) -> None:
        """Builds at `point`."""
        self.point, self.location = point, location

    def converted(
        self, value: ir.Value, source: NestedLayout, order: RegisterOrder, target: NestedLayout
    ) -> ir.Value:
        """Returns `value` with its registers, those of `source`, in the order of `target`."""
        value = self.laid_out(value, source)
        value = self.created("iree_vector_ext.to_simt", [value], order.held)
        value = self.created("vector.shape_cast", [value], order.expanded)
        permutation = ir.DenseI64ArrayAttr.get(order.permutation, self.location.context)
        shape = [order.expanded[axis] for axis in order.permutation]
        value = self.created("vector.transpose", [value], shape, permutation=permutation)
        value = self.created("vector.shape_cast", [value], order.wanted)
        value = self.created("iree_vector_ext.to_simd", [value], target.shape)
        return self.laid_out(value, target)

    def laid_out(self, value: ir.Value, layout: NestedLayout) -> ir.Value:
        """Returns `value` with the layout stated."""
        attribute = ir.Attribute.parse(str(layout), self.location.context)
        return self.created("iree_vector_ext.to_layout", [value], layout.shape, layout=attribute)

    def created(
        self,
        name: str,
        operands: Sequence[ir.Value],
        shape: Sequence[int],
        **attributes: ir.Attribute,
    ) -> ir.Value:
        """Returns the result of a new operation, with elements of the first operand's type."""
        element = ir.VectorType(operands[0].type).element_type
        op = ir.Operation.create(
            name,
            results=[ir.VectorType.get(shape, element, loc=self.location)],
            operands=list(operands),
            attributes=attributes,
            loc=self.location,
            ip=self.point,
        )
        return op.results[0]
