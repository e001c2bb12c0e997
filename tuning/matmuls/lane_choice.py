# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tile of lanes a matmul of f32 gets, and whether it gets one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.lowering_config import WarpLaunch
from ..shapes.enlarged_shapes import EnlargedShapes
from ..tiles.tile_choice import LEAST_GAIN, tile_choice, tile_time
from ..tiles.tiled_operation import Circumstances
from .dynamic_matmuls import (
    ScalarLoops,
    fastest,
    matrix_instruction,
    predicted_logarithms,
    rounded_shapes,
    scalar_matmul_root,
)
from .lane_matmuls import LaneTiledMatmul, lane_tilings, multiplies_floats
from .row_sums import row_sum_logarithms, row_sum_microseconds, sums_rows
from .scalar_contractions import scalar_root
from .scalar_matmul_tiles import divided_by_tile, thread_tiled_matmul
from .stock_sums import StockSums, stock_sums

_GAIN_OF_PARTS = 0.1
"""The part of the predicted time that sums in parts must save where they need not be."""
_NO_TILE = "no tile of lanes fits in the LDS"
_NO_STEP = "no step of a tile divides the summed elements, as their order asks for"
BEST = "best"
"""Stands for the tile that is predicted to take the least time."""


def lane_matmul(
    function: ir.Operation,
    circumstances: Circumstances | None,
    test_target: str | None = None,
    *,
    everywhere: bool = False,
    same_bits: bool = False,
) -> tuple[LaneTiledMatmul, EnlargedShapes] | None:
    """Returns the matmul of f32 of `function`, with the tile of lanes that is best for it, and the
    shapes that values get with that.

    None stands for a function without one, or for one that other passes tile.

    Args:
        everywhere: whether it may have a matrix instruction, too, and be tiled otherwise.
        same_bits: whether products are added as IREE does, and a matmul stays if that is not known.

    Raises:
        Refusal: there is one that lanes cannot share.
    """
    root = scalar_matmul_root(function)
    if root is None or not multiplies_floats(root):
        return None
    if not everywhere and has_instruction(function, root, test_target):
        return None
    if not everywhere and (circumstances is None or not circumstances.processor.fma_cycles):
        if same_bits:
            return None
        raise Refusal("there is no prediction for the GPU")
    loops = ScalarLoops.of(function, root)
    sums = _stock_sums(root, loops) if same_bits else None
    if same_bits and sums is None:
        return None
    limit = math.inf
    if circumstances is not None and not everywhere:
        order = circumstances.in_order() if same_bits else circumstances
        limit = _most_time(function, root, loops, order)
    if not limit:
        return None
    tilings = lane_tilings(root, loops, WarpLaunch.as_row(function), sums=sums)
    best = fastest(tilings, loops.tiled[2], circumstances, loops.sizes(root))
    if best is None:
        raise Refusal(_NO_TILE if tilings else _NO_STEP)
    if circumstances is not None and not everywhere:
        _check_row_sums(best, loops, circumstances)
        if limit < math.inf and tile_time(best, best.tile, circumstances) > limit:
            return None
    return best, rounded_shapes(best, best.loops)


def tiled_by_lanes(
    function: ir.Operation,
    root: ir.Operation,
    circumstances: Circumstances | None,
    parts: Sequence[int] = (1,),
    asked: str = BEST,
    sums: StockSums | None = None,
) -> LaneTiledMatmul:
    """Returns a matmul with the best tile of lanes, and sizes that it divides.

    Args:
        circumstances: None for a GPU without a model, where the first tile is taken.
        parts: into how many parts its sums may be split.
        asked: the tile that it gets, as its numbers with commas, or `BEST`.
        sums: how its products are to be added, if that matters.

    Raises:
        Refusal: lanes cannot share it.
    """
    loops = ScalarLoops.of(function, root)
    launch = WarpLaunch.as_row(function)
    tilings = lane_tilings(root, loops, launch, tuple(parts), sums)
    if not tilings:
        raise Refusal(_NO_STEP)
    if asked != BEST:
        tilings = [each for each in tilings if each.tile.numbers == asked]
    best = fastest(tilings, loops.tiled[2], circumstances, loops.sizes(root))
    if best is None:
        raise Refusal(_NO_TILE)
    rounded_shapes(best, best.loops)
    return best


def gains_by_parts(
    function: ir.Operation,
    root: ir.Operation,
    matmul: LaneTiledMatmul,
    circumstances: Circumstances,
) -> bool:
    """Returns whether sums in parts save enough of the predicted time where they need not be.

    Args:
        root: the matmul that decides on the workgroups of `function`.
        matmul: the same one with the best tile.
    """
    loops = ScalarLoops.of(function, root)
    tilings = lane_tilings(root, loops, matmul.launch)
    whole = fastest(tilings, loops.tiled[2], circumstances)
    times = [] if whole is None else [tile_time(whole, whole.tile, circumstances)]
    workgroups = 0 if whole is None else whole.work(whole.tile, circumstances).workgroups
    if workgroups >= circumstances.processor.multiprocessors and not sums_rows(root):
        # None is idle: f32 1000x1000x1000 takes 1.03 times as long on an H200 in parts as in one.
        return False
    try:
        threads = thread_tiled_matmul(function)
        choice = None if threads is None else tile_choice(threads, circumstances)
    except Refusal:
        choice = None
    if choice is not None:
        handicap = 1 if choice.gains else choice.tiled.handicap
        times.append(choice.best_time * handicap)
    least = min(times, default=math.inf) * (1 - _GAIN_OF_PARTS)
    return matmul.tile.parts > 1 and tile_time(matmul, matmul.tile, circumstances) <= least


def check_few_rows(
    root: ir.Operation, matmul: LaneTiledMatmul, circumstances: Circumstances
) -> None:
    """Makes sure that a tile is faster than a workgroup for each element, if IREE makes these.

    Args:
        root: the operation as IREE has configured it.

    Raises:
        Refusal: it is not.
    """
    if not sums_rows(root):
        return
    rows, columns, summed = matmul.shape
    batch = prod(matmul.extents) // (rows * columns * summed)
    usual = row_sum_microseconds(root, matmul.shape, batch, circumstances.processor)
    if tile_time(matmul, matmul.tile, circumstances) > usual:
        raise Refusal("a workgroup for each element is predicted to be faster")


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


def _stock_sums(root: ir.Operation, loops: ScalarLoops) -> StockSums | None:
    """Returns how IREE adds the products of a matmul; None where that is not known."""
    return None if loops.computed else stock_sums(root, loops.extents, {loops.tiled[2]})


def _most_time(
    function: ir.Operation, root: ir.Operation, loops: ScalarLoops, circumstances: Circumstances
) -> float:
    """Returns how long a tile of lanes may take at most by prediction; 0 where none is wanted."""
    if loops.computed:
        return math.inf
    if scalar_root(function, ir.F32Type.get(function.context)) is None:
        return 0
    if not divided_by_tile(root):
        return math.inf
    return _stock_time(function, circumstances) * (1 - LEAST_GAIN)


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


def is_retiled(function: ir.Operation, circumstances: Circumstances) -> bool:
    """Returns whether `bankwise-retile` gives the matmul of a function a tile that keeps bits."""
    try:
        tiled = thread_tiled_matmul(function)
    except Refusal:
        return False
    return tiled is not None and tile_choice(tiled, circumstances.in_order()).gains


def has_instruction(function: ir.Operation, root: ir.Operation, test_target: str | None) -> bool:
    """Returns whether the GPU of a function has a matrix instruction for a matmul."""
    try:
        matrix_instruction(function, root, test_target)
    except Refusal:
        return False
    return True
