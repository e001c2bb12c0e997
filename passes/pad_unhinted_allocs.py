# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pads the rows of LDS allocations that no swizzle hint takes care of.

    %a = memref.alloc() : memref<64x64xf16, #ws>

becomes, with 8 bytes of padding,

    %p = memref.alloc() : memref<64x68xf16, #ws>
    %a = memref.subview %p[0, 0] [64, 64] [1, 1] : ... to memref<64x64xf16, strided<[68, 1]>, #ws>

and every view of `%a` gets the type that follows from the new strides. With
`padding-bits=auto` the solver of the bank model decides, within the LDS that the stock 64-bit
padding would use: any number of whole elements, the fewest conflict cycles. Several allocations
share that LDS so that the sum of their conflict cycles is least (`bank_model/paddings.py`). With a
number it is that many bits for every allocation, as the stock pass
`iree-codegen-gpu-reduce-bank-conflicts` pads, down to the IR it leaves.

Some operations need aligned addresses in every layout
(`dialect_utils/memory/required_alignment.py`). Rows that these access are padded by multiples of
what they need, by more bits than asked for if need be, or not at all; a warning says so where the
bits were asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import lcm, prod
from typing import ClassVar

from iree.compiler import ir

from ..bank_model.accesses import LdsAccess
from ..bank_model.errors import InvalidParameterError
from ..bank_model.issue import LayoutCosts
from ..bank_model.layout_counts import STOCK_PADDING_BITS
from ..bank_model.layouts import Layout, PaddedLayout, PlainLayout, layout_conflicts
from ..bank_model.paddings import PaddingChoice, padding_choices, share_lds
from ..bank_model.solver import LayoutDecision, LayoutKind, SolverOptions, solve
from ..bank_model.targets import Target, UnknownTargetError, target
from ..dialect_utils.diagnostics import SourceLocation
from ..dialect_utils.dynamic_sizes import DYNAMIC
from ..dialect_utils.element_types import element_bits
from ..dialect_utils.gpu_target import gpu_target_of, lds_model
from ..dialect_utils.index.lane_values import LaneEvaluator, Unknown
from ..dialect_utils.memory.allocations import reach_of
from ..dialect_utils.memory.joined_accesses import MOST_UNROLLED, emitted_accesses
from ..dialect_utils.memory.lds_accesses import (
    SWIZZLE_HINT,
    AllocationAccesses,
    is_hinted,
    lds_allocations,
    shown_type,
    tile_of,
    trace_allocation,
)
from ..dialect_utils.memory.required_alignment import (
    in_elements,
    required_alignment,
    why_not_aligned,
)
from .base import FunctionPass, PassContext, PassOptionError
from .decisions import PAD_PASS, Action, Decision

DEFAULT_LDS_BYTES = 64 * 1024
"""The limit the stock pass assumes for a function without a target."""

AUTO = "auto"

Tracer = Callable[[ir.Operation], AllocationAccesses | Unknown]
"""Tells all accesses to an allocation, or why it cannot."""


def unrolled_tracer(function: ir.Operation, evaluator: LaneEvaluator) -> Tracer:
    """Traces the allocations of `function` as the backend unrolls its loops, each once."""

    @cache
    def trace(allocation: ir.Operation) -> AllocationAccesses | Unknown:
        return trace_allocation(allocation, function, evaluator, MOST_UNROLLED)

    return trace


