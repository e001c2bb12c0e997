# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-join-lds-accesses`: neighbouring elements are loaded and stored at once.

Unrolled copies often store what they have fetched element by element:

    vector.store %a, %tile[%row, %c0] : vector<1xf16>
    vector.store %b, %tile[%row, %c1] : vector<1xf16>    ->   %v = vector.from_elements %a, %b, ...
    ...                                                       vector.store %v, %tile[%row, %c0]

LLVM joins such accesses if it can prove that they are neighbours and that their addresses are
aligned, and it often cannot: it joined none of the 16 stores of a convolution's tile, and each of
them had conflicts that the joint store does not have. Here both are proven by the values of the
indices in every lane, before a layout is chosen, so that the layout is chosen for the accesses that
the program executes.

LLVM unrolls loops too, and joins what different iterations access. So a loop of at most
`MOST_UNROLLED` iterations is unrolled here if that brings neighbours together:

    scf.for %i = %c0 to %c4 step %c1 { %v = memref.load %tile[4 * thread + %i] ... }

Accesses are joined if they are to one buffer, if in every lane and iteration each begins where the
one before it ends, and if the joint one has a power of two of bytes, up to 16, and begins at a
multiple of them. A joint store stands where the last of the stores stood, a joint load where the
first of the loads stood. Between these there is nothing that may touch the same memory, no barrier,
and no operation with regions. Accesses behind swizzle hints stay as they are.

With `keep-copies`, so do stores of 4 bytes or more in loops, of what was loaded from global memory:
a copy by `cp.async` is one load and one store, and goes past the registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import field
from math import gcd, prod
from typing import ClassVar

import numpy as np
from iree.compiler import ir

from ...bank_model.errors import is_power_of_two
from ...bank_model.layouts import MAX_USEFUL_ALIGNMENT
from ...bank_model.lds_rules import AccessKind
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_moves import element_count
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import gpu_features_of, launch_of
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.lane_values import LaneEvaluator, LaneValues, Unknown
from ...dialect_utils.loops import FOR, bounds_of, is_flat, loop_depth, unroll
from ...dialect_utils.memory.buffer_starts import begins_at_multiple_of
from ...dialect_utils.memory.flow import is_lds_allocation, lds_allocations, ways_to
from ...dialect_utils.memory.joined_accesses import MOST_UNROLLED
from ...dialect_utils.memory.lds_ops import access_row, is_in_bounds, is_masked
from ...dialect_utils.memory.memref_types import (
    is_memref,
    is_workgroup_memref,
    shown_type,
    static_strides,
    type_of,
    with_workgroup_buffers,
)
from ...dialect_utils.memory.store_free_segments import leaves_memory_alone
from ...dialect_utils.operations import (
    TRANSFER_READ,
    TRANSFER_WRITE,
    constant_value,
    defining_operation,
    operations_in,
    operations_of,
)
from ...dialect_utils.swizzle_hint import STOWED_SWIZZLE, is_hint
from ..base import FunctionPass, PassContext

_KINDS = {
    "vector.load": AccessKind.READ,
    "memref.load": AccessKind.READ,
    TRANSFER_READ: AccessKind.READ,
    "vector.store": AccessKind.WRITE,
    "memref.store": AccessKind.WRITE,
    TRANSFER_WRITE: AccessKind.WRITE,
}
"""The operations that are joined."""
_LEAST_COPIED = 4
"""The bytes that `cp.async` moves at least."""


