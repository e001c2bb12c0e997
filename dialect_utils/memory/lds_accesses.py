# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From an LDS allocation to every access to it, lane by lane.

A `memref.alloc` in workgroup memory is followed through its views (subview, expand_shape,
collapse_shape, cast, ...) to the operations that read and write it. Every view of a row-major
allocation is strided, so an access through it lands on

    element = view offset + sum of index * view stride

of the allocation, in every lane; `lane_values` knows the offset and the indices. A transfer of
several rows is one access per row, because that is how the compiler unrolls it: reading
`vector<4x1xf16>` from `memref<64x64xf16>` is four accesses of one element, 64 elements apart.

Where a view meets other memory, in an `scf.for`, `scf.if` or `arith.select`, what accesses the
meeting accesses each of them: the buffers of a rotation all get the same accesses.

Whatever cannot be followed exactly becomes an `UnknownAccess` with the reason, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, repeat
from math import gcd, prod
from types import MappingProxyType

import numpy as np
from iree.compiler import ir

from ...bank_model.accesses import LdsAccess, LdsTile
from ...bank_model.errors import InvalidParameterError
from ...bank_model.layouts import SwizzledLayout
from ...bank_model.swizzle_legality import DirectStore, contiguous_run
from ...bank_model.swizzles import Swizzle, chain_period
from ...bank_model.targets import AccessKind
from ..diagnostics import SourceLocation
from ..dynamic_sizes import DYNAMIC
from ..element_types import element_bits
from ..index.lane_values import (
    LaneEvaluator,
    LaneValues,
    Loop,
    Unknown,
    align,
    combine,
    constant,
    existing_lanes,
)
from ..swizzle_hint import UnknownSwizzleError, hint_swizzle, parse_swizzle
from .carried_memory import carried_values
from .required_alignment import in_elements, required_alignment

SWIZZLE_HINT = "iree_codegen.swizzle_hint"
GATHER = "amdgpu.gather_to_lds"
LDMATRIX = "nvgpu.ldmatrix"
STOWED_SWIZZLE = "iree_codegen.swizzle"
"""The attribute in which prefetching pipelines keep a hint on the allocation itself."""


@dataclass(frozen=True)
class UnknownAccess:
    """A use of an allocation whose elements cannot be told.

    `overrun` marks a load or store that is known to leave its row: what it meets behind the row
    depends on the layout, so that the layout must not change at all.
    """

    reason: str
    location: str
    overrun: bool = False


@dataclass(frozen=True)
class AllocationAccesses:
    """Everything that happens to one allocation.

    `traced`, in no particular order, hold row-major element indices of the allocation's own
    type, before any swizzle hint. They are all accesses only when `unknown` is empty.
    `assumptions` name what was taken for granted where the program does not say it: that a mask
    is all true, for example.
    """

    tile: LdsTile
    traced: tuple[TracedAccess, ...]
    unknown: tuple[UnknownAccess, ...]
    assumptions: tuple[str, ...]
    hinted: bool
    gathers: tuple[Gather, ...] = ()

    @property
    def accesses(self) -> tuple[LdsAccess, ...]:
        """All that is done to the allocation."""
        return tuple(each.access for each in self.traced)

    @property
    def ordinary(self) -> tuple[LdsAccess, ...]:
        """The accesses whose addresses the program chooses: those that are no gather's."""
        return tuple(each.access for each in ordinary_accesses([self]))


@dataclass(frozen=True, eq=False)
class TracedAccess:
    """An access with the operation that makes it, and the trip of the loop right around that.

    The trip is 0 unless the loop was unrolled in the trace.
    """

    access: LdsAccess
    operation: ir.Operation
    trip: int = 0


def ordinary_accesses(traces: Iterable[AllocationAccesses]) -> list[TracedAccess]:
    """The ordinary accesses of allocations that share a layout, each once.

    Where allocations meet, an operation is in the trace of each of them, but whenever it runs it
    accesses one of them. Three buffers that take turns in a loop are read once per trip, not three
    times.
    """
    found: list[TracedAccess] = []
    seen: set[ir.Operation] = set()
    for traced in traces:
        left_out = seen | {gather.operation for gather in traced.gathers}
        new = [each for each in traced.traced if each.operation not in left_out]
        found += new
        seen.update(each.operation for each in new)
    return found


@dataclass(frozen=True)
class Gather:
    """An `amdgpu.gather_to_lds` to an allocation, as `accesses` of it and as what it is.

    `memref` and `indices` are where in the allocation it stores, `running` masks the lanes and
    trips in which it does, as far as conditions and loops are known.
    """

    operation: ir.Operation
    store: DirectStore
    accesses: tuple[LdsAccess, ...]
    memref: ir.Value
    indices: tuple[ir.Value, ...]
    running: tuple[LaneValues, ...]