@dataclass(frozen=True)
class PadUnhintedAllocs(FunctionPass):
    """Pads each LDS allocation without a swizzle so that its accesses conflict least."""

    name: ClassVar[str] = PAD_PASS
    summary: ClassVar[str] = "pad LDS allocations without a swizzle hint against bank conflicts"

    padding_bits: str = AUTO
    """`auto`, or the bits to append to every row."""
    lds_limit_bytes: int = 0
    """LDS bytes that the function may use; 0 means the target's limit."""

    def __post_init__(self) -> None:
        if self.padding_bits != AUTO and not re.fullmatch(r"\d{1,9}", self.padding_bits):
            raise PassOptionError(
                f"{self.name}: option 'padding-bits' expects auto or a number of bits, "
                f"got '{self.padding_bits}'"
            )
        if self.lds_limit_bytes < 0:
            raise PassOptionError(
                f"{self.name}: option 'lds-limit-bytes' expects a number of bytes, "
                f"got '{self.lds_limit_bytes}'"
            )

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Pads what can be padded; every allocation gets a decision."""
        plans = self.plan(function, context)
        for plan in plans:
            _record(plan, function.operation, context)
            if plan.rewrite is not None:
                _pad(plan, keep_alignment=self.padding_bits == AUTO)
        if not any(plan.rewrite for plan in plans):
            return
        for allocation in lds_allocations(function.operation):
            # The allocation before it may have become longer.
            needed = _needed_alignment(allocation)
            if needed > max(_alignment(allocation), 1):
                kind = ir.IntegerType.get_signless(64, allocation.context)
                allocation.attributes["alignment"] = ir.IntegerAttr.get(kind, needed)

    def plan(
        self, function: ir.Operation, context: PassContext, unrolled: Tracer | None = None
    ) -> list[PaddingPlan]:
        """What `run` does to each LDS allocation, in the order of the function's text.

        `unrolled` traces an allocation through loops of up to `MOST_UNROLLED` trips, for a caller
        that has traced some already.
        """
        function = function.operation
        allocations = lds_allocations(function)
        if not allocations:
            return []
        model = lds_model(function, context.test_target)
        planner = _Planner(
            function,
            model
            if isinstance(model, str)
            else _Model(model[0], unrolled or unrolled_tracer(function, LaneEvaluator(model[1]))),
            self.lds_limit_bytes or _lds_limit(function, context.test_target),
            _function_lds_bytes(allocations),
        )
        if self.padding_bits == AUTO:
            return planner.automatic(allocations)
        return planner.fixed(allocations, int(self.padding_bits))


@dataclass(frozen=True)
class _Rewrite:
    """A padding that is known to be possible: the new types of the allocation's views."""

    padding_elements: int
    new_types: tuple[tuple[ir.Value, ir.MemRefType], ...]


@dataclass(frozen=True)
class PaddingPlan:
    """What happens to one allocation; no rewrite means that it is kept."""

    allocation: ir.Operation
    reason: str
    rewrite: _Rewrite | None = None
    conflicts_before: int | None = None
    """Weighted conflict cycles of one workgroup; None when they are not known."""
    conflicts_after: int | None = None
    decision: LayoutDecision | None = None
    """The solver's, with its proof; None where it had nothing to decide."""
    warning: str = ""
    """How the padding is another than what was asked for, if it is."""

    @property
    def layout(self) -> Layout | None:
        """The rows as they will be; None if the accesses are not known."""
        if self.rewrite is not None:
            return PaddedLayout(self.rewrite.padding_elements)
        return None if self.decision is None else PlainLayout()


@dataclass(frozen=True)
class _Model:
    """What tells the cost of an access in the function."""

    chip: Target
    unrolled: Tracer


@dataclass(frozen=True)
class _Analysis:
    """An allocation whose accesses are all known: the paddings to choose from."""

    allocation: ir.Operation
    chip: Target
    traced: AllocationAccesses
    costs: LayoutCosts
    """For the accesses as the backend emits them."""
    choices: tuple[PaddingChoice, ...]

    def solve(self, share: PaddingChoice) -> LayoutDecision:
        """The solver's decision between the plain rows of the allocation and those of `share`."""
        paddings = (share.padding_elements,)
        options = SolverOptions(_PADDING_KINDS, share.lds_bytes, paddings=paddings)
        return solve(self.chip, self.traced.tile, self.costs.accesses, options, self.costs)

    def beside_stock(self, padding_elements: int) -> _Analysis:
        """The same with no choice that takes more LDS cycles than stock's padding would."""
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
        return replace(self, choices=tuple(kept))


@dataclass(frozen=True)
class _Overrun:
    """An allocation that some load or store leaves: what it finds there must not move."""

    reason: str


