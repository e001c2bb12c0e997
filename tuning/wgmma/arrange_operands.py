# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-arrange-operands`: tiles lie in the LDS as the descriptors of `wgmma` have them.

    %a = memref.alloc() : memref<64x128xf16>          %a = memref.alloc() : memref<2x64x64xf16>
    vector.store %v, %a[%r, %c]                       %h = swizzle_hint %a[<64, 8, 64, 1>]
    %b = nvgpu.ldmatrix %a[%i, %j]              ->    vector.store %v, %h[%c / 64, %r, %c mod 64]
    ... = nvgpu.mma.sync(%x, %b, ...)                 %b = nvgpu.ldmatrix %h[%j / 64, %i, %j mod 64]

A descriptor gives rows of at most 128 bytes, which its swizzle moves (`descriptor_tiles.py`). Rows
of more bytes are cut into blocks. What 128 bytes do not divide becomes a tile of its own, in blocks
of 64 and 32 bytes, so that `cp.async` writes as much in a cycle as it can: f16 24x2048x112 takes
0.76 times as long on an H200 with blocks of 64, 32 and 16 columns as with seven blocks of 16.

So far nothing but addresses has changed. `bankwise-form-wgmma` decides later, from the final
addresses, whether a descriptor gives the operands; where it does not, `ldmatrix` reads them from
where they lie.

A tile is arranged where its contractions would make groups of `wgmma` then (`wgmma_groups.py`), and
where each access to it stays within a block. Runs behind `bankwise-form-ldmatrix`, and before the
other layouts are chosen, for GPUs with `descriptor_tiles` (sm_90a).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.descriptor_tiles import ArrangedPart, ArrangedTile
from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder
from ...dialect_utils.described_tiles import note_arranged
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.lane_values import LaneEvaluator
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
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import Action
from ...passes.swizzles.hint_emission import emit_hints
from ...passes.swizzles.hint_ownership import mark_hints
from ..costs.copy_layouts import LEAST_ASYNC_BYTES
from ..fragments.contraction_order import ContractionOrder
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
            try:
                planner = GroupPlanner.of(function, context.test_target)
            except Refusal:
                return
            evaluator = planner.prover.evaluator
            tiles = {
                allocation: tile
                for allocation in lds_allocations(function)
                if (tile := _arranged(allocation, evaluator)) is not None
            }
            planner.prover.arranged = tiles
            read: dict[ir.Operation, None] = {}
            for segment in planner.segments():
                stages = planner.plan(ContractionOrder.of(segment)).values()
                runs = (run for groups in stages for group in groups for run in group.runs)
                read |= dict.fromkeys(run.allocation for run in runs)
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
            parts = _parts_of_uses(memory, tile, evaluator)
        except Refusal as refusal:
            context.sink.remark(memory.location, f"{kind} is not arranged for wgmma: {refusal}")
            return
        for part, uses in parts.items():
            of_part = _in_blocks(allocation, tile, part, uses)
            memory = of_part.results[0]
            emit_hints(memory, [part.swizzle])
            note_arranged(of_part, function)
            mark_hints(function)
            reason = f"a descriptor of wgmma has its rows in the {part.mode}"
            cut = (
                f"{part.blocks} blocks of {part.width} columns" if part.blocks > 1 else "one block"
            )
            detail = f"{cut}, {part.swizzle}"
            of = f"columns {part.first} to {part.first + part.columns - 1} of " * (len(parts) > 1)
            text = f"{of}{kind} is arranged in {detail}: {reason}"
            context.sink.remark(memory.location, text)
            self.record(context, function, memory, Action.HINT, reason, detail=detail)


def _arranged(allocation: ir.Operation, evaluator: LaneEvaluator) -> ArrangedTile | None:
    """Returns how an allocation would be arranged; None for one that has another layout already.

    It has several parts only where each access stays within one of them, and no lane copies single
    elements.
    """
    kind = type_of(allocation)
    bits = whole_element_bits(kind.element_type)
    if bits is None or not kind.has_static_shape or kind.rank < 2 or is_hinted(allocation):
        return None
    if not has_identity_layout(kind):
        return None
    size = prod(kind.shape[:-1]), kind.shape[-1], bits // 8
    tile = ArrangedTile.of(*size)
    if tile is None or len(tile.parts) == 1:
        return tile
    try:
        _parts_of_uses(allocation.results[0], tile, evaluator)
    except Refusal:
        return ArrangedTile.in_one_mode(*size)
    return tile


def _parts_of_uses(
    memory: ir.Value, tile: ArrangedTile, evaluator: LaneEvaluator
) -> dict[ArrangedPart, list[Use]]:
    """Returns the uses of a tile by the parts that they access, the parts in their order.

    What accesses nothing, such as `memref.dealloc`, is no use.

    Raises:
        Refusal: the indices of a use cannot be those of blocks, or an access may leave its block.
    """
    parts: dict[ArrangedPart, list[Use]] = {part: [] for part in tile.parts}
    for use in uses_of(memory):
        parts[_part_of_use(use, tile, evaluator)].append(use)
    return parts


def _part_of_use(use: Use, tile: ArrangedTile, evaluator: LaneEvaluator) -> ArrangedPart:
    """Returns the part of a tile that a use accesses, in all lanes.

    Raises:
        Refusal: there is none, or an access may leave its block.
    """
    if use.user.name not in _MOVED:
        raise Refusal(f"{use.user.name} uses it")
    footprint = footprint_of(use.user, use.number)
    extent = footprint.extents[-1]
    is_narrow = extent * tile.parts[0].element_bytes < LEAST_ASYNC_BYTES
    if is_narrow and len(tile.parts) > 1:
        raise Refusal("a lane copies single elements, for which one mode has no conflicts")
    column = evaluator.known(footprint.indices[-1], "a column")
    least, most = column.values.min(), column.values.max()
    for part in tile.parts:
        if part.first <= least and most < part.first + part.columns:
            inside = (column.values - part.first) % part.width
            if (inside + extent <= part.width).all():
                return part
    raise Refusal("an access may leave its block of columns")


def _in_blocks(
    allocation: ir.Operation, tile: ArrangedTile, part: ArrangedPart, uses: Sequence[Use]
) -> ir.Operation:
    """Gives a part of a tile an allocation of its own, with a first dimension of its blocks.

    It has none where the tile is one block. The last part takes the place of the tile.

    Returns:
        the allocation of the part.
    """
    if tile.columns == part.width:
        return allocation
    kind = type_of(allocation)
    shape = (part.blocks, *kind.shape[:-1], part.width)
    new = Builder.before(allocation).like(allocation, [], [row_major_type(kind, shape)])
    for use in uses:
        at, user = Builder.before(use.user), use.user
        operands = list(user.operands)
        indices = operands[use.number + 1 : use.number + 1 + kind.rank]
        inner = f"d0 - {part.first}"
        block = at.apply(f"({inner}) floordiv {part.width}", indices[-1])
        inside = at.apply(f"({inner}) mod {part.width}", indices[-1])
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
    if part == tile.parts[-1]:
        for use in operands_with(allocation.results[0]):
            redirect([use], new.results[0])
        allocation.erase()
    return new
