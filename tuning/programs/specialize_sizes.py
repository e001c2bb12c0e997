# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets matmuls and attentions with a dynamic size have several kernels, for ranges of that size.

A tile that is best for many rows wastes most of its work on few, and computes few rows in few
workgroups. With three kernels f16 ?x4096x4096 takes 0.44 times as long for 1 row on an H200 as with
64 x 128 and 64 summed elements a step, 0.72 times for 100 rows, and 0.81 times for 2048.

IREE compiles a function several times if it is told for which sizes, and the program calls the
kernel for the size that it comes with (`tuning/tiles/size_ranges.py`). Which ranges there are
follows from the predicted times of all tiles with all sizes: each of at most three kernels has the
tile that is best in the geometric mean over its range. One kernel more is made where that saves a
range 10 % of its time. Of f32, IREE's own kernel counts as a tile, which may be the best one for
few rows (`tuning/matmuls/row_sums.py`); there may be four kernels then.

The order of a matmul's sums does not depend on the tile. That of an attention's depends on the keys
of a step, so that the same row may have other bits in a longer sequence.

Runs on functions of the program, before dispatches are formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import Any, ClassVar

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import has_dynamic_tensor
from ...dialect_utils.gpu_target import gpu_target_of
from ...dialect_utils.indexing_maps import MAPS
from ...dialect_utils.lowering_config import WarpLaunch
from ...dialect_utils.operations import operations_in
from ...passes.base import PassContext
from ...passes.decisions import LayoutRound
from ..attention.attention_tiles import attention_loops
from ..attention.matrix_tilings import matrix_attentions, possible_tilings, predicted_logarithm
from ..costs.kernel_ranges import range_ends
from ..matmuls.dynamic_matmuls import ScalarLoops, multiplies, planned_matmul, predicted_logarithms
from ..matmuls.lane_matmuls import lane_tilings, multiplies_floats
from ..matmuls.row_sums import row_sum_logarithms
from ..tiles.size_ranges import RANGES, SIZES, note_ranges
from ..tiles.tiled_operation import Circumstances, TiledOperation, needed_gain
from ..tiles.tiling_pass import TilingPass
from .program_attention import ATTENTION

_MOST_KERNELS = 3
_LEAST_GAIN = 0.1
"""The part of a range's time that another kernel must save."""
_OPERANDS = 3


class _LoopTimes(NamedTuple):
    """What is predicted of an operation.

    Attributes:
        loop: the loop of dynamic length.
        times: for each tile the logarithms of its times with the lengths of `SIZES`.
        own: returns those of the kernel that IREE makes itself, with some lengths; None where they
            are not known.
    """

    loop: int
    times: Iterable[list[float]]
    own: Callable[[Sequence[int]], list[float]] | None = None


@dataclass(frozen=True)
class SpecializeSizes(TilingPass):
    """Asks for several kernels of a matmul or an attention with a dynamic size.

    Attributes:
        bound: up to which size a kernel of its own computes, where that does not depend on the
            prediction; 0 where it does.
        unmeasured: whether it does so, too, on GPUs on which the model was not compared with
            measured times, and where it was compared with a more exact model and saves less than
            `MODELLED_GAIN`.
    """

    name: ClassVar[str] = "bankwise-specialize-sizes"
    summary: ClassVar[str] = "let what has a dynamic size have a kernel for few and for many rows"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    bound: int = 0
    unmeasured: bool = False

    def __post_init__(self) -> None:
        self._expect("bound", self.bound >= 0, "0, or a size")

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has a matmul or an attention of dynamic sizes."""
        return any(True for _ in _dynamic_operations(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Annotates the matmuls and attentions of `function`; never fails."""
        function = function.operation
        circumstances = self.circumstances(function, context.test_target)
        if circumstances is None:
            return
        for operation in _dynamic_operations(function):
            plan = partial(self._bounds, function, operation, circumstances, context)
            found = context.planned(operation.location, "one kernel computes all sizes", plan)
            if found is None:
                continue
            loop, bounds = found
            note_ranges(operation, loop, bounds)
            listed = " and ".join(str(each) for each in bounds)
            reason = f"sizes up to {listed} have kernels of their own"
            context.sink.remark(operation.location, reason)

    def _bounds(
        self,
        function: ir.Operation,
        operation: ir.Operation,
        circumstances: Circumstances,
        context: PassContext,
    ) -> tuple[int, Sequence[int]]:
        """Returns the loop of dynamic length, and the greatest lengths of all kernels but the last.

        Raises:
            Refusal: one kernel is as good.
        """
        if operation.name == ATTENTION:
            found = _attention_times(function, operation, circumstances, context.test_target)
        else:
            found = _matmul_times(function, operation, circumstances, context.test_target)
        if self.bound:
            return found.loop, (self.bound,)
        times = [times for times in found.times if inf not in times]
        trusted = 0.0 if self.unmeasured else needed_gain(circumstances.processor)
        least_gain = max(trusted, _LEAST_GAIN)
        bounds = [] if found.own is None else _bounds_with_own(times, found.own, least_gain)
        if times and not bounds:
            ends = range_ends(np.array(times), _MOST_KERNELS, least_gain)
            bounds = [SIZES[end - 1] for end in ends]
        if not bounds:
            raise Refusal("one tile is good for all of them")
        return found.loop, bounds


