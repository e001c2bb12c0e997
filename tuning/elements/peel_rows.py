# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets only the last step of a loop along rows ask where a row ends.

A row of 50257 elements is reduced as one of 51200, in five steps of 10240. Every load asks whether
its element is there, and so does every sum, which only the last step can find false:

    scf.for %i = 0 to 51200 step 10240 {            scf.for %i = 0 to 40960 step 10240 {...}
      %place = arith.minui %column, 50256     ->    scf.for %i = 40960 to 51200 step 10240 {...}
      ... arith.select (%column < 50257), ...
    }

LLVM finds the comparisons of the first loop to be true, and that the second is no loop. Every value
is the same bits.

Runs behind the passes that overlap and order what a step does, which see one loop.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.index.index_ops import FORALL, FORALL_BOUNDS, forall_bounds
from ...dialect_utils.loops import FOR, body_of, bounds_of, peel_last_step
from ...dialect_utils.operations import constant_value, has_operation, operations_in, operations_of
from ...passes.base import FunctionPass, PassContext

_LEAST = "arith.minui"
_SHARED_WORK = ("gpu.barrier", "vector.contract")
"""What loops along rows do not have, but those of products."""


class PeelRows(FunctionPass):
    """Makes a loop of its own of the last step along rows."""

    name: ClassVar[str] = "bankwise-peel-rows"
    summary: ClassVar[str] = "let only the last step along rows ask where they end"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Splits the loops of `function` whose last steps go beyond a row; never fails."""
        function = function.operation
        for loop in operations_in(function, FOR, FORALL):
            bounds = _numbers(loop)
            if bounds is not None and _last_step_alone_asks(loop, *bounds):
                last = peel_last_step(loop) if loop.name == FOR else _peel_last(loop, *bounds[1:])
                context.sink.remark(loop.location, f"only the {last} asks where the row ends")


def _numbers(loop: ir.Operation) -> tuple[int, int, int] | None:
    """Returns the bounds of a loop with several steps, and how long these are, if it is known."""
    if loop.name == FOR:
        first, end, step = (constant_value(each) for each in bounds_of(loop))
    else:
        # What becomes workgroups or lanes is no loop of steps.
        if loop.results or "mapping" in loop.attributes or len(body_of(loop).arguments) != 1:
            return None
        first, end, step = forall_bounds(body_of(loop).arguments[0])
    if first is None or end is None or step is None or end - first <= step:
        return None
    return first, end, step


def _peel_last(loop: ir.Operation, end: int, step: int) -> str:
    """Makes a loop of its own of the last step of an `scf.forall`; returns a name for it."""
    border = end - step
    rest = Builder.after(loop).clone(loop, [])
    lower, upper, _ = FORALL_BOUNDS
    loop.attributes[upper] = ir.DenseI64ArrayAttr.get([border], loop.context)
    rest.attributes[lower] = ir.DenseI64ArrayAttr.get([border], loop.context)
    return f"step at {border}"


def _last_step_alone_asks(loop: ir.Operation, first: int, end: int, step: int) -> bool:
    """Returns whether a loop reads by indices that exceed a row in its last step, and not before.

    An index that is read is the smaller one of that of a lane and of the last one of the row.
    """
    if has_operation(loop, *_SHARED_WORK):
        return False
    lasts = [
        constant_value(each.operands[1])
        for each in operations_of(body_of(loop))
        if each.name == _LEAST
    ]
    return any(last is not None and end - step <= last < end - 1 for last in lasts)
