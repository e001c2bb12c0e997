# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls whose lanes multiply, each a tile of rows and columns, in IREE's VectorDistribute.

Where a GPU has no matrix instruction for the elements, the configuration says how many warps and
how many lanes of a warp there are along each loop, and how many elements beside each other a lane
takes at once:

    lowering_config = #iree_gpu.lowering_config<{lane_basis = [[4, 8, 1], [0, 1, 2]],
        promote_operands = [0, 1], reduction = [0, 0, 16], subgroup_basis = [[4, 2, 1], [0, 1, 2]],
        thread = [1, 4, 4], workgroup = [128, 128, 0]}>

8 warps of 4 x 8 lanes share 128 x 128 elements of the result, 8 x 8 each. A lane reads 4 elements
at a time: of A along the summed loop, and of B along the loop that is the innermost in memory. What
it has beyond that are repetitions. For 1,024 multiply-adds of a step it reads 64 times from the
LDS.

Tiles need not divide the sizes, which are rounded up (`tuning/shapes/enlarged_shapes.py`): so this
is for sizes that only the program knows, too, and for those that no tile divides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import product
from math import gcd, prod
from typing import ClassVar, Self

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.indexing_maps import loops_of
from ...dialect_utils.lowering_config import (
    BASIS,
    CONFIG,
    LANE_BASIS,
    REDUCTION,
    THREAD,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    basis_attribute,
    changed_info,
    numbers_attribute,
    promoting,
)
from ..costs.copy_layouts import share_evenly
from ..costs.scalar_cost import vector_elements
from ..costs.tile_cost import ScalarTile, TileWork, scalar_work
from ..tiles.tiled_operation import Circumstances, TiledOperation, rounded_up
from .dynamic_matmuls import ScalarLoops
from .scalar_matmul_tiles import MOST_MULTIPLY_ADDS, MOST_THREADS
from .stock_sums import StockSums

_ROW_LANES = (4, 2, 1)
"""How many lanes of a warp may be below each other: the others are beside each other."""
_SIZES = (8, 16, 32, 64, 128)
_STEPS = (8, 16, 32)
_PARTS = ((8, 8), (8, 4), (4, 8), (4, 4), (2, 4), (1, 4))
"""The rows and columns that a lane may have."""
_MORE_REGISTERS = 0.5
"""How many registers of a lane ptxas takes for each element of the result beside that element."""
_LEAST_WARPS = 4
"""The fewest warps of a tile that was compared with measured times."""
_MOST_THREADS_OF_PARTS = 512
"""The most threads where parts of the sums have warps of their own."""


