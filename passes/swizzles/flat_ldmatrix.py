# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`nvgpu.ldmatrix` on a flat buffer: the one access that the compiler's folding leaves on views.

    %v = memref.expand_shape %flat [[0, 1]] output_shape [16, 64]
    %f = nvgpu.ldmatrix %v[%row, %column]     ->     nvgpu.ldmatrix %flat[64 * %row + %column]

Other accesses come to their flat buffers by `iree-codegen-fold-memref-alias-ops`.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from ...dialect_utils.memory.lds_ops import EXPAND_SHAPE, LDMATRIX
from ...dialect_utils.memory.memref_types import type_of
from ...dialect_utils.operations import attributes_of, defining_operation, operations_in


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
    shape = type_of(view).shape
    _, *indices = operation.operands
    with ir.InsertionPoint(operation), operation.location:
        index = _linearized(indices, shape)
        made = ir.Operation.create(
            LDMATRIX,
            results=[operation.results[0].type],
            operands=[view.operands[0], index],
            attributes=attributes_of(operation),
        )
    operation.results[0].replace_all_uses_with(made.results[0])
    operation.erase()


def _linearized(indices: Sequence[ir.Value], shape: Sequence[int]) -> ir.Value:
    attributes = {
        "static_basis": ir.DenseI64ArrayAttr.get(list(shape)),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(indices), 0]),
        "disjoint": ir.UnitAttr.get(),
    }
    made = ir.Operation.create(
        "affine.linearize_index",
        results=[ir.IndexType.get()],
        operands=list(indices),
        attributes=attributes,
    )
    return made.results[0]
