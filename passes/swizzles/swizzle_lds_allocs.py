# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives LDS that someone else allocated the swizzle with the fewest conflicts.

Works on any function with static launch bounds, wherever its `memref.alloc`s in workgroup memory
come from: no nested layouts are needed. The accesses to an allocation are followed through views,
choices and loops, and evaluated lane by lane (`dialect_utils/memory/lds_accesses.py`):

    %a = memref.alloc() : memref<64x64xf16, #ws>           %a = memref.alloc()
    vector.store %v, %a[%row, %column]              ->     %h = iree_codegen.swizzle_hint %a[S]
    %r = vector.load %a[%other_row, %k]                    vector.store %v, %h[%row, %column]
                                                           ...

An allocation is left alone, with the reason, unless every access to it is known and one that
`bankwise-resolve-swizzle-hints` can rewrite. Allocations that meet in one value, as the buffers of
a loop that rotates them do, are decided on together and get the same swizzle:

    %r:2 = scf.for ... iter_args(%x = %a, %y = %b) { ... scf.yield %y, %x }

Where `amdgpu.gather_to_lds` stores to an allocation, its lanes fetch for each other
(`passes/swizzles/gather_sources.py`), because where they store is not the program's to say.

An allocation that has a swizzle hint S already, as stock gives some of those that it loads direct
to the LDS, keeps it. Where conflicts are left, another swizzle T goes between the two, chosen for
the places to which S has brought the elements: an element o then lies at T(S(o)).

With `share-addresses`, an allocation that stays plain gets a hint that moves nothing. Its offsets
are then rewritten as those of a swizzle are, as one address and constants. LLVM pairs two accesses
only if it sees that their addresses differ by a constant, and does not where it is hidden:

    ((%row | 1) << 8) + %column  ->  ((%row << 8) + %column) + 256
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from typing import ClassVar

import numpy as np
from iree.compiler import ir

from ...bank_model.accesses import LdsAccess, LdsTile
from ...bank_model.distinct_numbers import distinct_numbers
from ...bank_model.errors import InvalidParameterError
from ...bank_model.layouts import Layout, PlainLayout, SwizzledLayout, layout_conflicts
from ...bank_model.quick_dataclass import dataclass, replace
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.readings import shown_readings
from ...bank_model.swizzle_legality import HintRules, behind_swizzles
from ...bank_model.swizzles import XorShuffle
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.handed_attributes import ARRANGED
from ...dialect_utils.index.lane_values import LaneEvaluator
from ...dialect_utils.memory.allocation_layout import standing_layout
from ...dialect_utils.memory.allocation_traces import AllocationTraces
from ...dialect_utils.memory.flat_allocations import assume_no_alignment, carry_flat
from ...dialect_utils.memory.flow import (
    connected_to,
    is_hinted,
    lds_allocations,
    roots_of,
    sources_of,
)
from ...dialect_utils.memory.lds_accesses import (
    AllocationAccesses,
    Gather,
    first_accesses,
    ordinary_accesses,
)
from ...dialect_utils.memory.lds_ops import (
    GATHER,
    Offset,
    access_row,
    is_in_bounds,
    is_masked,
    view_row,
)
from ...dialect_utils.memory.memref_types import check_flat, type_of
from ...dialect_utils.operations import defining_operation
from ...dialect_utils.swizzle_hint import STOWED_SWIZZLE, Chain, is_hint
from ..base import PassContext
from ..decisions import LayoutRound
from ..layout_policy import KnownTile, LayoutPolicy
from ..padding.padding_plan import PaddingPlan, plan_paddings
from .gather_sources import GatherPermuter
from .hint_emission import emit_hints
from .hint_ownership import mark_hints
from .swizzle_plan import SwizzlePlan, SwizzlingPass


