# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewriting a transfer so that its vector has other names for the indices of its dimensions.

Let L be the layout of the vector that a transfer reads, and P the layout that it has in terms of
the memory after a renaming. Both give every lane the same number of registers; only their order
differs. So the vector is read with the layout P, its registers are put into the order of L, and
what used it goes on with L:

    %p = iree_vector_ext.to_layout %read to layout(P)
    %a = iree_vector_ext.to_simt %p : vector<64x64xf16> -> vector<4x1x1x1x4x4xf16>
    %b = vector.shape_cast %a       single digits
    %c = vector.transpose %b        into the order of L
    %d = vector.shape_cast %c : ... to vector<4x4x1x1x4x1xf16>
    %e = iree_vector_ext.to_simd %d : vector<4x4x1x1x4x1xf16> -> vector<64x64xf16>
    %l = iree_vector_ext.to_layout %e to layout(L)

IREE's distribution folds `to_simt` of `to_simd`, so that a permutation of registers is all that is
left. A written vector goes the same way from L to P.
"""

from __future__ import annotations

from iree.compiler import ir

from ...bank_model.layout_digits import RegisterOrder
from ...bank_model.lds_rules import AccessKind
from ...bank_model.nested_layout import NestedLayout
from ...dialect_utils.builders import Builder
from ...dialect_utils.memory.vector_layouts import op_name
from ...dialect_utils.operations import TRANSFER_WRITE, defining_operation, operands_with, redirect
from .dimension_classes import NamedTransfer
from .register_moves import converted


def rename_transfer(
    transfer: NamedTransfer, logical: NestedLayout, physical: NestedLayout, order: RegisterOrder
) -> None:
    """Gives the vector of a transfer the layout `physical` in terms of the memory.

    Args:
        logical: the layout that all other operations go on to see.
        order: how the registers of `physical` become those of `logical`.
    """
    op = transfer.op
    if transfer.kind is AccessKind.READ:
        vector = op.results[0]
        users = operands_with(vector)
        redirect(users, converted(Builder.after(op), vector, physical, order, logical))
    else:
        vector = op.operands[0]
        op.operands[0] = converted(Builder.before(op), vector, logical, order.inverse(), physical)


def hand_over(
    write: NamedTransfer,
    written: NestedLayout,
    read: NamedTransfer,
    wanted: NestedLayout,
    order: RegisterOrder,
) -> None:
    """Lets a vector go from its writer to its reader in registers, and erases the tile between.

    Args:
        written, wanted: the layouts of the vector that is written and of the one that is read.
        order: how the registers of `written` become those of `wanted`.
    """
    at = Builder.before(write.op).at(read.op.location)
    new = converted(at, write.vector, written, order, wanted)
    read.op.results[0].replace_all_uses_with(new)
    tile: ir.Value | None = read.memory
    read.op.erase()
    while tile is not None and not list(tile.uses):
        op = defining_operation(tile)
        if op is None or op_name(op) not in _STAGING:
            return
        tile = op.operands[_STAGING[op_name(op)]] if op.operands else None
        op.erase()


_STAGING = {
    "iree_gpu.value_barrier": 0,
    TRANSFER_WRITE: 1,
    "bufferization.alloc_tensor": 0,
}
"""The operations between an allocation and its reader, with their operand that is the tile."""
