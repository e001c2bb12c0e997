# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-define-padding`: lanes beyond the end of a tensor compute nothing that is undefined.

IREE pads tiles of what it computes from the results of a matmul by poison:

    %bias = scf.if %inside -> vector<1xf32> { ... } else { scf.yield %poison }
    %sum = arith.addf %product, %bias
    %out = math.tanh %sum

No lane stores what it has computed of that. But to LLVM a branch on poison is a place that no
program reaches, and so is a division by poison, or by zero. The hyperbolic tangent of AMD's library
has such a branch, and an `scf.if` becomes one. LLVM then takes it for proven that the lane is
inside, and stores without asking. Where an element of all lanes is padding, as in products of one
row, nothing of the kernel is left, not even its end.

Where a kernel branches on its data, or divides by it, poison becomes zero here, and divisors that
are zero become one. No result that is defined changes.

Runs behind the passes that look at resolved layouts.

This works around IREE 3.13 (`docs/for_iree.md#functions-of-padding`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.element_types import number_type, scalar_type
from ...dialect_utils.index.index_ops import compute_after_operands
from ...dialect_utils.loops import FOR, IF, bounds_of
from ...dialect_utils.memory.memref_types import is_memref
from ...dialect_utils.operations import (
    defining_operation,
    has_operation,
    operations_in,
    splat_of,
)
from ...passes.base import FunctionPass, PassContext

_POISON, _WHILE = "ub.poison", "scf.while"
_DIVISION = re.compile(r"arith\.(ceil|floor)?(div|rem)[su]i")
_WITHOUT_BRANCHES = frozenset(
    f"math.{name}"
    for name in (
        *("absf", "absi", "ceil", "clampf", "copysign", "ctlz", "ctpop", "cttz", "erf", "exp"),
        *("exp2", "floor", "fma", "isfinite", "isinf", "isnan", "isnormal", "log", "log2"),
        *("round", "roundeven", "rsqrt", "sqrt", "trunc"),
    )
)
"""Functions of numbers of up to 32 bits whose code for AMD's and NVIDIA's GPUs has no branch that
depends on the number."""


class DefinePadding(FunctionPass):
    """Makes zeros of poison in functions that branch on data, or divide by it."""

    name: ClassVar[str] = "bankwise-define-padding"
    summary: ClassVar[str] = "keep functions and divisions of padding from being undefined"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` branches on its data, or divides by it.

        Whether its tiles are padded is not asked, because IREE may pad them later.
        """
        operations = operations_in(function)
        doubtful = (each for each in operations if _may_need_numbers(each.name))
        return any(map(_needs_numbers, doubtful)) or _branches_on_data(operations)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces poison, and guards divisors; never fails."""
        function = function.operation
        if not has_operation(function, _POISON) or not self.has_work(function):
            return
        poison = [each for each in operations_in(function, _POISON) if _is_number(each.results[0])]
        for each in poison:
            (value,) = each.results
            value.replace_all_uses_with(Builder.before(each).constant(value.type, 0))
            each.erase()
        for division in filter(_divides_data, operations_in(function)):
            divisor = division.operands[1]
            if splat_of(divisor) is None:
                at = Builder.before(division)
                none, one = (at.constant(divisor.type, each) for each in (0, 1))
                division.operands[1] = at.select(at.cmpi("eq", divisor, none), one, divisor)


@cache
def _may_need_numbers(name: str) -> bool:
    """Returns whether `_needs_numbers` may hold of an operation with a name."""
    return name.startswith("math.") or name == _WHILE or _DIVISION.fullmatch(name) is not None


def _needs_numbers(operation: ir.Operation) -> bool:
    """Returns whether LLVM may see a branch on what an operation computes of, or a division."""
    if operation.name.startswith("math."):
        is_wide = isinstance(scalar_type(operation.operands[0].type), ir.F64Type)
        return is_wide or operation.name not in _WITHOUT_BRANCHES
    return operation.name == _WHILE or _divides_data(operation)


def _branches_on_data(operations: Sequence[ir.Operation]) -> bool:
    """Returns whether a branch, or the end of a loop, depends on what a function reads from memory.

    Args:
        operations: all of the function.
    """
    deciding: list[ir.Value] = []
    for each in operations:
        if each.name == IF:
            deciding.append(each.operands[0])
        elif each.name == FOR:
            deciding += bounds_of(each)
    if not deciding:
        return False
    known: dict[ir.Value, bool] = {}

    def operands_of(value: ir.Value) -> list[ir.Value]:
        origin = defining_operation(value)
        return [] if origin is None or _reads(origin) else list(origin.operands)

    def is_data(value: ir.Value, operands: Sequence[ir.Value]) -> bool:
        origin = defining_operation(value)
        if origin is None:  # Other arguments than counters and memory carry what is computed.
            return not isinstance(value.type, ir.IndexType) and not _is_memory(value)
        return _reads(origin) or any(known[operand] for operand in operands)

    return any(compute_after_operands(each, known, operands_of, is_data) for each in deciding)


def _reads(operation: ir.Operation) -> bool:
    """Returns whether an operation may read memory, itself or by what is inside."""
    return len(operation.regions) > 0 or any(map(_is_memory, operation.operands))


def _is_memory(value: ir.Value) -> bool:
    return is_memref(value) or isinstance(value.type, ir.RankedTensorType)


def _divides_data(operation: ir.Operation) -> bool:
    """Returns whether an operation divides integers, which are no indices."""
    is_division = _DIVISION.fullmatch(operation.name) is not None
    return is_division and not isinstance(scalar_type(operation.operands[0].type), ir.IndexType)


def _is_number(value: ir.Value) -> bool:
    """Returns whether a value is a number or a vector of numbers."""
    return isinstance(number_type(value.type), ir.IntegerType | ir.IndexType | ir.FloatType)