def lds_allocations(function: ir.Operation) -> list[ir.Operation]:
    """The `memref.alloc`s in workgroup memory, in the order of the function's text."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if is_lds_allocation(operation):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def is_lds_allocation(operation: ir.Operation) -> bool:
    """Whether it is a `memref.alloc` in workgroup memory."""
    if operation.name != "memref.alloc":
        return False
    kind = ir.MemRefType(operation.results[0].type)
    return str(kind.memory_space) == "#gpu.address_space<workgroup>"


def shown_type(allocation: ir.Operation) -> str:
    """The allocation's memref type without its memory space and layout, for messages."""
    kind = ir.MemRefType(allocation.results[0].type)
    sizes = "".join("?x" if n == DYNAMIC else f"{n}x" for n in kind.shape)
    return f"memref<{sizes}{kind.element_type}>"


def is_hinted(allocation: ir.Operation) -> bool:
    """Whether a swizzle is wanted for the allocation, by an attribute or a hint in its views."""
    if STOWED_SWIZZLE in allocation.attributes:
        return True
    pending: list[ir.Value] = [allocation.results[0]]
    while pending:
        for use in pending.pop().uses:
            user = use.owner.operation
            if user.name == SWIZZLE_HINT:
                return True
            pending += [r for r in user.results if isinstance(r.type, ir.MemRefType)]
    return False


def tile_of(allocation: ir.Operation) -> LdsTile | Unknown:
    """The allocation as a tile of the bank model; Unknown with the reason when it is none."""
    kind = ir.MemRefType(allocation.results[0].type)
    if not kind.has_static_shape:
        return Unknown("its shape is dynamic")
    if kind.rank == 0:
        return Unknown("it has rank 0")
    if not _is_row_major(kind):
        return Unknown(f"its layout {kind.layout} is not row-major")
    bits = element_bits(kind.element_type)
    if bits is None or bits % 8:
        return Unknown(f"its elements of type {kind.element_type} do not fill bytes")
    if min(kind.shape) < 1:
        return Unknown("it is empty")
    return LdsTile(tuple(kind.shape), bits)


def _is_row_major(kind: ir.MemRefType) -> bool:
    strides, offset = _strides_and_offset(kind)
    return offset == 0 and strides == tuple(
        prod(kind.shape[d + 1 :]) for d in range(len(kind.shape))
    )


def strides_of(memref: ir.Value) -> tuple[int, ...] | None:
    """A memref's strides in elements; None where they are not all static."""
    strides = _strides_and_offset(ir.MemRefType(memref.type))[0]
    return None if strides is None or DYNAMIC in strides else strides


def _strides_and_offset(kind: ir.MemRefType) -> tuple[tuple[int, ...] | None, int | None]:
    """Strides and offset in elements; None where the layout is not strided."""
    try:
        strides, offset = kind.get_strides_and_offset()
    except (RuntimeError, ValueError):
        return None, None
    return tuple(strides), offset


@dataclass(frozen=True)
class _View:
    """A memref value inside the allocation; offset and strides in elements of the latter."""

    value: ir.Value
    offset: LaneValues | Unknown
    strides: tuple[int, ...]
    sizes: tuple[int, ...]
    chain: tuple[Swizzle, ...] | Unknown = ()
    """The swizzles between it and the allocation, from the allocation outwards."""

    def same_elements(self, other: _View) -> bool:
        """Whether both show the same elements in the same order, whatever values they are."""
        mine, theirs = self.offset, other.offset
        if isinstance(mine, Unknown) or isinstance(theirs, Unknown):
            return False
        if mine.loops != theirs.loops or not np.array_equal(mine.values, theirs.values):
            return False
        return (self.strides, self.sizes, self.chain) == (other.strides, other.sizes, other.chain)


@dataclass(frozen=True)
class _Footprint:
    """The elements that one operation touches, before its lanes are known.

    `extents[d]` consecutive indices of memref dimension d from `indices[d]` on.
    """

    kind: AccessKind
    indices: tuple[ir.Value, ...]
    extents: tuple[int, ...]
    assumption: str = ""
    instruction: str = ""
    """The one instruction that can do it, if there is only one."""
    wave_elements: int = 0
    """If not 0, lane l touches this many elements from the wave's first one + l times as many,
    where the hardware puts them: no swizzle applies."""
    lanes: int = 0
    """If not 0, only the first so many lanes of a wave take part."""
    alignment: int = 1
    """Elements of which its first offset must be a multiple in every layout."""


@dataclass(frozen=True)
class _Stored:
    """The accesses of a direct store."""

    store: DirectStore
    accesses: tuple[LdsAccess, ...]


@dataclass(frozen=True)
class _Overrun(Unknown):
    """An access that leaves its memref, its row, or the allocation in some lane."""


