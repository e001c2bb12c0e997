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
from ..tiles.tiled_operation import Circumstances
from .enlarged_tiles import best_enlarged, check_gain
from .matmul_tiles import WarpTiledMatmul, padded_matmul

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
        """Returns the matmul with the best tile, and sizes that it divides.

        Raises:
            Refusal: it is to be faster by prediction, and is not.
        """
        own = matmul.enlarged(matmul.tile)
        circumstances = Circumstances.of(
            function,
            context.test_target,
            other_order=False,
            overlap=self.overlap,
        )
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
