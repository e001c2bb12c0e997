# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scatters of columns up to an edge: which steps are stored together, and what is refused."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.tuning.contractions.masked_scatters import SCATTER, MaskedScatter, masked_scatter

from .lane_functions import LaneFunction

INDEX = "vector<4x1xindex>"


def scatter_of(edge: str, more: str = "", slot: str = "%column") -> MaskedScatter:
    """Reads a scatter of the columns 16 * step + slot below an edge, in 4 steps, and of rows."""
    found = LaneFunction.of(f"""
      %value = arith.constant dense<0.0> : vector<4x1xf32>
      %four = vector.step : vector<4xindex>
      %steps = vector.shape_cast %four : vector<4xindex> to {INDEX}
      %sixteen = arith.constant dense<16> : {INDEX}
      %begins = arith.muli %steps, %sixteen : {INDEX}
      %slot = vector.broadcast {slot} : index to {INDEX}
      %columns = arith.addi %begins, %slot : {INDEX}
      %of_group = vector.broadcast %group : index to {INDEX}
      %edge = {edge}
      %last = arith.constant dense<3> : {INDEX}
      %in_columns = arith.cmpi ult, %columns, %edge : {INDEX}
      %in_rows = arith.cmpi ult, %of_group, %last : {INDEX}
      %mask = arith.andi %in_rows, %in_columns : vector<4x1xi1>
      %width = arith.constant dense<60> : {INDEX}
      %row = arith.muli %of_group, %width : {INDEX}
      %index = arith.addi %row, %columns : {INDEX}
      {more}
      %flat_index = vector.shape_cast %index : {INDEX} to vector<4xindex>
      %flat_mask = vector.shape_cast %mask : vector<4x1xi1> to vector<4xi1>
      %flat = vector.shape_cast %value : vector<4x1xf32> to vector<4xf32>
      vector.scatter %global[%c0] [%flat_index], %flat_mask, %flat
          : memref<960xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>
    """)
    (operation,) = found.all(SCATTER)
    scatter = masked_scatter(operation, 0, 1, 16, found.evaluator)
    assert [each.of_columns for each in scatter.comparisons] == [False, True]
    assert scatter.count == 4
    return scatter


@pytest.mark.parametrize(("edge", "aligned"), [(64, 16), (60, 4), (58, 2), (59, 1)])
def test_an_edge_goes_through_between_steps_only(edge: int, aligned: int) -> None:
    assert scatter_of(f"arith.constant dense<{edge}> : {INDEX}").aligned == aligned


@pytest.mark.parametrize(
    ("edge", "more", "slot", "reason"),
    [
        (f"vector.broadcast %i : index to {INDEX}", "", "%column", "is not known"),
        (f"vector.broadcast %group : index to {INDEX}", "", "%column", "differs between lanes"),
        (f"arith.constant dense<60> : {INDEX}", "%old = memref.load %global[%column] : "
         "memref<960xf32>", "%column", "something else accesses"),
        (f"arith.constant dense<60> : {INDEX}", "", "%c0", "columns side by side"),
        (f"arith.constant dense<60> : {INDEX}", "", "%lane", "no number of its own"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(edge: str, more: str, slot: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        scatter_of(edge, more, slot)