@dataclass(frozen=True)
class _Surroundings:
    """What the loops and conditions around an operation say about its execution."""

    trips: Mapping[int, int]
    """Trips of the surrounding loops on which all lanes agree, by depth."""
    masks: tuple[LaneValues, ...]
    assumptions: tuple[str, ...]
    loops: int
    """How many `scf.for` are around it."""


def trace_allocation(
    allocation: ir.Operation,
    function: ir.Operation,
    evaluator: LaneEvaluator,
    unroll: int = 0,
) -> AllocationAccesses | Unknown:
    """All accesses to `allocation` inside `function`; Unknown when it is not a tile at all.

    What an operation does in each trip of the loop right around it is an access of its own, if it
    differs between trips and the loop has at most `unroll` trips.
    """
    tile = tile_of(allocation)
    if isinstance(tile, Unknown):
        return tile
    kind = ir.MemRefType(allocation.results[0].type)
    strides = _strides_and_offset(kind)[0] or ()
    accesses: list[TracedAccess] = []
    unknown: list[UnknownAccess] = []
    assumptions: list[str] = []
    gathers: list[Gather] = []
    hinted = STOWED_SWIZZLE in allocation.attributes
    root = _View(allocation.results[0], constant(0), strides, tile.shape, _stowed(allocation))
    met: dict[ir.Value, list[_View]] = {}
    pending = [root]
    while pending:
        view = pending.pop()
        # Uses are listed last first; nothing depends on it, but results read better in order.
        for use in reversed(list(view.value.uses)):
            user = use.owner.operation
            location = _location(user)
            if user.name in _HARMLESS:
                continue
            if user.name in _VIEWS and use.operand_number == 0:
                hinted = hinted or user.name == SWIZZLE_HINT
                result = _view_through(user, view, evaluator)
                if isinstance(result, Unknown):
                    unknown.append(UnknownAccess(f"{user.name}: {result.reason}", location))
                else:
                    pending.append(result)
                continue
            carried = carried_values(user, use.operand_number)
            if carried:
                for value in carried:
                    onward = replace(view, value=value, offset=_carried(view.offset, user, value))
                    known = met.setdefault(value, [])
                    if any(each.same_elements(onward) for each in known):
                        continue
                    if isinstance(onward.offset, Unknown) or len(known) == _MAX_CARRIED:
                        reason = "it carries the allocation at offsets that are not known"
                        if isinstance(onward.offset, Unknown):
                            reason += f": they depend on the {onward.offset.reason}"
                        unknown.append(UnknownAccess(f"{user.name}: {reason}", location))
                        continue
                    if known or _meets_others(value, view.value):
                        assumptions.append(_SHARED)
                    known.append(onward)
                    pending.append(onward)
                continue
            footprint = _footprint(user, use.operand_number)
            if isinstance(footprint, Unknown):
                unknown.append(UnknownAccess(footprint.reason, location))
                continue
            around = _surroundings(user, function, evaluator)
            if isinstance(around, Unknown):
                unknown.append(UnknownAccess(f"{user.name}: {around.reason}", location))
                continue
            lanes = _Lanes(tile, view, around, evaluator, location, unroll)
            found = lanes.accesses(user, footprint)
            if isinstance(found, Unknown):
                # A transfer masks what is outside its memref's bounds; other accesses do not.
                overrun = isinstance(found, _Overrun) and "transfer" not in user.name
                unknown.append(UnknownAccess(f"{user.name}: {found.reason}", location, overrun))
                continue
            if isinstance(found, _Stored):
                where = (view.value, footprint.indices, around.masks)
                gathers.append(Gather(user, found.store, found.accesses, *where))
                found = [TracedAccess(access, user) for access in found.accesses]
            accesses += found
            assumptions += [a for a in (footprint.assumption, *around.assumptions) if a]
    return AllocationAccesses(
        tile,
        tuple(accesses),
        tuple(unknown),
        tuple(dict.fromkeys(assumptions)),
        hinted,
        tuple(gathers),
    )


def _location(operation: ir.Operation) -> str:
    return str(SourceLocation.of(operation.location) or "")


# Views.

_SHARED = "whatever accesses one of several buffers that meet accesses each of them"

_MAX_CARRIED = 8
"""Views of one allocation that one value may stand for; a rotation has as many as buffers."""


