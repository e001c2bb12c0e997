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

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.errors import InvalidParameterError
from ...bank_model.issue import LayoutCosts, costs_once
from ...bank_model.layouts import PlainLayout
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.memory.copied_tiles import merge_copied_tiles
from ...dialect_utils.memory.memref_types import tile_of
from ...dialect_utils.memory.staged_tensors import accesses_of, is_workgroup_alloc
from ...dialect_utils.memory.vector_layouts import infer_vector_layouts
from ...dialect_utils.operations import operations_in
from ...dialect_utils.swizzle_hint import is_hint
from ..base import PassContext
from ..decisions import LayoutRound
from ..layout_policy import KnownTile, LayoutPolicy, PaddingBudget
from .hint_emission import emit_hints
from .swizzle_plan import SwizzlePlan, SwizzlingPass


class HintVectorAllocs(SwizzlingPass):
    """Emits swizzle hints on the workgroup allocations of staged vectors."""

    name: ClassVar[str] = "bankwise-hint-vector-allocs"
    summary: ClassVar[str] = "swizzle LDS tiles of staged vectors by their nested layouts"
    layout_round: ClassVar[LayoutRound] = LayoutRound.FIRST

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Decides on the workgroup allocations of `function` that are no copies of others."""
        merge_copied_tiles(function.operation, context.sink)
        super().run(function, context)

    def allocations_in(self, function: ir.Operation) -> list[ir.Operation]:
        """Returns the tiles in workgroup memory that are tensors."""
        return list(filter(is_workgroup_alloc, operations_in(function)))

    def swizzle(
        self,
        function: ir.Operation,
        allocations: Sequence[ir.Operation],
        policy: LayoutPolicy,
        launch: Launch,
        context: PassContext,
    ) -> list[SwizzlePlan]:
        """Emits the hints of `allocations`, and returns the decision on each of them."""
        layouts = infer_vector_layouts(function)
        plans: dict[ir.Operation, SwizzlePlan] = {}
        known: dict[ir.Operation, LayoutCosts] = {}
        for alloc in allocations:
            lds_bytes = None
            try:
                if any(is_hint(use.owner) for use in alloc.results[0].uses):
                    raise Refusal("it has a swizzle hint already")
                tile = tile_of(ir.RankedTensorType(alloc.results[0].type))
                lds_bytes = PlainLayout().size_bytes(tile)
                accesses = accesses_of(alloc, tile, layouts, launch)
                known[alloc] = costs_once(policy.lds, tile, accesses)
            except (Refusal, InvalidParameterError) as error:
                plans[alloc] = SwizzlePlan.kept(str(error), lds_bytes)
        budget = PaddingBudget(policy.lds, tuple(known.values()))
        for number, (alloc, costs) in enumerate(known.items()):
            known_tile = KnownTile(costs.tile, costs.accesses, costs=costs)
            if self.defer_to_padding:
                known_tile = known_tile._replace(padded=partial(budget.rows, number))
            lds_bytes = PlainLayout().size_bytes(costs.tile)
            try:
                unresolved = self.why_unresolved([alloc], context)
                if unresolved is not None:
                    left = costs.of(PlainLayout()).conflict_cycles
                    plans[alloc] = SwizzlePlan.kept(unresolved, lds_bytes, left)
                    continue
                plans[alloc] = SwizzlePlan.of(policy.choose(known_tile), lds_bytes)
            except InvalidParameterError as error:
                plans[alloc] = SwizzlePlan.kept(str(error), lds_bytes)
        # The layouts of all allocations are read before the first of them is touched.
        for alloc, plan in plans.items():
            if plan.swizzles:
                emit_hints(alloc.results[0], plan.swizzles)
        return [plans[alloc] for alloc in allocations]
