# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which layout an LDS tile gets: the one rule that swizzling, padding and the report ask.

The rule chooses among the plain layout, the swizzles that the resolver can carry out, and the rows
that padding would give the tile. It compares exact costs (`bank_model/issue.py`):

1. The solver finds the swizzle that costs least for the accesses as the program has them.
2. That swizzle must not cost more than the plain layout for the accesses as the backend joins them
   (`dialect_utils/memory/joined_accesses.py`). Otherwise swizzles are solved for the joined
   accesses, and the tile stays plain if all of them fail.
3. A swizzle that leaves conflicts, or needs more instructions than the plain layout, competes with
   padding, if anything pads the tile later.

Passes differ in how they find the accesses of an allocation. What they make of them is decided
here, so that the report proposes what a compile would choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.errors import InvalidParameterError
from ..bank_model.issue import LayoutCost, LayoutCosts, costs_once, layout_cost
from ..bank_model.layout_counts import stock_padding
from ..bank_model.layouts import (
    Layout,
    PaddedLayout,
    PlainLayout,
    SwizzledLayout,
    layout_conflicts,
)
from ..bank_model.lds_rules import Lds
from ..bank_model.paddings import PaddingChoice, padding_choices, share_lds
from ..bank_model.proof import Optimality
from ..bank_model.quick_dataclass import dataclass
from ..bank_model.quick_tuple import NamedTuple
from ..bank_model.solver import LayoutDecision, SolverOptions, solve_once
from ..bank_model.swizzle_legality import HINT_KINDS, MOST_HINTS, HintRules
from ..bank_model.unit_floor import unit_conflict_floor
from ..dialect_utils.memory.lds_accesses import Gather

_ESTIMATE_ERROR = 1 / 16
"""How much dearer than padding a swizzle may seem that takes fewer cycles."""

_JOINED_WORSE = (
    "the best swizzle would make its accesses cost more, once the backend has unrolled and joined "
    "them"
)
_JOINED_BEST = (
    "no swizzle with fewer was found for its accesses as the backend may unroll and join them"
)
_EITHER_WAY = "it has no bank conflict, whether the backend joins its accesses or not"
_STORED_TOGETHER = (
    "a direct store keeps the elements of a lane together, and no layout that does so has fewer"
)

EmittedReader = Callable[[bool], "tuple[LdsAccess, ...] | None"]
"""Returns accesses as the backend may join them. The argument says whether it joins those under
different conditions, too."""


def _nothing() -> None:
    return None


def _nothing_emitted(through_conditions: bool) -> None:
    return None


class KnownTile(NamedTuple):
    """A tile all of whose accesses are known.

    Attributes:
        accesses: as the program has them. Those of `gathers` are not among them: they store in
            order whatever the layout is.
        padded: returns the rows that padding would give the tile, or None if nothing pads it later.
        emitted: returns `accesses` as the backend may join and pair them, or None if that is not
            known. Asked for as many joins as there can be, it also joins what stands under
            conditions that hold in the same lanes.
        in_straight_lines: whether the backend unrolls no loop over the accesses, so that it joins
            them as they stand in the program or not at all.
        costs: those of `accesses`, for a caller that counts layouts too.
    """

    tile: LdsTile
    accesses: tuple[LdsAccess, ...]
    gathers: Sequence[Gather] = ()
    padded: Callable[[], Layout | None] = _nothing
    emitted: EmittedReader = _nothing_emitted
    in_straight_lines: bool = False
    costs: LayoutCosts | None = None


class LayoutChoice(NamedTuple):
    """The layout of a tile, and why.

    Attributes:
        layout: plain, swizzled, or padded where padding costs less than every swizzle.
        before: conflict cycles of one workgroup in the plain layout, as the backend joins the
            accesses where that is known.
        after: those of the chosen layout.
        instructions: the LDS instructions of one workgroup in the plain and in the chosen layout,
            likewise; None where nobody has asked.
    """

    layout: Layout
    reason: str
    before: int
    after: int
    instructions: tuple[int, int] | None = None


