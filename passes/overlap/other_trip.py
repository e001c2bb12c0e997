# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computing an index as another trip of a loop has it.

    scf.for %i = %c0 to %c4096 step %c64 {
      %r = affine.apply affine_map<(i, t) -> (i + t floordiv 16)>(%i, %t)

is the row of trip %i. The next trip has it as

      %n = arith.addi %i, %c64
      %s = affine.apply affine_map<(i, t) -> (i + t floordiv 16)>(%n, %t)

So the operations between the induction variable and the index are made anew, of another value of
that variable. What the loop carries from trip to trip has no value before its trip: an index that
depends on it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.index_ops import block_owner, compute_after_operands
from ...dialect_utils.operations import defining_operation, is_inside

_COPIED = ("affine.", "arith.", "gpu.thread_id", "gpu.block_id", "gpu.lane_id")


@dataclass
class OtherTrip:
    """Emits, at the insertion point that is current, what a loop computes in another trip.

    Attributes:
        loop: the `scf.for`.
        induction: the value of its induction variable in that trip.
    """

    loop: ir.Operation
    induction: ir.Value
    _made: dict[ir.Value, ir.Value] = field(default_factory=dict)
    _copies: dict[ir.Operation, ir.Operation] = field(default_factory=dict)

    def value(self, value: ir.Value) -> ir.Value:
        """Returns what that trip has where this one has `value`.

        `depends_on_trip` has let `value` pass.
        """
        return compute_after_operands(value, self._made, self._followed, self._emit)

    def _followed(self, value: ir.Value) -> list[ir.Value]:
        return _computed_in(self.loop, value)

    def _emit(self, value: ir.Value, operands: Sequence[ir.Value]) -> ir.Value:
        operation = defining_operation(value)
        if operation is None:
            is_induction = value == self.loop.regions[0].blocks[0].arguments[0]
            return self.induction if is_induction else value
        if not is_inside(operation, self.loop):
            return value
        if operation not in self._copies:
            copy = operation.clone().operation
            for position, operand in enumerate(operands):
                copy.operands[position] = self._made[operand]
            self._copies[operation] = copy
        return self._copies[operation].results[ir.OpResult(value).result_number]


def depends_on_trip(loop: ir.Operation, value: ir.Value) -> bool:
    """Returns whether `value`, used inside a loop, has other values in other trips.

    Raises:
        Refusal: a trip does not know it before it begins.
    """
    known: dict[ir.Value, bool] = {}

    def depends(each: ir.Value, operands: Sequence[ir.Value]) -> bool:
        if isinstance(each, ir.BlockArgument):
            return _is_induction(loop, each)
        return any(known[operand] for operand in operands)

    return compute_after_operands(value, known, lambda each: _computed_in(loop, each), depends)


def _computed_in(loop: ir.Operation, value: ir.Value) -> list[ir.Value]:
    """Returns what `value` is computed from inside a loop; nothing for what comes from outside."""
    operation = defining_operation(value)
    if operation is None or not is_inside(operation, loop):
        return []
    if not operation.name.startswith(_COPIED) or len(operation.regions):
        raise Refusal(f"an index depends on the result of {operation.name}", operation.location)
    return list(operation.operands)


def _is_induction(loop: ir.Operation, argument: ir.BlockArgument) -> bool:
    """Returns whether it is the loop's induction variable, and not from outside of the loop.

    Raises:
        Refusal: it is another argument of the loop, or of something inside.
    """
    outside = block_owner(argument)
    if outside == loop:
        if argument.arg_number == 0:
            return True
        raise Refusal("an index depends on what the loop carries from trip to trip")
    if is_inside(outside, loop):
        raise Refusal(f"an index depends on a block argument of {outside.name} in the loop")
    return False
