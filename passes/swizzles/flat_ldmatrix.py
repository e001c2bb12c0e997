# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`nvgpu.ldmatrix` on a flat buffer: the one access that the compiler's folding leaves on views.

    %v = memref.expand_shape %flat [[0, 1]] output_shape [16, 64]
    %f = nvgpu.ldmatrix %v[%row, %column]     ->     nvgpu.ldmatrix %flat[64 * %row + %column]

Other accesses come to their flat buffers by `iree-codegen-fold-memref-alias-ops`.
"""

from __future__ import annotations

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.memory.lds_ops import EXPAND_SHAPE, LDMATRIX
from ...dialect_utils.memory.memref_types import type_of
from ...dialect_utils.operations import defining_operation, operations_in


def fold_expansions_into_ldmatrix(function: ir.Operation) -> None:
    """Lets every `nvgpu.ldmatrix` on the `expand_shape` of a flat buffer read the buffer itself."""
    for operation in operations_in(function, LDMATRIX):
        view = defining_operation(operation.operands[0])
        if view is not None and _expands_flat(view):
            _read_flat(operation, view)
            if not list(view.results[0].uses):
                view.erase()


def _expands_flat(view: ir.Operation) -> bool:
    if view.name != EXPAND_SHAPE:
        return False
    return type_of(view.operands[0]).rank == 1 and type_of(view).has_static_shape


def _read_flat(operation: ir.Operation, view: ir.Operation) -> None:
    _, *indices = operation.operands
    at = Builder.before(operation)
    index = at.linearize(indices, type_of(view).shape)
    new = at.like(operation, [view.operands[0], index])
    operation.results[0].replace_all_uses_with(new.results[0])
    operation.erase()
