# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets matmuls with sizes that only the program knows use matrix instructions.

IREE 3.13 computes each element of such a result by a workgroup of its own, whose lanes share the
sum:

    linalg.generic ... ins(tensor<?x1024xf16>, tensor<1024x2048xf16>) outs(tensor<?x2048xf32>)
        {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]],
            partial_reduction = [0, 0, 1024], ..., workgroup = [1, 1, 0]}>}

or, where the lanes do not divide the sum, each lane computes an element in IREE's pipeline
TileAndFuse. This pass gives the matmul a tile of matrix instructions in VectorDistribute. The sizes
are rounded up to whole tiles (`tuning/shapes/enlarged_shapes.py`), and what lies beyond the true
end is read as zero and not written.

A tile that is best for many rows wastes most of its work on few, and the program may come with any
number. So the tile is chosen that is best in the geometric mean over several sizes.

Where all sizes are known, IREE lets threads compute few rows, though AMD's GPUs have matrix
instructions for them: 4x120x480 in f32 takes 64.5 us on gfx942 by the model of `emulator/timing/`,
and 9.6 us with a tile of 32 x 32. There a matmul gets a tile if that is predicted to save enough.

Sums are made in another order than without the pass: outputs are right to rounding.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.gpu_target import gpu_features_of
from ...passes.base import PassContext
from ..shapes.enlarged_shapes import EnlargedShapes
from ..tiles.planned_pass import NewTile, PlannedPass
from ..tiles.tiled_operation import Circumstances
from .dynamic_matmuls import (
    DynamicMatmul,
    dynamic_matmul,
    scalar_matmul_root,
    threads_microseconds,
)
from .enlarged_tiles import check_gain

_Plan = tuple[DynamicMatmul, EnlargedShapes]


@dataclass(frozen=True)
class TileDynamicMatmuls(PlannedPass[_Plan]):
    """Configures matmuls of dynamic sizes for matrix instructions.

    Attributes:
        overlap: whether a pass follows that lets copies overlap with contractions.
        known_sizes: whether matmuls of known sizes get tiles, too, on GPUs on whose times a more
            exact model was asked.
        faster_only: whether these stay unless that is predicted to save enough of the time.
    """

    name: ClassVar[str] = "bankwise-tile-dynamic-matmuls"
    summary: ClassVar[str] = "let matmuls of dynamic sizes use matrix instructions"
    what_stays: ClassVar[str] = "the matmul keeps scalar instructions"
    kept: ClassVar[str] = "configuration"

    overlap: bool = True
    known_sizes: bool = False
    faster_only: bool = True

    def _plan(self, function: ir.Operation, context: PassContext) -> _Plan | None:
        circumstances = Circumstances.of(
            function,
            context.test_target,
            other_order=True,
            overlap=self.overlap,
        )
        root, target = scalar_matmul_root(function), context.test_target
        if root is None or not _is_known(root):
            return dynamic_matmul(function, circumstances, target)
        if not self.known_sizes or circumstances is None or not circumstances.processor.modelled:
            return None
        found = dynamic_matmul(function, circumstances, target, known_sizes=True)
        if found is not None and self.faster_only:
            best, _ = found
            time = circumstances.time(best.work(best.tile, circumstances))
            usual = threads_microseconds(function, root, circumstances)
            check_gain((time, best), usual, circumstances, gpu_features_of(function, target).arch)
        return found

    def _take(self, function: ir.Operation, context: PassContext, plan: _Plan) -> NewTile:
        matmul, shapes = plan
        matmul.configure(function, matmul.tile)
        shapes.apply(function)
        reason = f"{matmul.tile}, by matrix instructions in the place of scalar ones"
        return matmul.operation, matmul.tile, reason


def _is_known(root: ir.Operation) -> bool:
    """Returns whether all sizes of an operation are known."""
    return all(ir.ShapedType(each.type).has_static_shape for each in root.operands)
