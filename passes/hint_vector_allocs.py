# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives each LDS tile that IREE stages vectors through the swizzle with the fewest conflicts.

Runs right after `iree-codegen-gpu-vector-alloc`, where the tiles are still tensors and vectors
carry `iree_vector_ext` nested layouts. For each `bufferization.alloc_tensor` in workgroup memory

    %a = bufferization.alloc_tensor() ...
    %w = vector.transfer_write %x, %a[...]
    %b = iree_gpu.value_barrier %w
    %r = vector.transfer_read %b[...]

the layouts of %x and %r say which lane touches which element in which instruction. If the plain
layout has bank conflicts and a chain of `xor_shuffle`s has fewer, the pass emits it as

    %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<...>]

and everything that used %a uses %h. Otherwise the allocation stays, and a remark says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from iree.compiler import ir

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.errors import InvalidParameterError
from ..bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from ..bank_model.paddings import padding_choices
from ..bank_model.solver import LayoutDecision, LayoutKind, SolverOptions, solve
from ..bank_model.swizzles import Swizzle
from ..bank_model.targets import Target
from ..dialect_utils.diagnostics import SourceLocation
from ..dialect_utils.gpu_target import Launch, lds_model
from ..dialect_utils.staged_tensors import (
    UntraceableError,
    accesses_of,
    is_workgroup_alloc,
    tile_of,
)
from ..dialect_utils.swizzle_hint import HINT_NAME, is_hint, swizzle_attribute
from ..dialect_utils.swizzle_legality import footprints_of, illegality
from ..dialect_utils.vector_layouts import VectorLayouts, infer_vector_layouts
from .base import FunctionPass, PassContext, PassOptionError
from .decisions import HINT_PASS, Action, Decision
from .pad_unhinted_allocs import STOCK_PADDING_BITS

_HINT_KINDS = frozenset({LayoutKind.XOR_SHUFFLE, LayoutKind.CHAIN})


