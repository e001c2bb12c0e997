# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every LDS allocation of a function, its accesses and its layout, whatever level the IR is on.

Before vector distribution the tiles are `bufferization.alloc_tensor`s, read by their nested
layouts; afterwards they are `memref.alloc`s, read lane by lane. Other workgroup memory, and uses
that cannot be followed, are listed with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from iree.compiler import ir

from ...bank_model.accesses import LdsAccess, LdsTile
from ...bank_model.errors import InvalidParameterError
from ...bank_model.layouts import (
    Layout,
    PaddedLayout,
    PlainLayout,
    SwizzledLayout,
    misaligned_element,
)
from ...bank_model.swizzle_legality import HintRules
from ..diagnostics import Refusal, SourceLocation
from ..gpu_target import Launch
from ..index.lane_values import LaneEvaluator
from ..operations import operations_in
from ..swizzle_hint import hint_swizzle, is_hint
from .allocation_layout import standing_layout
from .allocation_traces import AllocationTraces
from .flow import is_lds_allocation, uses_of
from .lds_accesses import Gather, first_accesses
from .lds_ops import COLLAPSE_SHAPE, Misaligned
from .memref_types import is_memref, is_workgroup_memref, lds_bytes, shown_type, tile_of, type_of
from .staged_tensors import accesses_of, is_workgroup_alloc
from .vector_layouts import VectorLayouts, infer_vector_layouts

_TO_LAYOUT = "iree_vector_ext.to_layout"
_UNDISTRIBUTED = (
    "on memrefs, but its vectors are not distributed to lanes yet; give the IR before "
    "bufferization or after iree-llvmgpu-vector-distribute"
)


@dataclass(frozen=True, eq=False)
class ReadAllocation:
    """An LDS allocation as the IR has it.

    Without a `tile` nothing is known of it but what `unknown` says.
    """

    type: str
    """The type in the IR, without its memory space."""
    location: str
    lds_bytes: int | None
    """The LDS bytes of the type; None for a dynamic shape."""
    tile: LdsTile | None = None
    """The logical tile: rows without padding, in the shape that flat hinted memory is viewed in."""
    layout: Layout = field(default_factory=PlainLayout)
    """How the tile lies in memory, hints honoured where they can be resolved."""
    dropped: str = ""
    """Why its hints cannot be resolved, if they cannot."""
    accesses: tuple[LdsAccess, ...] = ()
    """The known accesses, in elements of `tile`."""
    counted: frozenset[int] = frozenset()
    """The places of those accesses that count as this allocation's. What may access several
    allocations counts with the first of them."""
    unknown: tuple[Refusal, ...] = ()
    """Uses that cannot be read; without a location the allocation itself."""
    assumptions: tuple[str, ...] = ()
    never_padded: bool = False
    """Stock leaves it unpadded, because a `memref.collapse_shape` joins its rows."""
    emitted: Callable[[bool], tuple[LdsAccess, ...] | None] = lambda through_conditions: None
    """Returns `accesses` as `emitted_accesses` joins them, or None if that is not known."""
    in_straight_lines: bool = False
    """Whether `emitted` joins no accesses of different iterations of a loop."""
    operation: ir.Operation | None = None
    """The `memref.alloc`, if it is one."""
    gathers: tuple[Gather, ...] = ()
    """The direct stores to it, whose accesses are among `accesses`."""


def read_allocations(
    function: ir.Operation,
    launch: Launch | None,
    unreadable: str = "",
    *,
    in_all_workgroups: bool = False,
) -> list[ReadAllocation]:
    """Returns the LDS allocations of `function`, in the order of its text, on tensors first.

    Without a `launch` they are only listed, each with the reason `unreadable`.

    Args:
        in_all_workgroups: as `trace_allocation` has it.
    """
    traces = None
    if launch is not None:
        traces = AllocationTraces(function, LaneEvaluator(launch), in_all_workgroups)
    layouts = infer_vector_layouts(function) if launch is not None else None
    tensors: list[ReadAllocation] = []
    memrefs: list[ReadAllocation] = []
    counted: set[ir.Operation] = set()
    operations = operations_in(function)
    if traces is not None and any(op.name == _TO_LAYOUT for op in operations):
        traces, unreadable = None, _UNDISTRIBUTED
    for op in operations:
        if is_workgroup_alloc(op):
            read = _listed(op, _tensor_bytes(op))
            if launch is None or layouts is None:
                read = _with_reason(read, unreadable)
            else:
                read = _read_tensor(op, read, layouts, launch)
            tensors.append(read)
        elif is_lds_allocation(op):
            read = _listed(op, lds_bytes(type_of(op)))
            if traces is None:
                read = _with_reason(read, unreadable)
            else:
                read = _read_memref(op, read, traces, counted)
            memrefs.append(read)
        elif _makes_workgroup_memory(op):
            read = _listed(op, lds_bytes(type_of(op)))
            memrefs.append(_with_reason(read, f"made by {op.name}, which is not followed"))
    return tensors + memrefs