@dataclass(frozen=True)
class _Planner:
    """Decides on all allocations of a function before the first of them is touched."""

    function: ir.Operation
    model: _Model | str
    """The bank model, or why there is none."""
    limit: int
    lds_bytes: int | None
    """LDS of the function before padding; None when an allocation is dynamic."""

    def fixed(self, allocations: Sequence[ir.Operation], padding_bits: int) -> list[PaddingPlan]:
        """The stock pass's plan: all or none by the limit, then each one that can be."""
        refusal = self._stock_refusal(allocations, padding_bits)
        room = self.limit - (self.lds_bytes or 0)
        room -= sum(_extra_bytes(a, _stock_elements(a, padding_bits)) for a in allocations)
        plans: list[PaddingPlan] = []
        for allocation in allocations:
            reason = refusal or _why_never(allocation)
            if reason is not None:
                plans.append(PaddingPlan(allocation, reason))
                continue
            wanted = _stock_elements(allocation, padding_bits)
            padding = _aligned_elements(allocation, wanted)
            more = _extra_bytes(allocation, padding) - _extra_bytes(allocation, wanted)
            rewrite = _plan_rewrite(allocation, padding if more <= room else wanted)
            warning = _shown_change(allocation, wanted, rewrite) if padding != wanted else ""
            if isinstance(rewrite, Unknown):
                plans.append(PaddingPlan(allocation, rewrite.reason, warning=warning))
            else:
                room -= more
                reason = f"padding-bits={padding_bits}"
                counted = self._count_both(allocation, rewrite) or (None, None)
                plans.append(PaddingPlan(allocation, reason, rewrite, *counted, warning=warning))
        return plans

    def automatic(self, allocations: Sequence[ir.Operation]) -> list[PaddingPlan]:
        """The fewest conflict cycles within the LDS that the stock padding would use."""
        if self.lds_bytes is None:
            refusal = self._stock_refusal(allocations, STOCK_PADDING_BITS) or ""
            return [PaddingPlan(allocation, refusal) for allocation in allocations]
        plans: dict[ir.Operation, PaddingPlan] = {}
        analyses: list[_Analysis] = []
        stock_refusal = self._stock_refusal(allocations, STOCK_PADDING_BITS)
        stock_extra = used_extra = 0
        for allocation in allocations:
            stock_elements = _stock_elements(allocation, STOCK_PADDING_BITS)
            stock_rewrite = _plan_rewrite(allocation, _aligned_elements(allocation, stock_elements))
            stock_bytes = 0
            if is_hinted(allocation):
                stock_extra += _extra_bytes_before_hints(allocation)
            elif isinstance(stock_rewrite, _Rewrite):
                stock_bytes = _extra_bytes(allocation, stock_rewrite.padding_elements)
                stock_extra += stock_bytes
            reason = _why_never(allocation) or _why_not_searched(allocation)
            if reason is None and isinstance(stock_rewrite, Unknown):
                reason = stock_rewrite.reason
            if reason is not None:
                plans[allocation] = PaddingPlan(allocation, reason)
                continue
            analysis = self._analyze(allocation)
            if isinstance(analysis, _Analysis):
                if stock_refusal is None and isinstance(stock_rewrite, _Rewrite):
                    analysis = analysis.beside_stock(stock_rewrite.padding_elements)
                analyses.append(analysis)
            elif isinstance(analysis, _Overrun):
                plans[allocation] = PaddingPlan(allocation, analysis.reason)
            elif stock_refusal is not None:
                plans[allocation] = PaddingPlan(allocation, f"{analysis.reason}; {stock_refusal}")
            elif not stock_bytes or self.lds_bytes + used_extra + stock_bytes > self.limit:
                plans[allocation] = PaddingPlan(allocation, analysis.reason)
            else:
                assert isinstance(stock_rewrite, _Rewrite)
                used_extra += stock_bytes
                reason = f"stock's amount, because {analysis.reason}"
                plans[allocation] = PaddingPlan(allocation, reason, stock_rewrite)
        if stock_refusal is not None:
            stock_extra = 0
        budget = min(self.limit, self.lds_bytes + stock_extra) - self.lds_bytes - used_extra
        for plan in _share(analyses, budget):
            plans[plan.allocation] = plan
        return [plans[allocation] for allocation in allocations]

    def _stock_refusal(self, allocations: Sequence[ir.Operation], bits: int) -> str | None:
        """Why the stock pass would leave all allocations of the function alone."""
        if self.lds_bytes is None:
            return "an LDS allocation of the function has a dynamic shape"
        extra = sum(
            _extra_bytes(allocation, _stock_elements(allocation, bits))
            for allocation in allocations
        )
        if self.lds_bytes + extra > self.limit:
            return (
                f"{bits} bits of padding in every row would need {self.lds_bytes + extra} bytes "
                f"of LDS, the limit is {self.limit}"
            )
        return None

    def _accesses(
        self, allocation: ir.Operation
    ) -> tuple[Target, AllocationAccesses] | Unknown | _Overrun:
        """All accesses to the allocation, or why they are not all known."""
        if isinstance(self.model, str):
            return Unknown(self.model)
        traced = self.model.unrolled(allocation)
        if isinstance(traced, Unknown):
            return traced
        for unknown in traced.unknown:
            if unknown.overrun:
                return _Overrun(f"an access leaves it: {unknown.reason}")
        if traced.unknown:
            return Unknown(f"an access is not known: {traced.unknown[0].reason}")
        return self.model.chip, traced

    def _analyze(self, allocation: ir.Operation) -> _Analysis | Unknown | _Overrun:
        known = self._accesses(allocation)
        if isinstance(known, Unknown | _Overrun):
            return known
        chip, traced = known
        accesses = _emitted(traced)
        costs = LayoutCosts(chip, traced.tile, accesses)
        try:
            legal = _legality(allocation)
            choices = padding_choices(chip, traced.tile, accesses, is_legal=legal, costs=costs)
        except InvalidParameterError as error:
            return Unknown(f"its accesses cannot be counted: {error}")
        return _Analysis(allocation, chip, traced, costs, choices)

    def _count_both(self, allocation: ir.Operation, rewrite: _Rewrite) -> tuple[int, int] | None:
        """Conflict cycles without and with a fixed padding, where they can be counted."""
        known = self._accesses(allocation)
        if isinstance(known, Unknown | _Overrun):
            return None
        chip, traced = known
        padded, accesses = PaddedLayout(rewrite.padding_elements), _emitted(traced)
        try:
            return (
                layout_conflicts(chip, traced.tile, PlainLayout(), accesses),
                layout_conflicts(chip, traced.tile, padded, accesses),
            )
        except InvalidParameterError:
            return None


