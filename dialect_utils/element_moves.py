# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where an element of a vector comes from, behind operations that only move elements.

    %p = vector.extract %v[1] : vector<2xf16> from vector<4x2xf16>
    %e:2 = vector.to_elements %p : vector<2xf16>

`%e#1` is element 3 of `%v`. Such operations take vectors apart and put them together; in machine
code they are names of registers, and no instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from types import MappingProxyType

from iree.compiler import ir

from .dynamic_sizes import DYNAMIC
from .operations import defining_operation

Element = tuple[ir.Value, int]
"""A vector and the row-major number of an element; a scalar has the element 0."""

Move = Callable[[int], Element | None]
"""Gives the element of an operand that is element `number` of a result; None where the position is
dynamic."""


def is_move(operation: ir.Operation) -> bool:
    """Returns whether an operation only moves elements of vectors."""
    return operation.name in _MOVES


def moves_of(operation: ir.Operation) -> list[Move] | None:
    """Returns where the elements of each result come from; None for an operation that is no move.

    The operation is read once, for all elements.
    """
    name = operation.name
    return _MOVES[name](operation) if name in _MOVES else None


def origin_of(element: Element) -> Element:
    """Returns the element that moves have made another one of."""
    while True:
        value, number = element
        operation = defining_operation(value)
        moves = None if operation is None else moves_of(operation)
        if moves is None:
            return element
        before = moves[ir.OpResult(value).result_number](number)
        if before is None:
            return element
        element = before


def element_count(kind: ir.Type) -> int:
    """Returns the elements of a vector type; 1 for a scalar."""
    return prod(kind.shape) if isinstance(kind, ir.VectorType) else 1


def _nowhere(number: int) -> None:
    """Gives no element: the position is dynamic."""


def _from_elements(operation: ir.Operation) -> list[Move]:
    scalars = list(operation.operands)
    return [lambda number: (scalars[number], 0)]


def _to_elements(operation: ir.Operation) -> list[Move]:
    source = operation.operands[0]
    # A default argument keeps the number of each result.
    return [lambda _, n=number: (source, n) for number in range(len(operation.results))]


def _shape_cast(operation: ir.Operation) -> list[Move]:
    source = operation.operands[0]
    return [lambda number: (source, number)]


def _broadcast(operation: ir.Operation) -> list[Move]:
    """Gives the element of which a broadcast makes copies, along outer and unit dimensions."""
    source = operation.operands[0]
    if not isinstance(source.type, ir.VectorType):
        return [lambda number: (source, 0)]
    inner, shape = source.type.shape, ir.VectorType(operation.results[0].type).shape

    def move(number: int) -> Element:
        index = _unraveled(number, shape)[len(shape) - len(inner) :]
        return source, _raveled(
            [i if n > 1 else 0 for i, n in zip(index, inner, strict=True)], inner
        )

    return [move]


def _extract(operation: ir.Operation) -> list[Move]:
    operands = operation.operands
    source = operands[0]
    if len(operands) == 1 and element_count(source.type) == 1:
        return [lambda number: (source, number)]
    begin = _begin(operation, source)
    if begin is None:
        return [_nowhere]
    first, _ = begin
    return [lambda number: (source, first + number)]


def _insert(operation: ir.Operation) -> list[Move]:
    part, whole = list(operation.operands)[:2]
    begin = _begin(operation, whole)
    if begin is None:
        return [_nowhere]
    first, count = begin

    def move(number: int) -> Element:
        return (part, number - first) if first <= number < first + count else (whole, number)

    return [move]


def _begin(operation: ir.Operation, whole: ir.Value) -> tuple[int, int] | None:
    """Returns the first element at a static position of a vector, and how many are there."""
    position = list(ir.DenseI64ArrayAttr(operation.attributes["static_position"]))
    if DYNAMIC in position:
        return None
    shape = ir.VectorType(whole.type).shape
    first = 0
    for index, size in zip(position, shape, strict=False):
        first = first * size + index
    count = prod(shape[len(position) :])
    return first * count, count


def _extract_slice(operation: ir.Operation) -> list[Move]:
    whole = operation.operands[0]
    outer = ir.VectorType(whole.type).shape
    offsets = _offsets(operation, len(outer))
    if len(outer) == 1:
        begin = offsets[0]
        return [lambda number: (whole, begin + number)]
    shape = ir.VectorType(operation.results[0].type).shape

    def move(number: int) -> Element:
        index = _unraveled(number, shape)
        return whole, _raveled([i + n for i, n in zip(index, offsets, strict=True)], outer)

    return [move]


def _insert_slice(operation: ir.Operation) -> list[Move]:
    part, whole = operation.operands
    inner, shape = ir.VectorType(part.type).shape, ir.VectorType(whole.type).shape
    offsets = _offsets(operation, len(shape))
    # A part of lower rank lies in the last dimensions.
    sizes = [1] * (len(shape) - len(inner)) + inner
    places = product(*(range(begin, begin + n) for begin, n in zip(offsets, sizes, strict=True)))
    # A vector is put together by many slices, each of which is asked about all elements.
    inserted = {_raveled(index, shape): number for number, index in enumerate(places)}

    def move(number: int) -> Element:
        here = inserted.get(number)
        return (whole, number) if here is None else (part, here)

    return [move]


def _offsets(operation: ir.Operation, rank: int) -> list[int]:
    """Returns the offset of a slice along each dimension; it names those of the first ones."""
    named = ir.ArrayAttr(operation.attributes["offsets"])
    offsets = [ir.IntegerAttr(each).value for each in named]
    return offsets + [0] * (rank - len(offsets))


def _unraveled(number: int, shape: list[int]) -> list[int]:
    """Returns the index of an element, by its row-major number."""
    index = [0] * len(shape)
    for dimension in reversed(range(len(shape))):
        number, index[dimension] = divmod(number, shape[dimension])
    return index


def _raveled(index: Sequence[int], shape: Sequence[int]) -> int:
    number = 0
    for i, size in zip(index, shape, strict=True):
        number = number * size + i
    return number


_MOVES: Mapping[str, Callable[[ir.Operation], list[Move]]] = MappingProxyType(
    {
        "vector.broadcast": _broadcast,
        "vector.extract": _extract,
        "vector.extract_strided_slice": _extract_slice,
        "vector.from_elements": _from_elements,
        "vector.insert": _insert,
        "vector.insert_strided_slice": _insert_slice,
        "vector.shape_cast": _shape_cast,
        "vector.to_elements": _to_elements,
    }
)
