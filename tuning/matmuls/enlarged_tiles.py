# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tile a matmul gets whose sizes may be rounded up to it."""

from __future__ import annotations

from dataclasses import replace

from ..costs.least_cost import least_cost
from ..tiles.tiled_operation import Circumstances, check_saves
from .matmul_tiles import WarpTiledMatmul

TimedMatmul = tuple[float, WarpTiledMatmul]
"""A matmul, and the microseconds that it is predicted to take."""


def best_enlarged(matmul: WarpTiledMatmul, circumstances: Circumstances) -> TimedMatmul:
    """Returns a matmul with the best tile, and sizes that it divides.

    Of tiles that take more time at least than another one takes, no time is predicted.
    """
    of_sizes = dict[tuple[int, ...], WarpTiledMatmul]()

    def timed(each: WarpTiledMatmul) -> TimedMatmul:
        # What the first matmul of some sizes has found out about its operands is known of all.
        first = of_sizes.setdefault(each.extents, each)
        tile = circumstances.slotted(first, each.tile)
        return circumstances.counted(first, circumstances.work(first, tile)), replace(
            each, tile=tile
        )

    tiles = (*matmul.described_candidates(circumstances), *matmul.enlarging_candidates())
    others = map(matmul.enlarged, tiles)
    taken = [each for each in others if each.takes(each.tile)]
    all_of_them = [*reversed(taken), matmul.enlarged(matmul.tile)]
    bounds = matmul.least_times(all_of_them, circumstances)
    found = least_cost(bounds, lambda number: timed(all_of_them[number]))
    best = all_of_them[-1] if found is None else found[1]
    return circumstances.time(circumstances.work(best, best.tile)), best


def check_gain(best: TimedMatmul, usual: float, circumstances: Circumstances, arch: str) -> None:
    """Makes sure that a matmul saves enough of the predicted time, beside that of its start.

    A kernel takes as long to start with any tile, of which `launch_cycles` says rather too much:
    f32 1x16x55x35 by 64 windows of 16 x 1 x 7, with strides of 2, takes 5.6 us with 28 workgroups
    and 8.0 with 7, by the model of `emulator/timing/`.

    Args:
        usual: the predicted microseconds of what IREE makes.
        arch: the name of the GPU.

    Raises:
        Refusal: it does not.
    """
    time, matmul = best
    processor = circumstances.processor
    start = processor.launch_cycles / processor.megahertz
    said = f"{matmul.tile} is predicted to take {time:.1f} us, and IREE's tile {usual:.1f} us"
    check_saves(said, time - start, usual - start, processor, arch, matmul.modelled_gain)