def _carried(
    offset: LaneValues | Unknown, user: ir.Operation, value: ir.Value
) -> LaneValues | Unknown:
    """The offset of a view where a loop's yield has carried it.

    The next trip sees what this one yields, and the result of the loop is what the last one yields:
    of offsets 0, 64, 0, 64 the argument has 64, 0, 64, 0 and the result 64. The first trip has the
    initial value, which is followed by itself.
    """
    parent = user.parent.operation if user.name == "scf.yield" else None
    if parent is None or parent.name != "scf.for" or isinstance(offset, Unknown):
        return offset
    depth, outer = 0, parent.parent
    while outer is not None:
        depth += outer.operation.name == "scf.for"
        outer = outer.operation.parent
    axes = [axis for axis, loop in enumerate(offset.loops) if loop.depth == depth]
    if not axes:
        return offset
    if isinstance(value.owner, ir.Block):
        return replace(offset, values=np.roll(offset.values, 1, axes[0]))
    loops = tuple(loop for loop in offset.loops if loop.depth != depth)
    if offset.loops[axes[0]].trips == 0:
        return Unknown("value of a loop that never runs")
    return LaneValues(np.take(offset.values, -1, axes[0]), loops)


def _meets_others(meeting: ir.Value, source: ir.Value) -> bool:
    """Whether a value may be other memory than `source` and what is carried around to itself."""
    owner = meeting.owner
    if isinstance(owner, ir.Block):
        loop, number = owner.owner.operation, ir.BlockArgument(meeting).arg_number - 1
    elif owner.name == "scf.for":
        loop, number = owner.operation, ir.OpResult(meeting).result_number
    else:
        return True
    body = loop.regions[0].blocks[0]
    yielded = body.operations[len(body.operations) - 1].operands[number]
    return yielded not in (source, body.arguments[1 + number])


def stowed_swizzles(allocation: ir.Operation) -> tuple[Swizzle, ...]:
    """The swizzles that an allocation carries as an attribute; errors as of `parse_swizzle`."""
    if STOWED_SWIZZLE not in allocation.attributes:
        return ()
    attribute = allocation.attributes[STOWED_SWIZZLE]
    items = tuple(attribute) if isinstance(attribute, ir.ArrayAttr) else (attribute,)
    return tuple(map(parse_swizzle, items))


def _stowed(allocation: ir.Operation) -> tuple[Swizzle, ...] | Unknown:
    try:
        return stowed_swizzles(allocation)
    except (UnknownSwizzleError, InvalidParameterError) as error:
        return Unknown(f"{STOWED_SWIZZLE}: {error}")


def _with_hint(source: _View, hint: ir.Operation) -> tuple[Swizzle, ...] | Unknown:
    """The swizzles behind a hint on a view, if they are those of the whole allocation."""
    if isinstance(source.chain, Unknown):
        return source.chain
    try:
        chain = (*source.chain, hint_swizzle(hint))
    except (UnknownSwizzleError, InvalidParameterError) as error:
        return Unknown(str(error))
    if isinstance(source.offset, Unknown):
        return Unknown("hint on a part that starts at an unknown element")
    # The period of a chain may be more than NumPy's integers hold.
    if int(np.gcd.reduce(source.offset.values, None)) % chain_period(chain):
        return Unknown("hint on a part in which the swizzle does not begin anew")
    return chain


_HARMLESS = frozenset({"memref.dealloc"})

_SAME_ELEMENTS = frozenset(
    {
        "memref.cast",
        "memref.expand_shape",
        "memref.collapse_shape",
        "memref.memory_space_cast",
        "memref.assume_alignment",
        SWIZZLE_HINT,
    }
)
"""Views that start at the same element; their strides are in the result's type."""

_VIEWS = _SAME_ELEMENTS | {"memref.subview", "memref.reinterpret_cast"}


def _view_through(
    operation: ir.Operation, source: _View, evaluator: LaneEvaluator
) -> _View | Unknown:
    result = operation.results[0]
    if not isinstance(result.type, ir.MemRefType):
        return Unknown(f"result of type {result.type}")
    kind = ir.MemRefType(result.type)
    strides = _strides_and_offset(kind)[0]
    if operation.name == SWIZZLE_HINT:
        source = replace(source, chain=_with_hint(source, operation))
    if operation.name in ("memref.cast", SWIZZLE_HINT, "memref.assume_alignment"):
        # These may forget static information; what they are given still holds.
        if kind.rank != len(source.sizes):
            return Unknown("change of rank")
        return replace(source, value=result)
    if strides is None or DYNAMIC in strides or not kind.has_static_shape:
        return Unknown("view with dynamic sizes or strides")
    view = _View(result, source.offset, strides, tuple(kind.shape), source.chain)
    if operation.name in _SAME_ELEMENTS:
        return view
    offsets = mixed_operands(operation, "static_offsets", 1)
    if operation.name == "memref.reinterpret_cast":
        # Its offset counts from the allocation's start, not from the source view's.
        return replace(view, offset=_evaluate(offsets[0], evaluator))
    return replace(view, offset=_address(source, offsets, evaluator))


def mixed_operands(operation: ir.Operation, static_name: str, segment: int) -> list[ir.Value | int]:
    """Static numbers of an attribute with the dynamic ones filled in from operand `segment`."""
    segments = list(ir.DenseI32ArrayAttr(operation.attributes["operandSegmentSizes"]))
    first = sum(segments[:segment])
    dynamic = iter(list(operation.operands)[first : first + segments[segment]])
    numbers = ir.DenseI64ArrayAttr(operation.attributes[static_name])
    return [next(dynamic) if n == DYNAMIC else n for n in numbers]