@dataclass(frozen=True)
class SwizzleLdsAllocs(SwizzlingPass):
    """Emits swizzle hints on the `memref.alloc`s in workgroup memory whose accesses are known."""

    name: ClassVar[str] = "bankwise-swizzle-lds-allocs"
    summary: ClassVar[str] = "swizzle LDS allocations by the addresses of their accesses"
    layout_round: ClassVar[LayoutRound] = LayoutRound.SECOND

    unhinted_only: bool = False
    """Pass over allocations that have a hint already."""
    share_addresses: bool = False
    """Also hint what stays plain, so that its accesses have one address and constants."""

    def allocations_in(self, function: ir.Operation) -> list[ir.Operation]:
        """Returns the `memref.alloc`s in workgroup memory."""
        return [
            each
            for each in lds_allocations(function)
            if not (self.unhinted_only and is_hinted(each))
        ]

    def swizzle(
        self,
        function: ir.Operation,
        allocations: Sequence[ir.Operation],
        policy: LayoutPolicy,
        launch: Launch,
        context: PassContext,
    ) -> list[SwizzlePlan]:
        """Emits the hints of `allocations`, and returns the decision on each of them."""
        evaluator = LaneEvaluator(launch)
        permuter = GatherPermuter.of(function, evaluator)
        drops_unread = policy.lds.drops_unread
        traces = AllocationTraces(function, evaluator, drops_unread=drops_unread)

        @cache
        def paddings() -> Mapping[ir.Operation, PaddingPlan]:
            if not self.defer_to_padding:
                return {}
            plans = plan_paddings(function, context.test_target, traces=traces)
            return {plan.allocation: plan for plan in plans}

        planner = _Planner(
            policy,
            traces,
            permuter,
            paddings,
            self.share_addresses,
            lambda group: self.why_unresolved(group.allocations, context),
        )
        # All allocations are read before the first of them is touched.
        planned = [planner.plan(group) for group in _groups(allocations)]
        shares = {
            member: share
            for each in planned
            for member, share in zip(each.group.allocations, planner.shares(each), strict=True)
        }
        found = [shares[allocation] for allocation in allocations]
        swizzled = [each for each in planned if each.plan.swizzles]
        for each in swizzled:
            for gather in _merged_gathers(each.traces):
                permuter.permute(gather, each.plan.swizzles)
        for each in swizzled:
            members = each.group.allocations
            assume_no_alignment(each.group.views)
            carry_flat([member.results[0] for member in members], each.group.joins)
            for member in members:
                emit_hints(member.results[0], each.plan.swizzles)
            mark_hints(function)
        return found


class _Group(NamedTuple):
    """Allocations that may be the same value somewhere, and so share one layout."""

    allocations: tuple[ir.Operation, ...]
    joins: tuple[ir.Value, ...]
    """The values in which they meet each other, themselves or other memory."""
    views: tuple[ir.Operation, ...]
    """The views of the allocations, and of what they meet."""
    users: tuple[ir.Operation, ...]
    """What else is done to any of these."""


def _groups(allocations: Sequence[ir.Operation]) -> list[_Group]:
    """Returns the allocations that meet, together, in the order of their first members."""
    groups: list[_Group] = []
    left = list(allocations)
    while left:
        flow = connected_to(left[0].results[0])
        members = tuple(each for each in left if each.results[0] in flow.values)
        left = [each for each in left if each not in members]
        carried = chain.from_iterable(use.becomes for use in flow.edges if use.is_carried)
        views = tuple(use.user for use in flow.edges if use.is_view)
        users = tuple(use.user for use in flow.sinks)
        groups.append(_Group(members, tuple(dict.fromkeys(carried)), views, users))
    return groups


class _Planned(NamedTuple):
    """The decision on a group, and what is known of each allocation of it, if all are known."""

    group: _Group
    plan: SwizzlePlan
    traces: tuple[AllocationAccesses, ...] = ()


def _merged_gathers(traces: Iterable[AllocationAccesses]) -> list[Gather]:
    """Returns the gathers that store to a group, each once, with all that it stores to."""
    found: dict[ir.Operation, Gather] = {}
    for gather in (each for traced in traces for each in traced.gathers):
        known = found.setdefault(gather.operation, gather)
        firsts = distinct_numbers(np.append(known.store.firsts, gather.store.firsts))
        found[gather.operation] = replace(known, store=replace(known.store, firsts=firsts))
    return list(found.values())


