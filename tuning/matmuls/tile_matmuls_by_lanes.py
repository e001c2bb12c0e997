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

Sums are made in another order than without the pass: outputs are right to rounding.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.lowering_config import WarpLaunch
from ...passes.base import PassContext
from ..shapes.enlarged_shapes import EnlargedShapes
from ..tiles.tile_choice import LEAST_GAIN, tile_choice, tile_time
from ..tiles.tiled_operation import Circumstances
from ..tiles.tiling_pass import TilingPass
from .dynamic_matmuls import (
    ScalarLoops,
    fastest,
    matrix_instruction,
    predicted_logarithms,
    rounded_shapes,
    scalar_matmul_root,
)
from .lane_matmuls import LaneTiledMatmul, lane_tilings, multiplies_floats
from .row_sums import row_sum_logarithms, sums_rows
from .scalar_contractions import scalar_root
from .scalar_matmul_tiles import divided_by_tile, thread_tiled_matmul


@dataclass(frozen=True)
class TileMatmulsByLanes(TilingPass):
    """Configures matmuls of f32 for lanes with tiles.

    Attributes:
        everywhere: whether it does so, too, where there is a matrix instruction.
    """

    name: ClassVar[str] = "bankwise-tile-matmuls-by-lanes"
    summary: ClassVar[str] = "let lanes share matmuls that have no matrix instructions"
    later_passes_may_refuse: ClassVar[bool] = True
    kept: ClassVar[str] = "configuration"

    everywhere: bool = False

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the configuration and the shapes of `function`; never fails."""
        function = function.operation
        circumstances = self.circumstances(function, context.test_target)
        target, everywhere = context.test_target, self.everywhere
        found = context.planned(
            function.location,
            "no lane gets a tile of the matmul",
            lambda: lane_matmul(function, circumstances, target, everywhere=everywhere),
        )
        if found is None:
            return
        matmul, shapes = found
        matmul.configure(function, matmul.tile)
        shapes.apply(function)
        reason = f"{matmul.tile}, from operands in the LDS"
        self.record_tile(context, function, matmul.operation, matmul.tile, reason)


def lane_matmul(
    function: ir.Operation,
    circumstances: Circumstances | None,
    test_target: str | None = None,
    *,
    everywhere: bool = False,
) -> tuple[LaneTiledMatmul, EnlargedShapes] | None:
    """Returns the matmul of f32 of `function`, with the tile of lanes that is best for it, and the
    shapes that values get with that.

    None stands for a function without one, or for one that other passes tile.

    Args:
        everywhere: whether it may have a matrix instruction, too, and be tiled otherwise.

    Raises:
        Refusal: there is one that lanes cannot share.
    """
    root = scalar_matmul_root(function)
    if root is None or not multiplies_floats(root):
        return None
    if not everywhere and _has_instruction(function, root, test_target):
        return None
    if not everywhere and (circumstances is None or not circumstances.processor.fma_cycles):
        raise Refusal("there is no prediction for the GPU")
    loops = ScalarLoops.of(function, root)
    by_threads = scalar_root(function, ir.F32Type.get(function.context)) is not None
    stock_time = math.inf
    if not loops.computed and not everywhere:
        if not by_threads:
            return None
        if divided_by_tile(root) and circumstances is not None:
            stock_time = _stock_time(function, circumstances)
    tilings = lane_tilings(root, loops, WarpLaunch.as_row(function))
    best = fastest(tilings, loops.tiled[2], circumstances, loops.sizes(root))
    if best is None:
        raise Refusal("no tile of lanes fits in the LDS")
    if circumstances is not None and not everywhere:
        _check_row_sums(best, loops, circumstances)
    if circumstances is not None and stock_time < math.inf:
        least = stock_time * (1 - LEAST_GAIN)
        if tile_time(best, best.tile, circumstances) > least:
            return None
    return best, rounded_shapes(best, best.loops)


def _check_row_sums(
    best: LaneTiledMatmul, loops: ScalarLoops, circumstances: Circumstances
) -> None:
    """Makes sure that a tile is faster than a workgroup for each element, if IREE makes these.

    Raises:
        Refusal: it is not, in the geometric mean of the sizes that the kernel is for.
    """
    root = best.operation
    if loops.asked is None or not sums_rows(root):
        return
    sizes = loops.sizes(root)
    found = predicted_logarithms([best], loops.tiled[2], circumstances, sizes)
    of_tile = min(sum(times) for _, times in found)
    if of_tile > sum(row_sum_logarithms(root, loops, sizes, circumstances.processor)):
        raise Refusal("a workgroup for each element is predicted to be faster")


def _stock_time(function: ir.Operation, circumstances: Circumstances) -> float:
    """Returns how long the matmul of a function takes with IREE's tile, as predicted.

    It is 0 where another tile divides the sizes, which keeps the bits, or where that is not known.
    """
    try:
        tiled = thread_tiled_matmul(function)
        choice = None if tiled is None else tile_choice(tiled, circumstances)
    except Refusal:
        return 0
    return 0 if choice is None or choice.gains else choice.stock_time * choice.tiled.handicap


def _has_instruction(function: ir.Operation, root: ir.Operation, test_target: str | None) -> bool:
    try:
        matrix_instruction(function, root, test_target)
    except Refusal:
        return False
    return True
