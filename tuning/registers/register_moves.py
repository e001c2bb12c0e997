# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Putting the registers that hold a vector into another order, before the vector is distributed.

`iree_vector_ext.to_simt` gives the registers of a lane as a vector of batch, outer and element
tiles, and `to_simd` makes an undistributed vector of such registers, which may be of another shape.
IREE's distribution folds one into the other, so that what is between them is all that is left.
"""

from __future__ import annotations

from iree.compiler import ir

from ...bank_model.layout_digits import RegisterOrder
from ...bank_model.nested_layout import NestedLayout
from ...dialect_utils.builders import Builder


def converted(
    at: Builder,
    value: ir.Value,
    source: NestedLayout,
    order: RegisterOrder,
    target: NestedLayout,
) -> ir.Value:
    """Returns `value` with its registers, those of `source`, in the order of `target`."""
    value = at.to_simt(at.to_layout(value, source), order.held)
    value = at.transpose(at.shape_cast(value, order.expanded), order.permutation)
    value = at.to_simd(at.shape_cast(value, order.wanted), target.shape)
    return at.to_layout(value, target)