class _Planner(NamedTuple):
    """Decides on one group of allocations at a time, without changing the function."""

    policy: LayoutPolicy
    traced: AllocationTraces
    permuter: GatherPermuter
    paddings: Callable[[], Mapping[ir.Operation, PaddingPlan]]
    """What padding would do to the allocations; empty if nothing pads them later."""
    share_addresses: bool
    """Whether what stays plain gets a hint too."""
    unresolved: Callable[[_Group], str | None]
    """Returns why hints on a group could not be resolved, if they could not."""

    def plan(self, group: _Group) -> _Planned:
        """Returns the decision on `group`, with its reason."""
        traces: list[AllocationAccesses] = []
        try:
            _check(group)
            for each in group.allocations:
                traces.append(self.traced.written(each))
        except Refusal as refusal:
            return _Planned(group, SwizzlePlan.kept(refusal.reason))
        lds_bytes = PlainLayout().size_bytes(traces[0].tile)
        try:
            plan = self._plan_known(group, traces, lds_bytes)
        except Refusal as refusal:
            plan = SwizzlePlan.kept(refusal.reason, lds_bytes)
        return _Planned(group, plan, tuple(traces))

    def _plan_known(
        self, group: _Group, known: Sequence[AllocationAccesses], lds_bytes: int
    ) -> SwizzlePlan:
        tile = known[0].tile
        for traced in known:
            for unknown in traced.unknown:
                raise Refusal(f"an access is not known: {unknown}")
        gathers = _merged_gathers(known)
        for gather in gathers:
            try:
                self.permuter.check(gather)
            except Refusal as refusal:
                raise Refusal(f"{GATHER} stores to it: {refusal}") from refusal
        accesses = tuple(each.access for each in ordinary_accesses(known))
        if not accesses:
            return SwizzlePlan.kept("nobody reads it", lds_bytes, 0, 0)
        hinted = is_hinted(group.allocations[0])
        if hinted:
            standing = _standing_chain(group.allocations[0])
            reason = HintRules.of(tile, accesses).why_not(standing)
            if reason is not None:
                raise Refusal(f"{_HINTED}: {reason}")
            accesses = behind_swizzles(standing, tile, accesses)
        arranged = ARRANGED in group.allocations[0].attributes
        fixed = _ARRANGED if arranged else self.unresolved(group)
        costing = accesses if hinted else self.traced.emitted(group.allocations)
        if fixed is not None:
            left = layout_conflicts(self.policy.lds, tile, PlainLayout(), costing)
            left += self.policy.gathered_conflicts(tile, gathers)
            plan = SwizzlePlan.kept(fixed, lds_bytes, left)
            return self._doubted(plan, tile, costing)
        try:
            known_tile = KnownTile(
                tile,
                accesses,
                gathers,
                lambda: self._padded(group.allocations),
                # How the backend joins what a standing swizzle moves is not modelled.
                lambda joins: None if hinted else self.traced.emitted(group.allocations, joins),
                all(each.in_straight_lines for each in known) and not hinted,
            )
            choice = self.policy.choose(known_tile)
            plan = self._doubted(SwizzlePlan.of(choice, lds_bytes), tile, costing)
            if hinted:
                return _on_top(plan)
            if self.share_addresses and not gathers and isinstance(choice.layout, PlainLayout):
                return _with_shared_addresses(plan, tile, accesses)
            return plan
        except InvalidParameterError as error:
            raise Refusal(f"its accesses cannot be counted: {error}") from error

    def _padded(self, allocations: Sequence[ir.Operation]) -> Layout | None:
        """Returns what padding would make of all of the allocations; None where it would differ."""
        plans = [self.paddings().get(each) for each in allocations]
        layouts = {None if plan is None else plan.layout for plan in plans}
        return layouts.pop() if len(layouts) == 1 else None

    def shares(self, planned: _Planned) -> Iterator[SwizzlePlan]:
        """Yields the plan of a group for each of its allocations, with their own conflicts.

        What may access several of them counts with the first.
        """
        plan = planned.plan
        if len(planned.group.allocations) == 1 or plan.before is None:
            # A group of one is what the plan was made for.
            yield from repeat(plan, len(planned.group.allocations))
            return
        layouts = (PlainLayout(), plan.layout)
        counted: set[ir.Operation] = set()
        for allocation, traced in zip(planned.group.allocations, planned.traces, strict=True):
            direct = {gather.operation for gather in traced.gathers}
            left_out = frozenset(counted)
            new = first_accesses(traced, counted)
            accesses = self.traced.emitted([allocation], left_out=left_out)
            stored = tuple(each.access for each in new if each.operation in direct)
            gathered = layout_conflicts(self.policy.lds, traced.tile, PlainLayout(), stored)
            before, after = (
                layout_conflicts(self.policy.lds, traced.tile, layout, accesses) + gathered
                for layout in layouts
            )
            # The instructions are those of the group, which count with its first allocation.
            issued = plan.instructions if traced is planned.traces[0] else (0, 0)
            share = plan._replace(before=before, after=after, instructions=issued)
            yield self._doubted(share, traced.tile, accesses)

    def _doubted(
        self, plan: SwizzlePlan, tile: LdsTile, accesses: Sequence[LdsAccess]
    ) -> SwizzlePlan:
        """Returns the plan with what its conflicts would be by other sources on the chip."""
        return plan._replace(doubts=shown_readings(self.policy.lds, tile, plan.layout, accesses))


