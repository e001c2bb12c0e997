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

Sums are made in another order than without the pass: outputs are right to rounding.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...passes.base import PassContext
from ..shapes.enlarged_shapes import EnlargedShapes
from ..tiles.planned_pass import NewTile, PlannedPass
from ..tiles.tiled_operation import Circumstances
from .dynamic_matmuls import DynamicMatmul, dynamic_matmul

_Plan = tuple[DynamicMatmul, EnlargedShapes]


@dataclass(frozen=True)
class TileDynamicMatmuls(PlannedPass[_Plan]):
    """Configures matmuls of dynamic sizes for matrix instructions.

    Attributes:
        overlap: whether a pass follows that lets copies overlap with contractions.
    """

    name: ClassVar[str] = "bankwise-tile-dynamic-matmuls"
    summary: ClassVar[str] = "let matmuls of dynamic sizes use matrix instructions"
    what_stays: ClassVar[str] = "the matmul keeps scalar instructions"
    kept: ClassVar[str] = "configuration"

    overlap: bool = True

    def _plan(self, function: ir.Operation, context: PassContext) -> _Plan | None:
        circumstances = Circumstances.of(
            function,
            context.test_target,
            other_order=True,
            overlap=self.overlap,
        )
        return dynamic_matmul(function, circumstances, context.test_target)

    def _take(self, function: ir.Operation, context: PassContext, plan: _Plan) -> NewTile:
        matmul, shapes = plan
        matmul.configure(function, matmul.tile)
        shapes.apply(function)
        reason = f"{matmul.tile}, by matrix instructions in the place of scalar ones"
        return matmul.operation, matmul.tile, reason