@dataclass(frozen=True)
class JoinLdsAccesses(FunctionPass):
    """Joins loads, and stores, of neighbouring elements of an LDS allocation.

    Attributes:
        keep_copies: whether stores of loops that `cp.async` can make stay as they are, where there
            is such a thing.
    """

    name: ClassVar[str] = "bankwise-join-lds-accesses"
    summary: ClassVar[str] = "load and store neighbouring LDS elements at once"

    keep_copies: bool = False

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether a block of `function` accesses an LDS buffer twice in the same way.

        A block in a loop may do so from one iteration to the next.
        """
        accesses = _lds_accesses(function.operation)
        if any(map(is_flat, {each.parent for each in accesses if each.parent.name == FOR})):
            return True
        return any(True for _ in _blocks_with_several(accesses))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites accesses; never fails."""
        function = function.operation
        launch = launch_of(function, context.test_target)
        if launch is None or not lds_allocations(function):
            return
        joined: dict[tuple[frozenset[ir.Operation], AccessKind], tuple[int, int]] = {}
        with function.context:
            accesses, evaluator = _lds_accesses(function), LaneEvaluator(launch)
            if _unroll_loops(accesses, evaluator):
                accesses, evaluator = _lds_accesses(function), LaneEvaluator(launch)
            features = gpu_features_of(function, context.test_target)
            keep_copies = self.keep_copies and features.async_copies
            reader = _Reader(evaluator, IndexBits(function, evaluator), keep_copies)
            for block in list(_blocks_with_several(accesses)):
                for segment in list(reader.segments(block)):
                    for chunk in list(_chunks(segment)):
                        key = chunk[0].allocations, chunk[0].kind
                        before, after = joined.get(key, (0, 0))
                        joined[key] = before + len(chunk), after + 1
                        _emit(chunk)
            for (allocations, kind), (before, after) in joined.items():
                allocation = min(allocations, key=lambda each: str(each.location))
                what = "loads" if kind is AccessKind.READ else "stores"
                text = f"of {shown_type(type_of(allocation))} {before} {what} become {after} wider"
                context.sink.remark(allocation.location, text)


@dataclass(frozen=True, eq=False)
class _Narrow:
    """A load or store of consecutive elements that may be joined with others.

    Attributes:
        place: the number of the operation in its block.
        allocations: what the buffer may be a part of.
        run: what is equal for accesses that may be joined: whether they are transfers, the buffer,
            all indices but the last, and how the last one differs between lanes and iterations.
        first: the last index, without what `run` says of it.
        count: elements of a lane.
        multiple: the access lies at a multiple of so many elements; 0 is a multiple of everything.
    """

    operation: ir.Operation
    place: int
    kind: AccessKind
    buffer: ir.Value
    allocations: frozenset[ir.Operation]
    run: Hashable
    first: int
    count: int
    element_bytes: int
    multiple: int

    @property
    def end(self) -> int:
        """Returns the place behind the last element, counted as `first` is."""
        return self.first + self.count

    def may_overlap(self, other: _Narrow) -> bool:
        """Returns whether one lane may access an element by both."""
        if self.run == other.run:
            return self.first < other.end and other.first < self.end
        return not self.allocations.isdisjoint(other.allocations)


class _Origin(NamedTuple):
    """Where the memory of a buffer may come from.

    Attributes:
        allocations: the LDS allocations among them.
        is_plain: whether these are all, and no swizzle hint stands on the way.
    """

    allocations: frozenset[ir.Operation]
    is_plain: bool


