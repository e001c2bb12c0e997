# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets neighbouring lanes compute neighbouring elements where each element has a window of its own.

Depthwise convolutions and pooling sum over a window of an image and over nothing else. IREE 3.13
gives them workgroups of one warp, whose lanes may lie along the channels of an image that has its
channels first, so that each of them reads other lines of memory:

    indexing_maps = [(n, h, w, c, y, x) -> (n, c, h + y, w + x), ...]
    lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 0, 5, 5],
        thread = [1, 1, 1, 1, 0, 0], workgroup = [1, 1, 2, 16, 0, 0]}>

This pass lets lanes lie along the innermost dimension of the result, in workgroups of up to 8
warps. Where neighbours of the result have neighbours of the image, a lane has up to 4 of them, and
computes them with one column of the window at a time; loops over columns are unrolled
(`bankwise-unroll-windows`), so that what two columns have in common is read once:

    lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 0, 5, 1],
        thread = [1, 1, 4, 1, 0, 0], workgroup = [1, 12, 80, 1, 0, 0]}>

An element is summed in another order then: outputs are right to rounding.

Runs on the configured function, before its pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.handed_attributes import WINDOWS
from ...dialect_utils.index.loop_sums import LoopSum, loop_lengths, loop_sums
from ...dialect_utils.indexing_maps import summed_loops
from ...dialect_utils.lowering_config import (
    CONFIG,
    REDUCTION,
    THREAD,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    numbers_attribute,
)
from ...passes.base import PassContext
from ..costs.processors import Processor, processor_of
from ..matmuls.matmul_tiles import generic_root
from ..tiles.planned_pass import NewTile, PlannedPass

_IMAGE, _RESULT = 0, 2
_VECTORS = (4, 5, 3, 2)
"""How many neighbours a lane may have, the best first."""
_MOST_UNROLLED = 64
"""The most elements of a window that one lane reads without a loop."""
_WARPS = (8, 4, 2)
_WARPS_OF_FEW = (8, 4, 2, 1)
"""The warps of a workgroup; the second on AMD, where lanes have neighbours only while each unit has
a warp. By the model of `emulator/timing/`, 128 x 10 x 10 maxima of windows of 5 x 5 in f32 take 4.2
us on gfx942 with 5 elements a lane and 2 warps, and 2.9 us with 1 and 1."""
_WORKGROUPS_EACH = 2
"""How many workgroups each multiprocessor should have at least, before these have fewer warps."""


@dataclass(frozen=True)
class TileWindows(PlannedPass["_Tile"]):
    """Configures depthwise convolutions and pooling for lanes along rows of the result."""

    name: ClassVar[str] = "bankwise-tile-windows"
    summary: ClassVar[str] = "let neighbouring lanes compute neighbours of what has windows"
    what_stays: ClassVar[str] = "the tile of windows stays"
    kept: ClassVar[str] = "configuration"

    def _take(self, function: ir.Operation, context: PassContext, plan: _Tile) -> NewTile:
        plan.configure(function)
        return plan.operation, plan, str(plan)

    def _plan(self, function: ir.Operation, context: PassContext) -> _Tile | None:
        """Returns the tile of what has windows and decides on the workgroups of a function.

        None stands for another function.

        Raises:
            Refusal: something is not understood.
        """
        root = generic_root(function)
        processor = processor_of(gpu_features_of(function, context.test_target).arch)
        if root is None or processor is None:
            return None
        try:
            config = LoweringConfig.of(root.attributes[CONFIG])
        except Refusal:
            return None
        if {*config.entries} != {REDUCTION, THREAD, WORKGROUP}:
            return None
        windows = _windows(root)
        if windows is None:
            return None
        launch = WarpLaunch.as_row(function)
        if launch.warps != 1:
            return None
        sums, extents = windows
        return _tile(root, launch, sums, extents, processor)


