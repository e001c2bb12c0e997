# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates index arithmetic for one thread, by the dialects' documentation, for the tests."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from iree.compiler import ir

DYNAMIC = -(1 << 63)


class UndefinedError(Exception):
    """The operation has no defined result for these operands."""


class BrokenPromiseError(UndefinedError):
    """The operation promises something of its operands that is not true of these."""


def evaluate(value: ir.Value, leaves: Mapping[ir.Value, int], width: int = 64) -> int:
    """Returns the value as an unsigned number, with `index` of `width` bits.

    `leaves` gives signed numbers to the values that nothing here computes.
    """
    known = {leaf: number & ((1 << width) - 1) for leaf, number in leaves.items()}
    return _evaluate(value, known, width)


def signed(number: int, width: int) -> int:
    """Returns the same bits as a signed number."""
    return number - (1 << width) if number >> (width - 1) & 1 else number


def width_of(value: ir.Value, width: int) -> int:
    """Returns the bits of a value, with `index` of `width` bits."""
    kind = value.type
    return ir.IntegerType(kind).width if isinstance(kind, ir.IntegerType) else width


def _evaluate(value: ir.Value, known: dict[ir.Value, int], width: int) -> int:
    if value not in known:
        operation = value.owner.operation
        unsigned = [_evaluate(operand, known, width) for operand in operation.operands]
        widths = [width_of(operand, width) for operand in operation.operands]
        numbers = [signed(*each) for each in zip(unsigned, widths, strict=True)]
        bits = width_of(value, width)
        if operation.name.startswith("affine."):
            number = ir.OpResult(value).result_number
            result = _affine_operation(operation, number, numbers, bits)
        else:
            result = _arithmetic(operation, unsigned, numbers, bits)
        known[value] = result & ((1 << bits) - 1)
    return known[value]


def _toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _rounded_up(a: int, b: int) -> int:
    return -(-a // b)


def _first(number: int) -> int:
    return number


_ON_SIGNED: Mapping[str, Callable[..., int]] = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "minsi": min,
    "maxsi": max,
    "divsi": _toward_zero,
    "remsi": lambda a, b: a - _toward_zero(a, b) * b,
    "floordivsi": operator.floordiv,
    "ceildivsi": _rounded_up,
    "shli": operator.lshift,
    "shrsi": operator.rshift,
    "index_cast": _first,
    "extsi": _first,
}
_ON_UNSIGNED: Mapping[str, Callable[..., int]] = {
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
    "minui": min,
    "maxui": max,
    "divui": operator.floordiv,
    "remui": operator.mod,
    "ceildivui": _rounded_up,
    "shrui": operator.rshift,
    "select": lambda condition, yes, no: yes if condition else no,
    "index_castui": _first,
    "extui": _first,
    "trunci": _first,
}
_DIVISIONS = {"divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui"}
_SHIFTS = {"shli", "shrsi", "shrui"}
_ORDERS = (operator.lt, operator.le, operator.gt, operator.ge)
_PREDICATES = (operator.eq, operator.ne, *_ORDERS, *_ORDERS)
"""What `arith.cmpi` computes by its predicate's number; from 6 on it is of unsigned numbers."""


def _arithmetic(operation: ir.Operation, u: list[int], s: list[int], bits: int) -> int:
    """Returns the result of an operation on operands `u`, which are `s` as signed numbers."""
    name = operation.name.removeprefix("arith.")
    if name == "constant":
        return int(operation.attributes["value"].value)
    if name == "cmpi":
        predicate = ir.IntegerAttr(operation.attributes["predicate"]).value
        return _PREDICATES[predicate](*(s if predicate < 6 else u))
    if (name in _DIVISIONS and u[1] == 0) or (name in _SHIFTS and u[1] >= bits):
        raise UndefinedError(name)
    if name in _ON_UNSIGNED:
        return _ON_UNSIGNED[name](*u)
    function = _ON_SIGNED[name]
    result = function(*s)
    flags = str(operation.attributes["overflowFlags"]) if name in _MAY_WRAP else ""
    if "nsw" in flags and result != signed(result % (1 << bits), bits):
        raise BrokenPromiseError(f"{name} nsw")
    if "nuw" in flags and not 0 <= function(*u) < 1 << bits:
        raise BrokenPromiseError(f"{name} nuw")
    return result


_MAY_WRAP = ("addi", "subi", "muli", "shli")
"""Operations that may promise not to."""


def _fits(number: int, bits: int) -> int:
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise BrokenPromiseError("affine arithmetic overflows")
    return number


def _affine_operation(operation: ir.Operation, number: int, s: list[int], bits: int) -> int:
    if operation.name in ("affine.apply", "affine.min", "affine.max"):
        affine_map = ir.AffineMapAttr(operation.attributes["map"]).value
        results = [_expression(e, s, affine_map.n_dims, bits) for e in affine_map.results]
        return max(results) if operation.name == "affine.max" else min(results)
    static = list(ir.DenseI64ArrayAttr(operation.attributes["static_basis"]))
    dynamic = static.count(DYNAMIC)
    given = iter(s[len(s) - dynamic :])
    basis = [next(given) if each == DYNAMIC else each for each in static]
    digits = s[: len(s) - dynamic]
    if operation.name == "affine.delinearize_index":
        inner = basis[len(basis) - len(operation.results) + 1 :]
        return _digits(digits[0], inner)[number]
    assert operation.name == "affine.linearize_index"
    if "linearize_index disjoint" in str(operation):
        for digit, base in zip(digits[len(digits) - len(basis) :], basis, strict=True):
            if not 0 <= digit < base:
                raise BrokenPromiseError("digit of a disjoint linearize_index out of its base")
    total = digits[0]
    for base, digit in zip(basis[len(basis) - len(digits) + 1 :], digits[1:], strict=True):
        total = _fits(_fits(total * base, bits) + digit, bits)
    return total


def _digits(number: int, bases: Sequence[int]) -> list[int]:
    """Returns the digits of a mixed-radix number; the first one has no base."""
    digits: list[int] = []
    for base in reversed(bases):
        digits.insert(0, number % base)
        number //= base
    return [number, *digits]


def _expression(expression: ir.AffineExpr, s: list[int], dims: int, bits: int) -> int:
    if isinstance(expression, ir.AffineConstantExpr):
        return expression.value
    if isinstance(expression, ir.AffineDimExpr):
        return s[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return s[dims + expression.position]
    left = _expression(expression.lhs, s, dims, bits)
    right = _expression(expression.rhs, s, dims, bits)
    if isinstance(expression, ir.AffineAddExpr):
        return _fits(left + right, bits)
    if isinstance(expression, ir.AffineMulExpr):
        return _fits(left * right, bits)
    if right <= 0:
        raise UndefinedError("affine division by a number below 1")
    if isinstance(expression, ir.AffineModExpr):
        return left % right
    if isinstance(expression, ir.AffineFloorDivExpr):
        return left // right
    return _rounded_up(left, right)
