# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-resolve-swizzle-hints`: swizzle hints become arithmetic on access offsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from ..bank_model.swizzles import chain_period
from ..dialect_utils.access_offsets import KnownOffsets, vector_type
from ..dialect_utils.allocations import Untraceable, start_offsets
from ..dialect_utils.diagnostics import PassFailure, SourceLocation
from ..dialect_utils.flat_ldmatrix import fold_expansions_into_ldmatrix
from ..dialect_utils.gpu_target import launch_of
from ..dialect_utils.hinted_buffers import (
    BufferAccess,
    BufferGroup,
    Chain,
    group_hinted_buffers,
)
from ..dialect_utils.index_bits import IndexBits
from ..dialect_utils.index_builder import IndexBuilder
from ..dialect_utils.lane_values import LaneEvaluator
from ..dialect_utils.lds_accesses import GATHER
from ..dialect_utils.offset_terms import OffsetSplitter
from ..dialect_utils.swizzle_arithmetic import SwizzledOffsets
from ..dialect_utils.swizzle_hint import hints_in
from ..dialect_utils.swizzle_legality import (
    AccessFootprint,
    contiguous_run,
    illegality,
)
from ..dialect_utils.swizzled_accesses import AccessRewriter
from .base import FunctionPass, PassContext
from .decisions import Action, Decision
from .hint_ownership import are_hints_marked, unmark_hints


