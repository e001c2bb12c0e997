# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which swizzle an LDS allocation gets, and the hints that say so: one rule for every pass.

Passes differ in how they find the accesses of an allocation (nested layouts of staged vectors,
lane-wise index values); what they make of them is decided here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from iree.compiler import ir

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.issue import LayoutCosts
from ..bank_model.layouts import Layout, PlainLayout, SwizzledLayout, layout_conflicts
from ..bank_model.proof import Optimality
from ..bank_model.solver import SolverOptions
from ..bank_model.swizzle_legality import (
    HINT_KINDS,
    MOST_HINTS,
    DirectStore,
    footprints_of,
    illegality,
    solve_legally,
)
from ..bank_model.swizzles import Swizzle
from ..bank_model.targets import Target
from ..bank_model.unit_floor import unit_conflict_floor
from ..dialect_utils.diagnostics import SourceLocation
from ..dialect_utils.memory.lds_accesses import Gather
from ..dialect_utils.swizzle_hint import HINT_NAME, swizzle_attribute
from .base import FunctionPass, PassContext, PassOptionError
from .decisions import Action, Decision


@dataclass(frozen=True)
class SwizzlePlan:
    """What happens to one allocation; without swizzles it stays plain."""

    reason: str
    swizzles: tuple[Swizzle, ...] = ()
    """The chain, from the allocation outwards."""
    lds_bytes: int | None = None
    before: int | None = None
    after: int | None = None

    @staticmethod
    def kept(
        reason: str, lds_bytes: int | None = None, conflicts: int | None = None
    ) -> SwizzlePlan:
        """The plan to leave an allocation as it is."""
        return SwizzlePlan(reason, (), lds_bytes, conflicts, conflicts)

    @property
    def shown_swizzles(self) -> str:
        """The chain in a few words."""
        return " of ".join(map(str, self.swizzles))

    def remark(self, allocation: str) -> str:
        """The decision in a sentence; `allocation` is the allocation's type."""
        if not self.swizzles:
            return f"allocation of {allocation} not swizzled: {self.reason}"
        return (
            f"allocation of {allocation} swizzled with {self.shown_swizzles}: "
            f"{self.before} conflict cycles -> {self.after}"
        )

    def decision(
        self, pass_name: str, function: ir.Operation, allocation: str, location: ir.Location
    ) -> Decision:
        """The same for the log."""
        named = "sym_name" in function.attributes
        return Decision(
            pass_name=pass_name,
            function=ir.StringAttr(function.attributes["sym_name"]).value if named else "",
            allocation=allocation,
            location=str(SourceLocation.of(location) or ""),
            action=Action.HINT if self.swizzles else Action.KEEP,
            reason=self.reason,
            detail=self.shown_swizzles,
            lds_bytes_before=self.lds_bytes,
            lds_bytes_after=self.lds_bytes,
            conflict_cycles_before=self.before,
            conflict_cycles_after=self.after,
        )


