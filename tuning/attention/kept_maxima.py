# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an attention's loop does with the running maxima of its rows.

    %row = ... gpu.shuffle ... vector.reduction <maximumf>, %s     the maxima of this step
    %max = arith.maximumf %row, %old                               what the loop carries on
    %t = arith.subf %s, %max                                       the shifted scores
    %corr = math.exp2 (arith.subf %old, %max)
    %x = arith.mulf %corr, %sums                                   the scaled sums

`%max` may go through operations that only give it another shape. Differences may be multiplied by
a number before they become exponents (`bankwise-scale-differences`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_moves import element_count, is_move, origin_of
from ...dialect_utils.loops import YIELD, Carried, body_of, carried_values
from ...dialect_utils.memory.memref_types import is_memref
from ...dialect_utils.memory.store_free_segments import leaves_memory_alone
from ...dialect_utils.multiplications import ACCUMULATOR, MATRIX_PRODUCTS, MFMA
from ...dialect_utils.operations import (
    defining_operation,
    dependents,
    is_splat_of_zero,
    makers_behind,
    number_of,
    operands_with,
    operations_of,
)

MAXIMUM, SHUFFLE = "arith.maximumf", "gpu.shuffle"
_EXP2, _SUBTRACT, _MULTIPLY = "math.exp2", "arith.subf", "arith.mulf"
_LOAD, _SLICE = "vector.load", "vector.extract_strided_slice"


class KeptMaxima(NamedTuple):
    """Maxima of rows that a loop carries, and what depends on them.

    Attributes:
        carried: the maxima, of one or more blocks of rows.
        maxima: for each of them what makes the new ones.
        rows: for each of them those of the step alone.
        shifted: the differences of scores and the new maxima.
        scaled: the products of carried sums and the corrections.
        between: what computes these from the new maxima, in order, `shifted` and `scaled` included.
        places: the operations of the body, each with its place.
        factor: what differences are multiplied by before they become exponents of 2.
    """

    carried: Sequence[Carried]
    maxima: Sequence[ir.Operation]
    rows: Sequence[ir.Value]
    shifted: Sequence[ir.Operation]
    scaled: Sequence[ir.Operation]
    between: Sequence[ir.Operation]
    places: Mapping[ir.Operation, int]
    factor: float

    @staticmethod
    def of(loop: ir.Operation) -> KeptMaxima | None:
        """Returns the maxima that a loop carries, if it carries any.

        Raises:
            Refusal: it does, and something else depends on them.
        """
        places = {each: place for place, each in enumerate(operations_of(body_of(loop)))}
        place = places.__getitem__
        carried = [each for each in carried_values(loop) if _new_maximum(each, places) is not None]
        found = [_new_maximum(each, places) for each in carried]
        maxima = [each for each in found if each is not None]
        dependent = _Dependent(loop, places)
        for each, maximum in zip(carried, maxima, strict=True):
            dependent.add(each, maximum)
        if not dependent.shifted or not dependent.scaled:
            return None
        last = max(maxima, key=place)
        if any(place(each) < place(last) for each in dependent.between):
            raise Refusal("what depends on a maximum is made before another one")
        kept = KeptMaxima(
            carried,
            maxima,
            [_other(each, one.argument) for each, one in zip(maxima, carried, strict=True)],
            sorted(dependent.shifted, key=place),
            sorted(dependent.scaled, key=place),
            sorted(dependent.between, key=place),
            places,
            dependent.factor,
        )
        kept._check_places()
        return kept

    @property
    def last(self) -> ir.Operation:
        """Returns the last of `maxima`."""
        return max(self.maxima, key=self.places.__getitem__)

    def _check_places(self) -> None:
        """Makes sure that what is combined with maxima is known where they are.

        Raises:
            Refusal: it is not.
        """
        here = self.places[self.last]
        for each in self.between:
            others = self._from_outside(each)
            if each in (*self.shifted, *self.scaled) and len(others) != 1:
                raise Refusal("a maximum is combined with itself")
            for definition in map(defining_operation, others):
                if definition in self.places and self.places[definition] > here:
                    raise Refusal("what depends on a maximum is made behind it")

    def unscaled(self, product: ir.Operation) -> ir.Value:
        """Returns the carried sums that one of `scaled` multiplies by corrections."""
        (other,) = self._from_outside(product)
        return other

    def _from_outside(self, operation: ir.Operation) -> list[ir.Value]:
        """Returns the operands of an operation that do not depend on the new maxima."""
        inside = {result for each in self.between for result in each.results}
        return [each for each in operation.operands if each not in inside]

    def across(self) -> list[ir.Operation]:
        """Returns what computes `rows` from the first exchange among lanes on, in order."""
        return self._leading_to_rows(lambda each: each.name == SHUFFLE)

    def local(self, scores: Sequence[ir.Value]) -> list[ir.Operation]:
        """Returns what computes `rows` from scores, in order."""
        return self._leading_to_rows(lambda each: any(o in scores for o in each.operands))

    def _leading_to_rows(self, begins: Callable[[ir.Operation], bool]) -> list[ir.Operation]:
        def is_followed(each: ir.Operation) -> bool:
            return each in self.places and each.name not in MATRIX_PRODUCTS

        makers = [*filter(is_followed, makers_behind(self.rows, is_followed))]
        makers.sort(key=self.places.__getitem__)
        first = {*filter(begins, makers)}
        found = first.union(dependents(first, makers))
        return [each for each in makers if each in found]


def move_behind_maxima(loop: ir.Operation) -> None:
    """Moves what depends on some of the maxima that a loop carries behind the last of them.

    It stays where a maximum depends on it, or where it may write memory.
    """
    body = operations_of(body_of(loop))
    places = {each: place for place, each in enumerate(body)}
    found = [_new_maximum(each, places) for each in carried_values(loop)]
    maxima = sorted((each for each in found if each is not None), key=places.__getitem__)
    if not maxima:
        return
    moved = dependents(maxima, body[places[maxima[0]] : places[maxima[-1]] + 1])
    if moved.keys().isdisjoint(maxima) and all(map(leaves_memory_alone, moved)):
        for each in reversed(moved):
            each.move_after(maxima[-1])


def _new_maximum(carried: Carried, places: Mapping[ir.Operation, int]) -> ir.Operation | None:
    """Returns what makes a carried value as a maximum of it and of something else."""
    maximum = defining_operation(carried.yielded)
    if maximum is None or maximum.name != MAXIMUM or maximum not in places:
        return None
    return maximum if list(maximum.operands).count(carried.argument) == 1 else None


def _other(operation: ir.Operation, value: ir.Value) -> ir.Value:
    """Returns the operand of an operation on two values that is not `value`."""
    (other,) = (each for each in operation.operands if each != value)
    return other


class _Made(Enum):
    """What was made of a new maximum."""

    MAXIMUM = "itself"
    DIFFERENCE = "the difference of the old one and it"
    CORRECTION = "a power of 2 of that"


class _Dependent:
    """What depends on maxima that a loop carries."""

    def __init__(self, loop: ir.Operation, places: Mapping[ir.Operation, int]) -> None:
        """Begins with maxima on which nothing depends."""
        self._loop, self._places = loop, places
        self.shifted: set[ir.Operation] = set()
        self.scaled: set[ir.Operation] = set()
        self.between: set[ir.Operation] = set()
        self._factors: set[float] = set()

    def add(self, carried: Carried, maximum: ir.Operation) -> None:
        """Follows new maxima to the differences and the products that `KeptMaxima` has.

        Raises:
            Refusal: something else depends on them.
        """
        pending = [(maximum.results[0], _Made.MAXIMUM)]
        while pending:
            value, made = pending.pop()
            for user, number in operands_with(value):
                if user.name == YIELD and user.parent.operation == self._loop:
                    if made is not _Made.MAXIMUM or number != carried.number:
                        raise Refusal("the loop carries more of a maximum")
                elif user not in self._places:
                    raise Refusal("a maximum is used in another block")
                else:
                    self.between.add(user)
                    result = self._made(user, number, carried, made)
                    if result is not None:
                        pending += [(each, result) for each in user.results]

    @property
    def factor(self) -> float:
        """Returns by what differences are multiplied before they become exponents.

        Raises:
            Refusal: it is not the same number for all of them.
        """
        factors = {*self._factors, *(_factor_of(each) for each in self.shifted)}
        if len(factors) != 1:
            raise Refusal("differences from maxima are multiplied by more than one number")
        (factor,) = factors
        return factor

    def _made(self, user: ir.Operation, number: int, carried: Carried, made: _Made) -> _Made | None:
        """Returns what the results of an operation are; None where they need not be followed.

        Raises:
            Refusal: they are something else.
        """
        if is_move(user):
            return made
        if user.name == _SUBTRACT and number == 1 and made is _Made.MAXIMUM:
            if user.operands[0] == carried.argument:
                self._factors.add(_factor_of(user))
                return _Made.DIFFERENCE
            self.shifted.add(user)
            return None
        if made is _Made.DIFFERENCE:
            if user.name == _EXP2:
                return _Made.CORRECTION
            if user.name == _MULTIPLY and number_of(user.operands[1 - number]) is not None:
                return _Made.DIFFERENCE
        if user.name == _MULTIPLY and made is _Made.CORRECTION:
            self.scaled.add(user)
            return None
        raise Refusal(f"{user.name} uses a maximum")


def _factor_of(difference: ir.Operation) -> float:
    """Returns the number that all users of a difference multiply it by; 1 where none does.

    Raises:
        Refusal: they multiply it by several numbers, or only some of them do.
    """
    factors = {
        number_of(user.operands[1 - number]) if user.name == _MULTIPLY else 1.0
        for user, number in operands_with(difference.results[0])
    }
    if len(factors) != 1 or (factor := factors.pop()) is None or factor <= 0.0:
        raise Refusal("a difference from a maximum is multiplied by more than a number")
    return factor


class ScoreChain(NamedTuple):
    """Products that make some scores, each added to by the next one.

    Attributes:
        products: in order.
        pieces: what takes pieces of the scores, where their differences are computed by pieces.
        position: of which carried maxima that of the scores is an element, and of which number.
    """

    products: Sequence[ir.Operation]
    pieces: Sequence[ir.Operation]
    position: tuple[int, int]

    @property
    def scores(self) -> ir.Value:
        """Returns the scores."""
        return self.products[-1].results[0]


def score_chains(kept: KeptMaxima) -> list[ScoreChain]:
    """Returns the products of scores that go to nothing but their maxima and differences.

    It is empty where scores are made otherwise, such as by a mask.
    """
    pieces: dict[ir.Operation, list[ir.Operation]] = {}
    positions: dict[ir.Operation, set[tuple[int, int] | None]] = {}
    for each in kept.shifted:
        product, piece = defining_operation(each.operands[0]), list[ir.Operation]()
        if product is not None and product.name == _SLICE:
            product, piece = defining_operation(product.operands[0]), [product]
        if product is None or product.name != MFMA or product not in kept.places:
            return []
        pieces.setdefault(product, []).extend(piece)
        positions.setdefault(product, set()).add(_position(kept, each.operands[1]))
    found: list[ScoreChain] = []
    for last, taken in pieces.items():
        products, (position, *others) = _chain(kept, last), positions[last]
        if not products or position is None or others:
            return []
        found.append(ScoreChain(products, taken, position))
    scores = [each.scores for each in found]
    readers = {*kept.local(scores), *kept.shifted, *(p for each in found for p in each.pieces)}
    if any(user not in readers for each in scores for user, _ in operands_with(each)):
        return []
    return found


def _chain(kept: KeptMaxima, last: ir.Operation) -> list[ir.Operation]:
    """Returns the products of which `last` is the last one, if the first one is added to zero."""
    products, product = [last], defining_operation(last.operands[ACCUMULATOR])
    while product is not None and product.name == MFMA and product in kept.places:
        if len(operands_with(product.results[0])) != 1:
            return []
        products.insert(0, product)
        product = defining_operation(product.operands[ACCUMULATOR])
    return products if is_splat_of_zero(products[0].operands[ACCUMULATOR]) else []


def _position(kept: KeptMaxima, value: ir.Value) -> tuple[int, int] | None:
    """Returns of which of the new maxima all elements of a vector are copies."""
    origins = {origin_of((value, k)) for k in range(element_count(value.type))}
    if len(origins) != 1:
        return None
    ((source, number),) = origins
    new = [each.results[0] for each in kept.maxima]
    return (new.index(source), number) if source in new else None


def operand_makers(kept: KeptMaxima, chains: Sequence[ScoreChain]) -> list[ir.Operation]:
    """Returns what makes the factors of scores in a step, and can do so again behind them."""
    known: dict[str, bool | None] = {}
    body = sorted(kept.places, key=kept.places.__getitem__)
    last = kept.places[kept.last]

    def is_free(each: ir.Operation) -> bool:
        is_inside = each in kept.places and each.name.startswith("vector.")
        return is_inside and not any(map(is_memref, each.operands))

    def is_kept(load: ir.Operation) -> bool:
        since = body[kept.places.get(load, last) : last]
        return all(each.name == MFMA or leaves_memory_alone(each, known) for each in since)

    factors = (o for c in chains for p in c.products for o in list(p.operands)[:ACCUMULATOR])
    makers = makers_behind(factors, is_free)
    found = {each for each in makers if is_free(each) or (each.name == _LOAD and is_kept(each))}
    return [each for each in body if each in found]
