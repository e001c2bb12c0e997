# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets matmuls whose sizes no tile divides read whole vectors.

IREE pads the tiles of such a matmul in every step:

    lowering_config = #iree_gpu.lowering_config<{..., padding = [64, 64, 16],
        workgroup = [64, 64, 0]}>

That costs branches around loads of single elements, and no copy overlaps with a contraction. This
pass gives the tensors sizes that tiles divide instead (`tuning/shapes/enlarged_shapes.py`), with
the tile that is predicted to take the least time.

Outputs are bitwise the same: what is added behind the true sums are products of zeros, which IREE's
padding adds too.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.indexing_maps import loops_of
from ...passes.base import PassContext
from ..shapes.enlarged_shapes import EnlargedShapes, check_zeros, enlarged_shapes
from ..tiles.planned_pass import NewTile, PlannedPass
from ..tiles.tiled_operation import Circumstances
from .matmul_tiles import WarpTiledMatmul, padded_matmul

_Plan = tuple[WarpTiledMatmul, WarpTiledMatmul, EnlargedShapes]


@dataclass(frozen=True)
class EnlargeMatmuls(PlannedPass[_Plan]):
    """Gives matmuls that IREE pads tile by tile sizes of whole tiles.

    Attributes:
        other_tiles: whether the tile may be another than IREE's.
        overlap: whether a pass follows that lets copies overlap with contractions.
    """

    name: ClassVar[str] = "bankwise-enlarge-matmuls"
    summary: ClassVar[str] = "let matmuls whose sizes no tile divides read whole vectors"
    what_stays: ClassVar[str] = "tiles of the matmul are padded by IREE"
    kept: ClassVar[str] = "padded tiles"

    other_tiles: bool = True
    overlap: bool = True

    def _take(self, function: ir.Operation, context: PassContext, plan: _Plan) -> NewTile:
        matmul, best, shapes = plan
        best.configure(function, best.tile)
        if shapes.shapes:
            shapes.apply(function)
        sizes = "x".join(str(each) for each in (best.rows, best.columns, best.summed))
        added = "" if best.extents == matmul.extents else " with zeros behind the end"
        reason = f"{best.tile}, of {sizes}{added}"
        return matmul.operation, best.tile, reason

    def _plan(self, function: ir.Operation, context: PassContext) -> _Plan | None:
        """Returns a matmul that IREE pads, what it becomes, and the shapes that follow; None
        without one.

        Raises:
            Refusal: its sizes stay.
        """
        matmul = padded_matmul(function)
        if matmul is None:
            return None
        best, operation = self._best(matmul, function, context), matmul.operation
        shapes = enlarged_shapes(operation, loops_of(operation), dict(enumerate(best.extents)))
        if best.summed != matmul.summed:
            for number in matmul.multiplied:
                check_zeros(operation.operands[number], shapes)
        return matmul, best, shapes

    def _best(
        self, matmul: WarpTiledMatmul, function: ir.Operation, context: PassContext
    ) -> WarpTiledMatmul:
        """Returns the matmul with the best tile, and sizes that it divides."""
        own = matmul.enlarged(matmul.tile)
        circumstances = Circumstances.of(
            function,
            context.test_target,
            other_order=False,
            overlap=self.overlap,
        )
        if circumstances is None or not self.other_tiles:
            return own
        known, of_sizes = circumstances, dict[tuple[int, ...], WarpTiledMatmul]()

        def timed(each: WarpTiledMatmul) -> tuple[float, WarpTiledMatmul]:
            # What the first matmul of some sizes has found out about its operands is known of all.
            first = of_sizes.setdefault(each.extents, each)
            tile = known.slotted(first, each.tile)
            return known.time(known.work(first, tile)), replace(each, tile=tile)

        tiles = (*matmul.described_candidates(known), *matmul.enlarging_candidates())
        others = map(matmul.enlarged, tiles)
        taken = [each for each in others if each.takes(each.tile)]
        return min(map(timed, (*reversed(taken), own)), key=itemgetter(0))[1]