def _matmul_times(
    function: ir.Operation,
    operation: ir.Operation,
    circumstances: Circumstances,
    test_target: str | None,
) -> _LoopTimes:
    """Returns what is predicted for a matmul.

    Raises:
        Refusal: not one of its sizes is dynamic, or it is computed neither by matrix instructions
            nor by lanes with tiles.
    """
    launch = WarpLaunch.of_one_warp(circumstances.processor.lanes, operation.context)
    loops = ScalarLoops.of(function, operation)
    if loops.asked is None:
        raise Refusal("not one of its sizes is dynamic")
    tilings: Sequence[TiledOperation[Any]]
    own: Callable[[Sequence[int]], list[float]] | None = None
    try:
        tilings = planned_matmul(function, operation, loops, launch, test_target).tilings()
    except Refusal:
        if not (multiplies_floats(operation) and circumstances.processor.fma_cycles):
            raise
        tilings = lane_tilings(operation, loops, launch)
        own = partial(row_sum_logarithms, operation, loops, processor=circumstances.processor)
    found = predicted_logarithms(tilings, loops.tiled[2], circumstances, SIZES)
    return _LoopTimes(loops.asked, (times for _, times in found), own)


def _bounds_with_own(
    times: Sequence[list[float]], own: Callable[[Sequence[int]], list[float]], least_gain: float
) -> list[int]:
    """Returns the greatest lengths of all kernels but the last, of which the first is IREE's own.

    There are none where that is the best for no range. Its own ends where the kernel of the next
    one is as fast.
    """
    known = np.array([own(SIZES), *times])
    ends = range_ends(known, _MOST_KERNELS + 1, least_gain)
    first, second = [*ends, len(SIZES), len(SIZES)][:2]
    if not ends or known[:, :first].sum(axis=1).argmin():
        return []
    following = known[known[:, first:second].sum(axis=1).argmin()]
    slower = known[0, :second] >= following[:second]
    bound = SIZES[first - 1]
    if slower.any() and not slower[0]:
        first = int(slower.argmax())
        between = range(SIZES[first - 1], SIZES[first])
        faster = zip(between, own(between), strict=True)
        bound = max((n for n, time in faster if time < following[first]), default=between[0])
    return [bound, *(SIZES[end - 1] for end in ends[1:])]


def _attention_times(
    function: ir.Operation,
    operation: ir.Operation,
    circumstances: Circumstances,
    test_target: str | None,
) -> _LoopTimes:
    """Returns what is predicted for an attention.

    Raises:
        Refusal: its rows are several loops of dynamic length, or matrix instructions cannot compute
            it.
    """
    launch = WarpLaunch.of_one_warp(circumstances.processor.lanes, operation.context)
    target = gpu_target_of(function, test_target)
    listed = () if target is None else target.matrix_instructions
    found = matrix_attentions(operation, attention_loops(operation), listed, launch)
    attention, tiled = possible_tilings(found, circumstances, circumstances.lds_bytes)
    if attention.asked is None:
        raise Refusal("not one of its sizes is dynamic")
    times = ([predicted_logarithm(each, circumstances, size) for size in SIZES] for each in tiled)
    return _LoopTimes(attention.asked, times)


def _dynamic_operations(function: ir.Operation) -> Iterator[ir.Operation]:
    """Yields what a program multiplies with dynamic sizes, and that has no ranges yet."""
    for operation in operations_in(function):
        if RANGES in operation.attributes or not has_dynamic_tensor(operation):
            continue
        is_matmul = (
            operation.name.startswith("linalg.")
            and len(operation.operands) == _OPERANDS
            and MAPS in operation.attributes
            and multiplies(operation)
        )
        if is_matmul or operation.name == ATTENTION:
            yield operation
