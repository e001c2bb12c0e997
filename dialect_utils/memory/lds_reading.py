# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every LDS allocation of a function, its accesses and its layout, whatever level the IR is on.

Before vector distribution the tiles are `bufferization.alloc_tensor`s, read by their nested
layouts; afterwards they are memory (`lds_roots`), read lane by lane. What cannot be followed is
listed with the reason, so that whoever asks for all LDS of a kernel never takes it for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

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
from ...bank_model.quick_dataclass import dataclass, replace
from ...bank_model.swizzle_legality import HintRules
from ..diagnostics import Refusal, SourceLocation
from ..gpu_target import Launch
from ..kernels import (
    functions_in,
    kernels_of,
    lane_evaluator,
    operations_of_kernel,
    state_block_size,
)
from ..swizzle_hint import hint_swizzle, is_hint
from .allocation_layout import StandingLayout, standing_layout
from .allocation_traces import AllocationTraces
from .flow import uses_of
from .lds_accesses import AllocationAccesses, Gather, first_accesses
from .lds_ops import COLLAPSE_SHAPE, Misaligned
from .lds_roots import LdsRoot, lds_roots, traced_root
from .memref_types import lds_bytes, shown_type, tile_of, type_of
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
    fixed: str = ""
    """Why no pass changes its layout, whatever the accesses are; empty where one may."""
    never_padded: bool = False
    """Stock leaves it unpadded, because a `memref.collapse_shape` joins its rows."""
    never_read: bool = False
    """Nobody reads it, and the backend leaves it out: it has no accesses then."""
    emitted: Callable[[bool], tuple[LdsAccess, ...] | None] = lambda of_its_own: None
    """Returns the `accesses` that count as this allocation's, or all but direct stores, as
    `emitted_accesses` joins them; None if that is not known."""
    operation: ir.Operation | None = None
    """The `memref.alloc`, if it is one."""
    gathers: tuple[Gather, ...] = ()
    """The direct stores to it, whose accesses are among `accesses`."""

    @property
    def costing(self) -> tuple[LdsAccess, ...]:
        """Returns the accesses by which conflicts and instructions are counted: those that count as
        this allocation's, as the backend joins them where that is known."""
        emitted = self.emitted(True)
        if emitted is not None:
            return emitted
        return tuple(self.accesses[place] for place in sorted(self.counted))


def read_allocations(
    kernel: ir.Operation,
    launch: Launch | None,
    unreadable: str = "",
    *,
    in_all_workgroups: bool = False,
    drops_unread: bool = False,
) -> list[ReadAllocation]:
    """Returns all LDS of a function or a `gpu.launch`, in the order of its text, tensors first.

    Without a `launch` it is only listed, with the reason `unreadable`. So is what cannot be
    followed: no LDS value of the kernel is left out.

    Args:
        in_all_workgroups: as `trace_memory` has it.
        drops_unread: whether the backend leaves out what nobody reads, as `Lds` has it.
    """
    traces = layouts = None
    operations = operations_of_kernel(kernel)
    if launch is not None:
        layouts = infer_vector_layouts(kernel)
        traces = AllocationTraces(
            *(kernel, lane_evaluator(kernel, launch), in_all_workgroups),
            without_bytes=True,
            text_order={op: place for place, op in enumerate(operations)},
            drops_unread=drops_unread,
        )
        if any(op.name == _TO_LAYOUT for op in operations):
            traces, unreadable = None, _UNDISTRIBUTED
    tensors: list[ReadAllocation] = []
    for op in filter(is_workgroup_alloc, operations):
        read = _listed(op.results[0], _tensor_bytes(op))
        if launch is None or layouts is None:
            tensors.append(_with_reason(read, unreadable))
        else:
            tensors.append(_read_tensor(op, read, layouts, launch))
    counted: set[ir.Operation] = set()
    memrefs: list[ReadAllocation] = []
    for root in lds_roots(kernel, operations):
        read = _listed(root.memory, _bytes_of(root.memory.type))
        read = replace(read, operation=root.allocation, fixed=root.why_fixed)
        if root.unread or traces is None:
            memrefs.append(_with_reason(read, root.unread or unreadable))
        else:
            memrefs.append(_read_memory(root, read, traces, counted))
    return tensors + memrefs


