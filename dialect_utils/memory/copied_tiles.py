# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles in workgroup memory that are copies of other tiles, and go.

Where two operands of a function are one tensor, as K and V of an attention, IREE stages the vector
of the first one again for the second:

    %r = vector.transfer_read %b[%c0, %c0]            %b is the first tile
    %a = bufferization.alloc_tensor() ...
    %w = vector.transfer_write %r, %a[%c0, %c0]       a copy of all of it
    %s = iree_gpu.value_barrier %w
    ...  vector.transfer_read %s[%c0, %c0]

MLIR's `canonicalize`, which runs later, folds a write of all that was read to the tensor it was
read from, here %w to %b. Then both readers read one tile, and a layout that was chosen for one of
them is not the best for both. So this is done before layouts are chosen.
"""

from __future__ import annotations

from iree.compiler import ir

from ..diagnostics import DiagnosticSink
from ..operations import (
    TRANSFER_READ,
    TRANSFER_WRITE,
    constant_value,
    defining_operation,
    operations_in,
    segments_of,
)
from .memref_types import shown_type
from .staged_tensors import is_workgroup_alloc, transfer_dims
from .vector_layouts import op_name


def merge_copied_tiles(function: ir.Operation, sink: DiagnosticSink) -> None:
    """Lets all that reads the copy of a tile read the tile itself, and erases the copies.

    A copy of a copy goes too. A remark names each allocation that was erased.
    """
    for write in operations_in(function, TRANSFER_WRITE):
        source = _copied(write)
        if source is None:
            continue
        read = defining_operation(write.operands[0])
        copy = defining_operation(write.operands[1])
        assert read is not None and copy is not None
        write.results[0].replace_all_uses_with(source)
        write.erase()
        if not list(read.results[0].uses):
            read.erase()
        if not list(copy.results[0].uses):
            kind = shown_type(copy.results[0].type)
            sink.remark(copy.location, f"allocation of {kind} removed: it is a copy of another one")
            copy.erase()


def _copied(write: ir.Operation) -> ir.Value | None:
    """Returns the tensor that a write copies as a whole into a fresh allocation.

    Returns None if the write does anything else. The conditions are those under which MLIR folds
    the write (`TransferWriteOp::fold`).
    """
    read, copy = defining_operation(write.operands[0]), defining_operation(write.operands[1])
    if read is None or copy is None or op_name(read) != TRANSFER_READ:
        return None
    if not is_workgroup_alloc(copy):
        return None
    source, kind = read.operands[0], ir.RankedTensorType(copy.results[0].type)
    whole = kind.has_static_shape and ir.VectorType(read.results[0].type).shape == kind.shape
    if source.type != kind or not whole:
        return None
    return source if _starts_at_zero(read) and _starts_at_zero(write) else None


def _starts_at_zero(transfer: ir.Operation) -> bool:
    """Returns whether a transfer goes over its tensor in order, from the first element on."""
    segments = segments_of(transfer)
    indices = segments[1 if op_name(transfer) == TRANSFER_READ else 2]
    if segments[-1] or any(constant_value(index) != 0 for index in indices):
        return False
    return transfer_dims(transfer) == list(range(len(indices)))