def _with_shared_addresses(
    plan: SwizzlePlan, tile: LdsTile, accesses: Sequence[LdsAccess]
) -> SwizzlePlan:
    """Returns the plan to leave an allocation plain, with a hint that moves nothing, if it can."""
    nothing = (XorShuffle(tile.row_elements, tile.row_elements),)
    if HintRules.of(tile, accesses).why_not(nothing) is not None:
        return plan
    return plan._replace(swizzles=nothing)


_HINTED = "it has a swizzle hint already"
_ARRANGED = "it has the layout of descriptors"


def _standing_chain(allocation: ir.Operation) -> Chain:
    """Returns the swizzles that an allocation has already."""
    if STOWED_SWIZZLE in allocation.attributes:
        raise Refusal(_HINTED)
    try:
        layout = standing_layout(allocation.results[0]).layout
    except Refusal as refusal:
        raise Refusal(f"{_HINTED}: {refusal}") from refusal
    if not isinstance(layout, SwizzledLayout):
        raise Refusal(f"{_HINTED}, through which nothing goes")
    return layout.swizzles


def _on_top(plan: SwizzlePlan) -> SwizzlePlan:
    """Returns the plan for an allocation that has hints already."""
    if plan.swizzles:
        return plan._replace(reason=f"on top of the swizzle that it has: {plan.reason}")
    left = (
        "which leaves no bank conflict" if plan.before == 0 else f"and on top of it {plan.reason}"
    )
    return plan._replace(reason=f"{_HINTED}, {left}")


def _check(group: _Group) -> None:
    """Makes sure that the group may get another layout, whatever its accesses.

    Raises:
        Refusal: it keeps its layout; one reason per early exit.
    """
    allocated = {each.results[0] for each in group.allocations}
    for join in group.joins:
        try:
            roots = roots_of(join)
        except Refusal as refusal:
            raise Refusal(f"it meets memory that cannot be traced: {refusal}") from refusal
        if not allocated.issuperset(roots):
            raise Refusal("it meets memory that is no LDS allocation")
    if any(map(is_hinted, group.allocations)) and group.joins:
        raise Refusal(_HINTED)
    kind = type_of(group.allocations[0])
    if any(type_of(each) != kind for each in group.allocations):
        raise Refusal("it meets an allocation of another type")
    check_flat(kind)
    for join in group.joins:
        rows = [view_row(defining_operation(source)) for source in sources_of(join)]
        if any(row is not None and row.folds for row in rows):
            raise Refusal("a view of it meets other memory")
    for view in group.views:
        row = view_row(view)
        if (row is None or not row.folds) and not is_hint(view):
            raise Refusal(f"{view.name} addresses its memory in another order", view.location)
    for user in group.users:
        _check_access(user)


def _check_access(user: ir.Operation) -> None:
    """Makes sure that the offset of an access can be swizzled, once it is known.

    Raises:
        Refusal: it cannot.
    """
    row = access_row(user)
    if row is not None and row.why_fixed:
        raise Refusal(f"{user.name} {row.why_fixed}", user.location)
    if row is None or row.offset is Offset.FIXED:
        raise Refusal(f"used by {user.name}", user.location)
    if not row.masks_outside:
        return
    if is_masked(user):
        raise Refusal(f"a {user.name} is masked", user.location)
    if not is_in_bounds(user):
        raise Refusal(f"a {user.name} may be out of bounds", user.location)
