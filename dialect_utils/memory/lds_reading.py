# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every LDS allocation of a function, its accesses and its layout, whatever level the IR is on.

Before vector distribution the tiles are `bufferization.alloc_tensor`s, read by their nested
layouts; afterwards they are `memref.alloc`s, read lane by lane. Other workgroup memory, and uses
that cannot be followed, are listed with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from iree.compiler import ir

from ...bank_model.accesses import LdsAccess, LdsTile
from ...bank_model.errors import InvalidParameterError
from ...bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from ..diagnostics import SourceLocation
from ..gpu_target import Launch
from ..index.lane_values import LaneEvaluator, Unknown
from ..swizzle_hint import UnknownSwizzleError, hint_swizzle, is_hint
from .allocation_layout import UnknownLayoutError, standing_layout
from .allocations import is_workgroup_memref, lds_bytes
from .joined_accesses import MOST_UNROLLED, emitted_accesses
from .lds_accesses import lds_allocations, ordinary_accesses, shown_type, trace_allocation
from .staged_tensors import UntraceableError, accesses_of, is_workgroup_alloc, tile_of
from .vector_layouts import VectorLayouts, infer_vector_layouts

_TO_LAYOUT = "iree_vector_ext.to_layout"
_UNDISTRIBUTED = (
    "on memrefs, but its vectors are not distributed to lanes yet; give the IR before "
    "bufferization or after iree-llvmgpu-vector-distribute"
)


@dataclass(frozen=True)
class UnknownUse:
    """A use of an allocation that cannot be read, and why."""

    reason: str
    location: str = ""


@dataclass(frozen=True, eq=False)
class ReadAllocation:
    """An LDS allocation as the IR has it.

    Without a `tile` nothing is known of it but what `unknown` says.
    """

    type: str
    """The type in the IR, without its memory space."""
    location: str
    lds_bytes: int | None
    """Of the type; None for a dynamic shape."""
    tile: LdsTile | None = None
    """The logical tile: rows without padding, in the shape that flat hinted memory is viewed in."""
    layout: Layout | None = None
    """How the tile lies in memory, hints honoured; given if `tile` is."""
    accesses: tuple[LdsAccess, ...] = ()
    """In elements of `tile`."""
    unknown: tuple[UnknownUse, ...] = ()
    assumptions: tuple[str, ...] = ()
    never_padded: bool = False
    """Stock leaves it unpadded, because a `memref.collapse_shape` joins its rows."""
    emitted: Callable[[bool], tuple[LdsAccess, ...] | None] = lambda through_conditions: None
    """Returns `accesses` as `emitted_accesses` joins them, or None if that is not known."""


def read_allocations(
    function: ir.Operation, launch: Launch | None, unreadable: str = ""
) -> list[ReadAllocation]:
    """The LDS allocations of `function`, in the order of its text, on tensors first.

    Without a `launch` they are only listed, each with the reason `unreadable`.
    """
    evaluator = LaneEvaluator(launch) if launch is not None else None
    layouts = infer_vector_layouts(function) if launch is not None else None
    tensors: list[ReadAllocation] = []
    memrefs: list[ReadAllocation] = []
    traced = set(lds_allocations(function))
    operations = _operations_of(function)
    if evaluator is not None and any(op.name == _TO_LAYOUT for op in operations):
        evaluator, unreadable = None, _UNDISTRIBUTED
    for op in operations:
        if is_workgroup_alloc(op):
            listed = ReadAllocation(_tensor_text(op), _place(op), _tensor_bytes(op))
            if launch is None or layouts is None:
                listed = _with_reason(listed, unreadable)
            else:
                listed = _read_tensor(op, listed, layouts, launch)
            tensors.append(listed)
        elif op in traced:
            listed = ReadAllocation(shown_type(op), _place(op), _memref_bytes(op))
            if evaluator is None:
                listed = _with_reason(listed, unreadable)
            else:
                listed = _read_memref(op, listed, function, evaluator)
            memrefs.append(listed)
        elif _makes_workgroup_memory(op):
            listed = ReadAllocation(shown_type(op), _place(op), _memref_bytes(op))
            memrefs.append(_with_reason(listed, f"made by {op.name}, which is not followed"))
    return tensors + memrefs


