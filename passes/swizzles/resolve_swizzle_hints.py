# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-resolve-swizzle-hints`: swizzle hints become arithmetic on access offsets.

Part of it works around IREE 3.13 (`docs/for_iree.md#the-period-of-xor_shuffle`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.errors import InvalidParameterError
from ...bank_model.layouts import PlainLayout, layout_conflicts
from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.gpu_target import launch_of, lds_model
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.index_builder import IndexBuilder
from ...dialect_utils.index.lane_values import LaneEvaluator
from ...dialect_utils.memory.allocation_traces import AllocationTraces
from ...dialect_utils.memory.flow import is_lds_allocation
from ...dialect_utils.memory.lds_ops import GATHER
from ...dialect_utils.memory.memref_types import lds_bytes, shown_type
from ...dialect_utils.operations import defining_operation
from ...dialect_utils.swizzle_hint import Chain, hints_in, remove_hints
from ..base import DroppedHints, PassContext
from ..decisions import Action, LayoutRound
from .access_offsets import KnownOffsets
from .flat_accesses import fold_views_into_accesses
from .hint_ownership import HintPass, unmark_hints
from .hint_resolution import (
    PlacedAccess,
    check_one_layout,
    read_of_another_layout,
    resolvable_accesses,
)
from .hinted_buffers import BufferGroup, group_hinted_buffers
from .offset_terms import OffsetSplitter
from .swizzle_arithmetic import SwizzledOffsets
from .swizzled_accesses import AccessRewriter, RewrittenAccesses


@dataclass(frozen=True)
class ResolveSwizzleHints(HintPass):
    """Rewrites the accesses that go through swizzle hints, and removes all hints.

    Runs on flat (rank-1) buffers, after `iree-codegen-propagate-constant-offsets`. Each access is
    rewritten by the hints that it goes through, as the documentation of the op has it: what
    accesses the same memory through other hints, or through none, is no concern of theirs. Hints of
    one allocation, and of allocations that share a loop-carried value, are resolved or dropped
    together. A hint that cannot be resolved is dropped with a warning: the layout is then the plain
    one. Data that `amdgpu.gather_to_lds` writes through a hint is already permuted, so there
    dropping would be wrong, and the pass fails.
    """

    name: ClassVar[str] = "bankwise-resolve-swizzle-hints"
    summary: ClassVar[str] = "Resolve swizzle hints into the offsets of flat loads and stores"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    one_layout: bool = False
    """Drop the hints of memory with more than one layout, which hints of ours never give it."""

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Resolves or drops every hint in `function`.

        Raises:
            PassFailure: hints of an allocation that gather_to_lds writes cannot be resolved.
        """
        function = function.operation
        if not self.is_for(function):
            return
        with function.context:
            hints = hints_in(function)
            fold_views_into_accesses(function)
            launch = launch_of(function, context.test_target)
            lanes = None if launch is None else LaneEvaluator(launch)
            bits = IndexBits(function, lanes)
            known = KnownOffsets(bits, lanes)
            groups = group_hinted_buffers(_layout_hints(hints), function)
            judged = [self._resolvable(group, known) for group in groups]
            builder = IndexBuilder(function)
            offsets = SwizzledOffsets(builder, bits, OffsetSplitter(builder, bits))
            rewriter = AccessRewriter(known, offsets)
            replaced: list[ir.Operation] = []
            for group, accesses in zip(groups, judged, strict=True):
                if isinstance(accesses, Refusal):
                    self._report_dropped(function, context, group, accesses.reason)
                    continue
                self._warn_of_mixtures(context, group)
                done = rewriter.rewrite(group, accesses)
                replaced += done.replaced
                self._report_resolved(function, context, group, done)
            for operation in replaced:
                operation.erase()
            remove_hints(hints)
            unmark_hints(function)

    def _resolvable(
        self, group: BufferGroup, known: KnownOffsets
    ) -> Sequence[PlacedAccess] | Refusal:
        """Returns the accesses to be rewritten, or why the group's hints must be dropped."""
        # There is no plain layout to fall back to, and the hints can do without the rest.
        apart = group.hints_apart and group.is_permuted_by_gathers and not self.one_layout
        try:
            if group.problem is not None and not apart:
                raise group.problem
            if self.one_layout:
                check_one_layout(group, known.bits)
            return resolvable_accesses(group, known)
        except Refusal as refusal:
            if group.is_permuted_by_gathers:
                raise PassFailure(
                    group.location,
                    f"{GATHER} uses swizzled memory, so all swizzle hints must resolve: {refusal}",
                ) from refusal
            return refusal

    def _warn_of_mixtures(self, context: PassContext, group: BufferGroup) -> None:
        mixture = read_of_another_layout(group)
        if mixture is None:
            return
        load, chain = mixture
        context.sink.warning(
            load.operation.location,
            f"{load.operation.name} reads {shown_type(load.buffer.type)} "
            f"{_through(chain)}, and nothing writes it so: what it reads is undefined by the "
            "documentation of iree_codegen.swizzle_hint, and is here what lies there in memory",
        )

    def _report_dropped(
        self, function: ir.Operation, context: PassContext, group: BufferGroup, reason: str
    ) -> None:
        memory = group.memory
        dropped = DroppedHints(
            group.location,
            shown_type(memory[0].type),
            reason,
            frozenset(str(each.location) for each in group.hints),
            frozenset(str(each.location) for each in memory),
        )
        context.dropped.append(dropped)
        context.sink.warning(group.location, str(dropped))
        for root, left in zip(
            memory, self._plain_conflicts(function, context, memory), strict=True
        ):
            kind = root.type
            size = lds_bytes(kind) if isinstance(kind, ir.MemRefType) else None
            self.record(
                context,
                function,
                root,
                Action.DROP,
                reason,
                lds_bytes_before=size,
                lds_bytes_after=size,
                conflict_cycles_before=left,
                conflict_cycles_after=left,
            )

    def _plain_conflicts(
        self, function: ir.Operation, context: PassContext, memory: Sequence[ir.Value]
    ) -> list[int | None]:
        """Returns the conflict cycles of memory in its plain layout; None where they are not known.

        What may access several allocations counts with the first.
        """
        found: list[int | None] = []
        counted: set[ir.Operation] = set()
        for root in memory:
            try:
                lds, launch = lds_model(function, context.test_target)
                allocation = defining_operation(root)
                if not is_lds_allocation(allocation):
                    raise Refusal("no LDS allocation")
                traces = AllocationTraces(function, LaneEvaluator(launch))
                traced = traces.written(allocation)
                if traced.unknown or traced.uncounted:
                    raise Refusal("an access is not known")
                accesses = traces.counted(allocation, counted)
                found.append(layout_conflicts(lds, traced.tile, PlainLayout(), accesses))
            except (Refusal, InvalidParameterError):
                found.append(None)
        return found

    def _report_resolved(
        self,
        function: ir.Operation,
        context: PassContext,
        group: BufferGroup,
        done: RewrittenAccesses,
    ) -> None:
        split = len(done.replaced) - done.checked
        reason = f"{done.swizzled} accesses swizzled, {split} of them split"
        if done.checked:
            reason += f", {done.checked} checked at run time for where they begin"
        swizzles = " and ".join(", ".join(map(str, chain)) for chain in group.chains)
        for root in group.roots:
            kind = shown_type(root.type)
            context.sink.remark(
                root.location, f"swizzle hints of {kind} resolved ({swizzles}): {reason}"
            )
        for root in group.memory:
            self.record(context, function, root, Action.RESOLVE, reason, detail=swizzles)


def _layout_hints(hints: Iterable[ir.Operation]) -> list[ir.Operation]:
    """Returns the hints that say how memory is laid out.

    A hint that only feeds the source of gather_to_lds says how the gather was permuted; whoever
    emitted it has permuted the source offsets, and nothing is left to do.
    """
    return [
        hint
        for hint in hints
        if not (uses := list(hint.results[0].uses))
        or not all(u.owner.operation.name == GATHER and u.operand_number == 0 for u in uses)
    ]


def _through(chain: Chain) -> str:
    if not chain:
        return "without a hint"
    return f"through {' of '.join(map(str, reversed(chain)))}"
