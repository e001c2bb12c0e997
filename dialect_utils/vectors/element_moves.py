# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where an element of a vector comes from, behind operations that only move elements.

    %p = vector.extract %v[1] : vector<2xf16> from vector<4x2xf16>
    %e:2 = vector.to_elements %p : vector<2xf16>

`%e#1` is element 3 of `%v`. Such operations take vectors apart and put them together; in machine
code they are names of registers, and no instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

import numpy as np
from iree.compiler import ir

from ..dynamic_sizes import DYNAMIC

Element = tuple[ir.Value, int]
"""A vector and the row-major number of an element; a scalar has the element 0."""


def is_move(operation: ir.Operation) -> bool:
    """Returns whether an operation only moves elements of vectors."""
    return operation.name in _MOVES


def element_before(operation: ir.Operation, value: ir.Value, number: int) -> Element | None:
    """Returns which element of an operand is element `number` of `value`, a result of a move.

    Returns None for an operation that is no move, or whose position is dynamic.
    """
    move = _MOVES.get(operation.name)
    return None if move is None else move(operation, value, number)


def element_count(kind: ir.Type) -> int:
    """Returns the elements of a vector type; 1 for a scalar."""
    return prod(kind.shape) if isinstance(kind, ir.VectorType) else 1


def _from_elements(operation: ir.Operation, value: ir.Value, number: int) -> Element:
    return operation.operands[number], 0


def _to_elements(operation: ir.Operation, value: ir.Value, number: int) -> Element:
    return operation.operands[0], ir.OpResult(value).result_number


def _shape_cast(operation: ir.Operation, value: ir.Value, number: int) -> Element:
    return operation.operands[0], number


def _broadcast(operation: ir.Operation, value: ir.Value, number: int) -> Element:
    """Gives the element of which a broadcast makes copies, along outer and unit dimensions."""
    source = operation.operands[0]
    if not isinstance(source.type, ir.VectorType):
        return source, 0
    shape = source.type.shape
    index = np.unravel_index(number, ir.VectorType(value.type).shape)
    index = index[len(index) - len(shape) :]
    inner = [0 if size == 1 else int(i) for i, size in zip(index, shape, strict=True)]
    return source, int(np.ravel_multi_index(inner, shape)) if shape else 0


def _extract(operation: ir.Operation, value: ir.Value, number: int) -> Element | None:
    source = operation.operands[0]
    begin = _begin(operation, source)
    return None if begin is None else (source, begin[0] + number)


def _insert(operation: ir.Operation, value: ir.Value, number: int) -> Element | None:
    part, whole = list(operation.operands)[:2]
    begin = _begin(operation, whole)
    if begin is None:
        return None
    first, count = begin
    return (part, number - first) if first <= number < first + count else (whole, number)


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


def _extract_slice(operation: ir.Operation, value: ir.Value, number: int) -> Element:
    source = ir.VectorType(operation.operands[0].type).shape
    index = list(np.unravel_index(number, ir.VectorType(value.type).shape))
    for dimension, offset in enumerate(_offsets(operation)):
        index[dimension] += offset
    return operation.operands[0], int(np.ravel_multi_index(index, source))


def _insert_slice(operation: ir.Operation, value: ir.Value, number: int) -> Element:
    part, whole = operation.operands
    shape = ir.VectorType(part.type).shape
    index = np.unravel_index(number, ir.VectorType(value.type).shape)
    inside = np.subtract(index, _offsets(operation))
    # A part of lower rank lies in the last dimensions.
    outer = len(inside) - len(shape)
    if any(inside[:outer]) or (inside < 0).any() or (inside[outer:] >= shape).any():
        return whole, number
    return part, int(np.ravel_multi_index(list(inside[outer:]), shape))


def _offsets(operation: ir.Operation) -> list[int]:
    return [ir.IntegerAttr(each).value for each in ir.ArrayAttr(operation.attributes["offsets"])]


_MOVES: Mapping[str, Callable[[ir.Operation, ir.Value, int], Element | None]] = MappingProxyType(
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
