# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing the iterations of an `scf.for` one behind the other."""

from __future__ import annotations

from iree.compiler import ir

from ...dialect_utils.memory.flow import FOR_BOUNDS
from ...dialect_utils.operation_builder import OperationBuilder
from ...dialect_utils.operations import operations_of

FOR = "scf.for"


def is_flat(loop: ir.Operation) -> bool:
    """Returns whether no operation in the body of an `scf.for` has regions of its own."""
    return not any(len(each.regions) for each in operations_of(loop.regions[0].blocks[0]))


def unroll(loop: ir.Operation, inductions: list[int]) -> None:
    """Replaces an `scf.for` that `is_flat` by its iterations.

    Args:
        inductions: the value of the induction variable in each iteration.
    """
    body = loop.regions[0].blocks[0]
    *operations, end = operations_of(body)
    induction, *arguments = body.arguments
    carried = list(loop.operands)[FOR_BOUNDS:]
    builder = OperationBuilder(loop)
    for number in inductions:
        value = ir.IntegerAttr.get(induction.type, number)
        constant = builder.create("arith.constant", [], induction.type, value=value)
        now = {induction: constant, **dict(zip(arguments, carried, strict=True))}
        for operation in operations:
            copy = operation.clone(ip=builder.point).operation
            for place, operand in enumerate(copy.operands):
                if operand in now:
                    copy.operands[place] = now[operand]
            now |= zip(operation.results, copy.results, strict=True)
        carried = [now.get(each, each) for each in end.operands]
    for result, value in zip(loop.results, carried, strict=True):
        result.replace_all_uses_with(value)
    loop.erase()