@dataclass(frozen=True)
class _Reader:
    """Reads the accesses of a function."""

    evaluator: LaneEvaluator
    bits: IndexBits
    keep_copies: bool
    _origins: dict[ir.Value, _Origin | None] = field(default_factory=dict)
    _alone: dict[str, bool | None] = field(default_factory=dict)
    """What `leaves_memory_alone` knows."""

    def segments(self, block: ir.Block) -> Iterator[list[_Narrow]]:
        """Yields the accesses of a block in segments of one kind that may move past each other.

        Loads may move as long as nothing stores. Stores may move as long as nothing loads and no
        store between them overlaps them, which `_may_join` checks.
        """
        segment: list[tuple[int, ir.Operation]] = []
        last: AccessKind | None = None
        for place, operation in enumerate(operations_of(block)):
            if self._leaves_lds_alone(operation):
                continue
            kind = _KINDS.get(operation.name)
            if segment and kind is not last:
                yield self._read(segment)
                segment = []
            if kind is not None:
                segment.append((place, operation))
            last = kind
        if segment:
            yield self._read(segment)

    def _leaves_lds_alone(self, operation: ir.Operation) -> bool:
        """Returns whether an operation touches no LDS, does not wait and has no regions."""
        if access_row(operation) is None or len(operation.regions):
            return leaves_memory_alone(operation, self._alone)
        origins = [self._origin(each) for each in operation.operands if is_memref(each)]
        return all(each is not None and not each.allocations for each in origins)

    def _read(self, segment: Sequence[tuple[int, ir.Operation]]) -> list[_Narrow]:
        """Returns the accesses of a segment; none if one of them is not known."""
        buffers = Counter(_buffer_of(operation) for _, operation in segment)
        if max(buffers.values()) == 1:
            return []
        found: list[_Narrow] = []
        for place, operation in segment:
            access = self._narrow(operation, place)
            if access is None:
                return []
            found.append(access)
        return found

    def _narrow(self, operation: ir.Operation, place: int) -> _Narrow | None:
        """Returns what is known of an access; None if that does not suffice to move past it."""
        row, buffer = access_row(operation), _buffer_of(operation)
        origin, memory = self._origin(buffer), type_of(buffer)
        width, strides = element_bits(memory.element_type), static_strides(memory)
        if row is None or row.footprint is None or origin is None or not origin.is_plain:
            return None
        if not width or width % 8 or not strides or strides[-1] != 1 or not _is_row(operation):
            return None
        try:
            footprint = row.footprint(operation)
        except Refusal:
            return None
        patterns: list[tuple[Hashable, int]] = []
        for index in footprint.indices:
            values = self.evaluator.evaluate(index)
            if isinstance(values, Unknown):
                return None
            patterns.append(values.pattern())
        *rows, (columns, first) = patterns
        count = footprint.extents[-1]
        if prod(footprint.extents) != count or element_count(_moved(operation).type) != count:
            return None
        starts = self.bits.multiple(footprint.indices, strides)
        multiple = gcd(starts, begins_at_multiple_of(buffer, self.bits))
        run: Hashable = (row.masks_outside, buffer, tuple(rows), columns)
        kind, allocations = _KINDS[operation.name], origin.allocations
        size = width // 8
        is_copy = self.keep_copies and loop_depth(operation) > 0 and _copies(operation)
        if is_copy and count * size >= _LEAST_COPIED:
            # Nothing else is of the same run.
            run = operation
        return _Narrow(
            operation, place, kind, buffer, allocations, run, first, count, size, multiple
        )

    def _origin(self, buffer: ir.Value) -> _Origin | None:
        """Returns where the memory of a buffer may come from; None where that is not known."""
        if buffer not in self._origins:
            self._origins[buffer] = _origin_of(buffer)
        return self._origins[buffer]


def _origin_of(buffer: ir.Value) -> _Origin | None:
    try:
        ways = ways_to(buffer)
    except Refusal:
        return None
    makers = {value: defining_operation(value) for value in ways}
    known = [each for each in makers.values() if each is not None]
    roots = [makers[value] for value, sources in ways.items() if not sources]
    is_hinted = any(is_hint(each) or STOWED_SWIZZLE in each.attributes for each in known)
    is_plain = not is_hinted and all(map(is_lds_allocation, roots))
    return _Origin(frozenset(filter(is_lds_allocation, known)), is_plain)


def _lds_accesses(function: ir.Operation) -> list[ir.Operation]:
    """Returns the accesses to the LDS that may be joined, in the order of the text."""
    return with_workgroup_buffers(operations_in(function, *_KINDS), _buffer_of)


