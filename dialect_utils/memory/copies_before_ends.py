# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of rows whose number only the program knows: which of their lanes read, and where.

    %inside = arith.cmpi sle, %row, %last          %n = arith.select %inside, %c8, %c0
    %end = arith.maxsi %last, %c0
    %clamped = arith.minui %row, %end              cp.async of %n elements from row %clamped

A lane reads nothing where its row lies behind the last one. So every lane that reads, reads from
`%row`, and they are the lanes up to some row: how many these are, `%last` decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ..operations import constant_value, defining_operation

ROWS_FROM_ZERO = "rows that cp.async reads up to an end that only the program knows begin at 0"

_SIGNED, _UNSIGNED = 3, 7
"""The numbers of the predicates `sle` and `ule` of `arith.cmpi`."""


class End(NamedTuple):
    """A condition on a lane: that its place lies up to a last one, which is included.

    Attributes:
        signed: whether the last place may be -1, before which no lane is.
    """

    place: ir.Value
    last: ir.Value
    signed: bool


def read_condition(count: ir.Value, whole: int) -> ir.Value | None:
    """Returns the condition on which a lane copies all elements, and none where it does not hold.

    Returns None where the number of elements has another form.
    """
    select = defining_operation(count)
    if select is None or select.name != "arith.select":
        return None
    condition, *counts = select.operands
    return condition if [*map(constant_value, counts)] == [whole, 0] else None


def conjuncts(condition: ir.Value) -> list[ir.Value]:
    """Returns the conditions that all have to hold for a condition to hold."""
    operation = defining_operation(condition)
    if operation is None or operation.name != "arith.andi":
        return [condition]
    return [each for operand in operation.operands for each in conjuncts(operand)]


def end_of(condition: ir.Value) -> End | None:
    """Returns the end that a comparison is with; None for any other condition."""
    operation = defining_operation(condition)
    if operation is None or operation.name != "arith.cmpi":
        return None
    predicate = ir.IntegerAttr(operation.attributes["predicate"]).value
    if predicate not in (_SIGNED, _UNSIGNED):
        return None
    return End(*operation.operands, signed=predicate == _SIGNED)


def without_end(index: ir.Value, ends: Iterable[End]) -> ir.Value:
    """Returns the index that lanes before all ends have: the place that is clamped, or itself.

    Places are taken to be no negative numbers (`ROWS_FROM_ZERO`).
    """
    clamp = defining_operation(index)
    if clamp is None or clamp.name != "arith.minui":
        return index
    one, other = clamp.operands
    for place, last, signed in ends:
        for clamped, bound in ((one, other), (other, one)):
            if clamped == place and (bound == last or (signed and _is_or_more(bound, last))):
                return place
    return index


def _is_or_more(bound: ir.Value, last: ir.Value) -> bool:
    """Returns whether a bound is the greater one of the last place and a number from 0 on."""
    operation = defining_operation(bound)
    if operation is None or operation.name != "arith.maxsi":
        return False
    one, other = operation.operands
    numbers = [constant_value(each) for each, kept in ((one, other), (other, one)) if kept == last]
    return any(number is not None and number >= 0 for number in numbers)
