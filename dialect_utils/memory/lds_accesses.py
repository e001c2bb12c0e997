# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From an LDS allocation to every access to it, lane by lane.

A `memref.alloc` in workgroup memory is followed (`flow`) through its views (`traced_views`) to the
operations that read and write it, and these are evaluated in every lane (`lane_accesses`).

Where a view meets other memory, in an `scf.for`, `scf.if` or `arith.select`, what accesses the
join accesses each of them: the buffers of a rotation all get the same accesses.

Whatever cannot be followed exactly becomes a `Refusal` with the reason, never a guess.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from itertools import chain

from iree.compiler import ir

from ...bank_model.accesses import LdsAccess, LdsTile
from ...bank_model.quick_dataclass import dataclass, replace
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzle_legality import DirectStore
from ..diagnostics import Refusal, SourceLocation
from ..index.lane_values import LaneEvaluator, LaneValues, Unknown
from ..loops import carried_as
from .copied_addresses import CopiedAddresses, CopiedLanes
from .flow import Use, follow
from .joined_accesses import MOST_UNROLLED
from .lane_accesses import LaneAccesses, MovedVector, Overrun, TracedAccess
from .lds_ops import COPY, VIEW, access_row, footprint_of
from .memref_types import tile_of, type_of
from .surroundings import Surroundings, surroundings_of
from .traced_views import TracedView


class AllocationAccesses(NamedTuple):
    """Everything that happens to one allocation.

    `traced`, in no particular order, hold row-major element indices of the allocation's own
    type, before any swizzle hint. They are all accesses only when `unknown` is empty.
    `assumptions` name what was taken for granted where the program does not say it: that a mask
    is all true, for example.
    """

    tile: LdsTile
    traced: tuple[TracedAccess, ...]
    unknown: tuple[Refusal, ...]
    """Uses whose elements cannot be told; an `Overrun` forbids every change of the layout."""
    assumptions: tuple[str, ...]
    gathers: tuple[Gather, ...] = ()
    uncounted: tuple[Refusal, ...] = ()
    """Copies whose bank conflicts are not known, because they depend on what the lanes read."""
    fewest_iterations: int | None = None
    """The fewest iterations of a loop around an operation that differs between them, if there is
    one. A trace that unrolls shorter loops only is the same."""

    @property
    def accesses(self) -> tuple[LdsAccess, ...]:
        """Returns all that is done to the allocation."""
        return tuple(each.access for each in self.traced)

    @property
    def in_straight_lines(self) -> bool:
        """Returns whether the backend unrolls no loop right around an access."""
        return self.fewest_iterations is None or self.fewest_iterations > MOST_UNROLLED


def ordinary_accesses(traces: Iterable[AllocationAccesses]) -> list[TracedAccess]:
    """Returns the ordinary accesses of allocations that share a layout, each once.

    Where allocations meet, an operation is in the trace of each of them, but whenever it runs it
    accesses one of them. Three buffers that take turns in a loop are read once per iteration, not
    three times.
    """
    left_out: set[ir.Operation] = set()
    found: list[TracedAccess] = []
    for traced in traces:
        direct = {gather.operation for gather in traced.gathers}
        found += [each for each in first_accesses(traced, left_out) if each.operation not in direct]
    return found


def first_accesses(traced: AllocationAccesses, counted: set[ir.Operation]) -> list[TracedAccess]:
    """Returns the accesses of operations that are not `counted` yet, and adds these to them.

    So an operation that may access several allocations counts once, with the first of them.
    """
    found = [each for each in traced.traced if each.operation not in counted]
    counted.update(each.operation for each in found)
    return found


@dataclass(frozen=True)
class Gather:
    """An `amdgpu.gather_to_lds` to an allocation, as `accesses` of it and as what it is.

    `memref` and `indices` are where in the allocation it stores, `running` masks the lanes and
    iterations in which it does, as far as conditions and loops are known.
    """

    operation: ir.Operation
    store: DirectStore
    accesses: tuple[LdsAccess, ...]
    memref: ir.Value
    indices: tuple[ir.Value, ...]
    running: tuple[LaneValues, ...]


