# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates index arithmetic for one thread, by the dialects' documentation, for the tests."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

DYNAMIC = -(1 << 63)


class UndefinedError(Exception):
    """The operation has no defined result for these operands."""


def evaluate(value: ir.Value, leaves: Mapping[ir.Value, int], width: int = 64) -> int:
    """Returns the value as an unsigned number, with `index` of `width` bits.

    `leaves` gives signed numbers to the values that nothing here computes.
    """
    known = {leaf: number & ((1 << width) - 1) for leaf, number in leaves.items()}
    return _evaluate(value, known, width)


def signed(number: int, width: int) -> int:
    """Returns the same bits as a signed number."""
    return number - (1 << width) if number >> (width - 1) & 1 else number


def _bits(kind: ir.Type, width: int) -> int:
    return ir.IntegerType(kind).width if isinstance(kind, ir.IntegerType) else width


def _evaluate(value: ir.Value, known: dict[ir.Value, int], width: int) -> int:
    if value not in known:
        operation = value.owner.operation
        operands = [_evaluate(operand, known, width) for operand in operation.operands]
        bits = _bits(value.type, width)
        source_bits = _bits(operation.operands[0].type, width) if operands else bits
        number = ir.OpResult(value).result_number
        result = _compute(operation, number, operands, bits, source_bits)
        known[value] = result & ((1 << bits) - 1)
    return known[value]


def _compare(operation: ir.Operation, u: list[int]) -> int:
    assert ir.IntegerAttr(operation.attributes["predicate"]).value == 0, "only `eq` is known"
    return int(u[0] == u[1])


def _compute(
    operation: ir.Operation, number: int, u: list[int], bits: int, source_bits: int
) -> int:
    name = operation.name
    s = [signed(operand, source_bits) for operand in u]
    if name == "arith.constant":
        return int(operation.attributes["value"].value)
    if name in ("arith.addi", "arith.subi", "arith.muli", "arith.shli"):
        return _wrapping(operation, u, s, bits)
    if name.startswith("affine."):
        return _affine_operation(operation, number, s, bits)
    if name in ("arith.divui", "arith.remui", "arith.ceildivui", "arith.divsi", "arith.remsi"):
        return _dividing(name, u, s)
    if name in ("arith.shrui", "arith.shrsi"):
        if u[1] >= bits:
            raise UndefinedError(name)
        return (u if name == "arith.shrui" else s)[0] >> u[1]
    if name == "arith.index_cast":
        return s[0]
    simple = {
        "arith.andi": lambda: u[0] & u[1],
        "arith.ori": lambda: u[0] | u[1],
        "arith.xori": lambda: u[0] ^ u[1],
        "arith.minui": lambda: min(u),
        "arith.maxui": lambda: max(u),
        "arith.minsi": lambda: min(s),
        "arith.maxsi": lambda: max(s),
        "arith.cmpi": lambda: _compare(operation, u),
        "arith.select": lambda: u[1] if u[0] & 1 else u[2],
        "arith.index_castui": lambda: u[0],
        "arith.extui": lambda: u[0],
        "arith.extsi": lambda: s[0],
        "arith.trunci": lambda: u[0],
    }
    return simple[name]()


def _wrapping(operation: ir.Operation, u: list[int], s: list[int], bits: int) -> int:
    name = operation.name
    if name == "arith.shli" and u[1] >= bits:
        raise UndefinedError(name)
    function = {
        "arith.addi": lambda a, b: a + b,
        "arith.subi": lambda a, b: a - b,
        "arith.muli": lambda a, b: a * b,
        "arith.shli": lambda a, b: a << b,
    }[name]
    flags = str(operation.attributes["overflowFlags"])
    right = u[1] if name == "arith.shli" else s[1]
    if "nsw" in flags and function(s[0], right) != signed(function(*u) % (1 << bits), bits):
        raise UndefinedError(f"{name} nsw")
    if "nuw" in flags and not 0 <= function(*u) < 1 << bits:
        raise UndefinedError(f"{name} nuw")
    return function(*u)


def _dividing(name: str, u: list[int], s: list[int]) -> int:
    if u[1] == 0:
        raise UndefinedError(name)
    if name == "arith.divui":
        return u[0] // u[1]
    if name == "arith.remui":
        return u[0] % u[1]
    if name == "arith.ceildivui":
        return -(-u[0] // u[1])
    quotient = abs(s[0]) // abs(s[1]) * (1 if (s[0] < 0) == (s[1] < 0) else -1)
    return quotient if name == "arith.divsi" else s[0] - quotient * s[1]


def _fits(number: int, bits: int) -> int:
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise UndefinedError("affine arithmetic overflows")
    return number


def _affine_operation(operation: ir.Operation, number: int, s: list[int], bits: int) -> int:
    if operation.name == "affine.apply":
        affine_map = ir.AffineMapAttr(operation.attributes["map"]).value
        return _expression(affine_map.results[0], s, affine_map.n_dims, bits)
    if operation.name in ("affine.min", "affine.max"):
        affine_map = ir.AffineMapAttr(operation.attributes["map"]).value
        results = [_expression(e, s, affine_map.n_dims, bits) for e in affine_map.results]
        return min(results) if operation.name == "affine.min" else max(results)
    static = list(ir.DenseI64ArrayAttr(operation.attributes["static_basis"]))
    assert DYNAMIC not in static
    if operation.name == "affine.delinearize_index":
        inner = static[-(len(operation.results) - 1) :] if len(operation.results) > 1 else []
        digits: list[int] = []
        rest = s[0]
        for base in reversed(inner):
            digits.append(rest % base)
            rest //= base
        return [rest, *reversed(digits)][number]
    assert operation.name == "affine.linearize_index"
    if "linearize_index disjoint" in str(operation):
        for digit, base in zip(s[len(s) - len(static) :], static, strict=True):
            if not 0 <= digit < base:
                raise UndefinedError("digit of a disjoint linearize_index out of its base")
    total = s[0]
    for base, digit in zip(static[len(static) - len(s) + 1 :], s[1:], strict=True):
        total = _fits(_fits(total * base, bits) + digit, bits)
    return total


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
    return -(-left // right)
