# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`nvgpu.ldmatrix` on a flat buffer: the one access that the compiler's folding leaves on views.

    %v = memref.expand_shape %flat [[0, 1]] output_shape [16, 64]
    %f = nvgpu.ldmatrix %v[%row, %column]     ->     nvgpu.ldmatrix %flat[64 * %row + %column]

Other accesses come to their flat buffers by `iree-codegen-fold-memref-alias-ops`.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from .allocations import defining_operation
from .lds_accesses import LDMATRIX


def fold_expansions_into_ldmatrix(function: ir.Operation) -> None:
    """Lets every `nvgpu.ldmatrix` on the `expand_shape` of a flat buffer read the buffer itself."""
    found: list[tuple[ir.Operation, ir.Operation]] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == LDMATRIX:
            view = defining_operation(operation.operands[0])
            if view is not None and _expands_flat(view):
                found.append((operation, view))
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    for operation, view in found:
        _read_flat(operation, view)
        if not list(view.results[0].uses):
            view.erase()


def _expands_flat(view: ir.Operation) -> bool:
    if view.name != "memref.expand_shape":
        return False
    source, result = (ir.MemRefType(each.type) for each in (view.operands[0], view.results[0]))
    return source.rank == 1 and result.has_static_shape


def _read_flat(operation: ir.Operation, view: ir.Operation) -> None:
    shape = ir.MemRefType(view.results[0].type).shape
    _, *indices = operation.operands
    with ir.InsertionPoint(operation), operation.location:
        index = _linearized(indices, shape)
        made = ir.Operation.create(
            LDMATRIX,
            results=[operation.results[0].type],
            operands=[view.operands[0], index],
            attributes={name: operation.attributes[name] for name in operation.attributes},
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
