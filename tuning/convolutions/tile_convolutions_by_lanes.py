# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets the lanes of a workgroup share convolutions that have no matrix instruction.

NVIDIA GPUs have none for f32. IREE 3.13 computes a convolution there by lanes that have one element
of the result each, and read what they multiply from global memory:

    lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 1, 3, 3],
        thread = [1, 1, 1, 0, 0, 0], workgroup = [8, 2, 2, 0, 0, 0]}>

A matmul whose first operand has the columns, as that of a convolution of 1x1 with channels first,
is tiled so, too, or by threads that have a part of one row. This pass makes one loop each of the
rows, the columns and the summed elements (`tuning/convolutions/joined_loops.py`), and gives lanes
tiles of the matmul that is left (`tuning/matmuls/lane_matmuls.py`), with operands in the LDS.

Where workgroups are few, sums are split into parts, and each part has warps of its own
(`tuning/matmuls/add_parts.py`). A matmul whose loops are in order is tiled here for that alone, if
it is predicted to save a tenth of the time.

Sums are made in another order than without the pass: outputs are right to rounding. With
`same-bits` they have the order of IREE (`bankwise-keep-sum-order`): no sum is in parts, and what
stays whose order is not known.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.lowering_config import WarpLaunch
from ...passes.base import PassContext
from ..costs.tile_cost import ScalarTile
from ..matmuls.dynamic_matmuls import multiplies, rounded_shapes, scalar_matmul_root
from ..matmuls.lane_choice import (
    BEST,
    check_few_rows,
    gains_by_parts,
    has_instruction,
    is_retiled,
    tiled_by_lanes,
)
from ..matmuls.lane_matmuls import LaneTiledMatmul, multiplies_floats
from ..matmuls.matmul_tiles import generic_root
from ..matmuls.stock_sums import StockSums, check_order, note_order, stock_sums
from ..tiles.planned_pass import NewTile, PlannedPass
from ..tiles.tiling_pass import TilingPass
from .copied_functions import copy_of
from .joined_loops import Contraction, JoinedLoops, NoMatricesError, scalar_contraction


@dataclass(frozen=True)
class TileConvolutionsByLanes(PlannedPass["_Plan"], TilingPass):
    """Configures convolutions of f32, and matmuls over several loops, for lanes with tiles.

    Attributes:
        everywhere: whether it does so, too, where there is a matrix instruction.
        same_bits: whether outputs are the bits that they are without the pass, and a convolution
            stays where they cannot be.
        tile: the tile that is taken, as `16,32,32,1,4,2`: rows, columns, summed elements a step,
            the rows and columns of a lane, and the parts of the sums; `best` for what is predicted.
    """

    name: ClassVar[str] = "bankwise-tile-convolutions-by-lanes"
    summary: ClassVar[str] = "let lanes share convolutions that have no matrix instructions"
    what_stays: ClassVar[str] = "no lane gets a tile of the convolution"
    kept: ClassVar[str] = "configuration"

    everywhere: bool = False
    same_bits: bool = False
    tile: str = BEST

    def _take(self, function: ir.Operation, context: PassContext, plan: _Plan) -> NewTile:
        joined, planned, launch = plan
        contraction, sums = joined.contraction, planned.sums
        joined.apply(function)
        matmul = _tiled(contraction, launch, planned.tile)
        shapes = rounded_shapes(matmul, matmul.loops)
        matmul.configure(function, matmul.tile)
        shapes.apply(function)
        if sums is not None:
            note_order(function, matmul.tile.summed, sums)
            context.assumptions.append((self, check_order))
        sizes = " x ".join(str(contraction.extent(each)) for each in contraction.groups)
        reason = f"{matmul.tile}, from operands in the LDS, as a matmul of {sizes}"
        return matmul.operation, matmul.tile, reason

    def _plan(self, function: ir.Operation, context: PassContext) -> _Plan | None:
        """Returns how loops are joined, the matmul that is left with its tile, and its launch.

        None stands for a function without a convolution, and without a matmul whose loops are
        joined.

        Raises:
            Refusal: there is one that lanes cannot share.
        """
        root = self._root(function, context.test_target)
        found = None if root is None else self._contraction(root)
        if root is None or found is None:
            return None
        contraction, sums = found
        is_matmul = contraction.is_plain and contraction.is_in_order
        parts = [1] if self.same_bits else contraction.possible_parts
        if is_matmul and self.tile == BEST and (self.everywhere or parts == [1]):
            return None
        circumstances = self.circumstances(function, context.test_target)
        if circumstances is None or not circumstances.processor.fma_cycles:
            if not self.everywhere and self.same_bits:
                return None
            if not self.everywhere:
                raise Refusal("there is no prediction for the GPU")
        elif sums is not None and is_retiled(function, circumstances):
            return None
        with copy_of(function) as trial:
            copied = generic_root(trial)
            assert copied is not None
            attempted = self._contraction(copied)
            assert attempted is not None
            attempt = JoinedLoops(attempted[0])
            attempt.plan()
            attempt.apply(trial)
            best = tiled_by_lanes(trial, copied, circumstances, parts, self.tile, sums)
            # The copy will be gone.
            matmul = replace(best, operation=root)
        if circumstances is not None and not self.everywhere:
            if is_matmul and not gains_by_parts(function, root, matmul, circumstances):
                return None
            check_few_rows(root, matmul, circumstances)
        joined = JoinedLoops(contraction.in_parts(matmul.tile.parts))
        joined.plan()
        # The options of another pipeline say nothing on this one.
        launch = WarpLaunch.of_one_warp(matmul.launch.warp_size, function.context)
        return joined, matmul, launch

    def _contraction(self, root: ir.Operation) -> tuple[Contraction, StockSums | None] | None:
        """Returns a product with its summed elements in order, and that order if it matters.

        None stands for one that multiplies no matrices, or whose order has to stay and is not
        known.

        Raises:
            Refusal: it is not understood.
        """
        try:
            contraction = scalar_contraction(root)
        except NoMatricesError:
            return None
        if not self.same_bits:
            return contraction, None
        sums = stock_sums(root, contraction.extents, contraction.groups[-1])
        return None if sums is None else (contraction.in_order(sums.loops), sums)

    def _root(self, function: ir.Operation, test_target: str | None) -> ir.Operation | None:
        """Returns the product of f32 that decides on the workgroups, if it is to be tiled here."""
        root = generic_root(function) if self.everywhere else scalar_matmul_root(function)
        if root is None or not multiplies(root) or not multiplies_floats(root):
            return None
        if any(not ir.ShapedType(each.type).has_static_shape for each in root.operands):
            return None
        if not self.everywhere and has_instruction(function, root, test_target):
            return None
        return root


_Plan = tuple[JoinedLoops, LaneTiledMatmul, WarpLaunch]


def _tiled(contraction: Contraction, launch: WarpLaunch, tile: ScalarTile) -> LaneTiledMatmul:
    """Returns the matmul that a contraction has become, with a tile, and sizes that it divides."""
    extents = tuple(contraction.extent(each) for each in contraction.groups)
    *_, row, column = contraction.results_groups
    part = column + 1 if tile.parts > 1 else None
    loops = row, column, len(extents) - 1
    root = contraction.operation
    return LaneTiledMatmul(root, extents, launch, tile, loops, part=part).enlarged(tile)