def state_block_sizes(module: ir.Operation, block: tuple[int, ...]) -> None:
    """Writes the size of a workgroup to all kernels with LDS in `module` that state none."""
    for function in functions_in(module):
        for kernel in kernels_of(function):
            if read_allocations(kernel, None):
                state_block_size(kernel, block)


def _listed(memory: ir.Value, size: int | None) -> ReadAllocation:
    place = str(SourceLocation.of(memory.location) or "")
    return ReadAllocation(shown_type(memory.type), place, size)


def _bytes_of(kind: ir.Type) -> int | None:
    return lds_bytes(kind) if isinstance(kind, ir.MemRefType) else None


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


def _read_memory(
    root: LdsRoot,
    listed: ReadAllocation,
    traces: AllocationTraces,
    counted: set[ir.Operation],
) -> ReadAllocation:
    try:
        traced = _traced(root, traces)
        stands = _common_layout(root, traced.tile)
    except Refusal as refusal:
        return _with_reason(listed, refusal.reason)
    tile = LdsTile(stands.shape, traced.tile.element_bits)
    accesses = traced.accesses
    if isinstance(stands.layout, PaddedLayout):
        accesses = tuple(_without_padding(a, traced.tile, tile) for a in accesses)

    left_out = frozenset(counted)

    def emitted(of_its_own: bool) -> tuple[LdsAccess, ...] | None:
        if root.allocation is None:
            return None
        others = left_out if of_its_own else frozenset[ir.Operation]()
        joined = traces.emitted([root.allocation], gathers=of_its_own, left_out=others)
        if isinstance(stands.layout, PaddedLayout):
            joined = tuple(_without_padding(each, traced.tile, tile) for each in joined)
        return joined

    users = [use.user.name for use in uses_of(root.memory)]
    first = set(map(id, first_accesses(traced, counted)))
    read = replace(
        listed,
        accesses=accesses,
        counted=frozenset(n for n, each in enumerate(traced.traced) if id(each) in first),
        unknown=(*traced.unknown, *traced.uncounted),
        assumptions=(*root.assumptions, *traced.assumptions),
        never_padded=COLLAPSE_SHAPE in users,
        never_read=_is_left_out(root, traces),
        emitted=emitted,
        gathers=traced.gathers,
    )
    return _lying(read, tile, stands.layout)


def _traced(root: LdsRoot, traces: AllocationTraces) -> AllocationAccesses:
    """Returns what is done to the memory of a root.

    Raises:
        Refusal: it is no tile.
    """
    if root.allocation is not None:
        return traces.written(root.allocation)
    if _is_left_out(root, traces):
        return AllocationAccesses(tile_of(type_of(root.memory)), (), (), ())
    return traces.of_memory(*traced_root(root, traces.evaluator))


def _is_left_out(root: LdsRoot, traces: AllocationTraces) -> bool:
    """Returns whether the backend leaves out the memory of a root."""
    is_made = root.allocation is not None or root.is_attribution
    return is_made and traces.leaves_out(root.memory)


def _common_layout(root: LdsRoot, tile: LdsTile) -> StandingLayout:
    """Returns the layout that the IR gives the memory of a root, whose elements `tile` has.

    Raises:
        Refusal: it does not give it one.
    """
    found = [standing_layout(each) for each in root.values]
    if any(each != found[0] for each in found):
        raise Refusal("its accesses go through different swizzles")
    if tile.shape == tuple(type_of(root.memory).shape):
        return found[0]
    if not isinstance(found[0].layout, PlainLayout):
        raise Refusal("it has a layout of its own and begins at different bytes")
    return StandingLayout(PlainLayout(), tile.shape)


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
