# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's element types, and numbers as they have them.

Passes that change programs ask here, and NumPy is not loaded before these have run
(`iree_plugin/early_import.py`).
"""

from __future__ import annotations

import math
import struct

from iree.compiler import ir


def as_f32(number: float) -> float:
    """Returns the number of type f32 that is nearest to another one.

    Raises:
        OverflowError: it is greater than all of these.
    """
    (rounded,) = struct.unpack("f", struct.pack("f", number))
    return rounded


LOG2_E = as_f32(math.log2(math.e))
"""log2 e as f32 has it, by which IREE multiplies the scale and the mask of an attention."""


def scalar_type(kind: ir.Type) -> ir.Type:
    """Returns the type of the elements of a vector, tensor or memref; other types are their own."""
    return kind.element_type if isinstance(kind, ir.ShapedType) else kind


def number_type(kind: ir.Type) -> ir.Type | None:
    """Returns the type of a number, or of all in a vector whose size is known; None for others."""
    if isinstance(kind, ir.VectorType):
        return None if kind.scalable else kind.element_type
    return None if isinstance(kind, ir.ShapedType) else kind


def element_bits(kind: ir.Type) -> int | None:
    """Returns the bits of a scalar element type; None for other types.

    An index has 64, which is IREE's default.
    """
    if isinstance(kind, ir.IndexType):
        return 64
    if isinstance(kind, ir.IntegerType | ir.FloatType):
        return kind.width
    return None