def trace_allocation(
    allocation: ir.Operation,
    function: ir.Operation,
    evaluator: LaneEvaluator,
    unroll: int = 0,
    moved: Mapping[ir.Operation, Collection[MovedVector]] | None = None,
    *,
    in_all_workgroups: bool = False,
) -> AllocationAccesses:
    """Returns all accesses to `allocation` inside `function`, as `trace_memory` does.

    Raises:
        Refusal: the allocation is no tile at all.
    """
    memory = allocation.results[0]
    return trace_memory(
        *(tile_of(type_of(memory)), {memory: TracedView.of(memory)}, function, evaluator),
        *(unroll, moved),
        in_all_workgroups=in_all_workgroups,
    )


def trace_memory(
    tile: LdsTile,
    memory: Mapping[ir.Value, TracedView],
    function: ir.Operation,
    evaluator: LaneEvaluator,
    unroll: int = 0,
    moved: Mapping[ir.Operation, Collection[MovedVector]] | None = None,
    *,
    in_all_workgroups: bool = False,
    without_bytes: bool = False,
    text_order: Mapping[ir.Operation, int] | None = None,
) -> AllocationAccesses:
    """Returns all accesses to a tile inside `function`.

    What an operation does in each iteration of the loop right around it is an access of its own, if
    it differs between iterations and the loop has at most `unroll` iterations.

    Args:
        memory: the values that begin all ways to the tile, with what they show of it.
        moved: where else operations could have their vectors; accesses to these are traced too.
        in_all_workgroups: as `LaneAccesses` has it.
        without_bytes: leave out what a `memref.view` shows, which is read as memory of its own.
        text_order: the places of operations in the text, in whose order accesses and reasons are
            then. The order of uses depends on where in memory the compiler has had them.
    """
    operation = function.operation
    given = (tile, operation, evaluator, unroll, moved or {}, in_all_workgroups, without_bytes)
    trace = _Trace(*given)
    sinks = chain.from_iterable(follow(*way, trace.onward) for way in memory.items())
    if text_order is not None:
        sinks = sorted(sinks, key=lambda sink: text_order.get(sink[0].user, len(text_order)))
    for use, view in sinks:
        trace.add_accesses(use, view)
    return AllocationAccesses(
        tile,
        tuple(trace.traced),
        tuple(trace.unknown),
        tuple(dict.fromkeys(trace.assumptions)),
        tuple(trace.gathers),
        tuple(trace.uncounted),
        min(trace.iterations, default=None),
    )


_SHARED = "whatever accesses one of several buffers that meet accesses each of them"

_MAX_CARRIED = 8
"""Views of one allocation that one value may stand for; a rotation has as many as buffers."""


