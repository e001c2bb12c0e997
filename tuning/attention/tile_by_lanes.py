# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets the lanes of a workgroup share an attention that has no matrix instruction.

NVIDIA GPUs have none for f32. IREE then computes an attention one row of Q a workgroup, with
scalar instructions that read K and V from global memory for each row anew:

    lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 0, 128],
        workgroup = [1, 1, 16, 0, 0]}>

Here a workgroup gets many rows, K and V are staged in the LDS, and each lane multiplies a tile of
its own (`tuning/attention/lane_tiles.py`), with the sizes that are predicted to take the least time
(`tuning/costs/scalar_cost.py`). Later passes give the tiles layouts without conflicts, overlap the
copies, read Q anew where registers are short, and order the multiplications behind their reads.
Where tiles or lanes do not divide the sizes, these are enlarged
(`tuning/shapes/enlarged_shapes.py`).

Sums are made in another order than without the pass: outputs are right to rounding.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import gpu_target_of
from ...passes.base import PassContext
from ..tiles.planned_pass import NewTile, PlannedPass
from ..tiles.tiled_operation import Circumstances
from ..tiles.tiling_pass import TilingPass
from .attention_tiles import K, Q, V
from .enlarged_attention import EnlargedAttention
from .lane_tiles import LaneTiledAttention, lane_tiled_attentions
from .scalar_attention import ScalarAttention, scalar_attention

_Plan = tuple[ir.Operation, LaneTiledAttention, EnlargedAttention]


@dataclass(frozen=True)
class TileByLanes(PlannedPass[_Plan], TilingPass):
    """Configures attentions for lanes with tiles that IREE computes one row at a time.

    Attributes:
        everywhere: whether it does so, too, where there is a matrix instruction, and where that is
            predicted to take longer.
    """

    name: ClassVar[str] = "bankwise-tile-by-lanes"
    summary: ClassVar[str] = "let lanes share attentions that have no matrix instructions"
    what_stays: ClassVar[str] = "the attention is computed one row at a time"
    kept: ClassVar[str] = "scalar instructions"

    everywhere: bool = False

    def _take(self, function: ir.Operation, context: PassContext, plan: _Plan) -> NewTile:
        operation, tiled, enlarged = plan
        tiled.configure(function)
        enlarged.apply(function)
        reason = f"{tiled.tile}, in the place of one row, is predicted to take {tiled.time:.1f} us"
        return operation, tiled.tile, reason

    def _plan(self, function: ir.Operation, context: PassContext) -> _Plan | None:
        """Returns an attention, its tiles, and what follows for its sizes; None without one.

        Raises:
            Refusal: lanes do not share it.
        """
        attention, everywhere = scalar_attention(function), self.everywhere
        test_target = context.test_target
        if attention is None:
            return None
        if not everywhere and has_instruction(function, attention, test_target):
            return None
        circumstances = self.predicted(function, test_target)
        tiled = lane_attention(attention, circumstances, only_faster=not everywhere)
        return attention.operation, *tiled


def has_instruction(
    function: ir.Operation, attention: ScalarAttention, test_target: str | None = None
) -> bool:
    """Returns whether a GPU has a matrix instruction for the elements of an attention."""
    target = gpu_target_of(function, test_target)
    suffix = f"_{attention.element}".upper()
    return target is not None and any(each.endswith(suffix) for each in target.matrix_instructions)


def lane_attention(
    attention: ScalarAttention, circumstances: Circumstances, *, only_faster: bool = True
) -> tuple[LaneTiledAttention, EnlargedAttention]:
    """Returns an attention with the best tile of lanes, and what follows from its sizes.

    Tiles that divide the sizes are the only ones where these cannot be enlarged.

    Args:
        only_faster: whether it must take less time than one row after the other.

    Raises:
        Refusal: there is no such tile.
    """
    operation = attention.operation
    if attention.loops.rows_first != tuple(range(len(attention.extents))):
        raise Refusal("its rows are not the first of its loops")
    if len({operation.operands[each] for each in (Q, K, V)}) < 3:
        # The vector of one copy would need the layouts of both contractions.
        raise Refusal("two of Q, K and V are one tensor")
    tiles = lane_tiled_attentions(attention, circumstances)
    try:
        tiled, enlarged = tiles[0], _enlarged(attention, tiles[0])
    except Refusal:
        whole = [each for each in tiles if each.attention.sizes == attention.sizes]
        if not whole:
            raise
        tiled, enlarged = whole[0], _enlarged(attention, whole[0])
    alone = attention.microseconds(circumstances.processor)
    if only_faster and tiled.time >= alone:
        raise Refusal(f"{tiled.tile} is predicted to take {tiled.time:.1f} us, of {alone:.1f} us")
    return tiled, enlarged


def _enlarged(attention: ScalarAttention, tiled: LaneTiledAttention) -> EnlargedAttention:
    """Returns what follows for the function from the sizes of a tiled attention."""
    longer = tiled.attention.sizes
    return EnlargedAttention.of(attention.operation, attention.loops, attention.sizes, longer)
