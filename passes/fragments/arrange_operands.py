# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-arrange-operands`: tiles lie in the LDS as the descriptors of `wgmma` have them.

    %a = memref.alloc() : memref<64x128xf16>          %a = memref.alloc() : memref<2x64x64xf16>
    vector.store %v, %a[%r, %c]                       %h = swizzle_hint %a[<64, 8, 64, 1>]
    %b = nvgpu.ldmatrix %a[%i, %j]              ->    vector.store %v, %h[%c / 64, %r, %c mod 64]
    ... = nvgpu.mma.sync(%x, %b, ...)                 %b = nvgpu.ldmatrix %h[%j / 64, %i, %j mod 64]

A descriptor gives rows of at most 128 bytes, which its swizzle moves (`descriptor_tiles.py`). Rows
of more bytes are cut into blocks. So far nothing but addresses has changed.
`bankwise-form-wgmma` decides later, from the final addresses, whether a descriptor gives the
operands; where it does not, `ldmatrix` reads them from where they lie.

A tile is arranged where its contractions would make groups of `wgmma` then (`wgmma_groups.py`), and
where each access to it stays within a block. Runs behind `bankwise-form-ldmatrix`, and before the
other layouts are chosen, for GPUs with `descriptor_tiles` (sm_90a).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.descriptor_tiles import ArrangedTile
from ...dialect_utils.builders import Builder
from ...dialect_utils.described_tiles import note_arranged
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.lane_values import LaneEvaluator, Unknown
from ...dialect_utils.memory.flow import Use, is_hinted, lds_allocations, uses_of
from ...dialect_utils.memory.lds_ops import LDMATRIX, footprint_of
from ...dialect_utils.memory.memref_types import (
    has_identity_layout,
    row_major_type,
    shown_type,
    type_of,
    whole_element_bits,
)
from ...dialect_utils.operations import operands_with, redirect
from ..base import FunctionPass, PassContext
from ..decisions import Action
from ..swizzles.hint_emission import emit_hints
from ..swizzles.hint_ownership import mark_hints
from .contraction_order import ContractionOrder
from .wgmma_groups import GroupPlanner, may_form_groups

_MOVED = frozenset({"vector.load", "vector.store", "memref.load", "memref.store", LDMATRIX})


@dataclass(frozen=True)
class ArrangeOperands(FunctionPass):
    """Gives tiles that `wgmma` can read the layout of its descriptors.

    Attributes:
        chosen_only: leave functions alone whose tile was not chosen for `wgmma`.
    """

    name: ClassVar[str] = "bankwise-arrange-operands"
    summary: ClassVar[str] = "lay out tiles as the descriptors of wgmma have them"

    chosen_only: bool = False

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` multiplies matrices on a GPU whose units read tiles."""
        return may_form_groups(function, None, chosen_only=self.chosen_only)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Arranges the tiles for which it is proven; never fails."""
        function = function.operation
        if not may_form_groups(function, context.test_target, chosen_only=self.chosen_only):
            return
        with function.context:
            tiles = {
                allocation: tile
                for allocation in lds_allocations(function)
                if (tile := _arranged(allocation)) is not None
            }
            try:
                planner = GroupPlanner.of(function, context.test_target, tiles)
            except Refusal:
                return
            read: dict[ir.Operation, None] = {}
            for segment in planner.segments():
                stages = planner.plan(ContractionOrder.of(segment)).values()
                runs = (run for groups in stages for group in groups for run in group.runs)
                read |= dict.fromkeys(run.allocation for run in runs)
            evaluator = planner.prover.evaluator
            for allocation in read:
                if allocation in tiles:
                    self._arrange(function, allocation, tiles[allocation], evaluator, context)

    def _arrange(
        self,
        function: ir.Operation,
        allocation: ir.Operation,
        tile: ArrangedTile,
        evaluator: LaneEvaluator,
        context: PassContext,
    ) -> None:
        memory, kind = allocation.results[0], shown_type(type_of(allocation))
        try:
            uses = [_moved_use(each, tile, evaluator) for each in uses_of(memory)]
        except Refusal as refusal:
            context.sink.remark(memory.location, f"{kind} is not arranged for wgmma: {refusal}")
            return
        if tile.columns > tile.width:
            allocation, memory = _in_blocks(allocation, tile, uses)
        emit_hints(memory, [tile.swizzle])
        note_arranged(allocation, function)
        mark_hints(function)
        reason = f"a descriptor of wgmma has its rows in the {tile.mode}"
        blocks = tile.columns // tile.width
        cut = f"{blocks} blocks of {tile.width} columns" if blocks > 1 else "one block"
        detail = f"{cut}, {tile.swizzle}"
        context.sink.remark(memory.location, f"{kind} is arranged in {detail}: {reason}")
        self.record(context, function, memory, Action.HINT, reason, detail=detail)


def _arranged(allocation: ir.Operation) -> ArrangedTile | None:
    """Returns how an allocation would be arranged; None for one that has another layout already."""
    kind = type_of(allocation)
    bits = whole_element_bits(kind.element_type)
    if bits is None or not kind.has_static_shape or kind.rank < 2 or is_hinted(allocation):
        return None
    if not has_identity_layout(kind):
        return None
    return ArrangedTile.of(prod(kind.shape[:-1]), kind.shape[-1], bits // 8)


def _moved_use(use: Use, tile: ArrangedTile, evaluator: LaneEvaluator) -> Use:
    """Returns a use of a tile if its indices can be those of blocks.

    Raises:
        Refusal: they cannot, or an access may leave its block.
    """
    if use.user.name not in _MOVED:
        raise Refusal(f"{use.user.name} uses it")
    footprint = footprint_of(use.user, use.number)
    extent = footprint.extents[-1]
    column = evaluator.evaluate(footprint.indices[-1])
    if isinstance(column, Unknown):
        raise Refusal(f"a column depends on the {column.reason}")
    inside = column.values % tile.width
    is_inside = (column.values >= 0).all() and (column.values < tile.columns).all()
    if not is_inside or (inside + extent > tile.width).any():
        raise Refusal("an access may leave its block of columns")
    return use


def _in_blocks(
    allocation: ir.Operation, tile: ArrangedTile, uses: Sequence[Use]
) -> tuple[ir.Operation, ir.Value]:
    """Gives an allocation a first dimension of blocks, and its accesses the indices for that."""
    kind = type_of(allocation)
    shape = (tile.columns // tile.width, *kind.shape[:-1], tile.width)
    new = Builder.before(allocation).like(allocation, [], [row_major_type(kind, shape)])
    for use in uses:
        at, user = Builder.before(use.user), use.user
        operands = list(user.operands)
        indices = operands[use.number + 1 : use.number + 1 + kind.rank]
        block = at.apply(f"d0 floordiv {tile.width}", indices[-1])
        inside = at.apply(f"d0 mod {tile.width}", indices[-1])
        behind = operands[use.number + 1 + kind.rank :]
        moved = [
            *operands[: use.number],
            new.results[0],
            block,
            *indices[:-1],
            inside,
            *behind,
        ]
        copy = at.like(user, moved)
        for old, result in zip(user.results, copy.results, strict=True):
            old.replace_all_uses_with(result)
        user.erase()
    for use in operands_with(allocation.results[0]):
        redirect([use], new.results[0])
    allocation.erase()
    return new, new.results[0]
