# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of workgroups, all of them or some at once."""

from __future__ import annotations

from itertools import product

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.index.workgroups import (
    parts_of_workgroups,
    workgroup_numbers,
    workgroups,
)
from bankwise.dialect_utils.operations import operations_in

from ...functions import parse

SOURCE = """
func.func @f(%n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %z = gpu.block_id z upper_bound 3
  %y = gpu.block_id y
  scf.forall (%i, %j) = (2, 0) to (8, 20) step (3, 10) {
    %a = affine.apply affine_map<(i, z) -> (i * 8 + z)>(%i, %z)
    %b = scf.if %p -> index {
      scf.yield %a : index
    } else {
      scf.yield %j : index
    }
    "test.use"(%b, %y) : (index, index) -> ()
  } {mapping = [#iree_codegen.workgroup_mapping<y>, #iree_codegen.workgroup_mapping<x>]}
  scf.forall (%i) in (%n) {
    "test.use"(%i) : (index) -> ()
  } {mapping = [#iree_codegen.workgroup_mapping<x>]}
  return
}"""


def found_in(use: int) -> dict[ir.Value, range]:
    parsed = parse(SOURCE)
    operation = operations_in(parsed.function, "test.use")[use]
    return workgroup_numbers(list(operation.operands))


def test_numbers_behind_a_value() -> None:
    numbers = found_in(0)
    spans = {(span.start, span.stop, span.step) for span in numbers.values()}
    assert spans == {(0, 3, 1), (2, 8, 3), (0, 20, 10)}
    assert workgroups(numbers) == 12


def test_a_grid_that_is_not_known_has_no_numbers() -> None:
    assert found_in(1) == {}


@pytest.mark.parametrize("size", [1, 5, 12, 100])
def test_parts_are_all_workgroups(size: int) -> None:
    numbers = found_in(0)
    found: list[tuple[int, ...]] = []
    for part in parts_of_workgroups(numbers, size):
        columns = [part[value].values.reshape(-1).tolist() for value in numbers]
        assert len(columns[0]) <= size
        found += zip(*columns, strict=True)
    assert found == list(product(*numbers.values()))