def _listed(op: ir.Operation, size: int | None) -> ReadAllocation:
    place = str(SourceLocation.of(op.location) or "")
    return ReadAllocation(shown_type(op.results[0].type), place, size)


def _with_reason(listed: ReadAllocation, reason: str) -> ReadAllocation:
    return replace(listed, unknown=(Refusal(reason),))


# On tensors.


def _tensor_bytes(alloc: ir.Operation) -> int | None:
    try:
        return PlainLayout().size_bytes(tile_of(ir.RankedTensorType(alloc.results[0].type)))
    except Refusal:
        return None


def _read_tensor(
    alloc: ir.Operation, listed: ReadAllocation, layouts: VectorLayouts, launch: Launch
) -> ReadAllocation:
    try:
        tile = tile_of(ir.RankedTensorType(alloc.results[0].type))
        chain = []
        last = alloc
        while any(is_hint(use.owner) for use in last.results[0].uses):
            uses = list(last.results[0].uses)
            if len(uses) != 1:
                raise Refusal("it is used beside its swizzle hint")
            last = uses[0].owner.operation
            chain.append(hint_swizzle(last))
        accesses = accesses_of(last, tile, layouts, launch)
    except (Refusal, InvalidParameterError) as error:
        return _with_reason(listed, str(error))
    layout = SwizzledLayout(tuple(chain)) if chain else PlainLayout()
    counted = frozenset(range(len(accesses)))
    return _lying(replace(listed, accesses=accesses, counted=counted), tile, layout)


# On memrefs.


def _makes_workgroup_memory(op: ir.Operation) -> bool:
    """Returns whether an op hands out workgroup memory that it did not get as an operand."""
    if len(op.regions) or len(op.results) != 1 or not is_workgroup_memref(op.results[0].type):
        return False
    return not any(map(is_memref, op.operands))


def _read_memref(
    allocation: ir.Operation,
    listed: ReadAllocation,
    traces: AllocationTraces,
    counted: set[ir.Operation],
) -> ReadAllocation:
    try:
        traced = traces.written(allocation)
        stands = standing_layout(allocation)
    except Refusal as refusal:
        return _with_reason(listed, refusal.reason)
    tile = LdsTile(stands.shape, traced.tile.element_bits)
    accesses = traced.accesses
    if isinstance(stands.layout, PaddedLayout):
        accesses = tuple(_without_padding(a, traced.tile, tile) for a in accesses)

    def emitted(through_conditions: bool) -> tuple[LdsAccess, ...] | None:
        if not isinstance(stands.layout, PlainLayout):
            return None
        return traces.emitted([allocation], through_conditions)

    users = [use.user.name for use in uses_of(allocation.results[0])]
    first = set(map(id, first_accesses(traced, counted)))
    read = replace(
        listed,
        accesses=accesses,
        counted=frozenset(n for n, each in enumerate(traced.traced) if id(each) in first),
        unknown=(*traced.unknown, *traced.uncounted),
        assumptions=traced.assumptions,
        never_padded=COLLAPSE_SHAPE in users,
        emitted=emitted,
        in_straight_lines=traced.in_straight_lines,
        operation=allocation,
        gathers=traced.gathers,
    )
    return _lying(read, tile, stands.layout)


def _without_padding(access: LdsAccess, padded: LdsTile, tile: LdsTile) -> LdsAccess:
    """Returns the access with its elements counted without the padding behind the rows."""
    rows, columns = np.divmod(access.elements, padded.row_elements)
    return replace(access, elements=rows * tile.row_elements + columns)


# How a read allocation lies in memory.


def _lying(read: ReadAllocation, tile: LdsTile, layout: Layout) -> ReadAllocation:
    """Returns the read allocation with its layout: plain if its hints would be dropped."""
    dropped = None
    if isinstance(layout, SwizzledLayout):
        dropped = HintRules.of(tile, read.accesses).why_not(layout.swizzles)
    layout = layout if dropped is None else PlainLayout()
    return replace(read, tile=tile, layout=layout, dropped=dropped or "")


def check_aligned(allocation: ReadAllocation, access: LdsAccess) -> None:
    """Makes sure that an access does not fault in the layout that the allocation has.

    Raises:
        Misaligned: it does, by the lane that the message names.
    """
    assert allocation.tile is not None
    tile, layout = allocation.tile, allocation.layout
    element = misaligned_element(tile, layout, access)
    if element is None:
        return
    bits = tile.element_bits
    byte = int(layout.offsets(tile, np.array(element))) * bits // 8
    what = access.instruction or f"{access.kind.value} of {access.count} elements a lane"
    raise Misaligned(
        f"{what} of {allocation.type}",
        access.alignment * bits // 8,
        access.location or allocation.location,
        f"; element {element} is at byte {byte} of the allocation. Use rows, padding and offsets "
        "that keep that alignment",
    )