def _blocks_with_several(accesses: Iterable[ir.Operation]) -> Iterator[ir.Block]:
    """Yields the blocks in which two of the loads, or two of the stores, have one buffer."""
    seen: set[tuple[ir.Block, ir.Value, AccessKind]] = set()
    found: set[ir.Block] = set()
    for operation in accesses:
        block = operation.block
        key = block, _buffer_of(operation), _KINDS[operation.name]
        if key in seen and block not in found:
            found.add(block)
            yield block
        seen.add(key)


def _copies(operation: ir.Operation) -> bool:
    """Returns whether an operation stores what was loaded from other memory, or zero instead."""
    if _KINDS[operation.name] is not AccessKind.WRITE:
        return False
    source = defining_operation(operation.operands[0])
    if source is not None and source.name == "arith.select":
        source = defining_operation(source.operands[1])
    if source is None or source.name != "vector.load":
        return False
    return not is_workgroup_memref(_buffer_of(source).type)


def _buffer_of(operation: ir.Operation) -> ir.Value:
    return operation.operands[0 if _KINDS[operation.name] is AccessKind.READ else 1]


def _unroll_loops(accesses: Iterable[ir.Operation], evaluator: LaneEvaluator) -> bool:
    """Unrolls the loops that access neighbours of an LDS buffer in different iterations.

    Returns:
        whether there are any.
    """
    loops: dict[ir.Operation, None] = {}
    candidates: dict[ir.Operation, bool] = {}
    for operation in accesses:
        loop = operation.parent
        if loop.name != FOR or loop in loops:
            continue
        if loop not in candidates:
            candidates[loop] = _may_unroll(loop, evaluator)
        if candidates[loop] and _iterations_meet(operation, loop, evaluator):
            loops[loop] = None
    for loop in loops:
        lower, _, step = (constant_value(each) for each in bounds_of(loop))
        iterations = evaluator.trip_count(loop)
        if lower is not None and step is not None and isinstance(iterations, int):
            unroll(loop, [lower + iteration * step for iteration in range(iterations)])
    return bool(loops)


def _may_unroll(loop: ir.Operation, evaluator: LaneEvaluator) -> bool:
    iterations = evaluator.trip_count(loop)
    return isinstance(iterations, int) and 1 < iterations <= MOST_UNROLLED and is_flat(loop)


def _iterations_meet(operation: ir.Operation, loop: ir.Operation, evaluator: LaneEvaluator) -> bool:
    """Returns whether an access begins in one iteration where it ends in another one."""
    row = access_row(operation)
    try:
        footprint = row.footprint(operation) if row is not None and row.footprint else None
    except Refusal:
        return False
    known = [evaluator.evaluate(each) for each in footprint.indices] if footprint else []
    values = [each for each in known if isinstance(each, LaneValues)]
    if footprint is None or not values or len(values) != len(known):
        return False
    # The loop right around the access is the innermost, and its axis the last before the lanes.
    depth = loop_depth(loop)
    inner = [bool(each.loops) and each.loops[-1].depth == depth for each in values]
    if inner != [*(False for _ in inner[1:]), True]:
        return False
    columns = np.moveaxis(values[-1].values, -3, 0)
    starts = {each.tobytes() for each in columns}
    return any((each + footprint.extents[-1]).tobytes() in starts for each in columns)


def _is_row(operation: ir.Operation) -> bool:
    """Returns whether an access moves a scalar, or a vector along the buffer's last dimension.

    All elements are accessed, whatever the bounds of the buffer are.
    """
    kind = _moved(operation).type
    if not isinstance(kind, ir.VectorType):
        return True
    if not kind.rank or prod(kind.shape) != kind.shape[-1]:
        return False
    row = access_row(operation)
    if row is None or not row.masks_outside:
        return True
    attribute = operation.attributes["permutation_map"]
    assert isinstance(attribute, ir.AffineMapAttr)
    last, dimensions = attribute.value.results[-1], attribute.value.n_dims
    if not isinstance(last, ir.AffineDimExpr) or last.position != dimensions - 1:
        return False
    return is_in_bounds(operation) and not is_masked(operation)