@dataclass(frozen=True)
class SwizzleChooser:
    """Chooses the swizzle that costs least of those that the resolver can carry out.

    `max_chain` is the most hints on one allocation.
    """

    lds: Target
    max_chain: int = MOST_HINTS

    def plan(
        self,
        tile: LdsTile,
        accesses: tuple[LdsAccess, ...],
        gathers: Sequence[Gather] = (),
        padded: Callable[[], Layout | None] = lambda: None,
        emitted: Callable[[], tuple[LdsAccess, ...] | None] = lambda: None,
    ) -> SwizzlePlan:
        """The decision on a tile by all accesses to it, with its reason.

        Those of `gathers` are not among `accesses`: they store in order whatever the layout.
        `padded` is the layout that the padding pass would give the tile, None if there will be no
        padding: the tile is left to it if it costs less than any swizzle (`bank_model/issue.py`).
        `emitted` are `accesses` as the backend may join and pair them, None if that is not known.
        Costs are compared for these, and a swizzle must not make them worse.

        Raises:
            InvalidParameterError: the accesses cannot be counted.
        """
        options = SolverOptions(HINT_KINDS, max_chain=self.max_chain)
        stores = [gather.store for gather in gathers]
        costs = LayoutCosts(self.lds, tile, accesses)
        decision = solve_legally(self.lds, tile, accesses, options, stores, costs)
        in_any_layout = self.gathered_conflicts(tile, gathers)
        lds_bytes = PlainLayout().size_bytes(tile)
        is_least = bool(stores and decision.conflict_cycles) and (
            decision.conflict_cycles
            == unit_conflict_floor(self.lds, tile, accesses, max(store.count for store in stores))
        )
        run = emitted() if decision.plain_conflict_cycles else None
        run = costs if run is None else LayoutCosts(self.lds, tile, run)
        before = run.of(PlainLayout())
        plain = before.conflict_cycles + in_any_layout
        if not isinstance(decision.layout, SwizzledLayout):
            reason = f"no legal swizzle has fewer than its {plain} conflict cycles"
            if is_least:
                reason = f"{_STORED_TOGETHER} than its {plain} conflict cycles"
            if plain == 0:
                reason = "its plain layout has no bank conflict"
            return SwizzlePlan.kept(reason, lds_bytes, plain)
        reason = _STORED_TOGETHER if is_least else decision.optimality.value
        layouts = [decision.layout]
        if not _never_worse(decision.layout, costs, run):
            layouts = list(self._others(costs, run, options, stores))
            reason = _JOINED_BEST
        if not layouts:
            return SwizzlePlan.kept(_JOINED_WORSE, lds_bytes, plain)
        layout = min(layouts, key=lambda each: run.of(each).rank)
        after = run.of(layout)
        left = after.conflict_cycles + in_any_layout
        if left or after.instructions > before.instructions:
            standing = padded()
            if standing is not None and not _is_worth(layout, standing, run):
                return SwizzlePlan.kept(
                    f"padding costs less than the best swizzle, which has {left} of {plain} "
                    "conflict cycles",
                    lds_bytes,
                    plain,
                )
        if not left:
            reason = Optimality.FLOOR.value
        if decision.vectorization.split_accesses and layout is decision.layout:
            reason += f"; {decision.vectorization}"
        return SwizzlePlan(reason, layout.swizzles, lds_bytes, plain, left)

    def _others(
        self,
        written: LayoutCosts,
        emitted: LayoutCosts,
        options: SolverOptions,
        stores: Sequence[DirectStore],
    ) -> Iterator[SwizzledLayout]:
        """Swizzles that make neither reading of the accesses worse."""
        tile, before = written.tile, written.of(PlainLayout())
        footprints = footprints_of(written.accesses)
        both = LayoutCosts(self.lds, tile, (*written.accesses, *emitted.accesses))
        for costs in (both, emitted):
            layout = solve_legally(self.lds, tile, costs.accesses, options, stores, costs).layout
            if (
                isinstance(layout, SwizzledLayout)
                and illegality(layout.swizzles, tile.elements, footprints) is None
                and written.of(layout).conflict_cycles <= before.conflict_cycles
                and _never_worse(layout, written, emitted)
            ):
                yield layout

    def gathered_conflicts(self, tile: LdsTile, gathers: Sequence[Gather]) -> int:
        """Conflict cycles of what gathers store, which is in order whatever the layout."""
        accesses = tuple(chain.from_iterable(gather.accesses for gather in gathers))
        return layout_conflicts(self.lds, tile, PlainLayout(), accesses)


def _never_worse(swizzled: Layout, written: LayoutCosts, emitted: LayoutCosts) -> bool:
    """Whether the backend cannot make a swizzle dearer than the plain layout.

    The swizzle must not cost more where the backend joins the accesses of both layouts alike. But
    the backend joins what it can prove to be neighbours, and the arithmetic of a swizzle may hide
    that. So the accesses of the swizzled layout, each as it is written, must not take more cycles
    than those of the plain layout, joined.
    """
    plain = emitted.of(PlainLayout())
    apart = written.of(swizzled)
    return emitted.of(swizzled).rank <= plain.rank and apart.cycles <= plain.cycles