_PADDING_KINDS = frozenset({LayoutKind.PLAIN, LayoutKind.PADDING})


def _legality(allocation: ir.Operation) -> Callable[[Layout], bool]:
    """Whether all users of the allocation can take rows of such a layout."""

    def is_legal(layout: Layout) -> bool:
        if not isinstance(layout, PaddedLayout):
            return isinstance(layout, PlainLayout)
        return isinstance(_plan_rewrite(allocation, layout.padding_elements), _Rewrite)

    return is_legal


def _lds_limit(function: ir.Operation, test_target: str | None) -> int:
    info = gpu_target_of(function, test_target)
    if info is None:
        return DEFAULT_LDS_BYTES
    if info.max_workgroup_memory_bytes is not None:
        return info.max_workgroup_memory_bytes
    try:
        return target(info.arch).lds_bytes
    except UnknownTargetError:
        return DEFAULT_LDS_BYTES


def _emitted(traced: AllocationAccesses) -> tuple[LdsAccess, ...]:
    """All accesses as the backend joins and pairs them."""
    return emitted_accesses(traced.tile, traced.traced).accesses


def _share(analyses: Sequence[_Analysis], extra_bytes: int) -> list[PaddingPlan]:
    """Splits the LDS bytes that padding may add; within its share the solver decides on a tile."""
    plain = sum(PlainLayout().size_bytes(analysis.traced.tile) for analysis in analyses)
    shares = share_lds([analysis.choices for analysis in analyses], plain + extra_bytes)
    if sum(share.lds_bytes for share in shares) > plain + extra_bytes:
        reason = "padding would use more LDS than the stock padding or the limit"
        return [PaddingPlan(analysis.allocation, reason) for analysis in analyses]
    return [_solved(a, share) for a, share in zip(analyses, shares, strict=True)]


def _solved(analysis: _Analysis, share: PaddingChoice) -> PaddingPlan:
    """The decision for `share`, with the solver's proof, and what it leaves undone and why."""
    decision = analysis.solve(share)
    rewrite: _Rewrite | None = None
    if share.padding_elements:
        planned = _plan_rewrite(analysis.allocation, share.padding_elements)
        assert isinstance(planned, _Rewrite)
        rewrite = planned
    if rewrite is not None and not isinstance(decision.layout, PaddedLayout):
        return PaddingPlan(
            analysis.allocation,
            "stock's amount: plain rows take fewer instructions and more LDS cycles",
            rewrite,
            decision.plain_conflict_cycles,
            share.conflict_cycles,
        )
    assumed = " and ".join(analysis.traced.assumptions)
    return PaddingPlan(
        analysis.allocation,
        _reason(decision, analysis.choices[-1], f", if {assumed}" if assumed else ""),
        rewrite,
        decision.plain_conflict_cycles,
        decision.conflict_cycles,
        decision,
    )


