# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets the lanes of a workgroup share matmuls that have no matrix instruction.

NVIDIA GPUs have none for f32. Where the number of rows is known only when the program runs,
IREE 3.13 computes each element of the result by a workgroup of its own, whose lanes share the sum,
or by a lane of its own. Where no tile divides the sizes, each lane reads its operands from global
memory:

    lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 8], thread = [1, 16, 0],
        workgroup = [32, 128, 1]}>

This pass gives a workgroup a tile of the result, which stages its operands in the LDS and of which
each lane multiplies a part (`tuning/matmuls/lane_matmuls.py`), with the sizes that are predicted to
take the least time. Sizes are rounded up to whole tiles (`tuning/shapes/enlarged_shapes.py`). Where
they are known, and a tile of `bankwise-retile` divides them, that pass does the same, and the bits
stay. IREE's own tile may be the only one that does, as 8 x 32 is for 1576 rows: then lanes get a
tile here if it is predicted to be faster. So it is with a workgroup for each element, which may be
the fastest for few rows (`tuning/matmuls/row_sums.py`).

Sums are made in another order than without the pass: outputs are right to rounding. With
`same-bits` only matmuls of known sizes get tiles, and their products are added in the order of IREE
(`bankwise-keep-sum-order`).

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...passes.base import PassContext
from ..shapes.enlarged_shapes import EnlargedShapes
from ..tiles.planned_pass import NewTile, PlannedPass
from ..tiles.tiling_pass import TilingPass
from .lane_choice import lane_matmul
from .lane_matmuls import LaneTiledMatmul
from .stock_sums import check_order, note_order

_Plan = tuple[LaneTiledMatmul, EnlargedShapes]


@dataclass(frozen=True)
class TileMatmulsByLanes(PlannedPass[_Plan], TilingPass):
    """Configures matmuls of f32 for lanes with tiles.

    Attributes:
        everywhere: whether it does so, too, where there is a matrix instruction.
        same_bits: whether outputs are the bits that they are without the pass, and a matmul stays
            where they cannot be.
    """

    name: ClassVar[str] = "bankwise-tile-matmuls-by-lanes"
    summary: ClassVar[str] = "let lanes share matmuls that have no matrix instructions"
    what_stays: ClassVar[str] = "no lane gets a tile of the matmul"
    kept: ClassVar[str] = "configuration"

    everywhere: bool = False
    same_bits: bool = False

    def _plan(self, function: ir.Operation, context: PassContext) -> _Plan | None:
        target = context.test_target
        circumstances = self.circumstances(function, target)
        how = {"everywhere": self.everywhere, "same_bits": self.same_bits}
        return lane_matmul(function, circumstances, target, **how)

    def _take(self, function: ir.Operation, context: PassContext, plan: _Plan) -> NewTile:
        matmul, shapes = plan
        matmul.configure(function, matmul.tile)
        shapes.apply(function)
        if matmul.sums is not None:
            note_order(function, matmul.tile.summed, matmul.sums)
            context.assumptions.append((self, check_order))
        reason = f"{matmul.tile}, from operands in the LDS"
        return matmul.operation, matmul.tile, reason
