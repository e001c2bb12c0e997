# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which sums a loop carries from iteration to iteration and only adds to.

    scf.for ... iter_args(%c = %zero) {
      %s = nvgpu.mma.sync(%a, %b, %c)
      %r = nvgpu.mma.sync(%d, %e, %s)
      scf.yield %r
    }

Each element of such a sum can stay in its register through the whole loop. A matmul has no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_moves import element_count, is_move, origin_of
from ...dialect_utils.loops import Carried, body_of, carried_as
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.multiplications import ACCUMULATOR
from ...dialect_utils.operations import operands_with, operations_in, terminator


def carried_sums(loop: ir.Operation) -> list[Carried]:
    """Returns the sums to which the contractions of a loop add, if it uses them for nothing else.

    Each element is the sum of the same elements in all iterations, so that it can stay in its
    register.

    Raises:
        Refusal: the loop does more with its sums, or has none.
    """
    contractions = operations_in(loop, MMA)
    if any(each.block != body_of(loop) for each in contractions):
        raise Refusal("a contraction is in a branch, or in another loop")
    adder = {each.operands[ACCUMULATOR]: each for each in contractions}
    made = {each.results[0] for each in contractions}
    found: dict[int, Carried] = {}
    elements: set[tuple[int, int]] = set()
    for first in (each for each in contractions if each.operands[ACCUMULATOR] not in made):
        last = first
        while last.results[0] in adder:
            last = adder[last.results[0]]
        begun, result = first.operands[ACCUMULATOR], last.results[0]
        for number in range(element_count(begun.type)):
            value, place = origin_of((begun, number))
            carried = carried_as(value)
            if carried is None or carried.loop != loop or carried.argument != value:
                raise Refusal("a sum does not begin with that of the iteration before")
            if origin_of((carried.yielded, place)) != (result, number):
                raise Refusal("a sum changes its place from iteration to iteration")
            found[carried.number] = carried
            elements.add((carried.number, place))
    if len(elements) != sum(element_count(each.argument.type) for each in found.values()):
        raise Refusal("the loop carries other values beside the sums")
    _check_uses(loop, contractions, found)
    return list(found.values())


def _check_uses(
    loop: ir.Operation, contractions: Sequence[ir.Operation], sums: dict[int, Carried]
) -> None:
    """Makes sure that sums go from contraction to contraction, and nowhere else.

    Raises:
        Refusal: something else uses one.
    """
    end = terminator(loop.regions[0])
    results = (each.results[0] for each in contractions)
    for value in (*results, *(each.argument for each in sums.values())):
        for user, number in _uses_behind_moves(value):
            is_carried = user == end and number in sums
            if not is_carried and (user.name != MMA or number != ACCUMULATOR):
                raise Refusal("a sum is used in the loop")


def _uses_behind_moves(value: ir.Value) -> Iterator[tuple[ir.Operation, int]]:
    pending = operands_with(value)
    while pending:
        user, number = pending.pop()
        if is_move(user):
            pending += [use for result in user.results for use in operands_with(result)]
        else:
            yield user, number