class LayoutPolicy(NamedTuple):
    """Chooses the layouts of tiles in the LDS of one chip.

    Attributes:
        most_hints: the longest chain of swizzles on one allocation.
    """

    lds: Lds
    most_hints: int = MOST_HINTS

    def choose(self, known: KnownTile) -> LayoutChoice:
        """Returns the layout that costs least.

        Raises:
            InvalidParameterError: the accesses cannot be counted.
        """
        return _Choosing(self, known).choose()

    def least_cost(
        self, known: KnownTile, accesses: tuple[LdsAccess, ...] | None = None
    ) -> LayoutCost:
        """Returns what the tile costs in the layout that `choose` returns, with its errors.

        Args:
            accesses: those that cost; None for those by which it is chosen.
        """
        choosing = _Choosing(self, known)
        layout, run = choosing.choose().layout, choosing.run
        if accesses is None or accesses is run.accesses:
            return run.of(layout)
        return layout_cost(self.lds, known.tile, layout, accesses)

    def propose(self, known: KnownTile) -> LayoutChoice:
        """Returns what a compile makes of the tile that pads what it does not swizzle."""
        choice = self.choose(known)
        rows = known.padded() if choice.layout == PlainLayout() and choice.before else None
        if rows is None or rows == PlainLayout():
            return choice
        accesses = known.emitted(False) or known.accesses
        left = layout_conflicts(self.lds, known.tile, rows, accesses)
        left += self.gathered_conflicts(known.tile, known.gathers)
        return LayoutChoice(rows, choice.reason, choice.before, left)

    def gathered_conflicts(self, tile: LdsTile, gathers: Sequence[Gather]) -> int:
        """Returns the conflict cycles of what gathers store, which no layout changes."""
        accesses = tuple(chain.from_iterable(gather.accesses for gather in gathers))
        return layout_conflicts(self.lds, tile, PlainLayout(), accesses)


def _stock_bytes(costs: LayoutCosts) -> int:
    return stock_padding(costs.tile, costs.accesses).size_bytes(costs.tile)


@dataclass(frozen=True, eq=False)
class PaddingBudget:
    """The LDS that stock's padding of some tiles would take, which the best rows of them share.

    The padding pass shares it in the same way (`padding_plan.py`), but knows more: which tiles are
    swizzled in the end, which users take padded rows, and what the backend joins.

    Attributes:
        tiles: the costs of those of a function that may be padded.
    """

    lds: Lds
    tiles: Sequence[LayoutCosts]

    def rows(self, number: int) -> Layout:
        """Returns the rows of the tile that has this number among `tiles`."""
        padding = self._paddings.get(number, 0)
        return PaddedLayout(padding) if padding else PlainLayout()

    @cached_property
    def _paddings(self) -> dict[int, int]:
        """Returns the padding of the tiles whose accesses can be counted, in elements."""
        plain = sum(PlainLayout().size_bytes(each.tile) for each in self.tiles)
        stock = sum(map(_stock_bytes, self.tiles))
        budget = min(stock, self.lds.workgroup_bytes)
        room = budget - plain
        choices: dict[int, Sequence[PaddingChoice]] = {}
        for number, costs in enumerate(self.tiles):
            tile = costs.tile
            most = PlainLayout().size_bytes(tile) + room
            try:
                choices[number] = padding_choices(self.lds, tile, costs.accesses, most, costs=costs)
            except InvalidParameterError:
                budget -= _stock_bytes(costs)
        shares = share_lds(list(choices.values()), budget)
        return {n: share.padding_elements for n, share in zip(choices, shares, strict=True)}


