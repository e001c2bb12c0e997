# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-sum-all-warps`: attentions by scalar instructions, and rows, are summed over all warps.

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

So it is with other sums, where IREE shares a short loop among warps and no lanes, as for rows of
32x5 on GPUs with warps of 32 lanes:

    linalg.generic ... {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 1, 5],
      lane_basis = [[1, 1, 1], [0, 1, 2]], subgroup_basis = [[1, 1, 5], [0, 1, 2]], ...}>}

Runs on the configured function, before its pipeline.

This works around IREE 3.13 (`docs/for_iree.md#attention-with-a-large-head-in-f32`).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.indexing_maps import GENERIC, loops_of, summed_loops
from ...dialect_utils.lowering_config import (
    BASIS,
    CONFIG,
    LANE_BASIS,
    TRANSLATION_INFO,
    LoweringConfig,
    WarpLaunch,
    basis_attribute,
    basis_of,
)
from ...dialect_utils.operations import operations_in
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

Basis = tuple[LoweringConfig, list[int], tuple[int, ...]]
"""A configuration, how many warps there are by places in it, and the place of each loop."""
Bases = dict[str, tuple[list[int], tuple[int, ...]]]
"""By contraction: how many warps there are by places, and the place of each of its loops."""


class SumAllWarps(FunctionPass):
    """Takes no more warps along a summed loop than there are lanes along it."""

    name: ClassVar[str] = "bankwise-sum-all-warps"
    summary: ClassVar[str] = "take no more warps along the keys than lanes read the sums of"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether an operation of `function` has more warps along a summed loop."""
        operation = scalar_operation(function.operation)
        if operation is None:
            return bool(_fitting_sums(function.operation))
        return _fitting(operation) is not None

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Changes the warps; never fails."""
        function = function.operation
        operation = scalar_operation(function)
        if operation is None:
            _fit_sums(function, context)
            return
        bases = _fitting(operation)
        if bases is None:
            return
        here = operation.context
        contractions = {
            name: each.with_entries(**{BASIS: basis_attribute(*bases[name], here)})
            for name, each in contractions_of(operation).items()
        }
        operation.attributes[DECOMPOSITION] = decomposition_of(contractions, here)
        _launch(function, [operation], prod(bases[OUTPUTS][0]), context)


def _launch(
    function: ir.Operation, losing: Iterable[ir.Operation], warps: int, context: PassContext
) -> None:
    """Gives the workgroups of a function fewer warps, some of whose sums operations would lose."""
    launch = WarpLaunch.of(function)
    function.attributes[TRANSLATION_INFO] = launch.with_warps(warps)
    text = f"IREE would lose the sums of some of {launch.warps} warps: it gets {warps}"
    for operation in losing:
        context.sink.remark(operation.location, text)


def _fit_sums(function: ir.Operation, context: PassContext) -> None:
    """Gives all sums of a function bases of warps whose sums are all read."""
    found = _fitting_sums(function)
    losing = [
        each for each, (config, counts, _) in found.items() if counts != [*basis_of(config)[0]]
    ]
    for operation, (config, counts, order) in found.items():
        basis = basis_attribute(counts, order, function.context)
        operation.attributes[CONFIG] = config.with_entries(**{BASIS: basis}).attribute(
            function.context
        )
    if losing:
        _, counts, _ = next(iter(found.values()))  # All have one number of warps.
        _launch(function, losing, prod(counts), context)


def _fitting_sums(function: ir.Operation) -> dict[ir.Operation, Basis]:
    """Returns bases of warps for all configured operations of a function that has too many warps
    along a summed loop; none where it has not, or where they would not have one number of warps."""
    found: dict[ir.Operation, Basis] = {}
    changes = False
    try:
        for operation in operations_in(function):
            if CONFIG not in operation.attributes:
                continue
            config = LoweringConfig.of(operation.attributes[CONFIG])
            if BASIS not in config.entries:
                continue
            counts, order = basis_of(config)
            lanes, places = basis_of(config, LANE_BASIS)
            fewer = [*counts]
            for loop in summed_loops(operation) if operation.name == GENERIC else ():
                fewer[order[loop]] = min(counts[order[loop]], lanes[places[loop]])
            changes |= fewer != [*counts]
            found[operation] = (config, fewer, order)
        if changes:
            WarpLaunch.of(function)
    except Refusal:
        return {}
    is_one = len({prod(fewer) for _, fewer, _ in found.values()}) == 1
    return found if changes and is_one else {}


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