@dataclass(frozen=True)
class HintVectorAllocs(FunctionPass):
    """Emits swizzle hints on the workgroup allocations of staged vectors."""

    name: ClassVar[str] = HINT_PASS
    summary: ClassVar[str] = "swizzle LDS tiles of staged vectors by their nested layouts"

    max_chain: int = 4
    """The most hints on one allocation."""
    defer_to_padding: bool = False
    """Leave an allocation plain where padding it within stock's LDS size conflicts less."""

    def __post_init__(self) -> None:
        if self.max_chain < 1:
            raise PassOptionError(
                f"{self.name}: option 'max-chain' expects a positive integer, "
                f"got '{self.max_chain}'"
            )

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Decides on every workgroup allocation of `function` and emits the hints."""
        function = function.operation
        allocations = _workgroup_allocations(function)
        if not allocations:
            return
        planner = self._planner(function, context)
        if isinstance(planner, str):
            context.sink.remark(function.location, f"allocations not swizzled: {planner}")
            for alloc in allocations:
                self._log(alloc, _kept(planner), function, context)
            return
        # The layouts of all allocations are read before the first of them is touched.
        plans = [planner.plan(alloc) for alloc in allocations]
        for alloc, plan in zip(allocations, plans, strict=True):
            if plan.swizzles:
                _emit(alloc, plan.swizzles)
            context.sink.remark(alloc.location, plan.remark(_shown_type(alloc)))
            self._log(alloc, plan, function, context)

    def _planner(self, function: ir.Operation, context: PassContext) -> _Planner | str:
        """What decides on allocations, or why nothing can be said on any of them."""
        model = lds_model(function, context.test_target)
        if isinstance(model, str):
            return model
        lds, launch = model
        return _Planner(self, lds, launch, infer_vector_layouts(function))

    def _log(
        self, alloc: ir.Operation, plan: _Plan, function: ir.Operation, context: PassContext
    ) -> None:
        place = SourceLocation.of(alloc.location)
        context.log.add(
            Decision(
                pass_name=self.name,
                function=ir.StringAttr(function.attributes["sym_name"]).value,
                allocation=_shown_type(alloc),
                location=str(place) if place else "",
                action=Action.HINT if plan.swizzles else Action.KEEP,
                reason=plan.reason,
                detail=plan.shown_swizzles,
                lds_bytes_before=plan.lds_bytes,
                lds_bytes_after=plan.lds_bytes,
                conflict_cycles_before=plan.before,
                conflict_cycles_after=plan.after,
            )
        )


@dataclass(frozen=True)
class _Plan:
    """What happens to one allocation; without swizzles it stays plain."""

    reason: str
    swizzles: tuple[Swizzle, ...] = ()
    """The chain, from the allocation outwards."""
    lds_bytes: int | None = None
    before: int | None = None
    after: int | None = None

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


@dataclass(frozen=True)
class _Planner:
    """Decides on one allocation at a time, without changing the function."""

    options: HintVectorAllocs
    lds: Target
    launch: Launch
    layouts: VectorLayouts

    def plan(self, alloc: ir.Operation) -> _Plan:
        """The decision on `alloc`, with its reason."""
        if any(is_hint(use.owner) for use in alloc.results[0].uses):
            return _kept("it has a swizzle hint already")
        try:
            tile = tile_of(alloc)
        except UntraceableError as error:
            return _kept(str(error))
        lds_bytes = PlainLayout().size_bytes(tile)
        try:
            accesses = accesses_of(alloc, tile, self.layouts, self.launch)
            decision = self._solve(tile, accesses)
        except (UntraceableError, InvalidParameterError) as error:
            return _kept(str(error), lds_bytes)
        plain = decision.plain_conflict_cycles
        if not isinstance(decision.layout, SwizzledLayout):
            reason = f"no legal swizzle has fewer than its {plain} conflict cycles"
            if plain == 0:
                reason = "its plain layout has no bank conflict"
            return _kept(reason, lds_bytes, plain)
        left = decision.conflict_cycles
        if self.options.defer_to_padding and left and self._padding_is_better(tile, accesses, left):
            return _kept(
                f"padding has fewer conflict cycles than the best swizzle, which has {left} "
                f"of {plain}",
                lds_bytes,
                plain,
            )
        reason = decision.optimality.value
        if decision.vectorization.split_accesses:
            reason += f"; {decision.vectorization}"
        return _Plan(reason, decision.layout.swizzles, lds_bytes, plain, left)

    def _solve(self, tile: LdsTile, accesses: tuple[LdsAccess, ...]) -> LayoutDecision:
        """The best swizzle that the resolver can carry out, or the plain layout."""
        options = SolverOptions(_HINT_KINDS, max_chain=self.options.max_chain)
        decision = solve(self.lds, tile, accesses, options)
        footprints = footprints_of(accesses)

        def is_legal(layout: Layout) -> bool:
            return not isinstance(layout, SwizzledLayout) or (
                illegality(layout.swizzles, tile.elements, footprints) is None
            )

        if is_legal(decision.layout):
            return decision
        # Rare, and slower: the solver then ranks more than the best of each family.
        return solve(self.lds, tile, accesses, replace(options, is_legal=is_legal))

    def _padding_is_better(
        self, tile: LdsTile, accesses: tuple[LdsAccess, ...], conflict_cycles: int
    ) -> bool:
        """Whether rows padded within the size of stock's 64 bits conflict less."""
        stock = PaddedLayout(STOCK_PADDING_BITS // tile.element_bits)
        *_, best = padding_choices(self.lds, tile, accesses, stock.size_bytes(tile))
        return best.conflict_cycles < conflict_cycles


def _kept(reason: str, lds_bytes: int | None = None, conflicts: int | None = None) -> _Plan:
    return _Plan(reason, (), lds_bytes, conflicts, conflicts)


def _workgroup_allocations(function: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if is_workgroup_alloc(op):
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _emit(alloc: ir.Operation, swizzles: tuple[Swizzle, ...]) -> None:
    """Hints `alloc`, the first swizzle nearest to it, and lets its users use the last hint."""
    value: ir.Value = alloc.results[0]
    users = [(use.owner.operation, use.operand_number) for use in value.uses]
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


def _shown_type(alloc: ir.Operation) -> str:
    """The tensor's type without its memory space."""
    tensor = alloc.results[0].type
    if not isinstance(tensor, ir.RankedTensorType):
        return str(tensor)
    with alloc.context, alloc.location:
        return str(ir.RankedTensorType.get(tensor.shape, tensor.element_type))
