# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes one matmul of a batch of matmuls by the same matrix.

PyTorch exports a linear layer on images, whose channels come last, with one copy of the weights for
each row of pixels:

    %w = linalg.generic {indexing_maps = [(n, h, c, f) -> (f, c), (n, h, c, f) -> (n, h, c, f)]}
        ins(%weights : tensor<384x96xf16>) outs(... : tensor<8x56x96x384xf16>) { yield }
    %b = tensor.collapse_shape %w [[0, 1], [2], [3]] : ... into tensor<448x96x384xf16>
    %r = linalg.batch_matmul ins(%a, %b : tensor<448x56x96xf16>, tensor<448x96x384xf16>) ...

IREE 3.13 writes these copies to memory, and reads them again. This pass takes the rows of all
matmuls for those of one, which reads the weights as they are:

    %rows = tensor.collapse_shape %a [[0, 1], [2]] : ... into tensor<25088x96xf16>
    %r = linalg.generic {indexing_maps = [(m, f, c) -> (m, c), (m, f, c) -> (f, c), ...]}
        ins(%rows, %weights) ...

A matmul with so many rows gets other tiles, and so another order of sums: outputs are right to
rounding.

Runs on functions of the program, before dispatches are formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.indexing_maps import PRODUCTS, copied_loops, product_loops
from ...dialect_utils.operations import (
    defining_operation,
    operands_with,
    operations_in,
    redirect,
)
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound

_BATCH_MATMUL, _COLLAPSE = "linalg.batch_matmul", "tensor.collapse_shape"
_ROWS, _COLUMNS, _SUMMED = range(3)
"""The loops of a matmul."""
_MERGED = [[0, 1], [2]]
"""The dimensions of a tensor of the batch that become one."""


class FoldBroadcasts(FunctionPass):
    """Lets batches of matmuls by copies of one matrix be a matmul by that matrix."""

    name: ClassVar[str] = "bankwise-fold-broadcasts"
    summary: ClassVar[str] = "make one matmul of a batch of matmuls by the same matrix"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has such a batch."""
        return any(True for _ in _batches(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the batches of `function`; never fails."""
        for batch in list(_batches(function.operation)):
            location = batch.operation.location
            if context.planned(location, "its matrix stays a batch", lambda each=batch: each):
                batch.apply()
                text = "computed as one matmul, because all matrices are one"
                context.sink.remark(location, text)


class _Batch(NamedTuple):
    """A batch of matmuls by the same matrix.

    Attributes:
        matrix: what each of them multiplies by.
        loops: the loops of a matmul that index it.
    """

    operation: ir.Operation
    matrix: ir.Value
    loops: tuple[int, ...]

    def apply(self) -> None:
        """Replaces the batch by a matmul."""
        batch = self.operation
        at = Builder.before(batch).at(batch.location)
        rows, sums = (_merged(at, batch.operands[number]) for number in (0, 2))
        loops = ((_ROWS, _SUMMED), self.loops, (_ROWS, _COLUMNS))
        matmul = at.contraction([rows, self.matrix], sums, loops)
        result = batch.results[0]
        kind = ir.RankedTensorType(result.type)
        uses = operands_with(result)
        redirect(uses, at.expand_shape(matmul, kind, _MERGED))
        batch.erase()


def _merged(at: Builder, tensor: ir.Value) -> ir.Value:
    """Emits a tensor of a batch with the rows of all its matrices one behind the other."""
    kind = ir.RankedTensorType(tensor.type)
    count, rows, length = kind.shape
    return at.collapse_shape(
        tensor, at.tensor_type([count * rows, length], kind.element_type), _MERGED
    )


def _batches(function: ir.Operation) -> Iterator[_Batch]:
    """Yields the batches of matmuls by the same matrix."""
    for operation in operations_in(function, _BATCH_MATMUL):
        try:
            usual = product_loops(operation) == PRODUCTS[_BATCH_MATMUL]
        except Refusal:
            continue
        kinds = [ir.RankedTensorType(each.type) for each in operation.operands]
        floats = all(isinstance(each.element_type, ir.FloatType) for each in kinds)
        *inputs, total = (element_bits(each.element_type) or 0 for each in kinds)
        wider = all(
            kind.element_type == kinds[-1].element_type or bits < total
            for kind, bits in zip(kinds[:-1], inputs, strict=True)
        )
        static = all(each.has_static_shape for each in kinds)
        found = _matrix(operation.operands[1])
        if usual and floats and wider and static and found is not None:
            yield _Batch(operation, *found)


def _matrix(copies: ir.Value) -> tuple[ir.Value, tuple[int, ...]] | None:
    """Returns the matrix whose copies a tensor has, and the loops that index it, if it does."""
    definition = defining_operation(copies)
    if definition is not None and definition.name == _COLLAPSE:
        *_, rows, columns = ir.ArrayAttr(definition.attributes["reassociation"])
        if len(ir.ArrayAttr(rows)) != 1 or len(ir.ArrayAttr(columns)) != 1:
            return None
        definition = defining_operation(definition.operands[0])
    loops = None if definition is None else copied_loops(definition)
    if definition is None or loops is None:
        return None
    read, written = loops
    places = {len(written) - 2: _SUMMED, len(written) - 1: _COLUMNS}
    if written != tuple(range(len(written))) or {*read} != {*places} or len(read) != len(places):
        return None
    return definition.operands[0], tuple(places[loop] for loop in read)
