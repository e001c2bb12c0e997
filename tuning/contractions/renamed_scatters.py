# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Storing the columns that a lane has side by side, in the place of a scatter of single ones.

With `merged` steps renamed to neighbours, what a lane has of them are the columns

    renamed = merged * slot + (what the first of the steps adds) = column + (merged - 1) * slot

and those behind it, where `column` is that of the first step as it was. So for each first step

    %index, %column = ...                                       of the old scatter
    %first = arith.addi %index, (merged - 1) * %slot
    %in = arith.cmpi ult, (arith.addi %column, (merged - 1) * %slot), %edge
    scf.if %in {
      vector.store %values, %out[%first] : memref<13000xf32, ...>, vector<4xf32>
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from .masked_scatters import MaskedScatter


def store_side_by_side(scatter: MaskedScatter, merged: int) -> None:
    """Replaces a scatter by stores of `merged` columns each."""
    at = Builder.before(scatter.operation)
    moved = at.muli(scatter.slot, at.index(merged - 1))
    memory = scatter.operation.operands[0]
    shape = ir.VectorType(scatter.value.type).shape
    for first in product(*map(range, shape)):
        if first[scatter.steps] % merged:
            continue
        conditions: list[ir.Value] = []
        for comparison in scatter.comparisons:
            left, right = (at.extract(each, first) for each in comparison.operation.operands)
            if comparison.of_columns:
                left = at.addi(left, moved)
            bit = at.integer_type(1)
            conditions.append(at.like(comparison.operation, [left, right], [bit]).results[0])
        values = [
            at.extract(scatter.value, _behind(first, scatter.steps, step)) for step in range(merged)
        ]
        index = at.addi(at.extract(scatter.index, first), moved)
        _store_if(at, conditions, values, memory, index)
    scatter.operation.erase()


def _behind(place: Sequence[int], dim: int, steps: int) -> list[int]:
    return [each + steps * (number == dim) for number, each in enumerate(place)]


def _store_if(
    at: Builder,
    conditions: Sequence[ir.Value],
    values: Sequence[ir.Value],
    memory: ir.Value,
    index: ir.Value,
) -> None:
    """Stores neighbours where all conditions are true."""

    def store(inside: Builder) -> None:
        inside.store(inside.from_elements(values, [len(values)]), memory, index)

    at.if_(reduce(at.andi, conditions), store)
