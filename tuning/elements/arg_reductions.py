# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts a search for the largest element of a row, and its place, into reductions in any order.

    ^bb0(%in: f32, %largest: f32, %place: i64):
      %here = linalg.index 1
      %new = arith.maximumf %in, %largest
      %is_larger = arith.cmpf ogt, %in, %largest
      %there = arith.select %is_larger, %here, %place
      linalg.yield %new, %there

asks one element after the other. The largest element is a maximum, though, and its first place is
the minimum of the places of elements that equal it. Both are the same in any order, so that lanes
can share a row.

Behind a NaN `arith.maximumf` finds no larger element any more. The place of the first NaN is a
minimum, too, and only elements before it are looked at. A row without an element that is larger
than the value before keeps the place before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.indexing_maps import GENERIC, ITERATORS, MAPS, loops_of, summed_loops
from ...dialect_utils.lowering_config import CONFIG
from ...dialect_utils.operations import (
    children,
    defining_operation,
    operands_with,
    redirect,
    segments_of,
    terminator,
)
from .row_masks import LEAST_BITS

_SELECT, _CAST, _INDEX = "arith.select", "arith.index_cast", "linalg.index"
_PLACE_BITS = 32
_PLACES = ("i32", "i64")
_NOWHERE = (1 << _PLACE_BITS - 1) - 1
EXTREMES = {
    ("arith.cmpf", 2): ("arith.maximumf", "arith.maxnumf"),
    ("arith.cmpf", 4): ("arith.minimumf", "arith.minnumf"),
    ("arith.cmpi", 4): ("arith.maxsi",),
    ("arith.cmpi", 2): ("arith.minsi",),
    ("arith.cmpi", 8): ("arith.maxui",),
    ("arith.cmpi", 6): ("arith.minui",),
}
"""What finds the same element as a comparison, by the name and the predicate of that."""
_STOPS_AT_NAN = ("arith.maximumf", "arith.minimumf")

Body = Callable[..., ir.Value]


