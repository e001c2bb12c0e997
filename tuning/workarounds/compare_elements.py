# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-compare-elements`: the place of a row's largest element is found by a reduction.

ONNX's `ArgMax` and `ArgMin` are operations of IREE's own:

    %value, %place = iree_linalg_ext.arg_compare dimension(1) ins(%x) outs(%least, %zero) {
    ^bb0(%element: f16, %best: f16):
      %is_better = arith.cmpf ogt, %element, %best : f16
      iree_linalg_ext.yield %is_better : i1
    }

IREE 3.13 lets several warps share a row of 512 elements or more that a power of two divides, and
then does not compile it ("failed to distribute"). Any other row is one lane's, which holds all of
it in registers: the compile of 1,000 f16 takes 52 s, and of much longer ones it does not end. The
same search as a `linalg.generic` compiles at once, and lanes share its rows
(`tuning/elements/arg_reductions.py`):

    %value, %place = linalg.generic ... {
    ^bb0(%element: f16, %best: f16, %before: i32):
      %is_better = arith.cmpf ogt, %element, %best : f16
      %new = arith.select %is_better, %element, %best
      %here = linalg.index 1
      %there = arith.select %is_better, %here, %before

Where nobody asks for the element, it becomes a maximum, which lanes compute in any order.

Runs on functions of the program, before dispatches are formed.

This works around IREE 3.13 (`docs/for_iree.md#places-of-largest-elements`).
"""

from __future__ import annotations

import math
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.operations import (
    children,
    defining_operation,
    number_of,
    operands_with,
    operations_in,
    redirect,
    segments_of,
    terminator,
)
from ...dialect_utils.program_operations import ARG_COMPARE
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound
from ..elements.arg_reductions import EXTREMES

_FILL = "linalg.fill"


class CompareElements(FunctionPass):
    """Makes reductions of searches for the place of an element."""

    name: ClassVar[str] = "bankwise-compare-elements"
    summary: ClassVar[str] = "find the place of a row's largest element by a reduction"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has such a search."""
        return any(True for _ in operations_in(function, ARG_COMPARE))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the searches whose places are integers; never fails."""
        for search in list(operations_in(function.operation, ARG_COMPARE)):
            if isinstance(_place_type(search), ir.IntegerType):
                made = _reduction(search)
                for before, after in zip(search.results, made.results, strict=True):
                    redirect(operands_with(before), after)
                context.sink.remark(search.location, "the place is found by a reduction")
                search.erase()


def _place_type(search: ir.Operation) -> ir.Type:
    return ir.RankedTensorType(search.results[1].type).element_type


def _reduction(search: ir.Operation) -> ir.Operation:
    """Creates the `linalg.generic` that does what a search does."""
    inputs, places, values, found, base = segments_of(search)
    along = ir.IntegerAttr(search.attributes["dimension"]).value
    rank = ir.RankedTensorType(inputs[0].type).rank
    all_loops = range(rank)
    of_rows = [loop for loop in all_loops if loop != along]
    bits = ir.IntegerType(_place_type(search)).width
    extreme = _extreme(search)
    block = search.regions[0].blocks[0]

    def body(at: Builder, element: ir.Value, *others: ir.Value) -> list[ir.Value]:
        *given, best, before = others
        known: dict[ir.Value, ir.Value] = dict(zip(block.arguments, (element, best), strict=True))
        *compared, end = children(search)
        at.clone_all(compared, known)
        is_better = known.get(end.operands[0], end.operands[0])
        if given:
            here = given[0]
        else:
            place = at.loop_index(along)
            here = at.index_cast(at.addi(place, base[0]) if base else place, bits)
        new = at.select(is_better, element, best)
        if extreme is not None:
            new = at.create(extreme, [element, best], [best.type]).results[0]
        return [new, at.select(is_better, here, before)]

    loops = [all_loops] * (len(inputs) + len(places)) + [of_rows] * 2
    at = Builder.before(search)
    return at.generic([*inputs, *places], [*values, *found], at.looped(rank, loops), body)


def _extreme(search: ir.Operation) -> str | None:
    """Returns what makes the new element of a search of the one before; None stands for a choice.

    A maximum of floats is another one where it is zero, of which the sign may differ, and where the
    search begins with NaN, which it keeps.
    """
    block = search.regions[0].blocks[0]
    compares = defining_operation(terminator(search.regions[0]).operands[0])
    if compares is None or "predicate" not in compares.attributes:
        return None
    if list(compares.operands) != list(block.arguments):
        return None
    predicate = ir.IntegerAttr(compares.attributes["predicate"]).value
    known = EXTREMES.get((compares.name, predicate))
    is_integer = isinstance(block.arguments[0].type, ir.IntegerType)
    if known is None or not (is_integer or _begins_with_number(search)):
        return None
    return known[-1] if is_integer or not operands_with(search.results[0]) else None


def _begins_with_number(search: ir.Operation) -> bool:
    """Returns whether the element before the first one is a number, or infinite."""
    fill = defining_operation(segments_of(search)[2][0])
    number = number_of(fill.operands[0]) if fill is not None and fill.name == _FILL else None
    return number is not None and not math.isnan(number)
