# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets a workgroup compute more columns of an attention's output from the same scores.

For CUDA IREE tiles the output's columns by 32:

    lowering_config = #iree_gpu.lowering_config<{..., workgroup = [1, 64, 32, 0, 0]}>

The scores and their exponentials do not depend on the column, so that the four workgroups of a head
of 128 columns each compute the same ones. With tiles of 128 columns they are computed once: for a
16x4096x128 f16 attention, a step of a warp has 460 instructions in place of four times 329.

Every element of the output is computed as before: it is bitwise the same.

Tiles are joined as far as

* enough workgroups are left to fill a GPU (`LEAST_WORKGROUPS`);
* what a lane holds through the whole loop, its part of the output and of Q, leaves half of its
  registers free (`MOST_REGISTERS`);
* a multiprocessor holds two workgroups, of which one computes while the other waits for memory.

Runs on the configured function, before its pipeline, for NVIDIA GPUs: these limits are theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from ..dialect_utils.diagnostics import Refusal
from ..dialect_utils.gpu_target import GpuTargetInfo, gpu_target_of, launch_of
from ..dialect_utils.tiled_attention import TiledAttention, only_attention
from .base import FunctionPass, PassContext

LEAST_WORKGROUPS = 256
"""About two for each multiprocessor of an A100 (108), an H100 or an H200 (132)."""
MOST_REGISTERS = 128
"""The registers of a lane that accumulators and Q may fill, of 255. With 128 of them ptxas gives a
kernel of 256 columns 252 registers, and with 192 it spills."""
_REGISTER_BITS = 32


@dataclass(frozen=True)
class JoinHeadTiles(FunctionPass):
    """Joins the tiles of columns for which workgroups compute the same scores."""

    name: ClassVar[str] = "bankwise-join-head-tiles"
    summary: ClassVar[str] = "compute an attention's scores once for more columns of its output"
    later_passes_may_refuse: ClassVar[bool] = True

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the tile sizes of the attention in `function`; never fails."""
        function = function.operation
        target = gpu_target_of(function, context.test_target)
        launch = launch_of(function)
        if target is None or not target.arch.startswith("sm_") or launch is None:
            return
        try:
            attention = only_attention(function)
            if attention is None:
                return
            joined = _joined(attention, target, launch.threads)
        except Refusal as refusal:
            context.sink.remark(
                function.location, f"the tiles of the attention stay: {refusal.reason}"
            )
            return
        loop = joined.columns[0]
        before, after = attention.workgroup[loop], joined.workgroup[loop]
        if after == before:
            return
        joined.configure()
        context.sink.remark(
            joined.operation.location,
            f"a workgroup computes {after} columns of the output from its scores, not {before}",
        )


def _joined(attention: TiledAttention, target: GpuTargetInfo, threads: int) -> TiledAttention:
    """Returns the attention with the longest tile of columns that fits, or as it is.

    Raises:
        Refusal: the loop over columns is not known, or not tiled evenly.
    """
    if len(attention.columns) != 1:
        raise Refusal("its columns are no single loop")
    (loop,) = attention.columns
    tile, extent = attention.workgroup[loop], attention.extents[loop]
    if not tile:
        return attention
    if extent % tile:
        raise Refusal(f"tiles of {tile} do not divide {extent} columns")
    counts = (count for count in range(extent // tile, 1, -1) if extent // tile % count == 0)
    candidates = (attention.with_tile(loop, count * tile) for count in counts)
    return next((each for each in candidates if _fits(each, target, threads)), attention)


def _fits(attention: TiledAttention, target: GpuTargetInfo, threads: int) -> bool:
    registers = attention.output_elements + attention.query_bits // _REGISTER_BITS
    memory = target.max_workgroup_memory_bytes
    return (
        attention.workgroups >= LEAST_WORKGROUPS
        and registers <= MOST_REGISTERS * threads
        and (memory is None or 2 * attention.operand_bytes <= memory)
    )
