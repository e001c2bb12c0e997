# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads what is computed with a row's sum before the sum is made.

A norm of a row that lanes hold in registers sums it, and multiplies by weights:

    %x = vector.load %row[...]               %x = vector.load %row[...]
    %s = gpu.shuffle ...                     %w = vector.load %weights[...]
    gpu.barrier                        ->    %s = gpu.shuffle ...
    %w = vector.load %weights[...]           gpu.barrier
    ... arith.mulf %y, %w                    ... arith.mulf %y, %w

Lanes wait for the weights behind the sum, for which they have waited as well. No load moves over a
barrier by itself. Here the weights come with the row. All values are the same bits.

Runs behind the passes that decide what lanes load. Loads in loops stay where they are, since what
is loaded in each step is another part of the row.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import launch_of
from ...dialect_utils.index.index_ops import FORALL
from ...dialect_utils.loops import FOR
from ...dialect_utils.memory.lds_ops import BARRIER
from ...dialect_utils.memory.memref_types import is_workgroup_memref, whole_element_bits
from ...dialect_utils.operations import (
    has_operation,
    makers_behind,
    operations_in,
    operations_of,
    parents_of,
)
from ...passes.base import FunctionPass, PassContext
from ..copies.staged_copies import check_read_only
from ..fragments.live_registers import REGISTER_BITS, UNCOUNTED, lane_registers

_LOAD, _SHUFFLE, _REDUCTION = "vector.load", "gpu.shuffle", "vector.reduction"
_PURE = ("affine.", "arith.")
_WIDEST = 2
"""How many times as many registers a row takes as it is loaded, where f16 is computed in f32."""


class LoadBeforeSums(FunctionPass):
    """Moves loads from behind the sums of a row to where the row is loaded."""

    name: ClassVar[str] = "bankwise-load-before-sums"
    summary: ClassVar[str] = "load what is computed with a row's sum before the sum is made"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether lanes of `function` exchange what they have summed."""
        return has_operation(function, _SHUFFLE)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Moves the loads that may be moved, if registers hold them; never fails."""
        function = function.operation
        launch = launch_of(function, context.test_target)
        first = next(iter(operations_in(function, _SHUFFLE)), None)
        if launch is None or first is None or _is_in_loop(first):
            return
        inside = operations_of(first.block)
        ends = (n for n, each in enumerate(inside) if each.name in (_SHUFFLE, BARRIER, _REDUCTION))
        end = next(ends)
        rows = [each for each in inside[:end] if _loads_global(each)]
        loads = [each for each in inside[end:] if _loads_global(each)]
        slices = [found for each in loads if (found := _movable(each, inside, rows))]
        needed = _WIDEST * sum(map(_registers, rows)) + sum(_registers(s[-1]) for s in slices)
        if not slices or needed + UNCOUNTED > lane_registers(launch.threads):
            return
        place = rows[-1]
        for each in dict.fromkeys(each for found in slices for each in found):
            each.move_after(place)
            place = each
        text = f"{len(slices)} of the loads behind the sum come before it"
        context.sink.remark(first.location, text)


def _is_in_loop(operation: ir.Operation) -> bool:
    """Returns whether an operation runs in steps; those of other workgroups are none."""
    around = parents_of(operation)
    return any(
        each.name == FOR or (each.name == FORALL and "mapping" not in each.attributes)
        for each in around
    )


def _loads_global(operation: ir.Operation) -> bool:
    return operation.name == _LOAD and not is_workgroup_memref(operation.operands[0].type)


def _registers(load: ir.Operation) -> int:
    return -(-(whole_element_bits(load.results[0].type) or 0) // REGISTER_BITS)


def _movable(
    load: ir.Operation, inside: list[ir.Operation], rows: list[ir.Operation]
) -> list[ir.Operation]:
    """Returns a load behind the operations that it needs, in their order; none if it has to stay.

    Args:
        inside: the operations around the load.
        rows: the loads behind whose last one it shall come.
    """
    try:
        check_read_only(load.operands[0])
    except Refusal:
        return []
    places = {each: place for place, each in enumerate(inside)}
    least = places[rows[-1]] if rows else len(inside)

    def is_behind(each: ir.Operation) -> bool:
        return places.get(each, -1) > least

    def is_movable(each: ir.Operation) -> bool:
        return is_behind(each) and each.name.startswith(_PURE)

    needed = [*filter(is_behind, makers_behind(load.operands, is_movable))]
    movable = bool(rows) and all(map(is_movable, needed))
    return sorted([load, *needed], key=places.__getitem__) if movable else []
