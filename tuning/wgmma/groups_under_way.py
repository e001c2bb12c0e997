# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a group of `wgmma` may still run while the next iteration of its loop begins.

    scf.for ... iter_args(%d = %zero) {      iteration t
      wait for copies; barrier               all warps have waited for group t - 2
      issue the wgmma of this iteration      group t
      copy tiles of a later iteration
      wgmma.wait_group 1                     group t - 1 is done
    }
    wgmma.wait_group 0

So the matrix units always have something to do. It is right where

* both operands come from the LDS by descriptors: registers of A would be written again;
* the loop carries each sum in the same registers, and does nothing else with it;
* nothing is copied in the iterations t and t + 1 to where group t reads. In iteration t + 2 the
  barrier comes first, behind which all warps have waited for the group.

The slots of a tile are what `overlap/rotated_slots.py` rotates; what is read and written of them is
taken from the addresses in all iterations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.lane_values import LaneEvaluator, constant
from ...dialect_utils.loops import FOR, Carried, body_of, loop_depth
from ...dialect_utils.memory.barrier_order import orders_lds
from ...dialect_utils.memory.flow import lds_allocation_of
from ...dialect_utils.memory.lds_ops import BARRIER, COPY, SUBVIEW
from ...dialect_utils.memory.memref_types import static_strides, type_of
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.operations import (
    defining_operation,
    mixed_operands,
    operations_in,
    operations_of,
    parents_of,
)
from ..fragments.carried_sums import carried_sums
from .described_operands import may_write
from .wgmma_groups import WgmmaGroup

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


IntArray: TypeAlias = "npt.NDArray[np.int64]"


def may_be_under_way(groups: Sequence[WgmmaGroup]) -> bool:
    """Returns whether groups read nothing but the LDS, and are right inside a loop."""
    around = groups[0].contractions[0].parent.operation
    return around.name == FOR and all(group.rows is not None for group in groups)


def sums_under_way(groups: Sequence[WgmmaGroup], evaluator: LaneEvaluator) -> list[Carried]:
    """Returns the sums that the loop around groups carries while the groups run.

    Args:
        groups: all groups of a stage for which `may_be_under_way` holds.

    Raises:
        Refusal: the groups have to be waited for in their iteration.
    """
    contractions = [each for group in groups for each in group.contractions]
    loop = contractions[0].parent.operation
    sums = carried_sums(loop)
    if len(operations_in(loop, MMA)) != len(contractions):
        raise Refusal("its loop multiplies otherwise, too")
    _check_slots(loop, groups, evaluator)
    return sums


# What is read and written of the slots of a tile.


class _Span(NamedTuple):
    """The elements of an allocation between which a buffer lies, [iterations] or [1] each."""

    begin: IntArray
    end: IntArray

    def meets(self, other: _Span, later: int) -> bool:
        """Returns whether it overlaps with another span `later` iterations behind one of its own.

        What is the same in all iterations is so in more of them, too.
        """
        iterations = max(later + 1, self.begin.size, other.begin.size)
        mine = [np.broadcast_to(each, iterations)[: iterations - later] for each in self]
        others = [np.broadcast_to(each, iterations)[later:] for each in other]
        return bool(((mine[0] < others[1]) & (others[0] < mine[1])).any())


def _check_slots(
    loop: ir.Operation, groups: Iterable[WgmmaGroup], evaluator: LaneEvaluator
) -> None:
    """Makes sure that nothing is copied to where a group still reads.

    Raises:
        Refusal: that may be.
    """
    read: dict[ir.Operation, list[_Span]] = {}
    buffers = {run.first.load.operands[0]: run for group in groups for run in group.runs}
    for buffer, run in buffers.items():
        read.setdefault(run.allocation, []).append(_span(buffer, loop, evaluator))
    behind = _behind_first_barrier(loop)
    for allocation, spans in read.items():
        for write in operations_in(loop):
            if not may_write(write, allocation):
                continue
            around = {write, *parents_of(write)}
            if write.name != COPY or around.isdisjoint(behind):
                raise Refusal("something else than copies behind the barrier may write its tile")
            written = _span(write.operands[0], loop, evaluator)
            if any(span.meets(written, later) for span in spans for later in (0, 1)):
                raise Refusal("a copy may write what the group of the iteration before reads")


def _behind_first_barrier(loop: ir.Operation) -> list[ir.Operation]:
    """Returns what an iteration does once all warps are done with the one before."""
    body = operations_of(body_of(loop))
    barriers = (n for n, each in enumerate(body) if each.name == BARRIER and orders_lds(each))
    return body[next(barriers, len(body)) :]


def _span(buffer: ir.Value, loop: ir.Operation, evaluator: LaneEvaluator) -> _Span:
    """Returns where in its allocation a buffer lies, in the iterations of a loop.

    Raises:
        Refusal: that is not known, or depends on other loops.
    """
    strides = static_strides(type_of(buffer))
    allocation = lds_allocation_of(buffer)
    if strides is None or allocation is None:
        raise Refusal("it is not known where a buffer of its tile lies")
    sizes = zip(type_of(buffer).shape, strides, strict=True)
    extent = 1 + sum((size - 1) * stride for size, stride in sizes)
    begin, end = np.zeros(1, np.int64), np.full(1, extent, np.int64)
    view = defining_operation(buffer)
    while view is not None and view != allocation:
        source = view.operands[0]
        steps = static_strides(type_of(source))
        if view.name != SUBVIEW or steps is None:
            raise Refusal("it is not known where a buffer of its tile lies")
        offsets = mixed_operands(view, "static_offsets", 1)
        for offset, step in zip(offsets, steps, strict=True):
            lowest, highest = _bounds(offset, loop, evaluator)
            begin, end = begin + lowest * step, end + highest * step
        view = defining_operation(source)
    return _Span(begin, end)


def _bounds(
    index: ir.Value | int, loop: ir.Operation, evaluator: LaneEvaluator
) -> tuple[IntArray, IntArray]:
    """Returns the lowest and the highest value that an index has in each iteration of a loop.

    Raises:
        Refusal: they are not known, or depend on other loops.
    """
    known = evaluator.known
    value = constant(index) if isinstance(index, int) else known(index, "the start of a buffer")
    if any(each.depth != loop_depth(loop) for each in value.loops):
        raise Refusal("the start of a buffer depends on another loop")
    lanes = value.values.reshape(value.values.shape[0] if value.loops else 1, -1)
    return lanes.min(axis=1), lanes.max(axis=1)