def _evaluate(number: ir.Value | int, evaluator: LaneEvaluator) -> LaneValues | Unknown:
    return constant(number) if isinstance(number, int) else evaluator.evaluate(number)


def _address(
    view: _View, indices: Sequence[ir.Value | int], evaluator: LaneEvaluator
) -> LaneValues | Unknown:
    """The element of the allocation that `indices` into the view denote."""
    total = view.offset
    for index, stride in zip(indices, view.strides, strict=True):
        value = _evaluate(index, evaluator)
        if isinstance(total, Unknown):
            return total
        if isinstance(value, Unknown):
            return value
        total = combine(lambda t, v, by=stride: t + v * by, total, value)
    return total


# Accesses.


def _segments(operation: ir.Operation) -> list[list[ir.Value]]:
    """The operands of an op with `operandSegmentSizes`, segment by segment."""
    operands = iter(list(operation.operands))
    sizes = ir.DenseI32ArrayAttr(operation.attributes["operandSegmentSizes"])
    return [[next(operands) for _ in range(size)] for size in sizes]


def _transfer(
    operation: ir.Operation, kind: AccessKind, vector: ir.Value, indices: list[ir.Value], mask: bool
) -> _Footprint | Unknown:
    """A vector.transfer: vector dimension k runs along the memref dimension its map names."""
    shape = _static_vector(vector.type)
    if isinstance(shape, Unknown):
        return shape
    attribute = operation.attributes["permutation_map"]
    assert isinstance(attribute, ir.AffineMapAttr)
    extents = [1] * len(indices)
    for expression, size in zip(attribute.value.results, shape, strict=True):
        if isinstance(expression, ir.AffineDimExpr):
            extents[expression.position] = size
        elif kind is AccessKind.WRITE or not isinstance(expression, ir.AffineConstantExpr):
            return Unknown(f"{operation.name} by {attribute.value}")
    assumption = f"every element of a masked {operation.name} is accessed" if mask else ""
    return _Footprint(kind, tuple(indices), tuple(extents), assumption)


def _minor(
    operation: ir.Operation, kind: AccessKind, vector: ir.Value, indices: list[ir.Value]
) -> _Footprint | Unknown:
    """A vector.load or store: the vector covers the innermost memref dimensions in order."""
    shape = _static_vector(vector.type)
    if isinstance(shape, Unknown):
        return shape
    if len(shape) > len(indices):
        return Unknown(f"{operation.name} of a vector of higher rank than its memref")
    extents = (*[1] * (len(indices) - len(shape)), *shape)
    masked = operation.name in ("vector.maskedload", "vector.maskedstore")
    assumption = f"every element of a {operation.name} is accessed" if masked else ""
    return _Footprint(kind, tuple(indices), extents, assumption)


def _static_vector(kind: ir.Type) -> tuple[int, ...] | Unknown:
    if not isinstance(kind, ir.VectorType):
        return Unknown(f"value of type {kind} instead of a vector")
    if kind.scalable:
        return Unknown(f"scalable vector {kind}")
    return tuple(kind.shape)


def _transfer_read(operation: ir.Operation) -> _Footprint | Unknown:
    _, indices, _, mask = _segments(operation)
    return _transfer(operation, AccessKind.READ, operation.results[0], indices, bool(mask))


def _transfer_write(operation: ir.Operation) -> _Footprint | Unknown:
    vector, _, indices, mask = _segments(operation)
    return _transfer(operation, AccessKind.WRITE, vector[0], indices, bool(mask))


def _vector_load(operation: ir.Operation) -> _Footprint | Unknown:
    indices = list(operation.operands)[1:]
    return _minor(operation, AccessKind.READ, operation.results[0], indices)


def _vector_store(operation: ir.Operation) -> _Footprint | Unknown:
    vector, _, *indices = operation.operands
    return _minor(operation, AccessKind.WRITE, vector, indices)


def _masked_load(operation: ir.Operation) -> _Footprint | Unknown:
    _, *indices, _, _ = operation.operands
    return _minor(operation, AccessKind.READ, operation.results[0], indices)


def _masked_store(operation: ir.Operation) -> _Footprint | Unknown:
    _, *indices, _, vector = operation.operands
    return _minor(operation, AccessKind.WRITE, vector, indices)


def _load(operation: ir.Operation) -> _Footprint:
    indices = tuple(operation.operands)[1:]
    return _Footprint(AccessKind.READ, indices, (1,) * len(indices))


