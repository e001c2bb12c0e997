# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets workgroups of several warps move and compute elements.

IREE gives each warp of an elementwise operation, a transpose or a copy a workgroup of its own:

    workgroup_size = [32, 1, 1], {thread = [4], workgroup = [128]}

A multiprocessor holds 32 workgroups, so that half of its warps are missing, and each reads a few
bytes. This pass gives a workgroup several warps, and a lane 16 bytes of what is read and written
by neighbours (`tuning/elements/element_tiles.py`).

Each element is computed as before: outputs are bitwise the same.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.indexing_maps import (
    GENERIC,
    ITERATORS,
    MAPS,
    copied_loops,
    loops_of,
    summed_loops,
)
from ...dialect_utils.lowering_config import (
    CONFIG,
    THREAD,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    only_root,
    translation_info_of,
)
from ...dialect_utils.operations import children
from ...passes.base import PassContext
from ..costs.processors import processor_of
from ..shapes.enlarged_shapes import EnlargedShapes, check_elementwise, enlarged_shapes
from ..tiles.planned_pass import NewTile, PlannedPass
from .element_tiles import ElementTile, element_tile
from .elements import elements_of


class TileElements(PlannedPass["_Planned"]):
    """Gives elementwise operations, transposes and copies tiles of several warps."""

    name: ClassVar[str] = "bankwise-tile-elements"
    summary: ClassVar[str] = "let workgroups of several warps move and compute elements"
    what_stays: ClassVar[str] = "the tile of its elements stays"
    kept: ClassVar[str] = "tiles of elements"

    def _plan(self, function: ir.Operation, context: PassContext) -> _Planned | None:
        return _planned(function, context.test_target)

    def _take(self, function: ir.Operation, context: PassContext, plan: _Planned) -> NewTile:
        operation = plan.operation
        if not operation.results:
            operation = _on_tensors(operation)
        plan.tile.configure(function, operation, plan.launch)
        if plan.shapes is not None:
            plan.shapes.apply(function)
        return operation, plan.tile, str(plan.tile)


class _Planned(NamedTuple):
    operation: ir.Operation
    launch: WarpLaunch
    tile: ElementTile
    shapes: EnlargedShapes | None


def _planned(function: ir.Operation, test_target: str | None) -> _Planned | None:
    """Returns the operation of a function that only moves or computes elements, and its tile.

    None stands for another function, or one for which IREE's tile is as good.

    Raises:
        Refusal: something is not understood.
    """
    features, operation = gpu_features_of(function, test_target), only_root(function)
    if not features.mma_sync or (processor := processor_of(features.arch)) is None:
        return None
    if operation is None or operation.name != GENERIC or summed_loops(operation):
        return None
    if operation.results:
        config = LoweringConfig.of(operation.attributes[CONFIG])
        launch = WarpLaunch.as_row(function)
        if launch.warps != 1 or {*config.entries} != {THREAD, WORKGROUP}:
            return None
    elif copied_loops(operation) is None:
        return None
    else:
        launch = WarpLaunch(translation_info_of(function), 1, processor.lanes)
    if any(each.name == GENERIC and each != operation for each in children(function)):
        raise Refusal("another operation is computed with it")
    elements = elements_of(operation)
    tile = element_tile(elements, processor)
    if tile is None:
        return None
    lengths, shapes = tile.lengths(elements.extents), None
    if lengths != elements.extents:
        check_elementwise(operation)
        shapes = enlarged_shapes(operation, loops_of(operation), dict(enumerate(lengths)))
    return _Planned(operation, launch, tile, shapes)


def _on_tensors(copy: ir.Operation) -> ir.Operation:
    """Replaces a copy of a buffer by one of tensors, which are loaded and stored; returns that."""
    source, target = copy.operands
    at, kind = Builder.before(copy), ir.ShapedType(target.type)
    kept = {each: copy.attributes[each] for each in (MAPS, ITERATORS)}
    empty = at.empty(at.tensor_type(kind.shape, kind.element_type))
    moved = at.generic([at.load_from_buffer(source)], empty, kept, lambda _, each, __: each)
    at.store_to_buffer(moved.results[0], target)
    copy.erase()
    return moved
