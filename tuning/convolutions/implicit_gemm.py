# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes convolutions, and matmuls whose rows are several loops, plain matmuls.

IREE computes a convolution as a matmul of parts of the image (`iree_linalg_ext.im2col`). It keeps
the loops over the height and the width of the output, and tiles each of them:

    workgroup = [4, 2, 16, 32, 0], padding = [4, 2, 16, 32, 128]

14 columns of an image become 16, and copies to the LDS stand in branches. This pass makes one loop
of all loops over rows, one of those over columns, and one of those over summed elements: n, h and w
of 8, 14 and 14 become 1568 rows. The tensors get the shapes that these loops have, and bindings
remember how their elements are found (`tuning/shapes/strided_buffers.py`). Elementwise operations
behind the result get the same loops. What is left is a matmul, for which
`bankwise-enlarge-matmuls` finds the best tile, and whose copies all other passes know.

On AMD GPUs, where no time was measured, it does so only where the matmul with its best tile is
predicted to save enough of the time. Of 64 x 20 x 20 elements by windows of 64 x 3 x 3 in f32,
IREE's tile of 64 x 4 x 32 makes 5 workgroups, and one of 32 x 32 makes 26, which take 0.33 times as
long by the model of `emulator/timing/`.

Outputs are bitwise the same: summed elements keep their order, which is that of the filter.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.lowering_config import (
    CONFIG,
    REDUCTION,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    numbers_attribute,
)
from ...passes.base import PassContext
from ..costs.tile_cost import MatmulTile
from ..matmuls.enlarged_tiles import best_enlarged, check_gain
from ..matmuls.matmul_tiles import PADDING, SUBGROUP, padded_matmul
from ..tiles.planned_pass import PlannedPass
from ..tiles.tiled_operation import Circumstances
from .copied_functions import copy_of
from .joined_loops import PADDING_CONV, Contraction, JoinedLoops, configured_contraction

_SQUARE, _WARPS_EACH_WAY, _STEP = 64, 2, 64
"""The tile that the matmul has until a better one is chosen."""


@dataclass(frozen=True)
class ImplicitGemm(PlannedPass[tuple[WarpLaunch, JoinedLoops]]):
    """Makes one loop each of the rows, the columns and the summed elements of a contraction.

    Attributes:
        faster_only: whether loops stay unless that is predicted to save enough of the time.
        overlap: whether a pass follows that lets copies overlap with contractions.
    """

    name: ClassVar[str] = "bankwise-implicit-gemm"
    summary: ClassVar[str] = "make convolutions, and matmuls over several loops, plain matmuls"
    what_stays: ClassVar[str] = "the loops of the contraction stay"
    kept: ClassVar[str] = "loops"

    faster_only: bool = False
    overlap: bool = True

    def _take(
        self, function: ir.Operation, context: PassContext, plan: tuple[WarpLaunch, JoinedLoops]
    ) -> None:
        launch, collapse = plan
        contraction = collapse.contraction
        collapse.apply(function)
        _configure(contraction)
        function.attributes[TRANSLATION_INFO] = launch.with_warps(_WARPS_EACH_WAY**2)
        sizes = " x ".join(str(contraction.extent(each)) for each in contraction.groups)
        context.sink.remark(contraction.operation.location, f"computed as a matmul of {sizes}")

    def _plan(
        self, function: ir.Operation, context: PassContext
    ) -> tuple[WarpLaunch, JoinedLoops] | None:
        """Returns how a function is launched and what becomes of it; None where its loops are
        single.

        Raises:
            Refusal: something is not understood.
        """
        contraction = configured_contraction(function)
        if contraction is None or contraction.is_plain:
            return None
        collapse = JoinedLoops(contraction)
        collapse.plan()
        launch = WarpLaunch.as_row(function)
        if self.faster_only:
            self._check_gain(function, contraction, launch, context)
        return launch, collapse

    def _check_gain(
        self,
        function: ir.Operation,
        contraction: Contraction,
        launch: WarpLaunch,
        context: PassContext,
    ) -> None:
        """Makes sure that the matmul is predicted to be faster than what IREE makes.

        Raises:
            Refusal: it is not.
        """
        circumstances = Circumstances.of(
            function, context.test_target, other_order=False, overlap=self.overlap
        )
        if circumstances is None:
            raise Refusal("there is no prediction for the GPU")
        own, workgroups = _own_tile(contraction)
        arch = gpu_features_of(function, context.test_target).arch
        with copy_of(function) as trial:
            copied = configured_contraction(trial)
            assert copied is not None
            attempt = JoinedLoops(copied)
            attempt.plan()
            attempt.apply(trial)
            _configure(copied)
            trial.attributes[TRANSLATION_INFO] = launch.with_warps(_WARPS_EACH_WAY**2)
            matmul = padded_matmul(trial)
            assert matmul is not None
            best = best_enlarged(matmul, circumstances)
            usual = matmul.enlarged(own)
            work = usual.work(own, circumstances)._replace(workgroups=workgroups)
            check_gain(best, circumstances.time(work), circumstances, arch)


def _own_tile(contraction: Contraction) -> tuple[MatmulTile, int]:
    """Returns the tile that IREE has given a contraction, and how many workgroups that makes.

    Raises:
        Refusal: its configuration is not understood.
    """
    config = LoweringConfig.of(contraction.operation.attributes[CONFIG])
    m, n, k = config.instruction
    *batch, rows, columns, summed = contraction.groups
    loops = [*range(len(contraction.extents))]
    workgroup, warp = config.numbers(WORKGROUP), config.numbers(SUBGROUP)
    if len(workgroup) != len(loops):
        # `iree_linalg_ext.im2col` makes one loop of those that are summed over, behind the others.
        loops = [each for each in loops if each not in summed]
    tiles, warps = (dict(zip(loops, each, strict=False)) for each in (workgroup, warp))
    if any(not tiles.get(loop) for group in (*batch, rows, columns) for loop in group):
        raise Refusal("IREE tiles not all of its loops")

    def sizes(group: tuple[int, ...], instruction: int) -> tuple[int, int]:
        size = prod(tiles[loop] for loop in group)
        of_warp = prod(warps.get(loop) or 1 for loop in group) * instruction
        return size, max(1, size // of_warp)

    (down, row_warps), (across, column_warps) = sizes(rows, m), sizes(columns, n)
    step = prod(each for each in config.numbers(REDUCTION) if each) * k
    workgroups = prod(-(-contraction.extents[loop] // tiles[loop]) for loop in tiles if tiles[loop])
    return MatmulTile(down, across, step, row_warps, column_warps), workgroups


def _configure(contraction: Contraction) -> None:
    """Gives a contraction a tile whose sizes need not divide those of the matmul."""
    operation = contraction.operation
    config = LoweringConfig.of(operation.attributes[CONFIG]).without(PADDING_CONV)
    m, n, k = config.instruction
    batch = len(contraction.groups) - 3
    warp = _SQUARE // _WARPS_EACH_WAY
    entries = {
        WORKGROUP: [*[1] * batch, _SQUARE, _SQUARE, 0],
        SUBGROUP: [*[0] * batch, warp // m, warp // n, 0],
        REDUCTION: [*[0] * batch, 0, 0, _STEP // k],
        PADDING: [*[1] * batch, _SQUARE, _SQUARE, _STEP],
    }
    made = {name: numbers_attribute(each, operation.context) for name, each in entries.items()}
    operation.attributes[CONFIG] = config.with_entries(**made).attribute(operation.context)
