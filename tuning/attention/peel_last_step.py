# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets only the last step of an attention over its keys exclude absent ones.

`bankwise-exclude-absent-keys` selects between a score and -inf for every key, by a comparison with
the number of keys that are left, which only the last step can find too small:

    scf.for %i = 0 to 1536 step 64 {                    scf.for %i = 0 to 1472 step 64 {...}
      %left = 1500 - %i                         ->      scf.for %i = 1472 to 1536 step 64 {...}
      ... arith.select (%key < %left), %score, -inf
    }

The comparisons of the first loop are true, and it selects nothing. The compiler finds that the
second loop is no loop. In f16 20x1500x64, a step of 64 keys and 32 rows of a warp has 40 of these
selections beside 571 other instructions. Every value is the same bits.

Where the program computes how many keys there are, the first loop ends a step before that number,
rounded up to whole steps.

Runs behind the passes that overlap and order what a step does, which see one loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.loops import FOR, body_of, bounds_of, peel_last_step
from ...dialect_utils.operations import (
    constant_value,
    defining_operation,
    operations_in,
    replace_by,
    value_behind,
)
from ...passes.base import FunctionPass, PassContext
from ..shapes.enlarged_shapes import computed_size, unrounded

_SELECT, _BROADCAST = "arith.select", "vector.broadcast"
_SELECTED = 1
"""The operand of an `arith.select` that is taken where the condition holds."""
_SIGNED_LESS = 2
"""The number of the predicate `slt` of `arith.cmpi`."""


class PeelLastStep(FunctionPass):
    """Makes a loop of its own of the only iteration that meets absent keys."""

    name: ClassVar[str] = "bankwise-peel-last-step"
    summary: ClassVar[str] = "let only the last step over keys exclude absent ones"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Splits loops whose last iteration alone meets absent keys; never fails."""
        function = function.operation
        bits = IndexBits(function)
        selects: dict[ir.Operation, list[ir.Operation]] = {}
        for each in operations_in(function, FOR, _SELECT):
            if each.name == FOR:
                selects[each] = []
            elif each.parent.operation in selects:
                selects[each.parent.operation].append(each)
        for loop, inside in selects.items():
            needless = _needless_before_last(loop, inside, bits)
            if needless:
                last = peel_last_step(loop)
                for select in needless:
                    replace_by(select, select.operands[_SELECTED])
                text = f"only the {last} meets absent keys, and is no part of the loop"
                context.sink.remark(loop.location, text)


def _needless_before_last(
    loop: ir.Operation, selects: Sequence[ir.Operation], bits: IndexBits
) -> list[ir.Operation]:
    """Returns what selects by how many keys are left, and need not but in the last iteration."""
    found: list[ir.Operation] = []
    for select in selects:
        compare = defining_operation(select.operands[0])
        keys = None if compare is None else _keys_compared(compare, loop)
        left = None if keys is None else _left_before_last(loop, keys, bits)
        if compare is not None and left is not None:
            upper = _upper(compare.operands[0], bits)
            if upper is not None and upper < left:
                found.append(select)
    return found


def _left_before_last(loop: ir.Operation, keys: ir.Value, bits: IndexBits) -> int | None:
    """Returns how many keys are left at least in all iterations but the last, where that is known.

    Args:
        keys: how many keys there are in the first iteration.
    """
    first, end, step = (constant_value(each) for each in bounds_of(loop))
    count = constant_value(keys)
    if first is None or step is None:
        return None
    if end is None:
        # Steps are no more than the keys need, so that the last one has a key at least.
        return step if first == 0 and _is_rounded_up(bounds_of(loop)[1], keys, step, bits) else None
    if count is None or first >= end - step or (end - first) % step:
        return None
    return count - (end - 2 * step)


def _is_rounded_up(end: ir.Value, keys: ir.Value, step: int, bits: IndexBits) -> bool:
    """Returns whether a value is the number of keys, rounded up to whole steps."""
    try:
        return unrounded(end, computed_size(step), bits) == keys
    except Refusal:
        return False


def _keys_compared(compare: ir.Operation, loop: ir.Operation) -> ir.Value | None:
    """Returns of how many keys a comparison asks whether more than some are left."""
    if compare.name != "arith.cmpi" or compare.attributes["predicate"] != _less_than(compare):
        return None
    left = defining_operation(value_behind(compare.operands[1], (_BROADCAST,)))
    if left is None or left.name != "arith.subi":
        return None
    if left.operands[1] != body_of(loop).arguments[0]:
        return None
    return left.operands[0]


def _less_than(compare: ir.Operation) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64, compare.context), _SIGNED_LESS)


def _upper(value: ir.Value, bits: IndexBits) -> int | None:
    """Returns a number that no element of a vector of indices exceeds, if one is known."""
    if not isinstance(value.type, ir.VectorType):
        return bits.of(value).upper
    definition = defining_operation(value)
    if definition is None:
        return None
    if definition.name == "vector.step":
        return ir.VectorType(value.type).shape[0] - 1
    if definition.name == "arith.constant":
        return max(ir.DenseIntElementsAttr(definition.attributes["value"]))
    if definition.name not in (_BROADCAST, "arith.addi"):
        return None
    uppers = [_upper(each, bits) for each in definition.operands]
    return sum(each for each in uppers if each is not None) if None not in uppers else None
