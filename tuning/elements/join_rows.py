# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets warps that reduce a row each share a workgroup.

IREE gives each row of a reduction, such as a layer norm of 3072 rows, a workgroup of one warp:

    subgroup_basis = [[1, 1], [0, 1]], workgroup = [1, 0]

A multiprocessor holds 32 workgroups, so that half of its warps are missing, and so are the bytes
that they would have under way. This pass gives a workgroup 8 rows and 8 warps:

    subgroup_basis = [[8, 1], [0, 1]], workgroup = [8, 0]

Where what is computed of the sums is written across the rows, it has so many that they fill sectors
of 32 bytes, and a warp has some of them: f16 8x3136x96, written as 8x96x3136, takes 0.34 times as
long on an H100 with 16 rows and 4 warps, and 0.98 times with 4 and 4. Rows of more than 64 elements
a lane keep a workgroup each: RMS norms of 4096x4096 f16 take 1.08 times as long on an H200 with 8
rows, and those of 4096x2048 as long as before.

Each warp reduces a row as before: outputs are bitwise the same.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.indexing_maps import GENERIC, loops_of, summed_loops
from ...dialect_utils.lowering_config import (
    BASIS,
    CONFIG,
    MMA_KIND,
    PARTIAL,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    basis_attribute,
    basis_of,
    only_root,
)
from ...dialect_utils.operations import operands_with, operations_in
from ...passes.base import PassContext
from ..costs.processors import processor_of
from ..tiles.planned_pass import NewTile, PlannedPass
from ..tiles.tiled_operation import loop_sizes
from .row_loops import indexed, loops_along

_WARPS, _FEW_WARPS = (8, 4, 2), 4
_MOST_ELEMENTS = 64
"""How many a lane has at most of a row that shares a workgroup."""
_SECTOR_BITS = 256


class JoinRows(PlannedPass["_JoinedRows"]):
    """Gives a workgroup several rows of a reduction, and a warp to each."""

    name: ClassVar[str] = "bankwise-join-rows"
    summary: ClassVar[str] = "let warps that reduce a row each share a workgroup"
    what_stays: ClassVar[str] = "a workgroup keeps its row"
    kept: ClassVar[str] = "rows in workgroups of one warp"

    def _plan(self, function: ir.Operation, context: PassContext) -> _JoinedRows | None:
        return _planned(function, context.test_target)

    def _take(self, function: ir.Operation, context: PassContext, plan: _JoinedRows) -> NewTile:
        plan.configure(function)
        reason = f"{plan.height} rows for {plan.warps} warps"
        return plan.root, f"{plan.height} rows", reason


class _JoinedRows(NamedTuple):
    """A reduction and what is computed with it.

    Attributes:
        root: the reduction.
        rows: the loop over rows of it and of all other configured operations.
        launch: how it is launched.
        warps: how many warps a workgroup gets.
        height: how many rows it gets.
    """

    root: ir.Operation
    rows: Mapping[ir.Operation, int]
    launch: WarpLaunch
    warps: int
    height: int

    def configure(self, function: ir.Operation) -> None:
        """Gives the operations and the function their warps."""
        context = function.context
        for operation, loop in self.rows.items():
            config = LoweringConfig.of(operation.attributes[CONFIG])
            counts, order = basis_of(config)
            shared = [self.warps if n == loop else each for n, each in enumerate(counts)]
            config = config.with_entries(**{BASIS: basis_attribute(shared, order, context)})
            if operation == self.root:
                tiles = {WORKGROUP: {loop: self.height}}
                config = config.with_tiles(len(counts), tiles, context)
            operation.attributes[CONFIG] = config.attribute(context)
        function.attributes[TRANSLATION_INFO] = self.launch.with_warps(self.warps)


def _planned(function: ir.Operation, test_target: str | None) -> _JoinedRows | None:
    """Returns the reduction of a function whose workgroups have one row and one warp.

    None stands for another function, or for few rows.

    Raises:
        Refusal: something is not understood.
    """
    features, root = gpu_features_of(function, test_target), only_root(function)
    if not features.mma_sync or (processor := processor_of(features.arch)) is None:
        return None
    if root is None or root.name != GENERIC or not summed_loops(root):
        return None
    launch = WarpLaunch.as_row(function)
    config = LoweringConfig.of(root.attributes[CONFIG])
    if launch.warps != 1 or PARTIAL not in config.entries or MMA_KIND in config.entries:
        return None
    tiles, summed = config.numbers(WORKGROUP), summed_loops(root)
    if any(tiles[loop] != (0 if loop in summed else 1) for loop in range(len(tiles))):
        return None
    sizes = ir.ShapedType(root.results[0].type).shape
    places = [place for place, size in enumerate(sizes) if size > 1]
    if not places or not _sums_whole_tensors(root):
        return None
    rows = _rows(function, root, loops_of(root)[-1][places[-1]])
    count, sector = sizes[places[-1]], _sector_of_rows(rows)
    if sector > 1:
        if count % sector:
            raise Refusal(f"{count} rows are written across, and are no multiple of {sector}")
        return _JoinedRows(root, rows, launch, min(sector, _FEW_WARPS), sector)
    if prod(_summed_sizes(root)) > _MOST_ELEMENTS * launch.warp_size:
        raise Refusal("its rows are long")
    least = processor.multiprocessors
    most = [each for each in _WARPS if count % each == 0 and prod(sizes) >= each * least]
    if not most:
        raise Refusal(f"{count} rows are not shared evenly")
    return _JoinedRows(root, rows, launch, most[0], most[0])


def _sums_whole_tensors(root: ir.Operation) -> bool:
    """Returns whether what a reduction sums is read once, unlike the vector that a matrix takes."""
    summed = summed_loops(root)
    *inputs, result = loops_of(root)
    return all({*dims} == {*result} | summed for dims in inputs if summed & {*dims})


def _summed_sizes(root: ir.Operation) -> list[int]:
    """Returns how long the loops are along which a reduction sums."""
    sizes = loop_sizes(root, loops_of(root), range(len(root.operands)))
    return [sizes[loop] for loop in summed_loops(root)]


def _sector_of_rows(rows: Mapping[ir.Operation, int]) -> int:
    """Returns how many rows have a sector of a result whose neighbours are of several rows.

    It is 1 where the neighbours of all results are of one row.
    """
    found = [1]
    for operation, loop in rows.items():
        for result, dims in [*indexed(operation)][-len(operation.results) :]:
            is_stored = any(user.name != GENERIC for user, _ in operands_with(result))
            if is_stored and dims and dims[-1] == loop and not summed_loops(operation):
                bits = element_bits(ir.ShapedType(result.type).element_type) or _SECTOR_BITS
                found.append(_SECTOR_BITS // bits)
    return max(found)


def _rows(function: ir.Operation, root: ir.Operation, loop: int) -> dict[ir.Operation, int]:
    """Returns the loop over rows of each configured operation of a function.

    Args:
        loop: that of `root`.

    Raises:
        Refusal: it is not known.
    """
    found = loops_along(root, loop)
    configured = [each for each in operations_in(function) if CONFIG in each.attributes]
    for each in configured:
        if each not in found:
            raise Refusal(f"{each.name} has other rows", each.location)
        counts, order = basis_of(LoweringConfig.of(each.attributes[CONFIG]))
        if {*counts} != {1} or order != tuple(range(len(counts))):
            raise Refusal("its warps are not understood", each.location)
    return {each: found[each] for each in configured}
