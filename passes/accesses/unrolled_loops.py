# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing the iterations of an `scf.for` one behind the other."""

from __future__ import annotations

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.loops import body_of, carried_values
from ...dialect_utils.operations import operations_of


def is_flat(loop: ir.Operation) -> bool:
    """Returns whether no operation in the body of an `scf.for` has regions of its own."""
    return not any(len(each.regions) for each in operations_of(body_of(loop)))


def unroll(loop: ir.Operation, inductions: list[int]) -> None:
    """Replaces an `scf.for` that `is_flat` by its iterations.

    Args:
        inductions: the value of the induction variable in each iteration.
    """
    body = body_of(loop)
    *operations, end = operations_of(body)
    induction, *arguments = body.arguments
    carried = [each.initial for each in carried_values(loop)]
    at = Builder.before(loop)
    for number in inductions:
        now = dict(zip(arguments, carried, strict=True))
        now[induction] = at.constant(induction.type, number)
        for operation in operations:
            copy = at.clone(operation, [now.get(each, each) for each in operation.operands])
            now |= zip(operation.results, copy.results, strict=True)
        carried = [now.get(each, each) for each in end.operands]
    for result, value in zip(loop.results, carried, strict=True):
        result.replace_all_uses_with(value)
    loop.erase()
