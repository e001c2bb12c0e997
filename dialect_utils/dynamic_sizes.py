# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The number that stands in static lists where the program computes the number.

Shapes, strides, offsets and the `static_...` attributes of subviews and (de)linearized indices
all use the same one; the operand that belongs there follows in the operand list.
"""

from __future__ import annotations

from typing import Final

from iree.compiler import ir

DYNAMIC: Final[int] = ir.ShapedType.get_dynamic_size()


def has_dynamic_tensor(operation: ir.Operation) -> bool:
    """Returns whether an operand is a tensor with a dynamic size."""
    tensors = [each for each in operation.operands if isinstance(each.type, ir.RankedTensorType)]
    return any(DYNAMIC in ir.ShapedType(each.type).shape for each in tensors)
