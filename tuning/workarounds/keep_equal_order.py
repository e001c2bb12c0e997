# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-keep-equal-order`: sorting does not exchange equal elements.

`stablehlo.sort` says whether equal elements keep their order, and `iree_linalg_ext.sort`, which it
becomes, does not. Its loops compare neighbours, and exchange them unless the first one comes before
the second one:

    ^bb0(%a: f32, %b: f32, %p: i32, %q: i32):
      %before = arith.cmpf olt, %a, %b : f32
      iree_linalg_ext.yield %before : i1

Of equal elements none comes before the other, so that each comparison exchanges them. What is
sorted with the keys, such as their places, is then in another order: that of `jnp.argsort` is
wrong. Here neighbours are exchanged only where the second one comes before the first one. Sorting
by exchanges of neighbours keeps the order of equal elements so.

Runs on the configured function, before its pipeline.

This works around IREE 3.13 (`docs/for_iree.md#stable-sorts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.operations import operations_in, operations_of, terminator
from ...passes.base import FunctionPass, PassContext

_SORT = "iree_linalg_ext.sort"


class KeepEqualOrder(FunctionPass):
    """Lets sorts exchange neighbours only where the second one comes before the first one."""

    name: ClassVar[str] = "bankwise-keep-equal-order"
    summary: ClassVar[str] = "keep the order of equal elements where something is sorted"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has a sort whose order of equal elements can be seen."""
        return any(True for _ in _sorts(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites what sorts compare by; never fails."""
        for sort in _sorts(function.operation):
            block, end = sort.regions[0].blocks[0], terminator(sort.regions[0])
            at = Builder.before(end)
            arguments = list(block.arguments)
            pairs = zip(arguments[::2], arguments[1::2], strict=True)
            other: dict[ir.Value, ir.Value] = {}
            for one, two in pairs:
                other |= {one: two, two: one}
            at.clone_all(operations_of(block)[:-1], other)
            before = end.operands[0]
            behind = other.get(before, before)
            true = at.constant(before.type, 1)
            end.operands[0] = at.ori(before, at.xori(behind, true))


def _sorts(function: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the sorts of other things than integers alone, whose equal elements are the same."""
    for sort in operations_in(function, _SORT):
        elements = [ir.ShapedType(each.type).element_type for each in sort.operands]
        inside = operations_in(sort)[1:]
        is_seen = len(elements) > 1 or not isinstance(elements[0], ir.IntegerType)
        if is_seen and not any(len(each.regions) for each in inside):
            yield sort
