# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets a workgroup of an attention compute more columns and rows of the output.

For CUDA IREE tiles the output into parts of 64 rows and 32 columns:

    lowering_config = #iree_gpu.lowering_config<{..., workgroup = [1, 64, 32, 0, 0]}>

The scores and their exponentials do not depend on the column, so that the four workgroups of a head
of 128 columns each compute the same ones. With tiles of 128 columns they are computed once: for a
16x4096x128 f16 attention, a step of a warp has 460 instructions in place of four times 329.

With the columns of a head all in one workgroup, tiles of twice the rows let a warp use each part of
K and V that it reads from the LDS twice: `ldmatrix` otherwise takes longer than the products. Heads
of 64 columns then have 574 instructions for 32 rows of a warp, of which 32 are `ldmatrix`, in place
of twice 316 with 32 each.

Every element of the output is computed as before: it is bitwise the same.

Tiles are joined as far as

* enough workgroups are left to fill a GPU (`LEAST_WORKGROUPS`);
* a lane has enough registers (`MOST_REGISTERS`);
* a multiprocessor holds two workgroups, of which one computes while the other waits for memory.

Runs on the configured function, before its pipeline, for NVIDIA GPUs: these limits are theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from ..dialect_utils.diagnostics import Refusal
from ..dialect_utils.gpu_target import GpuTargetInfo, gpu_target_of, launch_of
from ..dialect_utils.tiled_attention import TILE_IS_CHOSEN, TiledAttention, only_attention
from .base import FunctionPass, PassContext

LEAST_WORKGROUPS = 256
"""About two for each multiprocessor of an A100 (108), an H100 or an H200 (132)."""
MOST_REGISTERS = 160
"""The registers of a lane, of 255, that its parts of the output, of Q and of the scores may fill.
ptxas gives kernels that fill 160 up to 252 registers; those that fill 192 spill."""
_REGISTER_BITS = 32


@dataclass(frozen=True)
class JoinAttentionTiles(FunctionPass):
    """Joins tiles whose workgroups compute the same scores, or read the same keys.

    Attributes:
        rows: whether tiles are joined along rows too, once a tile has all columns.
    """

    name: ClassVar[str] = "bankwise-join-attention-tiles"
    summary: ClassVar[str] = "compute more of an attention's output from the same scores and keys"
    later_passes_may_refuse: ClassVar[bool] = True
    kept: ClassVar[str] = "tiles"

    rows: bool = True

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the tile sizes of the attention in `function`; never fails."""
        function = function.operation
        target = gpu_target_of(function, context.test_target)
        launch = launch_of(function)
        if target is None or target.compute_capability is None or launch is None:
            return
        limits = _Limits(target, launch.threads)
        try:
            attention = only_attention(function)
            if attention is None or TILE_IS_CHOSEN in attention.operation.attributes:
                return
            joined = self._joined(attention, limits)
        except Refusal as refusal:
            reason = f"the tiles of the attention stay: {refusal.reason}"
            context.sink.remark(function.location, reason)
            return
        if joined.workgroup == attention.workgroup:
            return
        joined.configure()
        before, after = (list(each.workgroup) for each in (attention, joined))
        context.sink.remark(
            joined.operation.location, f"tiles of a workgroup joined from {before} to {after}"
        )

    def _joined(self, attention: TiledAttention, limits: _Limits) -> TiledAttention:
        if len(attention.columns) != 1:
            raise Refusal("its columns are no single loop")
        (columns,) = attention.columns
        joined = limits.longest(attention, columns)
        whole = joined.workgroup[columns] in (0, joined.extents[columns])
        if self.rows and whole and len(joined.rows) == 1:
            return limits.longest(joined, joined.rows[0])
        return joined


@dataclass(frozen=True)
class _Limits:
    """What a GPU has for a workgroup of some lanes."""

    target: GpuTargetInfo
    threads: int

    def longest(self, attention: TiledAttention, loop: int) -> TiledAttention:
        """Returns the attention with the longest tile of a loop that fits, or as it is.

        Raises:
            Refusal: the tiles do not divide the loop.
        """
        tile, extent = attention.workgroup[loop], attention.extents[loop]
        if not tile:
            return attention
        if extent % tile:
            raise Refusal(f"tiles of {tile} do not divide a loop of {extent}")
        counts = (count for count in range(extent // tile, 1, -1) if extent // tile % count == 0)
        candidates = (attention.with_tile(loop, count * tile) for count in counts)
        return next(filter(self._allow, candidates), attention)

    def _allow(self, attention: TiledAttention) -> bool:
        queries = attention.query_bits // _REGISTER_BITS
        registers = attention.output_elements + queries + attention.scores
        memory = self.target.max_workgroup_memory_bytes
        return (
            attention.workgroups >= LEAST_WORKGROUPS
            and registers <= MOST_REGISTERS * self.threads
            and (memory is None or 2 * attention.operand_bytes <= memory)
        )
