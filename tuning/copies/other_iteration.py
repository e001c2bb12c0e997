# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computing an index as another iteration of a loop has it (`dialect_utils/index/index_cloner.py`).

What the loop carries from iteration to iteration has no value before its iteration: an index that
depends on it does not match.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.index_cloner import LANE_ID, THREAD_ID, IndexCloner, is_index_arithmetic
from ...dialect_utils.index.index_ops import block_owner, compute_after_operands
from ...dialect_utils.loops import body_of
from ...dialect_utils.operations import defining_operation, is_inside

_IDS = frozenset({THREAD_ID, LANE_ID, "gpu.block_id"})


def at_iteration(loop: ir.Operation, induction: ir.Value, builder: Builder) -> IndexCloner:
    """Returns what emits the indices of the iteration in which the induction variable has a value.

    `depends_on_iteration` must have let them pass.
    """

    def leaf(value: ir.Value) -> ir.Value | None:
        operation = defining_operation(value)
        if operation is None:
            return induction if value == body_of(loop).arguments[0] else value
        return None if is_inside(operation, loop) else value

    # The clone may stand before the loop, where nothing from inside can be used.
    return IndexCloner(builder, leaf, shares=False)


def depends_on_iteration(
    loop: ir.Operation, value: ir.Value, known: dict[ir.Value, bool] | None = None
) -> bool:
    """Returns whether `value`, used inside a loop, has other values in other iterations.

    Args:
        known: the same of other values of the loop, to which it is added.

    Raises:
        Refusal: an iteration does not know it before it begins.
    """
    known = {} if known is None else known

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
    if not is_index_arithmetic(operation) and operation.name not in _IDS:
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
        raise Refusal("an index depends on what the loop carries from iteration to iteration")
    if is_inside(outside, loop):
        raise Refusal(f"an index depends on a block argument of {outside.name} in the loop")
    return False