class _Choosing:
    """One choice: the solver's decision for the written accesses, and what the costs are."""

    def __init__(self, policy: LayoutPolicy, known: KnownTile) -> None:
        self.policy, self.known = policy, known
        self.options = SolverOptions(HINT_KINDS, max_chain=policy.most_hints)
        self.stores = [gather.store for gather in known.gathers]
        self.written = known.costs or costs_once(policy.lds, known.tile, known.accesses)
        self.rules = HintRules.of(known.tile, known.accesses, self.stores)
        self.decision = self._solve(self.written, self.rules)
        emitted = known.emitted(False) if self.decision.plain_conflict_cycles else None
        self.run = self.written if emitted is None else self.written.regrouped(emitted)
        self.plain = self.run.of(PlainLayout())
        self.in_any_layout = policy.gathered_conflicts(known.tile, known.gathers)

    def choose(self) -> LayoutChoice:
        """Returns the choice that `LayoutPolicy.choose` documents."""
        choice = self._choice()
        run = self.run
        return choice._replace(
            instructions=(run.instructions(PlainLayout()), run.instructions(choice.layout))
        )

    def _choice(self) -> LayoutChoice:
        solved = self.decision.layout
        if not isinstance(solved, SwizzledLayout):
            return self._kept(self._why_no_swizzle())
        if self._settles(solved):
            return LayoutChoice(solved, _EITHER_WAY, self._before, 0)
        if self._never_worse(solved):
            layout, reason = solved, self._why_least()
        else:
            others = list(self._others())
            if not others:
                return self._kept(_JOINED_WORSE)
            layout = min(others, key=lambda each: self.run.of(each).rank)
            reason = _JOINED_BEST
        cost, left = self.run.of(layout), self._conflicts(layout)
        may_pad = cost.conflict_cycles + self.in_any_layout > 0
        if may_pad or cost.instructions > self.plain.instructions:
            rows = self.known.padded()
            if rows is not None and not self._is_worth(layout, rows):
                return LayoutChoice(
                    rows,
                    f"padding costs less than the best swizzle, which has {left} of "
                    f"{self._before} conflict cycles",
                    self._before,
                    self._conflicts(rows),
                )
        if not left:
            reason = Optimality.FLOOR.value
        if self.decision.vectorization.split_accesses and layout is solved:
            reason += f"; {self.decision.vectorization}"
        return LayoutChoice(layout, reason, self._before, left)

    @property
    def _before(self) -> int:
        return self._conflicts(PlainLayout())

    def _conflicts(self, layout: Layout) -> int:
        """Returns the conflict cycles of a layout, as the backend joins the accesses."""
        return self.run.of(layout).conflict_cycles + self.in_any_layout

    def _kept(self, reason: str) -> LayoutChoice:
        return LayoutChoice(PlainLayout(), reason, self._before, self._before)

    def _solve(self, costs: LayoutCosts, rules: HintRules) -> LayoutDecision:
        return solve_once(costs, self.options._replace(rules=rules))

    def _why_no_swizzle(self) -> str:
        if self._before == 0:
            return "its plain layout has no bank conflict"
        if self._is_least:
            return f"{_STORED_TOGETHER} than its {self._before} conflict cycles"
        return f"no legal swizzle has fewer than its {self._before} conflict cycles"

    def _why_least(self) -> str:
        return (
            f"{_STORED_TOGETHER} conflict cycles"
            if self._is_least
            else self.decision.optimality.value
        )

    @property
    def _is_least(self) -> bool:
        """Returns whether only direct stores keep the solved layout from having fewer conflicts."""
        left = self.decision.conflict_cycles
        if not self.stores or not left:
            return False
        unit = max(store.count for store in self.stores)
        tile, accesses = self.known.tile, self.known.accesses
        return left == unit_conflict_floor(self.policy.lds, tile, accesses, unit)

    def _others(self) -> Iterator[SwizzledLayout]:
        """Yields swizzles that make neither reading of the accesses worse."""
        before = self.written.of(PlainLayout()).conflict_cycles
        tile = self.known.tile
        together = (*self.known.accesses, *self.run.accesses)
        for costs in (LayoutCosts(self.policy.lds, tile, together), self.run):
            rules = HintRules.of(tile, costs.accesses, self.stores)
            layout = self._solve(costs, rules).layout
            if (
                isinstance(layout, SwizzledLayout)
                and self.rules.allows(layout)
                and self.written.of(layout).conflict_cycles <= before
                and self._never_worse(layout)
            ):
                yield layout

    def _never_worse(self, swizzled: SwizzledLayout) -> bool:
        """Returns whether the backend cannot make a swizzle dearer than the plain layout.

        The swizzle must not cost more where the backend joins the accesses of both layouts alike.
        But the backend joins what it can prove to be neighbours, and the arithmetic of a swizzle
        may hide that. So the accesses of the swizzled layout, each as it is written, must not take
        more cycles than those of the plain layout, with all the joins that there can be.
        """
        if self.run.of(swizzled).rank > self.plain.rank:
            return False
        return self.written.of(swizzled).cycles <= self._fewest_plain_cycles

    def _settles(self, swizzled: SwizzledLayout) -> bool:
        """Returns whether the plain layout has conflicts or not as the backend joins its accesses,
        and the swizzled one has none either way.

        It must not cost more in either reading, and the backend must see the same neighbours in
        both: accesses to one aligned run, which a swizzle keeps in one piece, differ by the same
        constants as before, unless they are those of different iterations of a loop.
        """
        plain, apart = self.written.of(PlainLayout()), self.written.of(swizzled)
        if not self.known.in_straight_lines or self.known.gathers:
            return False
        if self.plain.conflict_cycles or not plain.conflict_cycles or apart.conflict_cycles:
            return False
        if self._fewest_plain_cycles != self.plain.cycles:
            return False
        return apart.rank <= plain.rank and self.run.of(swizzled).rank <= self.plain.rank

    @cached_property
    def _fewest_plain_cycles(self) -> int:
        joined = self.known.emitted(True)
        if joined is None or joined is self.run.accesses:
            return self.plain.cycles
        tile = self.known.tile
        cost = layout_cost(self.policy.lds, tile, PlainLayout(), joined)
        return min(cost.cycles, self.plain.cycles)

    def _is_worth(self, swizzled: SwizzledLayout, rows: Layout) -> bool:
        """Returns whether a swizzle costs no more than padding would, and takes no more cycles.

        Cycles are exact. How many instructions the backend makes of a swizzle is an estimate that
        errs upwards: for a K tile of f32 attention with head 64 it says 4608, and 4096 are emitted,
        where padding has 2304 and 2048 cycles more. So a swizzle that saves cycles may seem a
        little dearer.
        """
        one, other = self.run.of(swizzled), self.run.of(rows)
        if one.cycles < other.cycles:
            return one.rank[0] <= other.rank[0] * (1 + _ESTIMATE_ERROR)
        return one.rank <= other.rank and one.cycles == other.cycles
