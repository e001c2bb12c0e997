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
from .rounded_sums import rounded_order
from .row_sums import row_sum_logarithms, row_sum_microseconds, sums_rows
from .scalar_contractions import scalar_root
from .scalar_matmul_tiles import divided_by_tile, thread_tiled_matmul

_GAIN_OF_PARTS = 0.1
"""The part of the predicted time that sums in parts must save where they need not be."""
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
        same_bits: whether it stays unless IREE adds rounded products.

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
    if same_bits and not _is_rounded(root, loops):
        return None
    by_threads = scalar_root(function, ir.F32Type.get(function.context)) is not None
    stock_time = math.inf
    if not loops.computed and not everywhere:
        if not by_threads:
            return None
        if divided_by_tile(root) and circumstances is not None:
            stock_time = _stock_time(function, circumstances)
    tilings = lane_tilings(root, loops, WarpLaunch.as_row(function), rounded=same_bits)
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


def tiled_by_lanes(
    function: ir.Operation,
    root: ir.Operation,
    circumstances: Circumstances | None,
    parts: Sequence[int] = (1,),
    asked: str = BEST,
    *,
    rounded: bool = False,
) -> LaneTiledMatmul:
    """Returns a matmul with the best tile of lanes, and sizes that it divides.

    Args:
        circumstances: None for a GPU without a model, where the first tile is taken.
        parts: into how many parts its sums may be split.
        asked: the tile that it gets, as its numbers with commas, or `BEST`.
        rounded: whether its products are rounded before they are added.

    Raises:
        Refusal: lanes cannot share it.
    """
    loops = ScalarLoops.of(function, root)
    launch = WarpLaunch.as_row(function)
    tilings = lane_tilings(root, loops, launch, tuple(parts), rounded=rounded)
    if asked != BEST:
        tilings = [each for each in tilings if each.tile.numbers == asked]
    best = fastest(tilings, loops.tiled[2], circumstances, loops.sizes(root))
    if best is None:
        raise Refusal("no tile of lanes fits in the LDS")
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


def _is_rounded(root: ir.Operation, loops: ScalarLoops) -> bool:
    """Returns whether IREE rounds the products of a matmul of known sizes before it adds them."""
    summed = loops.tiled[2]
    return not loops.computed and rounded_order(root, loops.extents, {summed}) is not None


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


def has_instruction(function: ir.Operation, root: ir.Operation, test_target: str | None) -> bool:
    """Returns whether the GPU of a function has a matrix instruction for a matmul."""
    try:
        matrix_instruction(function, root, test_target)
    except Refusal:
        return False
    return True