@dataclass(frozen=True)
class ResolveSwizzleHints(FunctionPass):
    """Rewrites the accesses that go through swizzle hints, and removes all hints.

    Runs on flat (rank-1) buffers, after `iree-codegen-propagate-constant-offsets`. Hints of one
    allocation, and of allocations that share a loop-carried value, are resolved or dropped
    together. A hint that cannot be resolved is dropped with a warning: the layout is then the
    plain one. Data that `amdgpu.gather_to_lds` writes through a hint is already permuted, so there
    dropping would be wrong, and the pass fails.
    """

    name: ClassVar[str] = "bankwise-resolve-swizzle-hints"
    summary: ClassVar[str] = "Resolve swizzle hints into the offsets of flat loads and stores"
    only_for_hints: ClassVar[bool] = True

    only_own: bool = False
    """Leave functions alone whose hints are not marked as ours."""

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Resolves or drops every hint in `function`.

        Raises:
            PassFailure: hints of an allocation that gather_to_lds writes cannot be resolved.
        """
        function = function.operation
        if self.only_own and not are_hints_marked(function):
            return
        with function.context:
            hints = hints_in(function)
            fold_expansions_into_ldmatrix(function)
            launch = launch_of(function)
            lanes = None if launch is None else LaneEvaluator(launch)
            bits = IndexBits(function, lanes)
            known = KnownOffsets(bits, lanes)
            groups = group_hinted_buffers(_layout_hints(hints), function)
            chains = [self._verify(group, known) for group in groups]
            builder = IndexBuilder(function)
            offsets = SwizzledOffsets(builder, bits, OffsetSplitter(builder, bits))
            rewriter = AccessRewriter(known, offsets)
            replaced: list[ir.Operation] = []
            for group, chain in zip(groups, chains, strict=True):
                if isinstance(chain, str):
                    self._report_dropped(function, context, group, chain)
                    continue
                old = rewriter.rewrite(group, chain)
                replaced += old
                self._report_resolved(function, context, group, chain, len(old))
            for operation in replaced:
                operation.erase()
            for hint in hints:
                hint.results[0].replace_all_uses_with(hint.operands[0])
                hint.erase()
            unmark_hints(function)

    def _verify(self, group: BufferGroup, known: KnownOffsets) -> Chain | str:
        """The chain of all accesses of the group, or why its hints must be dropped."""
        found = _common_chain(group)
        if not isinstance(found, str):
            found = _resolvable(group, found, known)
        if isinstance(found, str) and any(group.is_permuted(access) for access in group.accesses):
            raise PassFailure(
                group.location,
                f"{GATHER} uses swizzled memory, so all swizzle hints must resolve: {found}",
            )
        return found

    def _report_dropped(
        self, function: ir.Operation, context: PassContext, group: BufferGroup, reason: str
    ) -> None:
        kind = _allocation_text((group.roots or [group.hints[0].results[0]])[0].type)
        context.sink.warning(group.location, f"swizzle hints of {kind} dropped: {reason}")
        self._log(function, context, group, Action.DROP, reason, ())

    def _report_resolved(
        self,
        function: ir.Operation,
        context: PassContext,
        group: BufferGroup,
        chain: Chain,
        split: int,
    ) -> None:
        count = sum(not access.is_gather for access in group.accesses)
        reason = f"{count} accesses swizzled, {split} of them split"
        swizzles = ", ".join(map(str, chain))
        for root in group.roots:
            kind = _allocation_text(root.type)
            context.sink.remark(
                root.location, f"swizzle hints of {kind} resolved ({swizzles}): {reason}"
            )
        self._log(function, context, group, Action.RESOLVE, reason, chain)

    def _log(
        self,
        function: ir.Operation,
        context: PassContext,
        group: BufferGroup,
        action: Action,
        reason: str,
        chain: Chain,
    ) -> None:
        name = ir.StringAttr(function.attributes["sym_name"]).value
        for root in group.roots or [group.hints[0].results[0]]:
            context.log.add(
                Decision(
                    pass_name=self.name,
                    function=name,
                    allocation=_allocation_text(root.type),
                    location=str(SourceLocation.of(root.location) or ""),
                    action=action,
                    reason=reason,
                    detail=", ".join(map(str, chain)),
                )
            )


def _layout_hints(hints: Iterable[ir.Operation]) -> list[ir.Operation]:
    """The hints that say how memory is laid out.

    A hint that only feeds the source of gather_to_lds says how the gather was permuted; whoever
    emitted it has permuted the source offsets, and nothing is left to do.
    """
    return [
        hint
        for hint in hints
        if not (uses := list(hint.results[0].uses))
        or not all(u.owner.operation.name == GATHER and u.operand_number == 0 for u in uses)
    ]


def _common_chain(group: BufferGroup) -> Chain | str:
    """The one chain that all accesses of the group go through, or what is in the way."""
    if group.problem is not None:
        return group.problem
    chains = {group.chain(access.buffer): None for access in group.accesses}
    hinted = [chain for chain in chains if chain]
    if len(hinted) > 1:
        first, second = (" of ".join(map(str, reversed(chain))) for chain in hinted[:2])
        return f"accesses go through different swizzles: {first} and {second}"
    if hinted and () in chains:
        direct = next(a for a in group.accesses if not group.chain(a.buffer))
        return f"{direct.operation.name} uses the allocation beside its swizzle hint"
    return hinted[0] if hinted else ()


def _resolvable(group: BufferGroup, chain: Chain, known: KnownOffsets) -> Chain | str:
    """`chain` when every access of the group can be rewritten, else why not."""
    accesses = [access for access in group.accesses if not access.is_gather]
    if not accesses or not chain:
        return chain
    for hint in group.hints:
        reason = _layout_problem(hint.operands[0].type) or _start_problem(hint, chain, known.bits)
        if reason is not None:
            return reason
    run = contiguous_run(chain)
    footprints: list[AccessFootprint] = []
    for access in accesses:
        reason = _shape_problem(access, run)
        if reason is not None:
            return reason
        footprints.append(known.footprint(access, run))
    for hint in group.hints:
        shape = ir.MemRefType(hint.operands[0].type).shape[0]
        size = None if shape == ir.ShapedType.get_dynamic_size() else shape
        reason = illegality(chain, size, footprints)
        if reason is not None:
            return reason
    return chain


def _layout_problem(kind: ir.Type) -> str | None:
    """Why a buffer type is not flat and contiguous."""
    if not isinstance(kind, ir.MemRefType):
        return f"{kind} is not a ranked memref"
    if kind.rank != 1:
        return f"memref of rank {kind.rank} is not flat"
    try:
        strides, _ = kind.get_strides_and_offset()
    except (ValueError, RuntimeError):
        return f"layout {kind.layout} is not strided"
    return None if strides == [1] else f"layout {kind.layout} is not contiguous"


def _start_problem(hint: ir.Operation, chain: Chain, bits: IndexBits) -> str | None:
    """Why a hint on a part of an allocation may not mean what it means on the whole.

    Swizzles repeat: on a part that starts at a multiple of their period they are the same.
    """
    starts = start_offsets(hint.operands[0], bits)
    if isinstance(starts, Untraceable):
        return starts.reason
    period = chain_period(chain)
    for root, start in starts.items():
        if ir.MemRefType(root.type).get_strides_and_offset()[1] != 0:
            return f"it is not known where {_allocation_text(root.type)} starts"
        if not start.is_multiple_of(period):
            return (
                "a swizzle hint is on a part of an allocation that may start elsewhere than at a "
                f"multiple of the {period} elements in which the swizzle repeats"
            )
    return None


def _shape_problem(access: BufferAccess, run: int) -> str | None:
    """Why what one access moves cannot be rewritten, whatever its offset."""
    vector = vector_type(access)
    if vector is None:
        return None
    name = access.operation.name
    if vector.scalable:
        return f"{name} of scalable {vector}"
    if vector.rank != 1:
        return f"{name} of {vector}, a vector of rank {vector.rank}"
    element = ir.MemRefType(access.buffer.type).element_type
    if isinstance(element, ir.VectorType):
        return f"{name} from a memref of vectors"
    if vector.shape[0] > run and not isinstance(
        element, ir.IntegerType | ir.FloatType | ir.IndexType
    ):
        return f"{name} of {vector} would have to be split"
    return None


def _allocation_text(kind: ir.Type) -> str:
    """The type without its memory space."""
    if not isinstance(kind, ir.MemRefType):
        return str(kind)
    location = ir.Location.unknown()
    return str(ir.MemRefType.get(kind.shape, kind.element_type, kind.layout, loc=location))
