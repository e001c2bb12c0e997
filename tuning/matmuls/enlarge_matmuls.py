# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets matmuls whose sizes no tile divides read whole vectors.

IREE pads the tiles of such a matmul in every step:

    lowering_config = #iree_gpu.lowering_config<{..., padding = [64, 64, 16],
        workgroup = [64, 64, 0]}>

That costs branches around loads of single elements, and no copy overlaps with a contraction. This
pass gives the tensors sizes that tiles divide instead (`tuning/shapes/enlarged_shapes.py`), with
the tile that is predicted to take the least time.

On AMD GPUs, where no time was measured, they get them only if that is predicted to save enough, or
where a contraction was made a matmul for that (`tuning/convolutions/implicit_gemm.py`).

A matmul of 96 rows is not padded, because 32 divides them. Where no tile that `wgmma` multiplies
by, of 64 rows or more, divides the sizes, it gets more rows too, if that is predicted to take less
time.

Outputs are bitwise the same: what is added behind the true sums are products of zeros, which IREE's
padding adds too.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.indexing_maps import loops_of
from ...dialect_utils.operations import operations_in
from ...passes.base import PassContext
from ..shapes.enlarged_shapes import SUBSPAN, EnlargedShapes, check_zeros, enlarged_shapes
from ..shapes.strided_buffers import StridedBuffer
from ..tiles.planned_pass import NewTile, PlannedPass
from ..tiles.tile_choice import LEAST_GAIN, tile_choice
from ..tiles.tiled_operation import Circumstances
from .enlarged_tiles import best_enlarged, check_gain
from .matmul_tiles import WarpTiledMatmul, padded_matmul, warp_tiled_matmul

_Plan = tuple[WarpTiledMatmul, WarpTiledMatmul, EnlargedShapes]


@dataclass(frozen=True)
class EnlargeMatmuls(PlannedPass[_Plan]):
    """Gives matmuls that IREE pads tile by tile sizes of whole tiles.

    Attributes:
        other_tiles: whether the tile may be another than IREE's.
        overlap: whether a pass follows that lets copies overlap with contractions.
        faster_only: whether they stay unless that is predicted to save enough of the time.
    """

    name: ClassVar[str] = "bankwise-enlarge-matmuls"
    summary: ClassVar[str] = "let matmuls whose sizes no tile divides read whole vectors"
    what_stays: ClassVar[str] = "tiles of the matmul are padded by IREE"
    kept: ClassVar[str] = "padded tiles"

    other_tiles: bool = True
    overlap: bool = True
    faster_only: bool = False

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
            return self._described(function, context)
        return self._shaped(matmul, self._best(matmul, function, context))

    def _described(self, function: ir.Operation, context: PassContext) -> _Plan | None:
        """Returns a matmul that IREE need not pad, where no tile divides its sizes whose operands
        descriptors may give, and one with more rows saves enough; None otherwise."""
        circumstances = self._circumstances(function, context)
        if circumstances is None or not self.other_tiles:
            return None
        if not (circumstances.processor.measured and circumstances.processor.described_cycles):
            return None
        try:
            matmul = warp_tiled_matmul(function)
            if matmul is None or not matmul.lacks_described_tiles(circumstances):
                return None
            usual = tile_choice(matmul, circumstances).best_time
            time, best = best_enlarged(matmul, circumstances)
            if time > usual * (1 - LEAST_GAIN) or best.extents == matmul.extents:
                return None
            return self._shaped(matmul, best)
        except Refusal:
            # Its tile is another pass's affair, which says so.
            return None

    def _shaped(self, matmul: WarpTiledMatmul, best: WarpTiledMatmul) -> _Plan:
        """Returns what becomes of a matmul.

        Raises:
            Refusal: other shapes cannot follow.
        """
        operation = matmul.operation
        shapes = enlarged_shapes(operation, loops_of(operation), dict(enumerate(best.extents)))
        if best.summed != matmul.summed:
            for number in matmul.multiplied:
                check_zeros(operation.operands[number], shapes)
        return matmul, best, shapes

    def _circumstances(self, function: ir.Operation, context: PassContext) -> Circumstances | None:
        target = context.test_target
        return Circumstances.of(function, target, other_order=False, overlap=self.overlap)

    def _best(
        self, matmul: WarpTiledMatmul, function: ir.Operation, context: PassContext
    ) -> WarpTiledMatmul:
        """Returns the matmul with the best tile, and sizes that it divides.

        Raises:
            Refusal: it is to be faster by prediction, and is not.
        """
        own = matmul.enlarged(matmul.tile)
        circumstances = self._circumstances(function, context)
        if self.faster_only and circumstances is None:
            raise Refusal("there is no prediction for the GPU")
        if circumstances is None or not self.other_tiles:
            return own
        best = best_enlarged(matmul, circumstances)
        if self.faster_only and not _is_joined(function):
            arch = gpu_features_of(function, context.test_target).arch
            usual = circumstances.time(circumstances.work(own, own.tile))
            check_gain(best, usual, circumstances, arch)
        return best[1]


def _is_joined(function: ir.Operation) -> bool:
    """Returns whether the matmul of a function was made of a contraction over more loops."""
    return any(StridedBuffer.of(each) is not None for each in operations_in(function, SUBSPAN))
