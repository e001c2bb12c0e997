# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a matmul of f32 is spread over workgroups and threads that multiply element by element.

IREE lets each thread read its operands from global memory, and gives it a part of one row:

    lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 32], thread = [1, 16, 0],
        workgroup = [32, 128, 1]}>

17 elements are read for 16 multiply-adds. With operands in the LDS and 8 x 8 elements a thread it
is a quarter of that:

    lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1],
        reduction = [0, 0, 16], thread = [8, 8, 0], workgroup = [128, 128, 0]}>

An element is summed by one fused multiply-add after the other: step by step, and from the last k
of a step to its first, as IREE unrolls vectors. With as many k a step as IREE chose, outputs are
therefore the same bits, whatever the tile. Other numbers are for those who need not have them.

IREE computes some matmuls otherwise, with products that are rounded before they are added: of a
thread that has one element or more than 64 of them, which IREE takes apart, and of tiles that do
not divide the sizes. These stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.lowering_config import (
    CONFIG,
    PROMOTED,
    REDUCTION,
    THREAD,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    numbers_attribute,
)
from ..costs.tile_cost import ScalarTile, TileWork, scalar_work
from ..tiles.tiled_operation import Circumstances, TiledOperation
from .matmul_tiles import is_filled
from .scalar_contractions import ScalarContraction, scalar_contraction, scalar_root

_SIZES = (16, 32, 64, 128, 256)
_STEPS = (8, 16, 32)
_THREADS = ((8, 8), (8, 4), (4, 8), (4, 4))
_LEAST_WARPS = 2
"""The fewest warps of a tile that was compared with measured times."""
MOST_THREADS = 256
MOST_MULTIPLY_ADDS = 2048
"""The most multiply-adds of a thread per step: their code, which is unrolled, takes 32 KiB."""
MOST_ELEMENTS = 64
"""The most elements of a thread that IREE computes by vectors of all of them."""
_COPY_BYTES = 16
_FROM_GLOBAL_MEMORY = 3.0
"""What the time of a tile counts whose operands stay in global memory. The model takes their reads
for reads of the LDS: IREE's tile of 2048x2048x2048 takes 3.4 times the time that it predicts."""