def _reason(decision: LayoutDecision, best: PaddingChoice, assumed: str) -> str:
    """The decision in one line; `best` is the best padding of any size."""
    plain, now = decision.plain_conflict_cycles, decision.conflict_cycles
    too_large = "would use more LDS than the stock padding or the limit"
    if not plain:
        return decision.reason + assumed
    if decision.kind is LayoutKind.PLAIN and not best.padding_elements:
        return f"no padding helps against its {plain} conflict cycles{assumed}"
    if decision.kind is LayoutKind.PLAIN:
        return f"{plain} conflict cycles, but padding that helps {too_large}{assumed}"
    reason = f"conflict cycles {plain} -> {now}{assumed}; {decision.optimality.value}"
    if best.conflict_cycles < now:
        padding = best.padding_elements * decision.proof.tile.element_bits // 8
        reason += f" ({best.conflict_cycles} with {padding} bytes, which {too_large})"
    if decision.vectorization.split_accesses:
        reason += f"; {decision.vectorization.shown_split}"
    return reason


# Sizes.


def _type(allocation: ir.Operation) -> ir.MemRefType:
    return ir.MemRefType(allocation.results[0].type)


def _bits(allocation: ir.Operation) -> int:
    """Bits of an element; for vectors and complex numbers of all their parts."""
    return _type_bits(_type(allocation).element_type)


def _type_bits(kind: ir.Type) -> int:
    if isinstance(kind, ir.VectorType):
        return prod(kind.shape) * _type_bits(kind.element_type)
    if isinstance(kind, ir.ComplexType):
        return 2 * _type_bits(kind.element_type)
    return element_bits(kind) or 0


