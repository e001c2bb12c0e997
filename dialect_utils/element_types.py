# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's element types. Their NumPy dtypes are in `dtypes`, which a compile does without."""

from __future__ import annotations

from iree.compiler import ir


def element_bits(kind: ir.Type) -> int | None:
    """Returns the bits of a scalar element type; None for other types.

    An index has 64, which is IREE's default.
    """
    if isinstance(kind, ir.IndexType):
        return 64
    if isinstance(kind, ir.IntegerType | ir.FloatType):
        return kind.width
    return None
