# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposes bytes that were read from the LDS with two `v_perm_b32` a word.

Where a lane reads several columns of a row-major operand at once, as `bankwise-rename-contractions`
lets it, it transposes them in its registers. Runs before `iree-llvmgpu-vector-lowering`, where the
transpose is still one operation:

    %r = vector.transfer_read %lds[...] : ..., vector<2x16x1x4xi8>
    %c = vector.shape_cast %r : vector<2x16x1x4xi8> to vector<4x8x4x1xi8>
    %t = vector.transpose %c, [0, 2, 3, 1] : vector<4x8x4x1xi8> to vector<4x4x1x8xi8>

Single bytes, as other kernels read them, are left to LLVM, and so are elements of 16 bits, of which
it makes one `v_perm_b32` for each word.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.memory.memref_types import is_workgroup_memref
from ...dialect_utils.operations import (
    TRANSFER_READ,
    defining_operation,
    operations_in,
    value_behind,
)
from ...passes.base import FunctionPass, PassContext
from .byte_transposes import transpose_bytes


class TransposeBytes(FunctionPass):
    """Transposes bytes with as few byte permutations as there can be."""

    name: ClassVar[str] = "bankwise-transpose-bytes"
    summary: ClassVar[str] = "transpose bytes that were read from the LDS by v_perm_b32"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` transposes rows of bytes on an AMD GPU."""
        return bool(_transposes(function, None))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the transposes of rows of bytes."""
        for operation, rows, columns in _transposes(function.operation, context.test_target):
            transpose_bytes(operation, rows, columns)


def _transposes(
    function: ir.Operation, test_target: str | None
) -> list[tuple[ir.Operation, int, int]]:
    """Returns the transposes that `v_perm_b32` can do, with their rows and columns."""
    if not gpu_features_of(function, test_target).byte_permutes:
        return []
    return [
        (operation, *matrix)
        for operation in operations_in(function, "vector.transpose")
        if (matrix := _matrix(operation)) is not None
        and _row_of(operation.operands[0]) % matrix[1] == 0
    ]


def _matrix(operation: ir.Operation) -> tuple[int, int] | None:
    """Returns the rows and columns that a transpose of bytes swaps.

    Returns None for any other transpose, and where rows or columns do not fill words.
    """
    kind = ir.VectorType(operation.operands[0].type)
    if element_bits(kind.element_type) != 8:
        return None
    order = list(ir.DenseI64ArrayAttr(operation.attributes["permutation"]))
    long = [dim for dim, size in enumerate(kind.shape) if size > 1]
    moved = [dim for dim in order if kind.shape[dim] > 1]
    if len(long) < 2 or moved != [*long[:-2], long[-1], long[-2]]:
        return None
    rows, columns = kind.shape[long[-2]], kind.shape[long[-1]]
    return (rows, columns) if rows % 4 == 0 and (columns == 2 or columns % 4 == 0) else None


def _row_of(value: ir.Value) -> int:
    """Returns how many neighbours in the LDS a vector was read by; 1 if it comes from elsewhere."""
    source = defining_operation(value_behind(value, ("vector.shape_cast",)))
    if source is None or source.name != TRANSFER_READ:
        return 1
    if not is_workgroup_memref(source.operands[0].type):
        return 1
    return ir.VectorType(source.results[0].type).shape[-1]