def _with_reason(listed: ReadAllocation, reason: str) -> ReadAllocation:
    return replace(listed, unknown=(UnknownUse(reason),))


def _operations_of(function: ir.Operation) -> Sequence[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _place(operation: ir.Operation) -> str:
    return str(SourceLocation.of(operation.location) or "")


# On tensors.


def _tensor_text(alloc: ir.Operation) -> str:
    kind = ir.RankedTensorType(alloc.results[0].type)
    with alloc.context, alloc.location:
        return str(ir.RankedTensorType.get(kind.shape, kind.element_type))


def _tensor_bytes(alloc: ir.Operation) -> int | None:
    try:
        return PlainLayout().size_bytes(tile_of(alloc))
    except UntraceableError:
        return None


def _read_tensor(
    alloc: ir.Operation, listed: ReadAllocation, layouts: VectorLayouts, launch: Launch
) -> ReadAllocation:
    try:
        tile = tile_of(alloc)
        chain = []
        last = alloc
        while any(is_hint(use.owner) for use in last.results[0].uses):
            uses = list(last.results[0].uses)
            if len(uses) != 1:
                raise UntraceableError("it is used beside its swizzle hint")
            last = uses[0].owner.operation
            chain.append(hint_swizzle(last))
        accesses = accesses_of(last, tile, layouts, launch)
    except (UntraceableError, UnknownSwizzleError, InvalidParameterError) as error:
        return _with_reason(listed, str(error))
    layout = SwizzledLayout(tuple(chain)) if chain else PlainLayout()
    return replace(listed, tile=tile, layout=layout, accesses=accesses)


# On memrefs.


def _memref_bytes(allocation: ir.Operation) -> int | None:
    return lds_bytes(ir.MemRefType(allocation.results[0].type))


def _makes_workgroup_memory(op: ir.Operation) -> bool:
    """Whether an op hands out workgroup memory that it did not get as an operand."""
    if len(op.regions) or len(op.results) != 1 or not is_workgroup_memref(op.results[0].type):
        return False
    memrefs = (ir.MemRefType, ir.UnrankedMemRefType)
    return not any(isinstance(operand.type, memrefs) for operand in op.operands)


def _read_memref(
    allocation: ir.Operation,
    listed: ReadAllocation,
    function: ir.Operation,
    evaluator: LaneEvaluator,
) -> ReadAllocation:
    traced = trace_allocation(allocation, function, evaluator)
    if isinstance(traced, Unknown):
        return _with_reason(listed, traced.reason)
    try:
        stands = standing_layout(allocation)
    except UnknownLayoutError as error:
        return _with_reason(listed, str(error))
    tile = LdsTile(stands.shape, traced.tile.element_bits)
    accesses = traced.accesses
    if isinstance(stands.layout, PaddedLayout):
        accesses = tuple(_without_padding(a, traced.tile, tile) for a in accesses)

    def emitted(through_conditions: bool) -> tuple[LdsAccess, ...] | None:
        unrolled = trace_allocation(allocation, function, evaluator, MOST_UNROLLED)
        if isinstance(unrolled, Unknown) or not isinstance(stands.layout, PlainLayout):
            return None
        accesses = ordinary_accesses([unrolled])
        return emitted_accesses(unrolled.tile, accesses, through_conditions).accesses

    users = [use.owner.operation.name for use in allocation.results[0].uses]
    return replace(
        listed,
        tile=tile,
        layout=stands.layout,
        accesses=accesses,
        unknown=tuple(UnknownUse(each.reason, each.location) for each in traced.unknown),
        assumptions=traced.assumptions,
        never_padded="memref.collapse_shape" in users,
        emitted=emitted,
    )


def _without_padding(access: LdsAccess, padded: LdsTile, tile: LdsTile) -> LdsAccess:
    """The access with its elements counted without the padding behind the rows."""
    rows, columns = np.divmod(access.elements, padded.row_elements)
    return replace(access, elements=rows * tile.row_elements + columns)