@dataclass(frozen=True)
class ThreadTiledMatmul(TiledOperation[ScalarTile]):
    """A matmul by scalar instructions, and its tile."""

    contraction: ScalarContraction

    multiplied: ClassVar[tuple[int, ...]] = (0, 1)
    sizes_differ: ClassVar[str] = "the elements of its operands differ in size"

    handicapped_by: ClassVar[str] = "operands are read from global memory"

    @property
    def handicap(self) -> float:
        """Returns what the time of its own tile counts."""
        return _FROM_GLOBAL_MEMORY

    @property
    def shape(self) -> tuple[int, int, int]:
        """Returns rows, columns and summed elements."""
        row, column, summed = (self.extents[loop] for loop in self.contraction.loops)
        return row, column, summed

    def takes(self, tile: ScalarTile) -> bool:
        """Returns whether the loops divide evenly into such tiles, and threads share the copies."""
        rows, columns, summed = self.shape
        vector = _COPY_BYTES // self.element_bytes
        return not (
            rows % tile.rows
            or columns % tile.columns
            or summed % tile.summed
            or tile.rows % tile.thread_rows
            or tile.columns % tile.thread_columns
            or tile.threads % self.launch.warp_size
            or tile.threads > MOST_THREADS
            or tile.thread_rows * tile.thread_columns * tile.summed > MOST_MULTIPLY_ADDS
            or tile.rows * tile.summed % (tile.threads * vector)
            or tile.columns * tile.summed % (tile.threads * vector)
        )

    def candidates(self, circumstances: Circumstances) -> Iterator[ScalarTile]:
        """Yields tiles of many sizes, which keep the order of sums unless it may be another."""
        steps = {self.tile.summed, *(_STEPS if circumstances.other_order else ())}
        shapes = product(_SIZES, _SIZES, sorted(steps), _THREADS)
        least = max(_LEAST_WARPS, circumstances.processor.least_warps) * self.launch.warp_size
        for rows, columns, summed, (down, across) in shapes:
            tile = ScalarTile(rows, columns, summed, down, across)
            if tile.threads >= least:
                yield tile

    def copied_bytes(self, tile: ScalarTile) -> int:
        """Returns the bytes of A and B that a step copies."""
        return (tile.rows + tile.columns) * tile.summed * self.element_bytes

    def work(self, tile: ScalarTile, circumstances: Circumstances) -> TileWork:
        """Returns how much work a tile is.

        Raises:
            Refusal: the GPU's multiply-adds are not modelled.
        """
        processor = circumstances.processor
        if not processor.fma_cycles:
            raise Refusal("the model of the GPU knows matrix instructions alone")
        batch = prod(self.extents) // prod(self.shape)
        return scalar_work(self.shape, tile, processor, self.element_bytes, batch)

    def attributes(self, tile: ScalarTile) -> dict[str, ir.Attribute]:
        """Returns the attributes of the operation and, as `TRANSLATION_INFO`, of its function."""
        context = self.operation.context
        row, column, summed = self.contraction.loops
        ones = dict.fromkeys(self.contraction.batch, 1)
        tiles = {
            WORKGROUP: {**ones, row: tile.rows, column: tile.columns},
            THREAD: {**ones, row: tile.thread_rows, column: tile.thread_columns},
            REDUCTION: {summed: tile.summed},
        }
        config = LoweringConfig({PROMOTED: numbers_attribute([0, 1], context)})
        config = config.with_tiles(len(self.extents), tiles, context)
        return {
            CONFIG: config.attribute(context),
            TRANSLATION_INFO: self.launch.with_warps(tile.threads // self.launch.warp_size),
        }


def thread_tiled_matmul(function: ir.Operation) -> ThreadTiledMatmul | None:
    """Returns the matmul of f32 that decides on the workgroups of `function`, if there is one.

    Raises:
        Refusal: there is one, but of another form than this module describes.
    """
    root = scalar_root(function, ir.F32Type.get(function.context))
    if root is None:
        return None
    contraction = scalar_contraction(root, "arith.mulf", "arith.addf")
    if not is_filled(root.operands[2], function):
        raise Refusal("it adds to a matrix that is read")
    matmul = ThreadTiledMatmul(
        root, contraction.extents, WarpLaunch.as_row(function), _tile(contraction), contraction
    )
    tile = matmul.tile
    if not _divides(tile, matmul.shape):
        raise Refusal("its tiles do not divide its sizes")
    if not 1 < tile.thread_rows * tile.thread_columns <= MOST_ELEMENTS:
        raise Refusal("its threads add products that are rounded before")
    return matmul


def divided_by_tile(root: ir.Operation) -> bool:
    """Returns whether the tile that IREE gave a matmul of f32 divides its sizes.

    Raises:
        Refusal: it is of another form than this module describes.
    """
    contraction = scalar_contraction(root, "arith.mulf", "arith.addf")
    row, column, summed = (contraction.extents[loop] for loop in contraction.loops)
    return _divides(_tile(contraction), (row, column, summed))


def _divides(tile: ScalarTile, shape: tuple[int, int, int]) -> bool:
    parts = (tile.rows, tile.columns, tile.summed)
    return not any(size % part for size, part in zip(shape, parts, strict=True))


def _tile(contraction: ScalarContraction) -> ScalarTile:
    """Returns the tile that IREE gave a matmul.

    Raises:
        Refusal: its loops are tiled otherwise than rows, columns and summed elements.
    """
    config = LoweringConfig.of(contraction.operation.attributes[CONFIG])
    loops = len(contraction.extents)
    row, column, summed = contraction.loops
    workgroup, thread, reduction = (
        config.per_loop(name, loops) for name in (WORKGROUP, THREAD, REDUCTION)
    )
    batch = contraction.batch
    if (
        any(workgroup[loop] != 1 or thread[loop] != 1 or reduction[loop] for loop in batch)
        or not all((workgroup[row], workgroup[column], thread[row], thread[column]))
        or reduction[row] or reduction[column] or thread[summed] or not reduction[summed]
    ):  # fmt: skip
        raise Refusal("its loops are tiled otherwise than rows, columns and summed elements")
    if workgroup[row] % thread[row] or workgroup[column] % thread[column]:
        raise Refusal("its threads do not share its tile evenly")
    of_workgroup = (workgroup[row], workgroup[column], reduction[summed])
    return ScalarTile(*of_workgroup, thread[row], thread[column])