class _Tile(NamedTuple):
    """The tile of an operation with windows.

    Attributes:
        workgroup, thread, window: the elements of a workgroup, of a lane, and those of the window
            that are read at a time, by loop; 0 for loops that an entry does not mean.
    """

    operation: ir.Operation
    launch: WarpLaunch
    workgroup: tuple[int, ...]
    thread: tuple[int, ...]
    window: tuple[int, ...]

    @property
    def lanes(self) -> int:
        """Returns how many lanes have elements."""
        pairs = zip(self.workgroup, self.thread, strict=True)
        return prod(size // each for size, each in pairs if each)

    def configure(self, function: ir.Operation) -> None:
        """Makes it the tile of the operation in its function."""
        context = function.context
        entries = {WORKGROUP: self.workgroup, THREAD: self.thread, REDUCTION: self.window}
        config = LoweringConfig(
            {name: numbers_attribute(each, context) for name, each in entries.items()}
        )
        self.operation.attributes[CONFIG] = config.attribute(context)
        warps = -(-self.lanes // self.launch.warp_size)
        function.attributes[TRANSLATION_INFO] = self.launch.with_warps(warps)
        function.attributes[WINDOWS] = ir.UnitAttr.get(context)

    def __str__(self) -> str:
        sizes = " x ".join(str(each) for each in self.workgroup if each)
        vector = prod(each for each in self.thread if each)
        return f"{sizes} with windows, of which a lane has {vector}"


def _windows(root: ir.Operation) -> tuple[Sequence[Sequence[LoopSum]], dict[int, int]] | None:
    """Returns what indexes the operands of an operation with windows, and how long its loops are.

    None stands for an operation that sums over something else, as the channels of a convolution.

    Raises:
        Refusal: a dimension is indexed by something else than a sum of loops.
    """
    summed = summed_loops(root)
    sums = loop_sums(root)
    extents = loop_lengths(root, sums)
    moved = [{*each.factors} for each in sums[_IMAGE] if len(each.factors) > 1]
    are_windows = all(any(loop in each and each - summed for each in moved) for loop in summed)
    is_plain = all(each.loop is not None for each in sums[_RESULT])
    loops = len(ir.ArrayAttr(root.attributes["iterator_types"]))
    if not summed or not are_windows or not is_plain or {*extents} != {*range(loops)}:
        return None
    return None if DYNAMIC in extents.values() else (sums, extents)


def _tile(
    root: ir.Operation,
    launch: WarpLaunch,
    sums: Sequence[Sequence[LoopSum]],
    extents: dict[int, int],
    processor: Processor,
) -> _Tile:
    """Returns the tile of an operation with windows."""
    summed, loops = summed_loops(root), len(extents)
    order = [each.loop for each in reversed(sums[_RESULT]) if each.loop is not None]
    innermost = order[0]
    last = sums[_IMAGE][-1]
    elements = prod(extents[loop] for loop in order)
    warps = _WARPS_OF_FEW if processor.modelled else _WARPS
    vectors = [each for each in _VECTORS if extents[innermost] % each == 0]
    if processor.modelled:
        moved = len(last.factors) > 1
        busy = launch.warp_size * processor.multiprocessors
        vectors = [each for each in vectors if moved and elements // each >= busy]
    vector = vectors[0] if vectors and last.factors.get(innermost) == 1 else 1
    workgroups = _WORKGROUPS_EACH * processor.multiprocessors
    of_warp = vector * launch.warp_size
    fitting = (each for each in warps if elements // (of_warp * each) >= workgroups)
    most = next(fitting, warps[-1]) * launch.warp_size
    workgroup, thread, window = [0] * loops, [0] * loops, [0] * loops
    threads = 1
    for loop in order:
        thread[loop] = vector if loop == innermost else 1
        share = _largest_divisor(extents[loop] // thread[loop], most // threads)
        workgroup[loop] = share * thread[loop]
        threads *= share
    room = _MOST_UNROLLED
    for loop in sorted(summed, key=lambda each: each in last.factors):
        beside = vector > 1 and loop in last.factors
        window[loop] = 1 if beside or extents[loop] > room else extents[loop]
        room //= window[loop]
    return _Tile(root, launch, tuple(workgroup), tuple(thread), tuple(window))


def _largest_divisor(number: int, most: int) -> int:
    """Returns the largest divisor of a number up to a limit."""
    return max(each for each in range(1, min(number, most) + 1) if number % each == 0)
