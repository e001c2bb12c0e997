# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas of emitted indices compute what they say, with as few operations as are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.dialect_utils.index.index_builder import IndexBuilder
from bankwise.dialect_utils.operations import operations_in
from bankwise.test.unit.index_evaluator import evaluate

TEXT = "func.func @f(%x: index, %y: index) { %z = arith.addi %x, %y : index \n return }"
OPERATORS: tuple[Callable[[Any, int], Any], ...] = (
    lambda x, n: x + n,
    lambda x, n: x * n,
    lambda x, n: x // (n + 1),
    lambda x, n: x % (n + 1),
    lambda x, n: x >> n % 8,
    lambda x, n: x & n,
    lambda x, n: x | (x & n),
    lambda x, n: x ^ n,
    lambda x, n: (x + n) - x,
)


def function_in(context: ir.Context) -> tuple[ir.Module, ir.Operation]:
    module = ir.Module.parse(TEXT, context)
    (function,) = operations_in(module.operation, "func.func")
    return module, function


@settings(deadline=None, max_examples=100)
@given(
    x=st.integers(0, 1 << 12),
    formula=st.lists(st.tuples(st.sampled_from(OPERATORS), st.integers(0, 40)), max_size=6),
)
def test_a_formula_computes_what_it_says(context: ir.Context, x: int, formula: list[Any]) -> None:
    module, function = function_in(context)
    argument = function.regions[0].blocks[0].arguments[0]
    index: Any = IndexBuilder(function).index(argument)
    wanted: Any = x
    for operator, number in formula:
        index, wanted = operator(index, number), operator(wanted, number)
    assert module.operation.verify()
    assert evaluate(index.value, {argument: x}) == wanted


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (lambda x: x + 0, []),
        (lambda x: x * 1, []),
        (lambda x: x // 1, []),
        (lambda x: x >> 0, []),
        (lambda x: x ^ 0, []),
        (lambda x: x * 8, ["arith.shli"]),
        (lambda x: x * 6, ["arith.muli"]),
        (lambda x: x // 8, ["arith.shrui"]),
        (lambda x: x // 6, ["arith.divui"]),
        (lambda x: x % 8, ["arith.andi"]),
        (lambda x: x % 6, ["arith.remui"]),
        (lambda x: (x + 4) ^ 4, ["arith.addi", "arith.xori"]),
    ],
)
def test_powers_of_two_are_shifts_and_masks(
    context: ir.Context, formula: Callable[[Any], Any], expected: list[str]
) -> None:
    _, function = function_in(context)
    (old,) = operations_in(function, "arith.addi")
    formula(IndexBuilder(function).index(old.results[0]))
    names = [each.name for each in operations_in(function)[1:-1] if each != old]
    assert [name for name in names if name != "arith.constant"] == expected
    # A constant is emitted once, and none for an operator that changes nothing.
    assert names.count("arith.constant") == bool(expected)


def test_operations_stand_behind_their_anchor_in_order(context: ir.Context) -> None:
    module, function = function_in(context)
    (old,) = operations_in(function, "arith.addi")
    builder = IndexBuilder(function)
    x, z = builder.index(function.regions[0].blocks[0].arguments[0]), builder.index(old.results[0])
    for value in (z + 3, x * 3, z % 3, x // 3):
        assert value.value
    names = [each.name.removeprefix("arith.") for each in operations_in(function)[1:-1]]
    assert names == ["constant", "muli", "divui", "addi", "addi", "remui"]
    assert module.operation.verify()


@pytest.mark.parametrize(("unsigned", "flags"), [(False, "nsw"), (True, "nsw, nuw")])
def test_a_constant_before_a_user_does_not_wrap(
    context: ir.Context, unsigned: bool, flags: str
) -> None:
    _, function = function_in(context)
    (old,) = operations_in(function, "arith.addi")
    builder, x = IndexBuilder(function), function.regions[0].blocks[0].arguments[0]
    assert builder.add_constant_before(old, x, 0, unsigned) == x
    total = builder.add_constant_before(old, x, 16, unsigned).owner.operation
    assert f"overflow<{flags}>" in total.get_asm()
    assert operations_in(function)[2:-1] == [total, old]
