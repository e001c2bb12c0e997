# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where an `scf.for` keeps its bounds and the values that it carries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.loops import (
    Carried,
    bounds_of,
    carried_as,
    carried_by_use,
    carried_values,
    is_induction,
    loop_depth,
)
from bankwise.dialect_utils.operations import operands_with, operations_in, redirect, terminator

TEXT = """
  func.func @f(%n: index, %a: f32, %b: f32) -> f32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (f32, f32) {
      %s = arith.addf %x, %y : f32
      scf.yield %y, %s : f32, f32
    }
    return %r#1 : f32
  }"""


@pytest.fixture
def loop() -> Iterator[ir.Operation]:
    module = ir.Module.parse(TEXT, Session().context)
    (loop,) = operations_in(module.operation, "scf.for")
    yield loop


def test_a_loop_has_bounds_and_carried_values(loop: ir.Operation) -> None:
    n, a, b = loop.parent.operation.regions[0].blocks[0].arguments
    (total,) = operations_in(loop, "arith.addf")
    x, y = total.operands
    assert bounds_of(loop)[1] == n
    first, second = carried_values(loop)
    assert (first.initial, first.argument, first.yielded, first.result) == (
        a,
        x,
        y,
        loop.results[0],
    )
    assert second.sources == (b, total.results[0])
    assert second.joins == (y, loop.results[1])
    assert list(loop.operands)[second.operand] == b


def test_a_value_is_known_as_what_a_loop_carries(loop: ir.Operation) -> None:
    induction, x, _ = loop.regions[0].blocks[0].arguments
    (total,) = operations_in(loop, "arith.addf")
    assert carried_as(x) == Carried(loop, 0)
    assert carried_as(loop.results[1]) == Carried(loop, 1)
    assert carried_as(induction) is None
    assert carried_as(total.results[0]) is None
    assert carried_as(loop.operands[1]) is None
    assert [is_induction(each) for each in (induction, x, loop.operands[1])] == [True, False, False]


def test_a_use_carries_a_value_on(loop: ir.Operation) -> None:
    (total,) = operations_in(loop, "arith.addf")
    yields = terminator(loop.regions[0])
    assert carried_by_use(loop, 2) is None
    assert carried_by_use(loop, 4) == Carried(loop, 1)
    assert carried_by_use(yields, 0) == Carried(loop, 0)
    assert carried_by_use(total, 0) is None
    assert (loop_depth(loop), loop_depth(total)) == (0, 1)


def test_operands_are_redirected(loop: ir.Operation) -> None:
    _, x, y = loop.regions[0].blocks[0].arguments
    (total,) = operations_in(loop, "arith.addf")
    users = operands_with(y)
    assert {(user.name, number) for user, number in users} == {("arith.addf", 1), ("scf.yield", 0)}
    redirect(users, x)
    assert list(total.operands) == [x, x]
    assert not operands_with(y)
