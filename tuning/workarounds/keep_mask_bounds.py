# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-keep-mask-bounds`: a mask keeps the bounds that MLIR's canonicalizer would forget.

A batched product whose sum no tile divides copies the last tile of an operand by masked reads. A
lane reads columns of one row, or none where the row is behind the last one:

    %mask = vector.create_mask %c1, %rows, %columns : vector<1x1x2xi1>

`%rows` is 1 or 0. IREE 3.13 casts the mask to `vector<2xi1>`, and MLIR's canonicalizer makes of
that

    vector.create_mask %columns : vector<2xi1>

which is right only if `%rows` is 1. The lane then reads the first rows of the next batch, and the
sums of all batches but the last are wrong (`docs/for_iree.md`). The canonicalizer does so where a
mask begins, or ends, with a dimension of one element whose bound is the constant 1, and drops with
it all dimensions of one element beside it. So their bounds become part of another one here:

    %is_row = arith.cmpi sgt, %rows, %c0
    %kept = arith.select %is_row, %columns, %c0
    %mask = vector.create_mask %c1, %c1, %kept : vector<1x1x2xi1>

which is the same mask, since one without columns has no elements.

This works around IREE 3.13 (`docs/for_iree.md#bounds-of-masks`).
"""

from __future__ import annotations

from itertools import takewhile
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.operations import constant_value, operations_in
from ...passes.base import FunctionPass, PassContext

_CREATE_MASK = "vector.create_mask"


class KeepMaskBounds(FunctionPass):
    """Makes bounds of masks that a cast would drop part of the bound that stays."""

    name: ClassVar[str] = "bankwise-keep-mask-bounds"
    summary: ClassVar[str] = "keep the bounds of masks that a canonicalization would drop"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether a bound of a mask in `function` would be dropped."""
        masks = operations_in(function.operation, _CREATE_MASK)
        return any(_dropped(mask, order) for mask in masks for order in _orders(mask))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the bounds of masks; never fails."""
        for mask in list(operations_in(function.operation, _CREATE_MASK)):
            for order in _orders(mask):
                dropped = _dropped(mask, order)
                if dropped is not None:
                    _keep(mask, dropped)
                    text = "bounds of a mask are joined, of which a cast would drop one"
                    context.sink.remark(mask.location, text)


class _Dropped(NamedTuple):
    """The dimensions of a mask whose bounds would be dropped, and the one that then comes next."""

    dimensions: tuple[int, ...]
    stays: int


def _orders(mask: ir.Operation) -> tuple[range, range]:
    """Returns the dimensions of a mask from its begin, and from its end."""
    rank = len(mask.operands)
    return range(rank), range(rank - 1, -1, -1)


def _dropped(mask: ir.Operation, order: range) -> _Dropped | None:
    """Returns the bounds that would be dropped in an order, unless all of them are constants."""
    shape = ir.VectorType(mask.results[0].type).shape
    units = list(takewhile(lambda dimension: shape[dimension] == 1, order))[: len(order) - 1]
    if not units or constant_value(mask.operands[units[0]]) != 1:
        return None
    unknown = tuple(each for each in units if constant_value(mask.operands[each]) is None)
    return _Dropped(unknown, order[len(units)]) if unknown else None


def _keep(mask: ir.Operation, dropped: _Dropped) -> None:
    """Makes the bound that stays 0 where one of the others is."""
    build = Builder.before(mask)
    one, zero = build.index(1), build.index(0)
    bound = mask.operands[dropped.stays]
    for dimension in dropped.dimensions:
        has_elements = build.cmpi("sgt", mask.operands[dimension], zero)
        bound = build.select(has_elements, bound, zero)
        mask.operands[dimension] = one
    mask.operands[dropped.stays] = bound
