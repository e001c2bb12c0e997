# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectors of indices as sums of shared numbers and constants of their elements."""

from __future__ import annotations

import numpy as np
import pytest
from iree.compiler import ir

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.operations import operations_in
from bankwise.tuning.contractions.element_sums import ElementSum, element_sum


def sum_of(body: str) -> tuple[ElementSum, list[ir.Value]]:
    """Returns the sum that the last operation of a function is, and the function's arguments."""
    text = f"func.func @f(%x: index, %y: index, %v: vector<4xindex>) {{ {body}\n return }}"
    with ir.Context():
        module = ir.Module.parse(text)
        (function,) = operations_in(module.operation, "func.func")
        block = function.regions[0].blocks[0]
        value = block.operations[len(block.operations) - 2].results[0]
        return element_sum(value), list(block.arguments)


def test_rows_and_columns_of_a_matrix():
    found, (x, y, _) = sum_of("""
      %four = vector.step : vector<4xindex>
      %wide = vector.broadcast %four : vector<4xindex> to vector<1x2x4xindex>
      %turned = vector.transpose %wide, [0, 2, 1] : vector<1x2x4xindex> to vector<1x4x2xindex>
      %ten = arith.constant dense<10> : vector<1x4x2xindex>
      %row = vector.broadcast %x : index to vector<1x4x2xindex>
      %rows = arith.addi %turned, %row : vector<1x4x2xindex>
      %scaled = arith.muli %ten, %rows : vector<1x4x2xindex>
      %column = vector.broadcast %y : index to vector<1x4x2xindex>
      %ends = arith.constant dense<[[[0, 5], [1, 6], [2, 7], [3, 8]]]> : vector<1x4x2xindex>
      %columns = arith.addi %column, %ends : vector<1x4x2xindex>
      %twice = arith.addi %scaled, %columns : vector<1x4x2xindex>
      %again = arith.addi %twice, %column : vector<1x4x2xindex>
      %flat = vector.shape_cast %again : vector<1x4x2xindex> to vector<8xindex>
    """)
    assert found.terms == {x: 10, y: 2}
    np.testing.assert_array_equal(found.constants, [0, 5, 11, 16, 22, 27, 33, 38])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("%a = arith.addi %v, %v : vector<4xindex>", "argument of a block"),
        ("%a = vector.broadcast %x : index to vector<4xindex>\n"
         "%b = arith.muli %a, %a : vector<4xindex>", "comes from arith.muli"),
        ("%a = vector.broadcast %x : index to vector<4xindex>\n"
         "%b = arith.divui %a, %a : vector<4xindex>", "comes from arith.divui"),
        ("%a = vector.step : vector<4xindex>\n"
         "%b = arith.muli %a, %a : vector<4xindex>", "comes from arith.muli"),
    ],
)  # fmt: skip
def test_other_vectors_are_refused(body: str, why: str):
    with pytest.raises(Refusal, match=why):
        sum_of(body)