@dataclass(frozen=True)
class LaneTiledMatmul(TiledOperation[ScalarTile]):
    """A matmul by scalar instructions, and the tile of a workgroup.

    Attributes:
        loops: the numbers of the loops over rows, columns and summed elements.
        parts: into how many parts sums may be split.
        part: the loop over the parts, if there is one.
        sums: how its products are added; None for an order that need not be IREE's.
    """

    loops: tuple[int, int, int]
    parts: tuple[int, ...] = (1,)
    part: int | None = None
    sums: StockSums | None = None

    multiplied: ClassVar[tuple[int, ...]] = (0, 1)
    sizes_differ: ClassVar[str] = "the elements of its operands differ in size"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Returns rows, columns and summed elements."""
        row, column, summed = (self.extents[loop] for loop in self.loops)
        return row, column, summed

    def enlarged(self, tile: ScalarTile) -> Self:
        """Returns the matmul with sizes that such tiles divide."""
        step = tile.summed if self.part is not None else tile.summed * tile.parts
        multiples = dict(zip(self.loops, (tile.rows, tile.columns, step), strict=True))
        extents = rounded_up(self.extents, multiples)
        return self.changed(extents=extents, tile=tile, multiples=multiples)

    def takes(self, tile: ScalarTile) -> bool:
        """Returns whether the loops divide evenly into such tiles, and threads share the copies."""
        sizes = zip(self.shape, (tile.rows, tile.columns, tile.summed * tile.parts), strict=True)
        divides = not any(size % part for size, part in sizes)
        return divides and _is_shared_evenly(tile, self.launch.warp_size)

    def candidates(self, circumstances: Circumstances | None = None) -> Iterator[ScalarTile]:
        """Yields tiles of many sizes."""
        yield from _lane_tiles(self.launch.warp_size, self.parts)

    def copied_bytes(self, tile: ScalarTile) -> int:
        """Returns the bytes of A and B that a step copies."""
        return (tile.rows + tile.columns) * tile.summed * tile.parts * self.element_bytes

    def work(self, tile: ScalarTile, circumstances: Circumstances) -> TileWork:
        """Returns how much work a tile is."""
        batch = prod(self.extents) // prod(self.shape)
        if self.part is not None:
            batch //= self.extents[self.part]
        of_elements = (circumstances.processor, self.element_bytes, batch)
        work = scalar_work(self.shape, tile, *of_elements)
        results = tile.thread_rows * tile.thread_columns
        instructions = 2 if self.sums is not None and self.sums.rounded else 1
        return work._replace(
            registers=work.registers + _MORE_REGISTERS * results,
            multiply_adds=instructions * work.multiply_adds,
        )

    def least_times(
        self, others: Sequence[TiledOperation[ScalarTile]], circumstances: Circumstances
    ) -> list[float]:
        """Returns the microseconds that the matmul takes at least with each of other tiles.

        They are computed of all tiles at once: there are hundreds.
        """
        extents = tuple(np.array([each.extents for each in others]).T)
        tile = ScalarTile(*np.array([each.tile for each in others]).T)
        work = self.changed(extents=extents).work(tile, circumstances)
        return circumstances.least_by_lanes(work)

    def attributes(self, tile: ScalarTile) -> dict[str, ir.Attribute]:
        """Returns the attributes of the operation and, as `TRANSLATION_INFO`, of its function."""
        context, count = self.operation.context, len(self.extents)
        row, column, summed = self.loops
        lanes = self.launch.warp_size
        down = row_lanes(tile, lanes)
        along = {row: down, column: lanes // down}
        parts = {row: tile.rows // tile.thread_rows, column: tile.columns // tile.thread_columns}
        warps = {loop: parts[loop] // along[loop] for loop in parts}
        single = {loop: 1 for loop in range(count) if loop not in (*self.loops, self.part)}
        if self.part is not None:
            warps[self.part] = tile.parts
        tiles = {
            WORKGROUP: single | {row: tile.rows, column: tile.columns},
            REDUCTION: {summed: tile.summed},
        }
        thread = dict.fromkeys(range(count), 1) | {
            row: self._together(0, row, tile.thread_rows),
            column: self._together(1, column, tile.thread_columns),
            summed: vector_elements(tile.summed, self.element_bytes),
        }
        entries = {
            **promoting((0, 1), context),
            BASIS: self._basis(warps),
            LANE_BASIS: self._basis(along),
            THREAD: numbers_attribute([thread[loop] for loop in range(count)], context),
        }
        config = LoweringConfig(entries).with_tiles(count, tiles, context)
        pipeline = ir.Attribute.parse("#iree_gpu.pipeline<VectorDistribute>", context)
        info = changed_info(self.launch.with_warps(tile.threads // lanes), pipeline=pipeline)
        return {CONFIG: config.attribute(context), TRANSLATION_INFO: info}

    def _basis(self, along: dict[int, int]) -> ir.Attribute:
        order = list(range(len(self.extents)))
        counts = [along.get(loop, 1) for loop in order]
        return basis_attribute(counts, order, self.operation.context)

    def _together(self, operand: int, loop: int, part: int) -> int:
        """Returns how many elements of a lane's part of a loop lie beside each other in memory.

        Where the loop is not the innermost of the operand, lanes beside each other have elements
        beside each other instead: so layouts keep their reads apart.
        """
        is_innermost = loops_of(self.operation)[operand][-1] == loop
        return vector_elements(part, self.element_bytes) if is_innermost else 1


def lane_tilings(
    root: ir.Operation,
    loops: ScalarLoops,
    launch: WarpLaunch,
    parts: tuple[int, ...] = (1,),
    sums: StockSums | None = None,
    sizes: Collection[int] = _SIZES,
) -> list[LaneTiledMatmul]:
    """Returns a matmul with each tile of lanes, and with sizes that these divide.

    Args:
        sums: how its products are to be added, if that matters.
        sizes: the rows and columns of the tiles.
    """
    of_root = (root, loops.extents, launch, ScalarTile(1, 1, 1, 1, 1), loops.tiled)
    matmul = LaneTiledMatmul(*of_root, parts, computed=loops.computed, sums=sums)
    summed = loops.extents[loops.tiled[2]]
    return [
        matmul.enlarged(each)
        for each in matmul.candidates()
        if {each.rows, each.columns} <= {*sizes}
        and (sums is None or sums.keeps(summed, each.summed))
    ]


@cache
def _lane_tiles(lanes: int, counts: tuple[int, ...]) -> tuple[ScalarTile, ...]:
    """Returns the tiles that warps of so many lanes share evenly.

    Args:
        counts: into how many parts sums may be split.
    """
    found: list[ScalarTile] = []
    for rows, columns in product(_SIZES, _SIZES):
        made = (
            ScalarTile(rows, columns, 1, *part, parts=parts) for part in _PARTS for parts in counts
        )
        shared = [each for each in made if _are_results_shared(each, lanes)]
        tiles = (each._replace(summed=summed) for summed in _STEPS for each in shared)
        found += filter(_are_copies_shared, tiles)
    return tuple(found)


def _is_shared_evenly(tile: ScalarTile, lanes: int) -> bool:
    """Returns whether the lanes of some warps share a tile and its copies evenly."""
    return _are_results_shared(tile, lanes) and _are_copies_shared(tile)


def _are_results_shared(tile: ScalarTile, lanes: int) -> bool:
    """Returns whether the lanes of some warps share the rows and columns of a tile evenly."""
    most = MOST_THREADS if tile.parts == 1 else _MOST_THREADS_OF_PARTS
    return (
        tile.rows % tile.thread_rows == 0
        and tile.columns % tile.thread_columns == 0
        and _LEAST_WARPS * lanes <= tile.threads <= most
        and tile.part_threads % lanes == 0
        and (tile.parts == 1 or tile.rows * tile.columns >= tile.threads)
        and row_lanes(tile, lanes) > 0
    )


def _are_copies_shared(tile: ScalarTile) -> bool:
    """Returns whether the threads share the copies of a step evenly, and multiply few elements."""
    step = tile.summed * tile.parts
    return tile.thread_rows * tile.thread_columns * tile.summed <= MOST_MULTIPLY_ADDS and (
        share_evenly(((tile.rows, step), (tile.columns, step)), tile.threads)
    )


def multiplies_floats(root: ir.Operation) -> bool:
    """Returns whether a matmul has f32 alone."""
    kinds = {ir.ShapedType(each.type).element_type for each in root.operands}
    return kinds == {ir.F32Type.get(root.context)}


def row_lanes(tile: ScalarTile, lanes: int) -> int:
    """Returns how many lanes of a warp are below each other; 0 where they cannot share a tile."""
    down, across = tile.rows // tile.thread_rows, tile.columns // tile.thread_columns
    found = (gcd(each, down) for each in _ROW_LANES)
    return next((each for each in found if across % (lanes // each) == 0), 0)
