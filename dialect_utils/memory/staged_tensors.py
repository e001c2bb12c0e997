# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Following a workgroup-memory `bufferization.alloc_tensor` to the transfers that use it.

On tensors the allocation is a chain of SSA values: each `vector.transfer_write` makes a new one,
barriers pass them on, loops carry them. All of them become one buffer at bufferization.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import ceil

from iree.compiler import ir

from ...bank_model.accesses import LdsAccess, LdsTile
from ...bank_model.lds_rules import AccessKind
from ...bank_model.nested_layout import NestedLayoutError, TilePart
from ...bank_model.quick_tuple import NamedTuple
from ..diagnostics import Refusal, SourceLocation
from ..gpu_target import Launch
from ..loops import FOR, bounds_of, carried_as, carried_by_use
from ..operations import TRANSFER_READ, TRANSFER_WRITE, constant_value, parents_of
from .memref_types import is_workgroup_space
from .vector_layouts import (
    VectorLayouts,
    op_name,
    why_unknown_backwards,
    why_unknown_forwards,
)

_BARRIER = "iree_gpu.value_barrier"


class Transfer(NamedTuple):
    """A `vector.transfer_read` or `_write` of a traced allocation."""

    op: ir.Operation
    kind: AccessKind

    @property
    def vector(self) -> ir.Value:
        """Returns the vector that is read or written."""
        return self.op.results[0] if self.kind is AccessKind.READ else self.op.operands[0]


def is_workgroup_alloc(op: ir.Operation | ir.OpView) -> bool:
    """Returns whether the op is a `bufferization.alloc_tensor` in workgroup memory."""
    if op_name(op) != "bufferization.alloc_tensor":
        return False
    attributes = op.operation.attributes
    return "memory_space" in attributes and is_workgroup_space(attributes["memory_space"])


def transfers_of(alloc: ir.Operation) -> tuple[Transfer, ...]:
    """Returns every transfer that reads or writes the allocation, in no particular order.

    Raises:
        Refusal: another op uses it, or it may be confused with another buffer.
    """
    start = alloc.results[0]
    seen = {start}
    work = deque([start])
    transfers: dict[ir.Operation, Transfer] = {}
    branches = overwritten = False
    while work:
        value = work.popleft()
        carriers = waits = 0
        for use in value.uses:
            op = use.owner.operation
            onward = _carries(op, use.operand_number, transfers)
            carriers += bool(onward)
            waits += bool(onward) and op_name(op) == _BARRIER
            for carried in onward:
                if carried not in seen:
                    seen.add(carried)
                    work.append(carried)
        branches |= carriers > 1
        # The first write to an allocation overwrites nothing.
        overwritten |= carriers > waits and (value != start or carriers > 1)
    # Several barriers may wait for one write, each for readers of its own.
    if branches and overwritten:
        raise Refusal("it is used after it was overwritten, which copies it")
    _check_single_source(seen - {start}, seen)
    return tuple(transfers.values())


def _carries(
    op: ir.Operation, operand_number: int, transfers: dict[ir.Operation, Transfer]
) -> Sequence[ir.Value]:
    """Returns the values that carry the buffer on after this use."""
    name = op_name(op)
    if name == TRANSFER_READ and operand_number == 0:
        transfers[op] = Transfer(op, AccessKind.READ)
        return ()
    if name == TRANSFER_WRITE and operand_number == 1:
        transfers[op] = Transfer(op, AccessKind.WRITE)
        return list(op.results)
    if name == _BARRIER:
        return [op.results[operand_number]]
    if name == "bufferization.dealloc_tensor":
        return ()
    carried = carried_by_use(op, operand_number)
    if carried is not None:
        return carried.joins
    raise Refusal(f"{name} uses it")


def _check_single_source(carried: set[ir.Value], all_values: set[ir.Value]) -> None:
    """Refuses loop-carried tensors that are not this buffer outside and in every iteration."""
    for value in carried:
        loop_value = carried_as(value)
        if loop_value is not None and not all_values.issuperset(loop_value.sources):
            raise Refusal("a loop carries it together with another tensor")


