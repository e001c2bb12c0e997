# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how the rows of a function's LDS allocations are padded, before one of them is touched.

With an amount of bits it is stock's plan: every allocation or none. Without one the solver of the
bank model decides, within the LDS that the stock padding would use: any number of whole elements,
the fewest conflict cycles. Several allocations share that LDS so that the sum of their costs is
least (`bank_model/paddings.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property

from iree.compiler import ir

from ...bank_model.accesses import LdsAccess
from ...bank_model.errors import InvalidParameterError
from ...bank_model.issue import LayoutCosts, costs_once
from ...bank_model.layout_counts import STOCK_PADDING_BITS
from ...bank_model.layouts import Layout, PaddedLayout, PlainLayout
from ...bank_model.lds_rules import Lds
from ...bank_model.paddings import PaddingChoice, padding_choices, share_lds
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.readings import shown_readings
from ...bank_model.solver import LayoutDecision, LayoutKind, SolverOptions, solve
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import lds_limit, lds_model
from ...dialect_utils.index.lane_values import LaneEvaluator
from ...dialect_utils.memory.allocation_traces import AllocationTraces
from ...dialect_utils.memory.flow import is_hinted, lds_allocations
from ...dialect_utils.memory.lane_accesses import Overrun
from ...dialect_utils.memory.lds_accesses import AllocationAccesses
from ...dialect_utils.memory.lds_ops import Misaligned
from ...dialect_utils.memory.memref_types import is_row_major, tile_of, type_of
from .padded_rows import (
    PaddedRows,
    aligned_padding,
    bits_of_element,
    check_aligned_rows,
    elements_of_bits,
    extra_bytes,
    extra_bytes_before_hints,
    lds_bytes_of,
    padded_rows,
)


def plan_paddings(
    function: ir.Operation,
    test_target: str | None,
    padding_bits: int | None = None,
    limit_bytes: int = 0,
    traces: AllocationTraces | None = None,
) -> list[PaddingPlan]:
    """Decides on every LDS allocation of `function`, in the order of the function's text.

    Args:
        test_target: the architecture that a test names for functions without a target.
        padding_bits: the bits to append to every row, as stock does; None lets the solver decide.
        limit_bytes: LDS bytes that the function may use; 0 means the target's limit.
        traces: those of a caller that has traced some allocations already.
    """
    function = function.operation
    allocations = lds_allocations(function)
    if not allocations:
        return []
    limit = limit_bytes or lds_limit(function, test_target)
    hinted, lds_bytes = frozenset(filter(is_hinted, allocations)), lds_bytes_of(allocations)
    planner = _Planner(function, test_target, traces, limit, hinted, lds_bytes)
    if padding_bits is None:
        return planner.automatic(allocations)
    return planner.fixed(allocations, padding_bits)


class PaddingPlan(NamedTuple):
    """What happens to one allocation; no rewrite means that it is kept."""

    allocation: ir.Operation
    reason: str
    rewrite: PaddedRows | None = None
    conflicts_before: int | None = None
    """Weighted conflict cycles of one workgroup; None when they are not known."""
    conflicts_after: int | None = None
    decision: LayoutDecision | None = None
    """The solver's, with its proof; None where it had nothing to decide."""
    warning: str = ""
    """How the padding is another than what was asked for, if it is."""
    instructions: tuple[int, int] | None = None
    """LDS instructions before and after, as the backend joins the accesses, if they are known."""
    doubts: tuple[str, ...] = ()
    """What else the conflicts after it may be, where sources on the chip disagree, in sentences."""

    def kept(self, reason: str) -> PaddingPlan:
        """Returns the plan to leave the rows as they are."""
        left = self.conflicts_before
        issued = self.instructions and (self.instructions[0], self.instructions[0])
        return PaddingPlan(self.allocation, reason, None, left, left, instructions=issued)

    @property
    def layout(self) -> Layout | None:
        """Returns the rows as they will be; None if the accesses are not known."""
        if self.rewrite is not None:
            return PaddedLayout(self.rewrite.padding_elements)
        return None if self.decision is None else PlainLayout()


class _Analysis(NamedTuple):
    """An allocation whose accesses are all known: the paddings to choose from."""

    allocation: ir.Operation
    lds: Lds
    traced: AllocationAccesses
    costs: LayoutCosts
    """The costs of layouts for the accesses as the backend emits them."""
    choices: tuple[PaddingChoice, ...]
    counted: tuple[LdsAccess, ...]
    """The accesses that count as this allocation's, as the backend emits them."""

    def solve(self, share: PaddingChoice) -> LayoutDecision:
        """Returns the solver's decision between the plain rows and those of `share`."""
        paddings = (share.padding_elements,)
        options = SolverOptions(_PADDING_KINDS, share.lds_bytes, paddings=paddings)
        return solve(self.lds, self.traced.tile, self.costs.accesses, options, self.costs)

    def beside_stock(self, padding_elements: int) -> _Analysis:
        """Returns the same with no choice that takes more LDS cycles than stock's padding would."""
        layout = PaddedLayout(padding_elements) if padding_elements else PlainLayout()
        cost = self.costs.of(layout)
        stock = PaddingChoice(
            padding_elements,
            cost.conflict_cycles,
            cost.cycles,
            cost.instructions,
            layout.size_bytes(self.traced.tile),
        )
        kept = [choice for choice in self.choices if choice.cycles <= stock.cycles]
        if not any(choice.lds_bytes <= stock.lds_bytes for choice in kept):
            kept = [stock, *kept]
        return self._replace(choices=tuple(kept))


@dataclass(frozen=True)
class _Planner:
    """Decides on all allocations of a function before the first of them is touched."""

    function: ir.Operation
    test_target: str | None
    traces: AllocationTraces | None
    """Those of the caller, if it has some."""
    limit: int
    hinted: frozenset[ir.Operation]
    """The allocations with swizzles, which keep their rows."""
    lds_bytes: int | None
    """LDS of the function before padding; None when an allocation is dynamic."""
    counted: set[ir.Operation] = field(default_factory=set)
    """The operations that count as accesses of an allocation already."""

    def fixed(self, allocations: Sequence[ir.Operation], padding_bits: int) -> list[PaddingPlan]:
        """Returns the stock pass's plan: all or none by the limit, then each one that can be."""
        refusal = self._stock_refusal(allocations, padding_bits)
        room = self.limit - (self.lds_bytes or 0)
        room -= sum(extra_bytes(a, elements_of_bits(a, padding_bits)) for a in allocations)
        plans: list[PaddingPlan] = []
        for allocation in allocations:
            warning = ""
            try:
                if refusal is not None:
                    raise refusal
                self._check_paddable(allocation)
                wanted = elements_of_bits(allocation, padding_bits)
                warning = _shown_rest(allocation, padding_bits)
                padding = aligned_padding(allocation, wanted)
                more = extra_bytes(allocation, padding) - extra_bytes(allocation, wanted)
                try:
                    check_aligned_rows(allocation, wanted)
                except Misaligned as fault:
                    warning = _shown_change(allocation, fault, wanted, padding, more <= room)
                rewrite = padded_rows(allocation, padding if more <= room else wanted)
            except Refusal as reason:
                plans.append(PaddingPlan(allocation, reason.reason, warning=warning))
                continue
            room -= more
            reason = f"padding-bits={padding_bits}"
            plan = PaddingPlan(allocation, reason, rewrite, warning=warning)
            plans.append(self._counted(plan))
        return plans

    def automatic(self, allocations: Sequence[ir.Operation]) -> list[PaddingPlan]:
        """Returns the fewest conflict cycles within the LDS that the stock padding would use."""
        no_stock = self._stock_refusal(allocations, STOCK_PADDING_BITS)
        if self.lds_bytes is None:
            return [PaddingPlan(each, no_stock.reason if no_stock else "") for each in allocations]
        plans: dict[ir.Operation, PaddingPlan] = {}
        analyses: list[_Analysis] = []
        used = self.lds_bytes
        for allocation in allocations:
            try:
                self._check_paddable(allocation)
                _check_searchable(allocation)
                stock = _stock_rows(allocation)
                try:
                    analysis = self._analyze(allocation)
                    if no_stock is None:
                        analysis = analysis.beside_stock(stock.padding_elements)
                    analyses.append(analysis)
                except Overrun:
                    raise
                except Refusal as unknown:
                    if no_stock is not None:
                        raise Refusal(f"{unknown}; {no_stock}") from unknown
                    more = extra_bytes(allocation, stock.padding_elements)
                    if not more or used + more > self.limit:
                        raise
                    used += more
                    reason = f"stock's amount, because {unknown}"
                    plans[allocation] = PaddingPlan(allocation, reason, stock)
            except Refusal as refusal:
                plans[allocation] = self._counted(PaddingPlan(allocation, refusal.reason))
        stock_bytes = self.lds_bytes
        if no_stock is None:
            stock_bytes += sum(map(self._stock_extra_bytes, allocations))
        for plan in _share(analyses, min(self.limit, stock_bytes) - used):
            plans[plan.allocation] = plan
        return [plans[allocation] for allocation in allocations]

    def _check_paddable(self, allocation: ir.Operation) -> None:
        """Makes sure that an allocation may be padded by some amount; one reason per early exit.

        Raises:
            Refusal: it may not.
        """
        kind = type_of(allocation)
        if allocation in self.hinted:
            raise Refusal("it is swizzled")
        if kind.rank == 0:
            raise Refusal("it has rank 0")
        if not bits_of_element(allocation):
            raise Refusal(f"the size of its elements of type {kind.element_type} is not known")
        if not is_row_major(kind):
            raise Refusal(f"its layout {kind.layout} is not row-major")

    def _stock_extra_bytes(self, allocation: ir.Operation) -> int:
        """Returns the LDS that stock's padding would add, had the allocation no hint."""
        if allocation in self.hinted:
            return extra_bytes_before_hints(allocation)
        try:
            return extra_bytes(allocation, _stock_rows(allocation).padding_elements)
        except Refusal:
            return 0

    def _stock_refusal(self, allocations: Sequence[ir.Operation], bits: int) -> Refusal | None:
        """Returns why stock would leave all allocations of the function alone; None if it pads."""
        if self.lds_bytes is None:
            return Refusal("an LDS allocation of the function has a dynamic shape")
        extra = (extra_bytes(each, elements_of_bits(each, bits)) for each in allocations)
        needed = self.lds_bytes + sum(extra)
        if needed <= self.limit:
            return None
        return Refusal(
            f"{bits} bits of padding in every row would need {needed} bytes of LDS, the limit is "
            f"{self.limit}"
        )

    @cached_property
    def _model(self) -> tuple[Lds, AllocationTraces]:
        """Returns what tells the cost of an access in the function, or raises a `Refusal`."""
        lds, launch = lds_model(self.function, self.test_target)
        evaluator, drops = LaneEvaluator(launch), lds.drops_unread
        return lds, self.traces or AllocationTraces(self.function, evaluator, drops_unread=drops)

    def _accesses(self, allocation: ir.Operation) -> tuple[Lds, AllocationAccesses]:
        """Returns all accesses to the allocation.

        Raises:
            Refusal: they are not all known; an `Overrun` where one leaves the allocation, so that
                what it finds there must not move.
        """
        lds, traces = self._model
        traced = traces.unrolled(allocation)
        for unknown in traced.unknown:
            if isinstance(unknown, Overrun):
                raise Overrun(f"an access leaves it: {unknown}")
        for unknown in traced.unknown:
            raise Refusal(f"an access is not known: {unknown}")
        return lds, traced

    def _analyze(self, allocation: ir.Operation) -> _Analysis:
        lds, traced = self._accesses(allocation)
        accesses = self._model[1].emitted([allocation], gathers=True)
        costs = costs_once(lds, traced.tile, accesses)
        try:
            legal = _legality(allocation)
            choices = padding_choices(lds, traced.tile, accesses, is_legal=legal, costs=costs)
        except InvalidParameterError as error:
            raise Refusal(f"its accesses cannot be counted: {error}") from error
        counted = self._model[1].counted(allocation, self.counted)
        return _Analysis(allocation, lds, traced, costs, choices, counted)

    def _counted(self, plan: PaddingPlan) -> PaddingPlan:
        """Returns the plan with the conflict cycles of plain rows and of its own, where they can be
        counted.

        Nothing is counted for an allocation with hints.
        """
        rows = PaddedLayout(plan.rewrite.padding_elements) if plan.rewrite else PlainLayout()
        try:
            if plan.allocation in self.hinted:
                raise Refusal("it is swizzled")
            lds, traced = self._accesses(plan.allocation)
            counted = self._model[1].counted(plan.allocation, self.counted)
            before, after = _conflicts_of_both(LayoutCosts(lds, traced.tile, counted), rows)
            doubts = shown_readings(lds, traced.tile, rows, counted)
            return plan._replace(conflicts_before=before, conflicts_after=after, doubts=doubts)
        except (Refusal, InvalidParameterError):
            return plan


def _conflicts_of_both(costs: LayoutCosts, rows: Layout) -> tuple[int, int]:
    """Returns the conflict cycles of plain rows and of others."""
    return costs.cycles(PlainLayout())[1], costs.cycles(rows)[1]


def _stock_rows(allocation: ir.Operation) -> PaddedRows:
    """Returns the rows with stock's padding, or more where an access needs it for its alignment."""
    wanted = elements_of_bits(allocation, STOCK_PADDING_BITS)
    return padded_rows(allocation, aligned_padding(allocation, wanted))


_JOINED_ALL = (
    "its accesses have no bank conflicts once the backend has unrolled loops and joined them"
)
_PADDING_KINDS = frozenset({LayoutKind.PLAIN, LayoutKind.PADDING})


def _legality(allocation: ir.Operation) -> Callable[[Layout], bool]:
    """Returns whether all users of the allocation can take rows of such a layout."""

    def is_legal(layout: Layout) -> bool:
        if not isinstance(layout, PaddedLayout):
            return isinstance(layout, PlainLayout)
        try:
            padded_rows(allocation, layout.padding_elements)
        except Refusal:
            return False
        return True

    return is_legal


def _share(analyses: Sequence[_Analysis], extra_bytes: int) -> list[PaddingPlan]:
    """Splits the LDS bytes that padding may add; within its share the solver decides on a tile."""
    plain = sum(PlainLayout().size_bytes(analysis.traced.tile) for analysis in analyses)
    shares = share_lds([analysis.choices for analysis in analyses], plain + extra_bytes)
    if sum(share.lds_bytes for share in shares) > plain + extra_bytes:
        reason = "padding would use more LDS than the stock padding or the limit"
        return [PaddingPlan(analysis.allocation, reason) for analysis in analyses]
    return [_solved(a, share) for a, share in zip(analyses, shares, strict=True)]


def _solved(analysis: _Analysis, share: PaddingChoice) -> PaddingPlan:
    """Returns the decision for `share`, with its proof and the reason for what stays undone."""
    decision = analysis.solve(share)
    rewrite: PaddedRows | None = None
    rows: Layout = PlainLayout()
    if share.padding_elements:
        rewrite = padded_rows(analysis.allocation, share.padding_elements)
        rows = PaddedLayout(share.padding_elements)
    tile, counted = analysis.traced.tile, analysis.counted
    costs = analysis.costs
    before, after = _conflicts_of_both(costs.regrouped(counted), rows)
    doubts = shown_readings(analysis.lds, tile, rows, counted)
    issued = costs.instructions(PlainLayout()), costs.instructions(rows)
    if rewrite is not None and not isinstance(decision.layout, PaddedLayout):
        reason = "stock's amount: plain rows take fewer instructions and more LDS cycles"
        return PaddingPlan(
            *(analysis.allocation, reason, rewrite, before, after),
            instructions=issued,
            doubts=doubts,
        )
    assumed = " and ".join(analysis.traced.assumptions)
    assumed = f", if {assumed}" if assumed else ""
    reason = _reason(decision, analysis.choices[-1], assumed, before, after)
    return PaddingPlan(
        *(analysis.allocation, reason, rewrite, before, after, decision),
        instructions=issued,
        doubts=doubts,
    )


def _reason(
    decision: LayoutDecision, best: PaddingChoice, assumed: str, plain: int, now: int
) -> str:
    """Returns the decision in one line.

    Args:
        best: the best padding of any size.
        plain: the conflict cycles without padding.
        now: those that are left.
    """
    too_large = "would use more LDS than the stock padding or the limit"
    if not decision.plain_conflict_cycles:
        return (_JOINED_ALL if plain else decision.reason) + assumed
    if decision.kind is LayoutKind.PLAIN and not best.padding_elements:
        return f"no padding helps against its {plain} conflict cycles{assumed}"
    if decision.kind is LayoutKind.PLAIN:
        return f"{plain} conflict cycles, but padding that helps {too_large}{assumed}"
    reason = f"conflict cycles {plain} -> {now}{assumed}; {decision.optimality.value}"
    if best.conflict_cycles < decision.conflict_cycles:
        padding = best.padding_elements * decision.proof.tile.element_bits // 8
        reason += f" ({best.conflict_cycles} with {padding} bytes, which {too_large})"
    if decision.vectorization.split_accesses:
        reason += f"; {decision.vectorization.shown_split}"
    return reason


def _shown_rest(allocation: ir.Operation, padding_bits: int) -> str:
    """Returns what is not padded of `padding_bits`, which stock rounds down to whole elements;
    nothing where they are whole elements."""
    bits = bits_of_element(allocation)
    if not bits or padding_bits % bits == 0:
        return ""
    wanted = elements_of_bits(allocation, padding_bits)
    return (
        f"{padding_bits} bits of padding were asked for; an element has {bits} bits, so that rows "
        f"are padded by {wanted * bits}"
    )


def _shown_change(
    allocation: ir.Operation, fault: Misaligned, wanted: int, padding: int, fits: bool
) -> str:
    """Returns what becomes of `wanted` elements of padding, which have the fault.

    They become `padding` elements, if there is LDS enough and no other user forbids it.
    """
    element_bytes = bits_of_element(allocation) // 8
    outcome = f"{padding * element_bytes} are used"
    if not fits:
        more = padding * element_bytes
        outcome = f"the allocation is not padded, because {more} bytes exceed the LDS limit"
    else:
        try:
            padded_rows(allocation, padding)
        except Refusal as refusal:
            outcome = refusal.reason
    return f"{wanted * element_bytes} bytes of padding were asked for; {fault}, so that {outcome}"


def _check_searchable(allocation: ir.Operation) -> None:
    """Makes sure that padding can be searched for an allocation, which the stock pass might pad.

    Raises:
        Refusal: it cannot.
    """
    if type_of(allocation).rank == 1:
        raise Refusal("it has rank 1, so that its rows are not known")
    tile_of(type_of(allocation))
