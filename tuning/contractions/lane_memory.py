# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a lane keeps in memory of its own, between a contraction and the store of its result.

    %kept = memref.alloca() : memref<2x4x4x1xf32, #gpu.address_space<private>>
    vector.transfer_write %sum, %kept[%c0, %c0, %c0, %c0] : vector<2x4x4x1xf32>, ...
    scf.for %i = %c0 to %c2 step %c1 {
      %part = vector.transfer_read %kept[%i, %c0, %c0, %c0] : ..., vector<1x4x4x1xf32>

Of the dimensions that are not cut, a part has the same elements as the whole.
"""

from __future__ import annotations

from collections.abc import Collection

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.memory.flow import connected_to
from ...dialect_utils.memory.lds_ops import SUBVIEW
from ...dialect_utils.memory.memref_types import type_of
from ...dialect_utils.operations import (
    TRANSFER_READ,
    TRANSFER_WRITE,
    constant_value,
    defining_operation,
    mixed_operands,
)

_ALLOCA = "memref.alloca"


def memory_of(transfer: ir.Operation) -> ir.Value:
    """Returns the memref that a transfer reads or writes."""
    return transfer.operands[0 if transfer.name == TRANSFER_READ else 1]


def is_of_one_lane(memory: ir.Value) -> bool:
    """Returns whether memory is private, so that only the lane's own accesses matter."""
    kind = memory.type
    return isinstance(kind, ir.MemRefType) and "address_space<private>" in str(kind.memory_space)


def kept_values(memory: ir.Value, dims: Collection[int]) -> list[ir.Value]:
    """Returns all vectors that are written to private memory or read from it.

    Args:
        dims: dimensions of these vectors. Every one of them must have all of the memory along them.

    Raises:
        Refusal: an access is not understood, or takes a part along these dimensions.
    """
    connected = connected_to(memory)
    if connected.hidden:
        raise connected.hidden[0]
    roots = [defining_operation(root) for root in connected.roots]
    if len(roots) != 1 or roots[0] is None or roots[0].name != _ALLOCA:
        raise Refusal("the memory of a lane is not allocated at one place")
    sizes = type_of(connected.roots[0]).shape
    for view in connected.values:
        _check_view(view, sizes, dims)
    found: list[ir.Value] = []
    for use in connected.sinks:
        if use.user.name not in (TRANSFER_READ, TRANSFER_WRITE):
            raise Refusal(f"{use.user.name} of what a lane keeps", use.user.location)
        found.append(_moved_vector(use.user, sizes, dims))
    return found


def _check_view(view: ir.Value, sizes: list[int], dims: Collection[int]) -> None:
    operation = defining_operation(view)
    assert operation is not None
    if operation.name == _ALLOCA:
        return
    if operation.name != SUBVIEW or type_of(view).rank != len(sizes):
        raise Refusal(f"{operation.name} of what a lane keeps", operation.location)
    offsets = mixed_operands(operation, "static_offsets", 1)
    steps = ir.DenseI64ArrayAttr(operation.attributes["static_strides"])
    is_whole = all(offsets[dim] == 0 and type_of(view).shape[dim] == sizes[dim] for dim in dims)
    if not is_whole or any(step != 1 for step in steps):
        raise Refusal("a lane keeps parts of what is renamed", operation.location)


def _moved_vector(transfer: ir.Operation, sizes: list[int], dims: Collection[int]) -> ir.Value:
    vector = transfer.results[0] if transfer.name == TRANSFER_READ else transfer.operands[0]
    rank, where = len(sizes), transfer.location
    first = 1 if transfer.name == TRANSFER_READ else 2
    map_ = ir.AffineMapAttr(transfer.attributes["permutation_map"]).value
    has_mask = len(transfer.operands) != first + rank + (transfer.name == TRANSFER_READ)
    if has_mask or map_ != ir.AffineMap.get_identity(rank, transfer.context):
        raise Refusal(f"{transfer.name} of a part of what a lane keeps", where)
    starts = list(transfer.operands)[first : first + rank]
    shape = ir.VectorType(vector.type).shape
    if any(constant_value(starts[dim]) != 0 or shape[dim] != sizes[dim] for dim in dims):
        raise Refusal("a lane keeps parts of what is renamed", where)
    return vector