def accesses_of(
    alloc: ir.Operation, tile: LdsTile, layouts: VectorLayouts, launch: Launch
) -> tuple[LdsAccess, ...]:
    """Returns all machine accesses to the allocation, of its writers and of its readers.

    The backend may pair those of one transfer: each transfer is a segment of its own.

    Raises:
        Refusal: a use or its nested layout is not known, or IREE could not
          distribute it.
    """
    transfers = transfers_of(alloc)
    for kind in AccessKind:
        if not any(t.kind is kind for t in transfers):
            raise Refusal("nothing reads it" if kind is AccessKind.READ else "nothing writes it")
    accesses: list[LdsAccess] = []
    for number, transfer in enumerate(transfers):
        accesses += _transfer_accesses(transfer, number, tile, layouts, launch)
    return tuple(accesses)


def _transfer_accesses(
    transfer: Transfer, segment: int, tile: LdsTile, layouts: VectorLayouts, launch: Launch
) -> Sequence[LdsAccess]:
    op, kind = transfer.op, transfer.kind
    role = "reader" if kind is AccessKind.READ else "writer"
    segments = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    # base and indices come after the vector in a write; the mask is the last segment.
    if segments[len(segments) - 1]:
        raise Refusal(f"a {role} is masked")
    vector_type = ir.VectorType(transfer.vector.type)
    if vector_type.scalable:
        raise Refusal(f"a {role}'s vector is scalable")
    if str(vector_type.element_type) != str(
        ir.RankedTensorType(op.operands[0 if kind is AccessKind.READ else 1].type).element_type
    ):
        raise Refusal(f"a {role} has elements of another type")
    first = 1 if kind is AccessKind.READ else 2
    origin = [constant_value(op.operands[first + d]) for d in range(len(tile.shape))]
    if None in origin:
        raise Refusal(f"a {role}'s index is not constant")
    memory_dims = transfer_dims(op)
    if memory_dims is None:
        raise Refusal(f"a {role} has the permutation map {op.attributes['permutation_map']}")
    found = layouts.candidates(transfer.vector)
    if not found:
        why = why_unknown_forwards if kind is AccessKind.READ else why_unknown_backwards
        raise Refusal(f"{role} layout not found: {why(transfer.vector)}")
    layout, *others = found
    if others:
        raise Refusal(f"{role} layout is not unique: {len(found)} layouts reach it")
    vector_shape = tuple(vector_type.shape)
    if layout.shape != vector_shape:
        raise Refusal(
            f"{role} layout is of shape {_times(layout.shape)}, "
            f"the vector of {_times(vector_shape)}"
        )
    part = TilePart(tile, memory_dims, [i for i in origin if i is not None])
    try:
        return layout.accesses(
            part,
            kind,
            threads=launch.threads,
            wave_size=launch.subgroup_size,
            weight=executions_of(op),
            location=str(SourceLocation.of(op.location) or role),
            segment=segment,
        )
    except NestedLayoutError as error:
        raise Refusal(f"{role} layout cannot be distributed: {error}") from error


def transfer_dims(transfer: ir.Operation) -> list[int | None] | None:
    """Returns the tile dimension of each vector dimension, None for one that is broadcast."""
    affine_map = ir.AffineMapAttr(transfer.attributes["permutation_map"]).value
    dims: list[int | None] = []
    for result in affine_map.results:
        if isinstance(result, ir.AffineDimExpr):
            dims.append(result.position)
        elif isinstance(result, ir.AffineConstantExpr) and result.value == 0:
            dims.append(None)
        else:
            return None
    return dims


def executions_of(op: ir.Operation) -> int:
    """Returns the trip counts of the loops around `op` multiplied, of those that are constant."""
    count = 1
    for parent in parents_of(op):
        if parent.name == FOR:
            lower, upper, step = map(constant_value, bounds_of(parent))
            if lower is not None and upper is not None and step:
                count *= max(ceil((upper - lower) / step), 0)
    return count


def _times(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
