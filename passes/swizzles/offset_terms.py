# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splitting an access offset into a base value and a constant.

Offsets come as `affine.linearize_index`, `affine.apply`, `arith.addi` and the like, with constants
inside: `affine.linearize_index [%row, %c3, %x] by (16, 4, 8)` is 24 plus the same with 0 in place
of 3. Sums wrap, so taking a constant out of one is always right; where an operation promises not
to wrap, the promise is kept only when the base cannot be negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from math import prod

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.index_builder import IndexBuilder
from ...dialect_utils.index.index_ops import defining, is_disjoint, linearize_digits
from ...dialect_utils.operations import constant_value

_MAX_DEPTH = 32


@dataclass
class OffsetSplitter:
    """Splits offsets of one function; equal bases in one block become one value."""

    builder: IndexBuilder
    bits: IndexBits
    _split: dict[ir.Value, tuple[ir.Value | None, int]] = field(default_factory=dict)
    _rebuilt: dict[tuple[object, ...], list[ir.Operation]] = field(default_factory=dict)

    def split(self, value: ir.Value, depth: int = 0) -> tuple[ir.Value | None, int]:
        """Returns (base, constant) with value = base + constant; the base None stands for 0."""
        if value not in self._split:
            self._split[value] = self._peeled(value, depth)
        return self._split[value]

    def _peeled(self, value: ir.Value, depth: int) -> tuple[ir.Value | None, int]:
        number = constant_value(value)
        if number is not None:
            return None, number
        peeled = self._addend(value)
        if peeled is not None:
            base, number = self.split(peeled[0], depth)
            return base, peeled[1] + number
        if isinstance(value, ir.BlockArgument) or depth >= _MAX_DEPTH:
            return value, 0
        operation = defining(value)
        if operation.name == "affine.linearize_index":
            return self._linearize(operation, depth)
        if operation.name == "affine.apply":
            return self._apply(operation)
        if operation.name == "affine.delinearize_index":
            return self._digit(operation, ir.OpResult(value).result_number, depth)
        if operation.name == "arith.addi":
            return self._sum(operation, depth)
        return value, 0

    def _addend(self, value: ir.Value) -> tuple[ir.Value, int] | None:
        """Returns (x, c) of x + c, x - c, and of x | c and x ^ c with no bit in common."""
        if isinstance(value, ir.BlockArgument):
            return None
        operation = defining(value)
        if operation.name not in ("arith.addi", "arith.subi", "arith.ori", "arith.xori"):
            return None
        left, right = operation.operands
        constant = constant_value(right)
        if constant is None and operation.name != "arith.subi":
            left, right = right, left
            constant = constant_value(right)
        if constant is None:
            return None
        if operation.name == "arith.addi":
            return left, constant
        if operation.name == "arith.subi":
            return left, -constant
        if constant < 0 or self.bits.of(left).may & constant:
            return None
        return left, constant

    def _apply(self, operation: ir.Operation) -> tuple[ir.Value | None, int]:
        """Takes the constant term out of the operation's map."""
        affine_map = ir.AffineMapAttr(operation.attributes["map"]).value
        expression, constant = _without_constant(affine_map.results[0])
        if expression is None:
            return None, constant
        if constant == 0:
            return operation.results[0], 0
        new_map = ir.AffineMap.get(affine_map.n_dims, affine_map.n_symbols, [expression])
        operands = list(operation.operands)
        key = ("apply", str(new_map), *operands)
        made = self._interned(key, operation, lambda at: defining(at.apply(new_map, *operands)))
        return made, constant

    def _sum(self, operation: ir.Operation, depth: int) -> tuple[ir.Value | None, int]:
        """Takes the constants out of both sides of a sum."""
        (left, first), (right, second) = (self.split(x, depth + 1) for x in operation.operands)
        if left is None or right is None:
            return left or right, first + second
        operands = [left, right]
        if operands == list(operation.operands):
            return operation.results[0], 0
        key = ("sum", *operands)
        made = self._interned(key, operation, lambda at: defining(at.addi(left, right)))
        return made, first + second

    def _digit(
        self, operation: ir.Operation, result: int, depth: int
    ) -> tuple[ir.Value | None, int]:
        """Takes the constant out of one digit of x + c, where c does not carry into it.

        With stride s of the digit and c a multiple of s, the digit of x + c is (x / s + c / s)
        modulo its size n. That is the digit of x if n divides c / s, and the digit of x plus
        k = (c / s) mod n if x / s + k is always below n. In [8, 4]: x + 12 with x < 4 has the
        digits (3, x), and x + 12 with x < 8 has (x / 4 + 3, x % 4).
        """
        whole = (operation.results[result], 0)
        static = list(ir.DenseI64ArrayAttr(operation.attributes["static_basis"]))
        sizes = static[1:] if len(static) == len(operation.results) else static
        base, constant = self.split(operation.operands[0], depth + 1)
        if DYNAMIC in sizes or constant <= 0:
            return whole
        stride, size = prod(sizes[result:]), sizes[result - 1] if result else None
        if constant % stride:
            return whole
        carried = constant // stride if size is None else constant // stride % size
        if base is not None and carried:
            facts = self.bits.of(base)
            if not facts.bounded or (size and facts.upper // stride + carried >= size):
                return whole
        if base is None:
            return None, carried
        key = ("digits", tuple(static), base)
        made = self._interned(key, operation, lambda at: at.like(operation, [base]))
        return made.owner.operation.results[result], carried

    def _linearize(self, operation: ir.Operation, depth: int) -> tuple[ir.Value | None, int]:
        """Takes the constants out of the digits whose stride is static."""
        count = linearize_digits(operation)
        digits = list(operation.operands)[:count]
        static = list(ir.DenseI64ArrayAttr(operation.attributes["static_basis"]))
        constant, stride, changed, keeps_promise = 0, 1, False, True
        bases: list[ir.Value | None] = list(digits)
        for index in reversed(range(count)):
            base, number = self.split(digits[index], depth + 1)
            bases[index] = base
            changed = changed or base is None or base != digits[index]
            if number:
                constant += number * stride
                keeps_promise &= number > 0 and (base is None or self.bits.of(base).bounded)
            place = index - (count - len(static))
            if place < 0 or static[place] == DYNAMIC:
                break
            stride *= static[place]
        if all(base is None for base in bases):
            return None, constant
        if not changed:
            return operation.results[0], 0
        values = [self.builder.constant(0) if base is None else base for base in bases]
        disjoint = keeps_promise and is_disjoint(operation)
        operands = [*values, *list(operation.operands)[count:]]
        key = ("linearize", disjoint, tuple(static), *operands)

        def rebuild(at: Builder) -> ir.Operation:
            # A clone keeps the promise, which the bindings do not show among the attributes.
            return at.clone(operation, operands) if disjoint else at.like(operation, operands)

        return self._interned(key, operation, rebuild), constant

    def _interned(
        self,
        key: tuple[object, ...],
        operation: ir.Operation,
        create: Callable[[Builder], ir.Operation],
    ) -> ir.Value:
        """Returns an equal operation's result, or that of a new one behind `operation`.

        The equal operation was made earlier in the same block.
        """
        for known in self._rebuilt.setdefault(key, []):
            if known.block == operation.block and known.is_before_in_block(operation):
                return known.results[0]
        made = create(Builder.after(operation))
        self._rebuilt[key].append(made)
        return made.results[0]


def _without_constant(expression: ir.AffineExpr) -> tuple[ir.AffineExpr | None, int]:
    """Returns the (rest, constant) of a sum; the rest is None when nothing else is left."""
    if isinstance(expression, ir.AffineConstantExpr):
        return None, expression.value
    if not isinstance(expression, ir.AffineAddExpr):
        return expression, 0
    left, left_constant = _without_constant(expression.lhs)
    right, right_constant = _without_constant(expression.rhs)
    constant = left_constant + right_constant
    if left is None or right is None:
        return left or right, constant
    return ir.AffineExpr.get_add(left, right), constant
