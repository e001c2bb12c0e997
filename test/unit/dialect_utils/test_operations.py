# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dialect_utils/operations: walks along values, and what operations have in common that compute the
same."""

from __future__ import annotations

import importlib
import sys

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.operations import (
    children,
    dependents,
    has_operation,
    likeness,
    makers_behind,
    operations_in,
    reached_from,
    value_behind,
)

from ..functions import parse

FUNCTION = """
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) {{
  %0 = linalg.generic {{{first}}} ins(%a, %b : tensor<4xf32>, tensor<4xf32>)
    outs(%c : tensor<4xf32>) {{ ^bb0(%x: f32, %y: f32, %z: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32 }} -> tensor<4xf32>
  %1 = linalg.generic {{{second}}} ins({operands} : tensor<4xf32>, tensor<4xf32>)
    outs(%0 : tensor<4xf32>) {{ ^bb0(%p: f32, %q: f32, %r: f32):
      %t = {body} : f32
      linalg.yield %t : f32 }} -> tensor<4xf32>
  return
}}
"""
MAP = "affine_map<(i) -> (i)>"
LOOPS = f'indexing_maps = [{MAP}, {MAP}, {MAP}], iterator_types = ["parallel"]'


def are_alike(
    operands: str = "%b, %c", body: str = "arith.addf %p, %q", second: str = LOOPS
) -> bool:
    module = parse(FUNCTION.format(first=LOOPS, second=second, operands=operands, body=body))
    one, other = module.operations("linalg.generic")
    return likeness(one) == likeness(other)


def test_operations_are_alike_whose_operands_alone_differ() -> None:
    assert are_alike()
    assert are_alike(operands="%b, %a")


def test_operations_are_not_alike_that_compute_something_else() -> None:
    assert not are_alike(operands="%a, %a")
    assert not are_alike(body="arith.mulf %p, %q")
    assert not are_alike(body="arith.addf %q, %p")
    assert not are_alike(body="arith.addf %p, %r")
    assert not are_alike(second=f"{LOOPS}, mine")


def test_maps_are_part_of_what_operations_have_in_common() -> None:
    """Though they are no attributes but properties of an operation."""
    text = FUNCTION.format(first=LOOPS, second=LOOPS, operands="%a, %b", body="arith.addf %p, %q")
    broadcast = parse(text.replace(MAP, "affine_map<(i) -> (0)>", 1))
    one, other = broadcast.operations("linalg.generic")
    assert likeness(one) != likeness(other)


WALKED = """
func.func @f(%x: vector<4xf16>) -> vector<4xf32> {
  %wide = arith.extf %x : vector<4xf16> to vector<4xf32>
  %row = vector.shape_cast %wide : vector<4xf32> to vector<1x4xf32>
  %again = vector.shape_cast %row : vector<1x4xf32> to vector<4xf32>
  %square = arith.mulf %again, %again : vector<4xf32>
  return %square : vector<4xf32>
}
"""


def test_value_behind_goes_through_the_named_operations_alone() -> None:
    walked = parse(WALKED)
    wide, square = walked.operations("arith.extf", "arith.mulf")
    reshaped = square.operands[0]
    assert value_behind(reshaped, ("vector.shape_cast",)) == wide.results[0]
    assert value_behind(reshaped, ("arith.extf",)) == reshaped
    assert value_behind(reshaped, ("vector.shape_cast", "arith.extf")) == wide.operands[0]


def test_makers_behind_end_with_those_that_it_does_not_go_through() -> None:
    walked = parse(WALKED)
    (square,) = walked.operations("arith.mulf")
    all_of_them = ["arith.mulf", "vector.shape_cast", "vector.shape_cast", "arith.extf"]
    assert [each.name for each in makers_behind(square.results, lambda _: True)] == all_of_them
    through = makers_behind(square.results, lambda each: each.name == "arith.mulf")
    assert [each.name for each in through] == all_of_them[:2]


def test_dependents_need_a_result_of_others_or_hold_what_does() -> None:
    parsed = parse(
        """
        func.func @f(%a: i32, %c: i1, %m: memref<i32>) {
          %first = arith.addi %a, %a : i32
          %apart = arith.muli %a, %a : i32
          %sum = arith.subi %first, %apart : i32
          scf.if %c { memref.store %sum, %m[] : memref<i32> }
          scf.if %c { memref.store %apart, %m[] : memref<i32> }
          return
        }
        """
    )
    first, _, difference, choice, *_ = body = children(parsed.function)
    assert [*dependents([first], body)] == [difference, choice]


def test_a_walk_visits_once_what_is_reached_in_many_ways() -> None:
    """There are 2^5000 ways to the first node, and Python's stack is not so deep."""
    found = [*reached_from([5000], lambda n: (n - 1, n - 1) if n else ())]
    assert found == [*range(5000, -1, -1)]


def test_what_is_behind_a_node_is_asked_when_that_is_not_enough() -> None:
    def onward(node: int) -> list[int]:
        pytest.fail(f"{node} was enough")

    assert next(reached_from([1], onward)) == 1


NESTED = """
func.func @f(%a: index, %b: index, %c: i1) {
  scf.for %i = %a to %b step %a {
    scf.if %c { scf.for %j = %a to %b step %a { } } else { scf.if %c { } }
    scf.for %j = %a to %b step %a { %0 = arith.addi %i, %j : index }
  }
  %1 = arith.addi %a, %b : index
  scf.for %i = %a to %b step %a { }
  return
OTHERS
}
"""
UNREACHED = """^bb1:
  %2 = arith.addi %a, %b : index
  cf.br ^bb2
^bb2:
  scf.if %c { }
  cf.br ^bb1"""


def by_name(root: ir.Operation, *names: str) -> list[ir.Operation]:
    """What stands in the text, block by block."""
    inside = (op.operation for region in root.regions for block in region for op in block)
    found = [op for each in inside for op in by_name(each, *names)]
    return [root, *found] if root.name in names else found


@pytest.mark.parametrize("others", ["", UNREACHED], ids=["one block", "blocks without way"])
@pytest.mark.parametrize("is_loaded", [True, False])
def test_operations_by_name_are_in_the_order_of_the_text(
    others: str, is_loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for dialect in ("arith", "func", "memref", "scf"):
        name = f"iree.compiler.dialects.{dialect}"
        if is_loaded:
            importlib.import_module(name)
        else:
            monkeypatch.delitem(sys.modules, name, raising=False)
    module = parse(NESTED.replace("OTHERS", others))
    loop = operations_in(module.function, "scf.for")[0]
    kinds = (
        *(("scf.for",), ("scf.if",), ("arith.addi",), ("func.func",), ("memref.load",)),
        *(("scf.for", "scf.if"), ("arith.addi", "scf.if", "scf.for", "func.func", "scf.if")),
    )
    roots = (module.function, loop, operations_in(loop, "arith.addi")[0])
    found = [
        (root, names, operations_in(root, *names), has_operation(root, *names))
        for root in roots
        for names in kinds
    ]
    loaded = {f"iree.compiler.dialects.{each}" in sys.modules for each in ("memref", "scf")}
    assert loaded == {is_loaded}
    for root, names, operations, is_there in found:
        assert operations == by_name(root, *names)
        assert is_there == bool(operations)
