# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses that the compiler's folding leaves on views come to the flat buffer behind these.

    %v = memref.expand_shape %flat [[0, 1, 2]] output_shape [2, 16, 64]
    %s = memref.subview %v[%slot, 0, 0] [1, 16, 64] [1, 1, 1]
    %f = nvgpu.ldmatrix %s[%row, %column]  ->  nvgpu.ldmatrix %flat[1024 * %slot + 64 * %row + ...]

`iree-codegen-fold-memref-alias-ops` does the same for loads and stores. It leaves
`nvgpu.ldmatrix`, `nvgpu.device_async_copy` and `amdgpu.transpose_load` as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.memory.lds_ops import (
    CAST,
    EXPAND_SHAPE,
    SUBVIEW,
    Offset,
    access_row,
    accesses_in,
    view_row,
)
from ...dialect_utils.memory.memref_types import (
    static_strides,
    type_of,
    with_workgroup_buffers,
)
from ...dialect_utils.operations import (
    defining_operation,
    erase_unused,
    mixed_operands,
    value_behind,
)


def fold_views_into_accesses(function: ir.Operation) -> None:
    """Lets accesses to views of a flat LDS buffer access the buffer itself, where offsets are flat.

    Views whose strides are not static, and those in another address space, stay.
    """
    numbers: dict[ir.Operation, int] = {}
    for operation in accesses_in(function):
        row = access_row(operation)
        number = None if row is None else row.buffer_operand(operation)
        if row is not None and row.offset is Offset.FLAT and number is not None:
            numbers[operation] = number
    for operation in with_workgroup_buffers(numbers, lambda each: each.operands[numbers[each]]):
        _fold(operation, numbers[operation])


def _fold(operation: ir.Operation, number: int) -> None:
    """Folds the views of which one is this operand of an access."""
    buffer = operation.operands[number]
    views = _views_of_flat(buffer)
    if not views:
        return
    rank = type_of(buffer).rank
    indices = [operation.operands[number + 1 + n] for n in range(rank)]
    at = Builder.before(operation)
    index = _flat_index(at, views, indices)
    if index is None:
        return
    new = at.accessing(operation, number, rank, views[-1].operands[0], index)
    for old, result in zip(operation.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    operation.erase()
    erase_unused([buffer])


def _views_of_flat(buffer: ir.Value) -> list[ir.Operation]:
    """Returns the views between `buffer` and a one-dimensional memref, the last one first.

    Returns none where there is no such memref.
    """
    views: list[ir.Operation] = []
    while True:
        view = defining_operation(buffer)
        row = view_row(view)
        if view is None or row is None or not row.folds or not row.keeps_space:
            break
        views.append(view)
        buffer = view.operands[0]
    is_flat = isinstance(buffer.type, ir.MemRefType) and buffer.type.rank == 1
    return views if is_flat else []


def _flat_index(
    at: Builder, views: Sequence[ir.Operation], indices: Sequence[ir.Value]
) -> ir.Value | None:
    """Returns the element of the flat memref at `indices` of the last view; None if not known."""
    # A cast may have forgotten what the type before it says.
    kind = type_of(value_behind(views[0].results[0], (CAST,)))
    if len(views) == 1 and views[0].name == EXPAND_SHAPE and kind.has_static_shape:
        return at.linearize(indices, kind.shape)
    parts: list[tuple[ir.MemRefType, Sequence[ir.Value | int]]] = [(kind, indices)]
    for view in views:
        if view.name == SUBVIEW:
            offsets = mixed_operands(view, "static_offsets", 1)
            parts.append((type_of(value_behind(view.operands[0], (CAST,))), offsets))
    constant, products, values = 0, list[str](), list[ir.Value]()
    for part, numbers in parts:
        strides = static_strides(part)
        if strides is None:
            return None
        for number, stride in zip(numbers, strides, strict=True):
            if isinstance(number, int):
                constant += number * stride
            else:
                products.append(f"d{len(values)} * {stride}")
                values.append(number)
    return at.apply(" + ".join([*products, str(constant)]), *values)
