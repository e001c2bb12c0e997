# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pass that gives an operation one tile, in the place of the pass that chooses among tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import ClassVar

from iree.compiler import ir

from ..bank_model.quick_dataclass import dataclass
from ..dialect_utils.described_tiles import note_described_tile
from ..dialect_utils.diagnostics import Refusal
from ..dialect_utils.gpu_target import gpu_features_of
from ..passes.base import FunctionPass, PassContext
from ..passes.pipeline_edit import PipelineEdit
from .costs.tile_cost import AnyTile
from .retile import Retile, assume_tile, tiled_operation


@dataclass(frozen=True)
class ForceTile(FunctionPass):
    """Gives an attention or a matrix product one tile, whatever it has.

    Attributes:
        refusals: why the tile was not taken; empty if it was.
    """

    name: ClassVar[str] = "bankwise-force-tile"
    summary: ClassVar[str] = "give workgroups the tile that somebody asks for"
    later_passes_may_refuse: ClassVar[bool] = True
    kept: ClassVar[str] = "tiles"

    tile: AnyTile
    refusals: list[str] = field(default_factory=list, compare=False)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Configures `function`, or notes why not."""
        function = function.operation
        try:
            self._force(function)
        except Refusal as refusal:
            self.refusals.append(refusal.reason)
            return
        assume_tile(self, self.tile, context)
        if gpu_features_of(function, context.test_target).descriptor_tiles:
            note_described_tile(function)

    def _force(self, function: ir.Operation) -> None:
        """Configures a function, unless it has the tile.

        Raises:
            Refusal: it computes nothing of the known forms, or does not divide into such tiles.
        """
        tiled = tiled_operation(function)
        if tiled is None or type(self.tile) is not type(tiled.tile):
            raise Refusal("the function has no tile that is known")
        if self.tile == tiled.tile:
            return
        if not tiled.takes(self.tile):
            raise Refusal("its sizes do not divide into such tiles")
        tiled.configure(function, self.tile)

    def forget(self, function: ir.Operation) -> None:
        """Notes that the function is compiled again without a pass that is part of the test."""
        self.refusals.append("a pass cannot go on with it")


def in_place_of_choice(edits: Sequence[PipelineEdit], force: ForceTile) -> list[PipelineEdit]:
    """Returns edits that force a tile where they would choose one."""
    return [
        replace(
            edit,
            passes=tuple(force if step.name == Retile.name else step for step in edit.passes),
        )
        for edit in edits
    ]
