# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An index as a sum of values, each times a number, and of a constant.

    %row = affine.apply (d0 * 8 + s0 * 2)[%i, %w]                   8 %i + 2 %w
    %at = affine.linearize_index [%row, %c1, %x] by (64, 2, 8)      128 %i + 32 %w + %x + 8

Two indices whose sums have the same values lie a constant apart, whatever these values are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ..operations import constant_value
from .index_ops import (
    affine_results,
    compute_after_operands,
    computed_from,
    defining,
    linearized,
)
from .loop_sums import added_factors


class IndexSum(NamedTuple):
    """A sum of values, each times a number.

    Attributes:
        factors: the numbers by the values, none of them 0.
        constant: what is added.
    """

    factors: Mapping[ir.Value, int]
    constant: int = 0

    def plus(self, other: IndexSum, times: int = 1) -> IndexSum:
        """Returns the sum with another one, times a number."""
        factors = added_factors(self.factors, other.factors, times)
        return IndexSum(factors, self.constant + times * other.constant)


_Known = IndexSum | None
"""None stands for what is no sum."""


class _Arithmetic:
    """Affine expressions on sums."""

    def constant(self, value: int) -> _Known:
        return IndexSum({}, value)

    def binary(self, expression: ir.AffineBinaryExpr, left: _Known, right: _Known) -> _Known:
        if isinstance(expression, ir.AffineAddExpr):
            return _sum(left, right)
        return _product(left, right) if isinstance(expression, ir.AffineMulExpr) else None


def _sum(left: _Known, right: _Known, times: int = 1) -> _Known:
    return None if left is None or right is None else left.plus(right, times)


def _product(left: _Known, right: _Known) -> _Known:
    if left is None or right is None or (left.factors and right.factors):
        return None
    factor, other = (left, right) if right.factors else (right, left)
    return IndexSum({}).plus(other, factor.constant)


def _affine(operation: ir.Operation, operands: Sequence[_Known]) -> _Known:
    return affine_results(operation, operands, _Arithmetic())[0]


def _linearized(operation: ir.Operation, operands: Sequence[_Known]) -> _Known:
    def onward(total: _Known, base: _Known, digit: _Known) -> _Known:
        return _sum(_product(total, base), digit)

    return linearized(operation, operands, lambda size: IndexSum({}, size), onward)


_COMPUTED: Mapping[str, Callable[[ir.Operation, Sequence[_Known]], _Known]] = MappingProxyType(
    {
        "affine.apply": _affine,
        "affine.linearize_index": _linearized,
        "arith.addi": lambda _, operands: _sum(operands[0], operands[1]),
        "arith.subi": lambda _, operands: _sum(operands[0], operands[1], -1),
        "arith.muli": lambda _, operands: _product(operands[0], operands[1]),
    }
)


@dataclass
class IndexSums:
    """The sums that values are, remembering what it has found.

    Attributes:
        same: returns another value that an index is equal to where it is asked for, or itself.
    """

    same: Callable[[ir.Value], ir.Value] = lambda value: value
    _known: dict[ir.Value, IndexSum] = field(default_factory=dict, init=False, repr=False)

    def of(self, value: ir.Value) -> IndexSum:
        """Returns an index as a sum; what is no sum of others is the sum of itself."""
        return compute_after_operands(value, self._known, self._operands, self._compute)

    def _operands(self, value: ir.Value) -> Sequence[ir.Value]:
        same = self.same(value)
        if same != value:
            return [same]
        return [] if isinstance(value, ir.BlockArgument) else computed_from(value, _COMPUTED)

    def _compute(self, value: ir.Value, operands: Sequence[ir.Value]) -> IndexSum:
        number = constant_value(value)
        if number is not None:
            return IndexSum({}, number)
        known = [self._known[each] for each in operands]
        if self.same(value) != value:
            return known[0]
        found = None
        if known:
            operation = defining(value)
            found = _COMPUTED[operation.name](operation, known)
        return IndexSum({value: 1}) if found is None else found