def _moved(operation: ir.Operation) -> ir.Value:
    """Returns the scalar or vector that is loaded or stored."""
    is_load = _KINDS[operation.name] is AccessKind.READ
    return operation.results[0] if is_load else operation.operands[0]


def _chunks(segment: Sequence[_Narrow]) -> Iterator[list[_Narrow]]:
    """Yields the accesses that become one, in the order of their elements."""
    runs: dict[Hashable, dict[int, _Narrow]] = {}
    for each in segment:
        # Of two accesses to the same elements only the first may be joined with others.
        runs.setdefault(each.run, {}).setdefault(each.first, each)
    for run in runs.values():
        left = dict(sorted(run.items()))
        while left:
            chunk = _longest(left, next(iter(left)), segment)
            for each in chunk:
                del left[each.first]
            if len(chunk) > 1:
                yield chunk


def _longest(run: dict[int, _Narrow], first: int, segment: Sequence[_Narrow]) -> list[_Narrow]:
    """Returns the most accesses of a run that can become one, the access at `first` being the
    first of them."""
    chunk, best = [run[first]], 1
    while chunk[-1].end in run:
        chunk.append(run[chunk[-1].end])
        size = (chunk[-1].end - first) * chunk[0].element_bytes
        if size > MAX_USEFUL_ALIGNMENT:
            break
        is_aligned = chunk[0].multiple * chunk[0].element_bytes % size == 0
        if is_power_of_two(size) and is_aligned and _may_join(chunk, segment):
            best = len(chunk)
    return chunk[:best]


def _may_join(chunk: Sequence[_Narrow], segment: Sequence[_Narrow]) -> bool:
    """Returns whether the accesses can move to where the joint one will stand."""
    places = [each.place for each in chunk]
    begin, end = min(places), max(places)
    if chunk[0].kind is AccessKind.READ:
        # The joint load takes the indices of its first element, which are known there.
        return chunk[0].place == begin
    passed = [each for each in segment if begin < each.place < end and each.place not in places]
    return not any(each.may_overlap(other) for each in passed for other in chunk)


def _emit(chunk: Sequence[_Narrow]) -> None:
    """Replaces accesses by one."""
    first = chunk[0]
    is_load = first.kind is AccessKind.READ
    at = first if is_load else max(chunk, key=lambda each: each.place)
    builder = Builder.before(at.operation)
    joint = _joint_type(first, sum(each.count for each in chunk))
    # Alignments and other promises of the narrow access are not those of the joint one.
    kept = ("in_bounds", "operandSegmentSizes", "permutation_map")
    name = first.operation.name.replace("memref.", "vector.")
    indices = list(first.operation.operands)[0 if is_load else 1 :]
    if is_load:
        wide = builder.like(first.operation, indices, [joint], name=name, kept=kept).results[0]
        elements = builder.elements(wide)
        for each in chunk:
            begin = each.first - first.first
            loaded = _moved(each.operation)
            part = builder.joined(elements[begin : begin + each.count], loaded.type)
            loaded.replace_all_uses_with(part)
    else:
        stored = [part for each in chunk for part in builder.elements(_moved(each.operation))]
        wide = builder.joined(stored, joint)
        builder.like(first.operation, [wide, *indices], name=name, kept=kept)
    for each in chunk:
        each.operation.erase()


def _joint_type(first: _Narrow, count: int) -> ir.VectorType:
    """Returns the type of so many elements; the rank of the vector of a transfer stays."""
    kind = _moved(first.operation).type
    rank = kind.rank if isinstance(kind, ir.VectorType) else 1
    element = type_of(first.buffer).element_type
    return ir.VectorType.get([1] * (rank - 1) + [count], element, loc=first.operation.location)