def _function_lds_bytes(allocations: Sequence[ir.Operation]) -> int | None:
    """LDS of all allocations, each rounded up to its alignment; None when one is dynamic."""
    total = 0
    for allocation in allocations:
        kind = _type(allocation)
        if not kind.has_static_shape:
            return None
        size = _bits(allocation) // 8 * prod(kind.shape)
        alignment = _alignment(allocation)
        total += -(-size // alignment) * alignment
    return total


def _alignment(allocation: ir.Operation) -> int:
    if "alignment" not in allocation.attributes:
        return 1
    return ir.IntegerAttr(allocation.attributes["alignment"]).value


def _stock_elements(allocation: ir.Operation, padding_bits: int) -> int:
    """The elements that the stock pass appends: as many as fit into the bits."""
    bits = _bits(allocation)
    return padding_bits // bits if bits else 0


def _needed_alignment(allocation: ir.Operation) -> int:
    """Bytes of which the addresses of everything that accesses it must be multiples."""
    return lcm(*(required_alignment(user) for user, _ in reach_of(allocation.results[0]).uses))


def _aligned_elements(allocation: ir.Operation, padding_elements: int) -> int:
    """As many elements or more that keep every row as aligned as its accesses need it.

    A single row stays where it is, whatever is behind it.
    """
    if not _bits(allocation) or prod(_type(allocation).shape[:-1]) == 1:
        return padding_elements
    unit = in_elements(_needed_alignment(allocation), _bits(allocation))
    return -(-padding_elements // unit) * unit


def _shown_change(allocation: ir.Operation, wanted: int, rewrite: _Rewrite | Unknown) -> str:
    """What padding was used instead of `wanted` elements, or why none was."""
    asked = f"{wanted * _bits(allocation) // 8} bytes of padding were asked for"
    why = _why_misaligned(allocation, wanted)
    if isinstance(rewrite, Unknown):
        more = _aligned_elements(allocation, wanted) * _bits(allocation) // 8
        left = f"the allocation is not padded, because {more} bytes exceed the LDS limit"
        return f"{asked}; {why}, so that {left if why == rewrite.reason else rewrite.reason}"
    return f"{asked}; {why}, so that {rewrite.padding_elements * _bits(allocation) // 8} are used"


def _why_misaligned(allocation: ir.Operation, padding_elements: int) -> str | None:
    """Which access such padding would leave with an address that it cannot take; or None."""
    if prod(_type(allocation).shape[:-1]) == 1:
        return None
    moved = padding_elements * _bits(allocation) // 8
    reasons = (why_not_aligned(user, moved) for user, _ in reach_of(allocation.results[0]).uses)
    return next((reason for reason in reasons if reason is not None), None)


def _extra_bytes(allocation: ir.Operation, padding_elements: int) -> int:
    shape = _type(allocation).shape
    if not shape:
        return 0
    return prod(shape[:-1]) * padding_elements * (_bits(allocation) // 8)


def _extra_bytes_before_hints(allocation: ir.Operation) -> int:
    """What the stock padding would add to a hinted allocation, had it no hint.

    An allocation is flattened for its hints; the shape it had is what the first expand_shape
    gives back.
    """
    elements = _stock_elements(allocation, STOCK_PADDING_BITS)
    pending: list[ir.Value] = [allocation.results[0]]
    while pending:
        for use in pending.pop(0).uses:
            user = use.owner.operation
            if user.name == "memref.expand_shape":
                shape = ir.MemRefType(user.results[0].type).shape
                return prod(shape[:-1]) * elements * (_bits(allocation) // 8)
            if user.name == SWIZZLE_HINT:
                pending.append(user.results[0])
    return _extra_bytes(allocation, elements)


# What can be padded.

_STRIDED_USERS = frozenset(
    {
        "affine.load",
        "affine.store",
        "affine.vector_load",
        "affine.vector_store",
        "linalg.copy",
        "linalg.fill",
        "linalg.generic",
        "linalg.transpose",
        "memref.atomic_rmw",
        "memref.copy",
        "memref.dealloc",
        "memref.generic_atomic_rmw",
        "memref.load",
        "memref.prefetch",
        "memref.store",
        "nvgpu.device_async_copy",
        "nvgpu.ldmatrix",
        "vector.load",
        "vector.maskedload",
        "vector.maskedstore",
        "vector.store",
        "vector.transfer_read",
        "vector.transfer_write",
    }
)
"""Operations that address a memref by indices alone, so that its strides may change."""


def _why_never(allocation: ir.Operation) -> str | None:
    """Why an allocation is not padded whatever the amount; one reason per early exit."""
    kind = _type(allocation)
    if is_hinted(allocation):
        return "it is swizzled"
    if kind.rank == 0:
        return "it has rank 0"
    if not _bits(allocation):
        return f"the size of its elements of type {kind.element_type} is not known"
    strides, offset = _layout(kind)
    if offset != 0 or strides != _row_major_strides(tuple(kind.shape)):
        return f"its layout {kind.layout} is not row-major"
    return None


def _why_not_searched(allocation: ir.Operation) -> str | None:
    """Why no padding is searched for an allocation that the stock pass might pad."""
    if _type(allocation).rank == 1:
        return "it has rank 1, so that its rows are not known"
    tile = tile_of(allocation)
    return tile.reason if isinstance(tile, Unknown) else None


def _row_major_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def _layout(kind: ir.MemRefType) -> tuple[tuple[int, ...] | None, int]:
    """Strides and offset; (None, 0) for a layout that is not strided."""
    try:
        strides, offset = kind.get_strides_and_offset()
    except (RuntimeError, ValueError):
        return None, 0
    return tuple(strides), offset


def _plan_rewrite(allocation: ir.Operation, padding_elements: int) -> _Rewrite | Unknown:
    """The types of all views once the rows are padded; Unknown when a user forbids it."""
    old = _type(allocation)
    if old.rank == 0:
        return Unknown("it has rank 0")
    if not old.has_static_shape:
        return Unknown("its shape is dynamic")
    misaligned = _why_misaligned(allocation, padding_elements)
    if misaligned is not None:
        return Unknown(misaligned)
    pitches = (*old.shape[:-1], old.shape[-1] + padding_elements)
    root = _strided(old, tuple(old.shape), _row_major_strides(pitches), 0)
    types: list[tuple[ir.Value, ir.MemRefType]] = []
    pending: list[tuple[ir.Value, ir.MemRefType | None]] = [(allocation.results[0], root)]
    while pending:
        value, kind = pending.pop()
        if kind is not None and value.type == kind:
            # Such as a view of the first row: neither its type nor its views' types change.
            kind = None
        if kind is not None:
            types.append((value, kind))
        for use in value.uses:
            user = use.owner.operation
            if user.name in _VIEW_TYPES:
                result = None if kind is None else _VIEW_TYPES[user.name](user, kind)
                if isinstance(result, Unknown):
                    return result
                pending.append((user.results[0], result))
            elif user.name not in _STRIDED_USERS:
                return Unknown(f"{user.name} cannot take padded rows")
    return _Rewrite(padding_elements, tuple(types))


def _is_identity(kind: ir.MemRefType) -> bool:
    """Whether reshaping such a memref yields a type without a layout attribute.

    MLIR asks whether the layout's affine map is the identity, which it is without a layout and,
    of the strided ones, only for `strided<[1]>`.
    """
    if not isinstance(kind.layout, ir.StridedLayoutAttr):
        return True
    return _layout(kind) == ((1,), 0)


def _row_major(like: ir.MemRefType, shape: Sequence[int]) -> ir.MemRefType:
    with like.context, ir.Location.unknown():
        return ir.MemRefType.get(list(shape), like.element_type, memory_space=like.memory_space)


def _strided(
    like: ir.MemRefType, shape: Sequence[int], strides: Sequence[int], offset: int
) -> ir.MemRefType:
    with like.context, ir.Location.unknown():
        layout = ir.StridedLayoutAttr.get(offset, list(strides))
        return ir.MemRefType.get(list(shape), like.element_type, layout, like.memory_space)


def _cast_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType | Unknown:
    """A cast keeps its shape and takes the layout of its operand."""
    if not isinstance(operation.results[0].type, ir.MemRefType):
        return Unknown("memref.cast to an unranked memref cannot take padded rows")
    shape = ir.MemRefType(operation.results[0].type).shape
    strides, offset = _layout(source)
    return _strided(source, shape, strides or (), offset)


def _subview_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType | Unknown:
    """A subview multiplies strides and adds up its offset; unit dimensions may be dropped."""
    offsets = list(ir.DenseI64ArrayAttr(operation.attributes["static_offsets"]))
    sizes = list(ir.DenseI64ArrayAttr(operation.attributes["static_sizes"]))
    steps = list(ir.DenseI64ArrayAttr(operation.attributes["static_strides"]))
    source_strides, offset = _layout(source)
    assert source_strides is not None
    for start, stride in zip(offsets, source_strides, strict=True):
        offset = _plus(offset, _times(start, stride))
    strides = [_times(step, stride) for step, stride in zip(steps, source_strides, strict=True)]
    wanted = list(ir.MemRefType(operation.results[0].type).shape)
    kept: list[int] = []
    for dimension, size in enumerate(sizes):
        # As MLIR does: a dimension stays if it matches the next one of the result.
        if len(kept) < len(wanted) and size == wanted[len(kept)]:
            kept.append(dimension)
    if len(kept) != len(wanted):
        return Unknown("memref.subview that drops dimensions cannot take padded rows")
    return _strided(source, wanted, [strides[d] for d in kept], offset)


def _times(a: int, b: int) -> int:
    if a == 0 or b == 0:
        return 0
    return DYNAMIC if DYNAMIC in (a, b) else a * b


def _plus(a: int, b: int) -> int:
    return DYNAMIC if DYNAMIC in (a, b) else a + b


def _groups(operation: ir.Operation) -> list[list[int]]:
    groups = ir.ArrayAttr(operation.attributes["reassociation"])
    return [[ir.IntegerAttr(d).value for d in ir.ArrayAttr(group)] for group in groups]


def _expand_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType | Unknown:
    """Each source dimension's stride belongs to the innermost of those it is split into."""
    kind = ir.MemRefType(operation.results[0].type)
    if not kind.has_static_shape:
        return Unknown("memref.expand_shape to a dynamic shape cannot take padded rows")
    if _is_identity(source):
        return _row_major(source, kind.shape)
    source_strides, offset = _layout(source)
    strides: list[int] = []
    for group, stride in zip(_groups(operation), source_strides or (), strict=True):
        strides += [
            _times(stride, prod(kind.shape[inner] for inner in group[position + 1 :]))
            for position in range(len(group))
        ]
    return _strided(source, kind.shape, strides, offset)


def _collapse_type(operation: ir.Operation, source: ir.MemRefType) -> ir.MemRefType | Unknown:
    """Dimensions collapse only where the outer stride continues the inner one without a gap."""
    refusal = Unknown("memref.collapse_shape across the padded rows")
    source_strides, offset = _layout(source)
    assert source_strides is not None
    shape = ir.MemRefType(operation.results[0].type).shape
    if not source.has_static_shape:
        return refusal
    if _is_identity(source):
        return _row_major(source, shape)
    strides: list[int] = []
    for group in _groups(operation):
        dimensions = list(group)
        while len(dimensions) > 1 and source.shape[dimensions[-1]] == 1:
            dimensions.pop()
        stride = source_strides[dimensions[-1]]
        strides.append(stride)
        for outer, inner in zip(reversed(dimensions[:-1]), reversed(dimensions), strict=False):
            stride = _times(stride, source.shape[inner])
            if source.shape[outer] == 1:
                continue
            if DYNAMIC in (stride, source_strides[outer]) or stride != source_strides[outer]:
                return refusal
    return _strided(source, shape, strides, offset)


_VIEW_TYPES = {
    "memref.cast": _cast_type,
    "memref.subview": _subview_type,
    "memref.expand_shape": _expand_type,
    "memref.collapse_shape": _collapse_type,
}


# Doing it.


def _pad(plan: PaddingPlan, keep_alignment: bool) -> None:
    """Replaces the allocation; everything that could fail has been checked by the plan."""
    rewrite = plan.rewrite
    assert rewrite is not None
    allocation = plan.allocation
    old = _type(allocation)
    shape = list(old.shape)
    padded_shape = [*shape[:-1], shape[-1] + rewrite.padding_elements]
    with allocation.context, allocation.location:
        padded_type = ir.MemRefType.get(
            padded_shape, old.element_type, memory_space=old.memory_space
        )
        attributes: dict[str, ir.Attribute] = {
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])
        }
        if keep_alignment and "alignment" in allocation.attributes:
            attributes["alignment"] = allocation.attributes["alignment"]
        point = ir.InsertionPoint(allocation)
        padded = ir.Operation.create(
            "memref.alloc", [padded_type], [], attributes=attributes, ip=point
        )
        (root, root_type), *views = rewrite.new_types
        rank = len(shape)
        subview = ir.Operation.create(
            "memref.subview",
            [root_type],
            [padded.results[0]],
            attributes={
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
                "static_offsets": ir.DenseI64ArrayAttr.get([0] * rank),
                "static_sizes": ir.DenseI64ArrayAttr.get(shape),
                "static_strides": ir.DenseI64ArrayAttr.get([1] * rank),
            },
            ip=point,
        )
    root.replace_all_uses_with(subview.results[0])
    for view, kind in views:
        view.set_type(kind)
    allocation.erase()


def _record(plan: PaddingPlan, function: ir.Operation, context: PassContext) -> None:
    """One remark per allocation, and a decision on each that no hint has decided on."""
    allocation = plan.allocation
    kind = _type(allocation)
    text = shown_type(allocation)
    before = _bits(allocation) // 8 * prod(kind.shape) if kind.has_static_shape else None
    after = before
    detail = ""
    if plan.rewrite is not None:
        extra = _extra_bytes(allocation, plan.rewrite.padding_elements)
        after = before + extra if before is not None else None
        padding = plan.rewrite.padding_elements * _bits(allocation) // 8
        detail = f"{padding} bytes per row"
        message = f"allocation of {text} padded by {padding} bytes: {plan.reason}"
    else:
        message = f"allocation of {text} not padded: {plan.reason}"
    context.sink.remark(allocation.location, message)
    if plan.warning:
        context.sink.warning(allocation.location, f"allocation of {text}: {plan.warning}")
    if is_hinted(allocation):
        return
    named = "sym_name" in function.attributes
    context.log.add(
        Decision(
            pass_name=PadUnhintedAllocs.name,
            function=ir.StringAttr(function.attributes["sym_name"]).value if named else "",
            allocation=text,
            location=str(SourceLocation.of(allocation.location) or ""),
            action=Action.PAD if plan.rewrite is not None else Action.KEEP,
            reason=plan.reason,
            detail=detail,
            lds_bytes_before=before,
            lds_bytes_after=after,
            conflict_cycles_before=plan.conflicts_before,
            conflict_cycles_after=plan.conflicts_after,
        )
    )