def _is_worth(swizzled: Layout, padded: Layout, costs: LayoutCosts) -> bool:
    """Whether a swizzle costs no more than padding would, and takes no more cycles.

    Cycles are exact. How many instructions the backend makes of a swizzle is an estimate that errs
    upwards: for a K tile of f32 attention with head 64 it says 4608, and 4096 are emitted, where
    padding has 2304 and 2048 cycles more. So a swizzle that saves cycles may seem a little dearer.
    """
    one, other = costs.of(swizzled), costs.of(padded)
    if one.cycles < other.cycles:
        return one.rank[0] <= other.rank[0] * (1 + _ESTIMATE_ERROR)
    return one.rank <= other.rank and one.cycles == other.cycles


_ESTIMATE_ERROR = 1 / 16
"""How much dearer than padding a swizzle may seem that takes fewer cycles."""


@dataclass(frozen=True)
class SwizzlingPass(FunctionPass):
    """A pass that decides on LDS allocations and hints them: its options, and how it reports."""

    max_chain: int = MOST_HINTS
    """The most hints on one allocation."""
    defer_to_padding: bool = False
    """Leave an allocation plain where padding it within stock's LDS size conflicts less. Only for
    pipelines that pad later."""

    def __post_init__(self) -> None:
        if self.max_chain < 1:
            raise PassOptionError(
                f"{self.name}: option 'max-chain' expects a positive integer, got "
                f"'{self.max_chain}'"
            )

    @abstractmethod
    def shown_type(self, allocation: ir.Operation) -> str:
        """The allocation's type without its memory space."""

    def chooser(self, lds: Target) -> SwizzleChooser:
        """What chooses swizzles for `lds` under the pass's options."""
        return SwizzleChooser(lds, self.max_chain)

    def refuse(
        self,
        function: ir.Operation,
        allocations: Iterable[ir.Operation],
        reason: str,
        context: PassContext,
    ) -> None:
        """Reports that no allocation of `function` is swizzled."""
        context.sink.remark(function.location, f"allocations not swizzled: {reason}")
        for allocation in allocations:
            self._log(function, allocation, SwizzlePlan.kept(reason), context)

    def report(
        self,
        function: ir.Operation,
        allocation: ir.Operation,
        plan: SwizzlePlan,
        context: PassContext,
    ) -> None:
        """Reports the decision on one allocation."""
        context.sink.remark(allocation.location, plan.remark(self.shown_type(allocation)))
        self._log(function, allocation, plan, context)

    def _log(
        self,
        function: ir.Operation,
        allocation: ir.Operation,
        plan: SwizzlePlan,
        context: PassContext,
    ) -> None:
        kind = self.shown_type(allocation)
        context.log.add(plan.decision(self.name, function, kind, allocation.location))


_JOINED_WORSE = (
    "under the best swizzle its accesses would cost more, unrolled and joined as the backend may"
)
_JOINED_BEST = "the fewest found for accesses unrolled and joined as the backend may"
_STORED_TOGETHER = "what a lane stores directly stays together, and no such layout has fewer"


def emit_hints(
    alloc: ir.Operation, swizzles: tuple[Swizzle, ...], beside: Iterable[str] = ()
) -> None:
    """Hints `alloc`, the first swizzle nearest to it, and lets its users use the last hint.

    Users of the names `beside` stay with the allocation itself.
    """
    value: ir.Value = alloc.results[0]
    users = [
        (use.owner.operation, use.operand_number)
        for use in value.uses
        if use.owner.operation.name not in beside
    ]
    point = ir.InsertionPoint.after(alloc)
    for swizzle in swizzles:
        hint = ir.Operation.create(
            HINT_NAME,
            results=[value.type],
            operands=[value],
            attributes={"swizzle": swizzle_attribute(swizzle, alloc.context)},
            loc=alloc.location,
            ip=point,
        )
        value = hint.results[0]
    for user, number in users:
        user.operands[number] = value
