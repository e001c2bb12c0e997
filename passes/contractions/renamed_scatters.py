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
from itertools import product

from iree.compiler import ir

from ...dialect_utils.operation_builder import OperationBuilder
from ...dialect_utils.operations import attributes_of
from .masked_scatters import MaskedScatter


def store_side_by_side(scatter: MaskedScatter, merged: int) -> None:
    """Replaces a scatter by stores of `merged` columns each."""
    builder = _Builder(scatter.operation)
    moved = builder.arithmetic("arith.muli", scatter.slot, builder.constant(merged - 1))
    memory = scatter.operation.operands[0]
    shape = ir.VectorType(scatter.value.type).shape
    for first in product(*map(range, shape)):
        if first[scatter.steps] % merged:
            continue
        conditions: list[ir.Value] = []
        for comparison in scatter.comparisons:
            left, right = (builder.extract(each, first) for each in comparison.operation.operands)
            if comparison.of_columns:
                left = builder.arithmetic("arith.addi", left, moved)
            conditions.append(builder.compare(comparison.operation, left, right))
        values = [
            builder.extract(scatter.value, _behind(first, scatter.steps, step))
            for step in range(merged)
        ]
        index = builder.arithmetic("arith.addi", builder.extract(scatter.index, first), moved)
        builder.store_if(conditions, values, memory, index)
    scatter.operation.erase()


def _behind(place: Sequence[int], dim: int, steps: int) -> list[int]:
    return [each + steps * (number == dim) for number, each in enumerate(place)]


class _Builder(OperationBuilder):
    """Creates operations in front of a scatter."""

    def __init__(self, before: ir.Operation) -> None:
        super().__init__(before, ("scf",))

    def constant(self, number: int) -> ir.Value:
        index = ir.IndexType.get(self.location.context)
        return self.create("arith.constant", [], index, value=ir.IntegerAttr.get(index, number))

    def arithmetic(self, name: str, left: ir.Value, right: ir.Value) -> ir.Value:
        return self.create(name, [left, right], left.type)

    def extract(self, vector: ir.Value, place: Sequence[int]) -> ir.Value:
        position = ir.DenseI64ArrayAttr.get(list(place), self.location.context)
        element = ir.VectorType(vector.type).element_type
        return self.create("vector.extract", [vector], element, static_position=position)

    def compare(self, like: ir.Operation, left: ir.Value, right: ir.Value) -> ir.Value:
        bit = ir.IntegerType.get_signless(1, self.location.context)
        return self.create("arith.cmpi", [left, right], bit, **attributes_of(like))

    def store_if(
        self,
        conditions: Sequence[ir.Value],
        values: Sequence[ir.Value],
        memory: ir.Value,
        index: ir.Value,
    ) -> None:
        """Stores neighbours where all conditions are true."""
        condition = conditions[0]
        for other in conditions[1:]:
            condition = self.arithmetic("arith.andi", condition, other)
        choice = ir.Operation.create(
            "scf.if", operands=[condition], regions=2, loc=self.location, ip=self.point
        )
        block = choice.regions[0].blocks.append()
        kind = ir.VectorType.get([len(values)], values[0].type, loc=self.location)
        inside = ir.InsertionPoint(block)
        made = ir.Operation.create(
            "vector.from_elements",
            results=[kind],
            operands=list(values),
            loc=self.location,
            ip=inside,
        )
        ir.Operation.create(
            "vector.store",
            operands=[made.results[0], memory, index],
            loc=self.location,
            ip=inside,
        )
        ir.Operation.create("scf.yield", loc=self.location, ip=inside)