def _store(operation: ir.Operation) -> _Footprint:
    indices = tuple(operation.operands)[2:]
    return _Footprint(AccessKind.WRITE, indices, (1,) * len(indices))


def _transpose_load(operation: ir.Operation) -> _Footprint | Unknown:
    """Every lane reads a vector at its own address; what the lanes then swap costs nothing."""
    vector, memory = operation.results[0].type, operation.operands[0].type
    shape = _static_vector(vector)
    if isinstance(shape, Unknown):
        return shape
    assert isinstance(vector, ir.VectorType)
    bits = element_bits(vector.element_type)
    if bits is None or vector.element_type != ir.MemRefType(memory).element_type:
        return Unknown(f"{operation.name} of {vector} from {memory}")
    indices = tuple(operation.operands)[1:]
    extents = (*[1] * (len(indices) - 1), prod(shape))
    name = f"ds_read_b{bits * prod(shape)}_tr_b{bits}"
    return _Footprint(AccessKind.READ, indices, extents, instruction=name)


def _ldmatrix(operation: ir.Operation) -> _Footprint | Unknown:
    """Lanes 8 m to 8 m + 7 give the addresses of the 16-byte rows of matrix m."""
    bits = element_bits(ir.MemRefType(operation.operands[0].type).element_type)
    if bits is None or 128 % bits:
        return Unknown(f"{operation.name} from {operation.operands[0].type}")
    matrices = ir.IntegerAttr(operation.attributes["numTiles"]).value
    indices = tuple(operation.operands)[1:]
    extents = (*[1] * (len(indices) - 1), 128 // bits)
    return _Footprint(AccessKind.READ, indices, extents, instruction="ldmatrix", lanes=8 * matrices)


def _gather_to_lds(operation: ir.Operation) -> _Footprint | Unknown:
    """Lane l writes its part of memory behind the wave's address, wherever it has read it."""
    _, _, (destination,), indices = _segments(operation)
    transfer = ir.TypeAttr(operation.attributes["transferType"]).value
    element = ir.MemRefType(destination.type).element_type
    shape = _static_vector(transfer) if isinstance(transfer, ir.VectorType) else (1,)
    moved = transfer.element_type if isinstance(transfer, ir.VectorType) else transfer
    if isinstance(shape, Unknown) or moved != element:
        return Unknown(f"{operation.name} of {transfer} to elements of {element}")
    extents = (1,) * len(indices)
    return _Footprint(AccessKind.WRITE, tuple(indices), extents, wave_elements=prod(shape))


_ACCESSES: Mapping[str, tuple[int, Callable[[ir.Operation], _Footprint | Unknown]]] = (
    MappingProxyType(
        {
            "vector.transfer_read": (0, _transfer_read),
            "vector.transfer_write": (1, _transfer_write),
            "vector.load": (0, _vector_load),
            "vector.store": (1, _vector_store),
            "vector.maskedload": (0, _masked_load),
            "vector.maskedstore": (0, _masked_store),
            "memref.load": (0, _load),
            "memref.store": (1, _store),
            "amdgpu.transpose_load": (0, _transpose_load),
            LDMATRIX: (0, _ldmatrix),
        }
    )
)
"""Operation name -> (operand number of the memref, how to read the footprint)."""


def _footprint(operation: ir.Operation, operand_number: int) -> _Footprint | Unknown:
    base, read = _ACCESSES.get(operation.name, (-1, None))
    if operation.name == GATHER:
        base, read = sum(len(segment) for segment in _segments(operation)[:2]), _gather_to_lds
    if read is None or operand_number != base:
        return Unknown(f"used by {operation.name}")
    found = read(operation)
    needed = required_alignment(operation)
    if isinstance(found, Unknown) or needed == 1:
        return found
    bits = element_bits(ir.MemRefType(operation.operands[base].type).element_type)
    return found if bits is None else replace(found, alignment=in_elements(needed, bits))


def _surroundings(
    operation: ir.Operation, function: ir.Operation, evaluator: LaneEvaluator
) -> _Surroundings | Unknown:
    """How often, and in which lanes, an operation runs in one execution of the function."""
    path: list[tuple[ir.Operation, ir.Operation]] = []
    inner = operation
    while inner != function.operation:
        outer = inner.parent
        if outer is None:
            return Unknown("use outside the function")
        path.append((outer.operation, inner))
        inner = outer.operation
    trips: dict[int, int] = {}
    masks: list[LaneValues] = []
    assumptions: list[str] = []
    exists = existing_lanes(evaluator.launch)
    if not exists.all():
        masks.append(LaneValues(exists.astype(np.int64)))
    depth = 0
    for outer, inner in reversed(path):
        name = outer.name
        if outer == function.operation or name == "vector.mask":
            if name == "vector.mask":
                assumptions.append("every element of a masked access is accessed")
        elif name == "scf.for":
            count = evaluator.trip_count(outer)
            if isinstance(count, int):
                trips[depth] = count
            else:
                span = evaluator.loop_range(outer)
                if isinstance(span, Unknown):
                    assumptions.append(f"a loop of unknown length counts once ({span.reason})")
                else:
                    masks.append(span.running)
            depth += 1
        elif name == "scf.if":
            condition = evaluator.evaluate(outer.operands[0])
            if isinstance(condition, Unknown):
                assumptions.append(
                    f"a condition that is not known holds in all lanes ({condition.reason})"
                )
            else:
                holds = condition.truth()
                if inner.block.region != outer.regions[0]:
                    holds = LaneValues(1 - holds.values, holds.loops)
                masks.append(holds)
        elif not (name == "scf.forall" and _maps_to_workgroups(outer)):
            return Unknown(f"inside {name}")
    return _Surroundings(trips, tuple(masks), tuple(assumptions), depth)


def _maps_to_workgroups(forall: ir.Operation) -> bool:
    """Whether every workgroup executes one iteration of the loop."""
    if "mapping" not in forall.attributes:
        return False
    mapping = ir.ArrayAttr(forall.attributes["mapping"])
    return len(mapping) > 0 and all("workgroup_mapping" in str(item) for item in mapping)


@dataclass(frozen=True)
class _Lanes:
    """What all lanes do in operations on one view, in one place of the program."""

    tile: LdsTile
    view: _View
    around: _Surroundings
    evaluator: LaneEvaluator
    location: str
    unroll: int

    def accesses(
        self, operation: ir.Operation, footprint: _Footprint
    ) -> list[TracedAccess] | _Stored | Unknown:
        """The accesses of one operation: one per contiguous run of its elements."""
        view, evaluator, around = self.view, self.evaluator, self.around
        indices: list[LaneValues] = []
        for index in footprint.indices:
            value = evaluator.evaluate(index)
            if isinstance(value, Unknown):
                return Unknown(f"index depends on the {value.reason}")
            indices.append(value)
        first = _address(view, footprint.indices, evaluator)
        if isinstance(first, Unknown):
            return Unknown(f"offset depends on the {first.reason}")
        everywhere = combine(lambda *masks: reduce(np.minimum, masks), constant(1), *around.masks)
        if isinstance(everywhere, Unknown):
            return everywhere
        loops, (starts, active, *lanes) = _same_shape([first, everywhere, *indices], evaluator)
        depths = {loop.depth for loop in loops}
        weight = prod(n for depth, n in around.trips.items() if depth not in depths)
        if weight == 0 or not active.any():
            return []
        for values, extent, size in zip(lanes, footprint.extents, view.sizes, strict=True):
            touched = values[active]
            if touched.min() < 0 or touched.max() + extent > size:
                return _Overrun("index outside the view's bounds")
        if footprint.lanes:
            active = active & (np.arange(active.shape[1]) < footprint.lanes)
            if not active.any():
                return []
        if footprint.wave_elements:
            return self._stored(footprint, starts, active, weight, bool(loops))
        if around.loops - 1 not in depths or loops[-1].trips > self.unroll:
            found = self._runs(footprint, starts, active, weight, bool(loops))
            if isinstance(found, Unknown):
                return found
            return [TracedAccess(access, operation) for access in found]
        traced: list[TracedAccess] = []
        trips = loops[-1].trips
        shape = (-1, trips, evaluator.launch.waves, starts.shape[1])
        for trip in range(trips):
            begin, on = (
                array.reshape(shape)[:, trip].reshape(-1, shape[-1]) for array in (starts, active)
            )
            found = self._runs(footprint, begin, on, weight, len(loops) > 1)
            if isinstance(found, Unknown):
                return found
            traced += [TracedAccess(access, operation, trip) for access in found]
        return traced

    def _stored(
        self,
        footprint: _Footprint,
        starts: np.ndarray,
        active: np.ndarray,
        weight: int,
        repeats: bool,
    ) -> _Stored | Unknown:
        """What a direct store does, at the addresses that the hardware gives it."""
        count, issued = footprint.wave_elements, active.any(axis=1)
        gathered = _gathered(self.tile, self.view, count, starts[issued], active[issued])
        if isinstance(gathered, Unknown):
            return gathered
        firsts, runs = gathered
        mask = None if active[issued].all() else active[issued]
        # Where a swizzle parts what a lane stores, only the first part is as aligned as the whole.
        needed = chain((footprint.alignment,), repeat(1))
        written = [
            LdsAccess(footprint.kind, e, n, weight, mask, self.location, alignment=alignment)
            for (e, n), alignment in zip(runs, needed, strict=False)
        ]
        store = DirectStore(np.unique(firsts), count, starts.shape[1], mask is not None)
        return _Stored(store, tuple(map(_without_repetition, written) if repeats else written))

    def _runs(
        self,
        footprint: _Footprint,
        starts: np.ndarray,
        active: np.ndarray,
        weight: int,
        repeats: bool,
    ) -> list[LdsAccess] | Unknown:
        """One access per run of consecutive elements; none where no lane takes part."""
        tile, view = self.tile, self.view
        issued = active.any(axis=1)
        if not issued.any():
            return []
        # Rows of one element have stride 1 too, but are consecutive only while not padded.
        run_dimension = _run_dimension(view, footprint.extents) if tile.row_elements > 1 else None
        count = 1 if run_dimension is None else footprint.extents[run_dimension]
        starts, active = starts[issued], active[issued]
        found: list[LdsAccess] = []
        for offset in _run_offsets(view.strides, footprint.extents, run_dimension):
            elements = starts + offset
            used = elements[active]
            if used.min() < 0 or used.max() + count > tile.elements:
                return _Overrun("element outside the allocation")
            if (used % tile.row_elements).max() + count > tile.row_elements:
                return _Overrun("vector that runs over the end of a row")
            mask = None if active.all() else active
            if mask is not None:
                elements = np.where(mask, elements, used[0])
            access = LdsAccess(
                footprint.kind,
                elements,
                count,
                weight,
                mask,
                self.location,
                footprint.instruction,
                footprint.alignment if offset == 0 else 1,
            )
            found.append(_without_repetition(access) if repeats else access)
        return found


def _gathered(
    tile: LdsTile, view: _View, count: int, starts: np.ndarray, active: np.ndarray
) -> tuple[np.ndarray, list[tuple[np.ndarray, int]]] | Unknown:
    """The first element of each wave, and what its lanes write from there, as (elements, count).

    The hardware knows nothing of swizzles: `count` elements of each lane lie behind those of the
    lane before. In a swizzled allocation the logical elements there are those that the swizzle
    puts there.
    """
    if isinstance(view.chain, Unknown):
        return view.chain
    first = np.array([row[on][0] for row, on in zip(starts, active, strict=True)])[:, None]
    if (np.where(active, starts, first) != first).any():
        return Unknown("destination that differs between the lanes of a wave")
    physical = first + np.arange(starts.shape[1]) * count
    used = physical[active]
    if used.min() < 0 or used.max() + count > tile.elements:
        return _Overrun("element outside the allocation")
    physical = np.where(active, physical, used[0])
    firsts = first[:, 0]
    if not view.chain:
        return firsts, [(physical, count)]
    layout = SwizzledLayout(view.chain)
    if not layout.is_bijection(tile):
        return Unknown(f"{layout} does not permute the allocation")
    logical = np.argsort(layout.offsets(tile, np.arange(tile.elements)))
    run = gcd(contiguous_run(view.chain), count, int(np.gcd.reduce(used, None)))
    return firsts, [(logical[physical + part], run) for part in range(0, count, run)]


def _same_shape(
    values: Sequence[LaneValues], evaluator: LaneEvaluator
) -> tuple[tuple[Loop, ...], list[np.ndarray]]:
    """All values over the same trips, as int64 (the second: bool) arrays [issues, lanes]."""
    loops, arrays = align(values)
    launch = evaluator.launch
    shape = (*(loop.trips for loop in loops), launch.waves, launch.subgroup_size)
    flat = [np.broadcast_to(a, shape).reshape(-1, launch.subgroup_size) for a in arrays]
    flat[1] = flat[1] != 0
    return loops, flat


def _run_dimension(view: _View, extents: tuple[int, ...]) -> int | None:
    """The memref dimension along which the accessed elements are consecutive, if any."""
    for dimension in reversed(range(len(extents))):
        if view.strides[dimension] == 1 and extents[dimension] > 1:
            return dimension
    return None


def _run_offsets(
    strides: tuple[int, ...], extents: tuple[int, ...], run_dimension: int | None
) -> Iterator[int]:
    """Element offsets of the runs from the first element, the last dimension fastest."""
    counts = [1 if d == run_dimension else n for d, n in enumerate(extents)]
    for position in np.ndindex(*counts):
        yield sum(p * s for p, s in zip(position, strides, strict=True))


def _without_repetition(access: LdsAccess) -> LdsAccess:
    """The same access with equal issues counted once, where all occur equally often.

    In a double-buffered loop only two sets of addresses alternate: 64 trips of 4 waves become
    8 issues of 32 times the weight. Issues of unequal frequency stay as they are, because all
    issues of one operation must stay together to be split into machine accesses alike.
    """
    active = access.active
    keys = access.elements if active is None else np.where(active, access.elements, -1)
    _, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
    if counts.min() != counts.max() or counts[0] == 1:
        return access
    order = np.sort(first)
    return replace(
        access,
        elements=access.elements[order],
        active=None if active is None else active[order],
        weight=access.weight * int(counts[0]),
    )
