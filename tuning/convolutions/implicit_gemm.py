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

Outputs are bitwise the same: summed elements keep their order, which is that of the filter.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

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
from ..matmuls.matmul_tiles import PADDING, SUBGROUP
from ..tiles.planned_pass import PlannedPass
from .joined_loops import PADDING_CONV, Contraction, JoinedLoops, configured_contraction

_SQUARE, _WARPS_EACH_WAY, _STEP = 64, 2, 64
"""The tile that the matmul has until a better one is chosen."""


class ImplicitGemm(PlannedPass[tuple[WarpLaunch, JoinedLoops]]):
    """Makes one loop each of the rows, the columns and the summed elements of a contraction."""

    name: ClassVar[str] = "bankwise-implicit-gemm"
    summary: ClassVar[str] = "make convolutions, and matmuls over several loops, plain matmuls"
    what_stays: ClassVar[str] = "the loops of the contraction stay"
    kept: ClassVar[str] = "loops"

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
        return WarpLaunch.as_row(function), collapse


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
