# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Making `scf.for` loops that carry other values."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from .builders import Builder
from .loops import Carried, body_of, bounds_of, carried_values
from .operations import terminator


def with_initial_values(loop: ir.Operation, values: Sequence[ir.Value]) -> ir.Operation:
    """Returns a loop in the place of another one, with other initial values.

    The body moves over. The first arguments and results take the place of the old ones, whose types
    may differ. What the body yields, and the uses of values of other types, are left to the caller.

    Args:
        values: as many as the loop has, or more.
    """
    types = [each.type for each in values]
    new = Builder.before(loop).like(loop, [*bounds_of(loop), *values], types, regions=1)
    old = body_of(loop)
    kinds = [old.arguments[0].type, *types]
    block = new.regions[0].blocks.append(*kinds, arg_locs=[loop.location] * len(kinds))
    for view in list(old.operations):
        block.append(view.operation)
    for before, after in zip(old.arguments, block.arguments, strict=False):
        before.replace_all_uses_with(after)
    for before, after in zip(loop.results, new.results, strict=False):
        before.replace_all_uses_with(after)
    loop.erase()
    return new


def with_more_values(
    loop: ir.Operation, initial: Sequence[ir.Value]
) -> tuple[ir.Operation, list[Carried]]:
    """Returns a loop in the place of another one that carries more values, and these.

    It is left to the caller to yield them (`yield_also`).

    Args:
        initial: what they are before the first iteration.
    """
    before = [each.initial for each in carried_values(loop)]
    new = with_initial_values(loop, [*before, *initial])
    return new, carried_values(new)[len(before) :]


def yield_also(loop: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Lets a loop yield values behind those that it yields already."""
    end = terminator(loop.regions[0])
    Builder.before(end).like(end, [*end.operands, *values])
    end.erase()