class ArgReduction(NamedTuple):
    """A `linalg.generic` that finds an element of each row, and its place.

    Attributes:
        loop: the one along rows.
        element: what is compared, a value of its body.
        compares: whether an element is better than the one before.
        extreme: what makes the new element of the one before.
        value, place: the numbers of the results with the element and its place.
    """

    operation: ir.Operation
    loop: int
    element: ir.Value
    compares: ir.Operation
    extreme: ir.Operation
    value: int
    place: int

    @staticmethod
    def of(operation: ir.Operation) -> ArgReduction | None:
        """Reads an operation; None stands for one that is something else."""
        if operation.name != GENERIC or len(operation.results) != 2:
            return None
        loops, made = summed_loops(operation), list(terminator(operation.regions[0]).operands)
        chosen = [defining_operation(each) for each in made]
        places = [n for n, each in enumerate(chosen) if each is not None and each.name == _SELECT]
        if len(loops) != 1 or len(places) != 1:
            return None
        (place,), (loop,) = places, loops
        if str(made[place].type) not in _PLACES or len({*loops_of(operation)[-2:]}) != 1:
            return None
        choice, extreme = chosen[place], chosen[1 - place]
        if choice is None or extreme is None:
            return None
        before = list(operation.regions[0].blocks[0].arguments)[-2:]
        compares, here = (defining_operation(each) for each in list(choice.operands)[:2])
        if compares is None or choice.operands[2] != before[place] or not _is_place(here, loop):
            return None
        element, other = (*compares.operands, None, None)[:2]
        predicate = compares.attributes["predicate"] if element is not None else None
        known = EXTREMES.get((compares.name, getattr(predicate, "value", -1)), ())
        if other != before[1 - place] or extreme.name not in known or element is None:
            return None
        if (element_bits(element.type) or 0) < LEAST_BITS:
            return None
        if {*extreme.operands} != {element, other} or _uses_before(operation, element, before):
            return None
        return ArgReduction(operation, loop, element, compares, extreme, 1 - place, place)

    def part(self) -> ir.Operation:
        """Replaces the operation by others, and returns the last one that reduces."""
        at = Builder.before(self.operation)
        before = list(self.operation.operands)[-2:]
        values, places = before[self.value], before[self.place]
        first_nan: list[ir.Value] = []
        best = self._generic(at, [], values, self._extreme) if not self._stops_at_nan else values
        if self._stops_at_nan:
            first_nan = [self._place_where(at, [], lambda at, e: at.cmpf("uno", e, e))]
            best = self._of_numbers(at, first_nan[0], _empty_like(at, values))
        found = self._place_where(at, [best, *first_nan], self._is_best)
        root = defining_operation(found)
        assert root is not None
        if CONFIG in self.operation.attributes:
            root.attributes[CONFIG] = self.operation.attributes[CONFIG]
        self._choose(at, [best, found, *first_nan], values, places)
        self.operation.erase()
        return root

    def _choose(
        self, at: Builder, found: Sequence[ir.Value], values: ir.Value, places: ir.Value
    ) -> None:
        """Gives the users of the results what was found, or what was there before.

        Args:
            found: the best element of each row, its place, and that of the first NaN if there may
                be one.
        """
        results = {n: self.operation.results[n] for n in (self.value, self.place)}
        used = [n for n, each in results.items() if operands_with(each)]

        def chosen(at: Builder, *elements: ir.Value) -> list[ir.Value]:
            best, place, *nan = elements[: len(found)]
            value_before, place_before = elements[len(found) : len(found) + 2]
            better = at.clone(self.compares, [best, value_before]).results[0]
            wide = ir.IntegerType(place_before.type).width > _PLACE_BITS
            place = at.extui(place, 64) if wide else place
            made = {self.place: at.select(better, place, place_before), self.value: best}
            if nan:
                none = at.constant(nan[0].type, _NOWHERE)
                is_there = at.cmpi("ne", nan[0], none)
                number = self._extreme(at, best, value_before)
                made[self.value] = at.select(is_there, at.constant(best.type, math.nan), number)
            return [made[n] for n in used]

        taken = [*found, values, places]
        outputs = [_empty_like(at, {self.value: values, self.place: places}[n]) for n in used]
        rank = len(ir.ShapedType(places.type).shape)
        loops = at.looped(rank, [range(rank)] * (len(taken) + len(outputs)))
        made = at.generic(taken, outputs, loops, chosen)
        for number, each in zip(used, made.results, strict=True):
            redirect(operands_with(results[number]), each)

    def _extreme(self, at: Builder, element: ir.Value, other: ir.Value) -> ir.Value:
        return at.clone(self.extreme, [element, other]).results[0]

    @property
    def _stops_at_nan(self) -> bool:
        return self.extreme.name in _STOPS_AT_NAN

    def _is_best(
        self, at: Builder, element: ir.Value, best: ir.Value, first_nan: ir.Value | None = None
    ) -> ir.Value:
        """Emits whether an element is the one that is looked for."""
        if self.compares.name == "arith.cmpi":
            return at.cmpi("eq", element, best)
        equal = at.cmpf("oeq", element, best)
        return equal if first_nan is None else at.andi(equal, self._is_before(at, first_nan))

    def _is_before(self, at: Builder, place: ir.Value) -> ir.Value:
        return at.cmpi("slt", at.index_cast(at.loop_index(self.loop), _PLACE_BITS), place)

    def _of_numbers(self, at: Builder, first_nan: Sequence[ir.Value], empty: ir.Value) -> ir.Value:
        """Emits the best element of those before the first NaN."""
        largest = self.extreme.name == "arith.maximumf"
        worst = -math.inf if largest else math.inf

        def body(at: Builder, element: ir.Value, end: ir.Value, other: ir.Value) -> ir.Value:
            counted = at.select(self._is_before(at, end), element, at.constant(element.type, worst))
            return (at.maxnumf if largest else at.minnumf)(counted, other)

        start = at.fill(at.constant(self.element.type, worst), empty)
        return self._generic(at, [first_nan], start, body)

    def _place_where(
        self, at: Builder, rows: Sequence[ir.Value], holds: Callable[..., ir.Value]
    ) -> ir.Value:
        """Emits the first place in each row where something holds; the greatest number if none.

        Args:
            rows: what else `holds` gets of each row.
        """
        before = list(self.operation.operands)[-2:][self.place]
        kind = at.integer_type(_PLACE_BITS)
        shape = ir.ShapedType(before.type).shape
        none = at.constant(kind, _NOWHERE)

        def body(at: Builder, element: ir.Value, *others: ir.Value) -> ir.Value:
            here = at.index_cast(at.loop_index(self.loop), _PLACE_BITS)
            place = at.select(holds(at, element, *others[:-1]), here, none)
            return at.minui(place, others[-1])

        return self._generic(at, rows, at.fill(none, at.empty(at.tensor_type(shape, kind))), body)

    def _generic(
        self, at: Builder, rows: Sequence[ir.Value], start: ir.Value, body: Body
    ) -> ir.Value:
        """Emits a reduction of the elements, whose body gets one, what is known of rows, and the
        value before."""
        inputs = segments_of(self.operation)[0]
        *maps, _, of_rows = ir.ArrayAttr(self.operation.attributes[MAPS])
        attributes = {
            MAPS: ir.ArrayAttr.get([*maps, *[of_rows] * (len(rows) + 1)], at.context),
            ITERATORS: self.operation.attributes[ITERATORS],
        }

        def whole(at: Builder, *arguments: ir.Value) -> ir.Value:
            element = self._element(at, arguments[: len(inputs)])
            return body(at, element, *arguments[len(inputs) :])

        return at.generic([*inputs, *rows], start, attributes, whole).results[0]

    def _element(self, at: Builder, arguments: Sequence[ir.Value]) -> ir.Value:
        """Emits what is compared, of an element of each input."""
        block = self.operation.regions[0].blocks[0]
        copies = dict(zip(list(block.arguments)[: len(arguments)], arguments, strict=True))
        at.clone_all(_computing(self.operation, self.element), copies)
        return copies.get(self.element, self.element)


def _is_place(here: ir.Operation | None, loop: int) -> bool:
    """Returns whether a value is how far a loop is, as an integer."""
    index = None if here is None or here.name != _CAST else defining_operation(here.operands[0])
    if index is None or index.name != _INDEX:
        return False
    return ir.IntegerAttr(index.attributes["dim"]).value == loop


def _computing(operation: ir.Operation, value: ir.Value) -> list[ir.Operation]:
    """Returns the operations of a body that compute a value, in their order."""
    needed: set[ir.Value] = {value}
    found: list[ir.Operation] = []
    for each in reversed(children(operation)):
        if not needed.isdisjoint(each.results):
            needed.update(each.operands)
            found.append(each)
    return found[::-1]


def _uses_before(operation: ir.Operation, value: ir.Value, before: Sequence[ir.Value]) -> bool:
    """Returns whether a value of a body is computed of the results before."""
    taken = {value, *(each for one in _computing(operation, value) for each in one.operands)}
    return not taken.isdisjoint(before)


def _empty_like(at: Builder, tensor: ir.Value) -> ir.Value:
    kind = ir.RankedTensorType(tensor.type)
    return at.empty(at.tensor_type(kind.shape, kind.element_type))
