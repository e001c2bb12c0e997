# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transfers between memory and what one lane holds: where each lane begins in each dimension.

Only a transfer of which each dimension of the vector runs along the same dimension of the memory is
understood, without a mask and within the bounds:

    %t = memref.subview %m[%a, 0] [2, 4] [1, 1]
    vector.transfer_write %v, %t[%c0, %b] {in_bounds = [true, true]} : vector<2x4xf32>, ...

A subview whose offsets are known in every lane is looked through: the vector starts at (%a, %b) of
`%m`. Offsets that differ between workgroups are not known, and end the search.
"""

from __future__ import annotations

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.step_renaming import Offsets
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.lane_values import LaneEvaluator, LaneValues, Unknown
from ...dialect_utils.memory.lds_ops import SUBVIEW, is_in_bounds, is_masked
from ...dialect_utils.memory.memref_types import type_of
from ...dialect_utils.operations import TRANSFER_READ, defining_operation, mixed_operands

Start = tuple["ir.Value | int", ...]
"""Numbers whose sum is where a transfer begins along one dimension."""


class LaneTransfer(NamedTuple):
    """A transfer of what one lane holds.

    Attributes:
        memory: the memref, behind the subviews that were looked through.
        starts: where the vector begins, by dimension of the memory.
        extents: how many elements it has along each dimension.
    """

    operation: ir.Operation
    memory: ir.Value
    starts: tuple[Start, ...]
    extents: tuple[int, ...]

    @staticmethod
    def of(operation: ir.Operation, evaluator: LaneEvaluator) -> LaneTransfer:
        """Returns what a `vector.transfer_read` or `vector.transfer_write` transfers.

        Raises:
            Refusal: it is not understood.
        """
        is_read = operation.name == TRANSFER_READ
        buffer, vector = (
            (operation.operands[0], operation.results[0])
            if is_read
            else (operation.operands[1], operation.operands[0])
        )
        if not isinstance(buffer.type, ir.MemRefType):
            raise Refusal(f"{operation.name} of {buffer.type}", operation.location)
        rank = type_of(buffer).rank
        first = 1 if is_read else 2
        if is_masked(operation):
            raise Refusal(f"{operation.name} with a mask", operation.location)
        if not is_in_bounds(operation):
            raise Refusal(f"{operation.name} out of bounds", operation.location)
        shape = ir.VectorType(vector.type).shape
        map_ = ir.AffineMapAttr(operation.attributes["permutation_map"]).value
        if len(shape) != rank or map_ != ir.AffineMap.get_identity(rank, operation.context):
            raise Refusal(f"{operation.name} that permutes dimensions", operation.location)
        starts = [(index,) for index in list(operation.operands)[first : first + rank]]
        memory, starts = _behind_subviews(buffer, starts, evaluator)
        return LaneTransfer(operation, memory, tuple(starts), tuple(shape))

    @property
    def vector(self) -> ir.Value:
        """Returns what is read or written."""
        is_read = self.operation.name == TRANSFER_READ
        return self.operation.results[0] if is_read else self.operation.operands[0]

    def offsets(self, dim: int, evaluator: LaneEvaluator) -> Offsets:
        """Returns where each lane begins along a dimension of the memory.

        Raises:
            Refusal: that is not known, or differs between the iterations of a loop.
        """
        total = _sum(self.starts[dim], evaluator)
        where = self.operation.location
        if isinstance(total, Unknown):
            raise Refusal(f"an index is not known: {total.reason}", where)
        if any(loop.iterations != 1 for loop in total.loops):
            raise Refusal("an index differs between the iterations of a loop", where)
        launch = evaluator.launch
        return total.full(launch).reshape(launch.waves, launch.subgroup_size)


def _behind_subviews(
    buffer: ir.Value, starts: list[Start], evaluator: LaneEvaluator
) -> tuple[ir.Value, list[Start]]:
    while (view := defining_operation(buffer)) is not None and view.name == SUBVIEW:
        source = view.operands[0]
        steps = ir.DenseI64ArrayAttr(view.attributes["static_strides"])
        if type_of(source).rank != len(starts) or any(step != 1 for step in steps):
            break
        offsets = mixed_operands(view, "static_offsets", 1)
        if any(isinstance(_sum((each,), evaluator), Unknown) for each in offsets):
            break
        starts = [(*start, each) for start, each in zip(starts, offsets, strict=True)]
        buffer = source
    return buffer, starts


def _sum(start: Start, evaluator: LaneEvaluator) -> LaneValues | Unknown:
    return evaluator.element(start, [1] * len(start))
