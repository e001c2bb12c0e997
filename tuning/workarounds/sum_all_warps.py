# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-sum-all-warps`: attentions by scalar instructions are summed over all warps.

Where IREE computes an attention by scalar instructions, the lanes and the warps of a workgroup
share the keys of a step. The `lane_basis` of each contraction says how many lanes there are along
the keys, and its `subgroup_basis` how many warps:

    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{thread = [4, 0],
      lane_basis = [[1, 1, 4], [1, 2]], subgroup_basis = [[1, 1, 8], [1, 2]]}>}

Each warp sums its keys, and writes the sum to workgroup memory. Behind a barrier the lanes along
the keys read the sums, one each, and add them up. Where there are fewer of these lanes than warps,
IREE 3.13 lets nobody read the sums of the other warps: a head of 260 in f32 leaves four lanes along
the keys, whose eight warps become one in the output.

This pass takes as many warps as there are such lanes. A step has as many keys as before.

Runs on the configured function, before its pipeline.

This works around IREE 3.13 (`docs/for_iree.md#attention-with-a-large-head-in-f32`).
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.indexing_maps import loops_of
from ...dialect_utils.lowering_config import (
    BASIS,
    LANE_BASIS,
    TRANSLATION_INFO,
    WarpLaunch,
    basis_attribute,
    basis_of,
)
from ...passes.base import FunctionPass, PassContext
from ..attention.attention_tiles import (
    DECOMPOSITION,
    OUTPUTS,
    SCORES,
    K,
    Q,
    V,
    contractions_of,
    decomposition_of,
)
from ..attention.scalar_attention import scalar_operation

Bases = dict[str, tuple[list[int], tuple[int, ...]]]
"""By contraction: how many warps there are by places, and the place of each of its loops."""


class SumAllWarps(FunctionPass):
    """Takes no more warps along a summed loop than there are lanes along it."""

    name: ClassVar[str] = "bankwise-sum-all-warps"
    summary: ClassVar[str] = "take no more warps along the keys than lanes read the sums of"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether an attention of `function` has more warps along a summed loop."""
        operation = scalar_operation(function.operation)
        return operation is not None and _fitting(operation) is not None

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Changes the warps; never fails."""
        function = function.operation
        operation = scalar_operation(function)
        bases = None if operation is None else _fitting(operation)
        if operation is None or bases is None:
            return
        here = operation.context
        contractions = {
            name: each.with_entries(**{BASIS: basis_attribute(*bases[name], here)})
            for name, each in contractions_of(operation).items()
        }
        launch = WarpLaunch.of(function)
        warps = prod(bases[OUTPUTS][0])
        operation.attributes[DECOMPOSITION] = decomposition_of(contractions, here)
        function.attributes[TRANSLATION_INFO] = launch.with_warps(warps)
        text = f"IREE would lose the sums of some of {launch.warps} warps: it gets {warps}"
        context.sink.remark(operation.location, text)


def _fitting(operation: ir.Operation) -> Bases | None:
    """Returns bases of warps whose sums are all read; None where those that are there are."""
    q, k, v, output = (frozenset(each) for each in _operand_loops(operation))
    own = {SCORES: q | k, OUTPUTS: v | output}
    summed = {SCORES: (q & k) - output, OUTPUTS: (k & v) - output}
    try:
        contractions = contractions_of(operation)
        bases: Bases = {}
        most: dict[int, int] = {}
        for name, loops in own.items():
            counts, order = basis_of(contractions[name])
            lanes, places = basis_of(contractions[name], LANE_BASIS)
            bases[name] = ([*counts], order)
            for loop, place in zip(sorted(loops), places, strict=True):
                if loop in summed[name]:
                    most[loop] = min(lanes[place], most.get(loop, lanes[place]))
    except (Refusal, ValueError, IndexError):
        return None
    changes = False
    for name, loops in own.items():
        counts, order = bases[name]
        for loop, place in zip(sorted(loops), order, strict=True):
            if loop in most and counts[place] > most[loop]:
                counts[place], changes = most[loop], True
    return bases if changes else None


def _operand_loops(operation: ir.Operation) -> list[tuple[int, ...]]:
    """Returns the loops that index Q, K, V and the output."""
    maps = loops_of(operation)
    return [*(maps[each] for each in (Q, K, V)), maps[-3]]