@dataclass
class _Trace:
    """What is found on the way from an allocation to its accesses."""

    tile: LdsTile
    function: ir.Operation
    evaluator: LaneEvaluator
    unroll: int
    moved: Mapping[ir.Operation, Collection[MovedVector]]
    in_all_workgroups: bool
    without_bytes: bool
    traced: list[TracedAccess] = field(default_factory=list)
    unknown: list[Refusal] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    gathers: list[Gather] = field(default_factory=list)
    uncounted: list[Refusal] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    met: dict[ir.Value, list[TracedView]] = field(default_factory=dict)
    """The different views that each join may stand for."""
    around: dict[ir.Block, Surroundings] = field(default_factory=dict)
    place: tuple[ir.Location, str] | None = None
    """The location that was read last."""

    def onward(self, use: Use, target: ir.Value, view: TracedView) -> TracedView | None:
        """Returns what `target` shows of the allocation.

        Returns None if that is not known, or known already.
        """
        if self.without_bytes and use.user.name == VIEW:
            return None
        try:
            if use.is_view:
                return view.through(use.user, self.evaluator)
            return self._meet(target, use.buffer, view.carried(use, target))
        except Refusal as refusal:
            self._refuse(use, f"{use.user.name}: {refusal}")
            return None

    def _meet(self, target: ir.Value, source: ir.Value, view: TracedView) -> TracedView | None:
        known = self.met.setdefault(target, [])
        if any(each.same_elements(view) for each in known):
            return None
        reason = "it carries the allocation at offsets that are not known"
        if isinstance(view.offset, Unknown):
            raise Refusal(f"{reason}: they depend on the {view.offset.reason}")
        if len(known) == _MAX_CARRIED:
            raise Refusal(reason)
        if known or _joins_others(target, source):
            self.assumptions.append(_SHARED)
        known.append(view)
        return view

    def add_accesses(self, use: Use, view: TracedView) -> None:
        """Adds what one sink does to the allocation."""
        try:
            footprint = footprint_of(use.user, use.number)
        except Refusal as refusal:
            self._refuse(use, refusal.reason)
            return
        try:
            around = self._surroundings(use.user)
            copied = self._copied(use.user)
            lanes = LaneAccesses(
                *(self.tile, view, around, self.evaluator, use.user, footprint),
                location=self._location(use.user),
                copied=copied,
                in_all_workgroups=self.in_all_workgroups,
            )
            if footprint.wave_elements:
                stored = lanes.stored_directly()
                if stored is not None:
                    store, written = stored
                    where = (use.buffer, footprint.indices, tuple(around.masks))
                    self.gathers.append(Gather(use.user, store, tuple(written), *where))
                    self.traced += [TracedAccess(access, use.user) for access in written]
            else:
                for moved in (None, *self.moved.get(use.user, ())):
                    of_vector = lanes if moved is None else replace(lanes, moved=moved)
                    found, iterations = of_vector.traced(self.unroll)
                    self.traced += found
                    if iterations is not None:
                        self.iterations.append(iterations)
            self.assumptions += [*lanes.assumptions, *around.assumptions]
            self.assumptions += () if copied is None else copied.assumptions
        except Overrun as overrun:
            row = access_row(use.user)
            masked = row is not None and row.masks_outside
            self._refuse(use, f"{use.user.name}: {overrun}", Refusal if masked else Overrun)
        except Refusal as refusal:
            self._refuse(use, f"{use.user.name}: {refusal}")

    @cached_property
    def _copied_addresses(self) -> CopiedAddresses:
        return CopiedAddresses(self.function, self.evaluator)

    def _copied(self, operation: ir.Operation) -> CopiedLanes | None:
        """Returns where a `cp.async` reads; None, and a reason in `uncounted`, if not known."""
        if operation.name != COPY:
            return None
        try:
            return self._copied_addresses.of_copy(operation)
        except Refusal as refusal:
            reason = f"the bank conflicts of a cp.async are not counted: {refusal.reason}"
            self.uncounted.append(Refusal(reason, operation.location))
            return None

    def _location(self, operation: ir.Operation) -> str:
        """Returns where in the source an operation stands. Many in a row stand in one place, and
        to read it from its text takes as long as half of their other facts."""
        place = operation.location
        if self.place is None or place != self.place[0]:
            self.place = place, str(SourceLocation.of(place) or "")
        return self.place[1]

    def _surroundings(self, operation: ir.Operation) -> Surroundings:
        """Returns what is around an operation, read once for all of its block."""
        block = operation.block
        if block not in self.around:
            self.around[block] = surroundings_of(operation, self.function, self.evaluator)
        return self.around[block]

    def _refuse(self, use: Use, reason: str, kind: type[Refusal] = Refusal) -> None:
        self.unknown.append(kind(reason, use.user.location))


def _joins_others(join: ir.Value, source: ir.Value) -> bool:
    """Returns whether a value may be other memory than `source` and what is carried to itself."""
    carried = carried_as(join)
    if carried is None:
        return True
    other = carried_as(carried.yielded)
    # The loop's own argument, yielded unchanged, is what the loop began with.
    unchanged = (
        other is not None and other.argument == carried.yielded and other.sources == carried.sources
    )
    return carried.yielded != source and not unchanged
