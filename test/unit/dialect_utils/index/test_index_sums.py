# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dialect_utils/index/index_sums.py: what indices are sums of."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.index.index_sums import IndexSums
from bankwise.dialect_utils.operations import defining_operation

from ...functions import parse

SUMS = {
    "%r = arith.addi %a, %c3 : index": ({"a": 1}, 3),
    "%r = arith.subi %c3, %a : index": ({"a": -1}, 3),
    "%r = arith.subi %a, %a : index": ({}, 0),
    "%r = arith.muli %c3, %a : index": ({"a": 3}, 0),
    "%r = arith.muli %a, %b : index": ({"r": 1}, 0),
    "%r = arith.remui %a, %c3 : index": ({"r": 1}, 0),
    "%r = affine.apply affine_map<(x)[y] -> (8 * x - 2 * y + 5)>(%a)[%b]": ({"a": 8, "b": -2}, 5),
    "%r = affine.apply affine_map<(x) -> (8 * (x mod 4))>(%a)": ({"r": 1}, 0),
    "%r = affine.linearize_index [%a, %c3, %b] by (4, 8) : index": ({"a": 32, "b": 1}, 24),
    "%r = affine.linearize_index [%a, %b] by (%b) : index": ({"r": 1}, 0),
    "%s = arith.addi %a, %b : index %r = affine.linearize_index [%s, %b] by (9, 8) : index": (
        {"a": 8, "b": 9},
        0,
    ),
}


@pytest.mark.parametrize("text", SUMS)
def test_sums(text: str):
    parsed = parse(f"""
    func.func @f(%a: index, %b: index) -> index {{
      %c3 = arith.constant 3 : index
      {text}
      return %r : index
    }}""")
    a, b = parsed.function.regions[0].blocks[0].arguments
    (result,) = parsed.operations("func.return")[0].operands
    found = IndexSums().of(result)
    names: dict[ir.Value, str] = {a: "a", b: "b", result: "r"}
    factors, constant = SUMS[text]
    assert {names[each]: factor for each, factor in found.factors.items()} == factors
    assert found.constant == constant


def test_an_index_may_be_known_to_be_another_one():
    parsed = parse("""
    func.func @f(%a: index, %b: index) -> index {
      %low = arith.minui %a, %b : index
      %r = arith.addi %low, %low : index
      return %r : index
    }""")
    a, _ = parsed.function.regions[0].blocks[0].arguments
    (result,) = parsed.operations("func.return")[0].operands

    def same(value: ir.Value) -> ir.Value:
        operation = defining_operation(value)
        is_least = operation is not None and operation.name == "arith.minui"
        return a if is_least else value

    assert IndexSums(same).of(result).factors == {a: 2}
