# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-order-scaled-operands`: 8-bit operands of scaled matmuls where the hardware has them.

A scaled matrix instruction of CDNA4 multiplies 32 consecutive k of a row with one scale. IREE 3.13
gives lane `i + M p` of 16x16x128 the elements k = 32 p to 32 p + 31 of row i, and the scale of
these. For elements of 4 bits that is where the instruction has them. Of 8 bits it has two runs of
16, half of K apart (`bank_model/matrix_instructions.py`): k = 16 p to 16 p + 15, and 64 + 16 p to
64 + 16 p + 15. Sums come out right all the same as long as scales do not count, because A and B are
exchanged alike. With scales, elements are multiplied with those of other blocks.

So each read of such an operand becomes one of both runs, P being the lanes that share a row:

    %read = vector.transfer_read %tile[..., %p, %c0, %c0] : memref<...x4x1x32xf8E4M3FN>,
                                                            vector<...x1x1x32xf8E4M3FN>
    ->
    %view: memref<...x2x4x16xf8E4M3FN>, the same bytes
    %runs = vector.transfer_read %view[..., %c0, %p, %c0] : ..., vector<...x2x1x16xf8E4M3FN>
    %read = vector.shape_cast %runs

What moves whole blocks behind the read, a transposition of several steps of k, is made again. The
scales stay where they are: lane `i + M p` has that of block p in both cases. What is proven
first is that `%p` is the number of the lane among the P of its row, in all lanes. If one operand of
a function is read otherwise, all stay as they are, and a warning says so.

This works around IREE 3.13 (`docs/for_iree.md#scaled-products-of-f8`).
"""

from __future__ import annotations

import re
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.matrix_instructions import WAVE
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import launch_of
from ...dialect_utils.index.lane_values import LaneEvaluator, LaneValues, thread_ids
from ...dialect_utils.memory.lds_ops import is_in_bounds, is_masked
from ...dialect_utils.memory.memref_types import has_identity_layout, row_major_type
from ...dialect_utils.operations import (
    TRANSFER_READ,
    constant_value,
    defining_operation,
    operations_in,
)
from ...passes.base import FunctionPass, PassContext

_CONTRACTION = "iree_codegen.inner_tiled"
_TRANSPOSE = "vector.transpose"
_SCALED = re.compile(r"#iree_gpu\.scaled_mma_layout<intrinsic = MFMA_SCALE_\w+?_(\d+)x\d+x\d+_B32")
_FACTORS = 2
"""How many of the operands, the first ones, are factors; their scales follow."""
_HELD, _RUN = 32, 16
"""The elements of an operand that a lane holds, and how many of them are consecutive."""


class _Operand(NamedTuple):
    """An operand of a scaled matmul, by its number, and the rows of the instruction."""

    contraction: ir.Operation
    number: int
    rows: int


class OrderScaledOperands(FunctionPass):
    """Reads 8-bit operands of scaled matmuls in the order that the instruction has."""

    name: ClassVar[str] = "bankwise-order-scaled-operands"
    summary: ClassVar[str] = "read 8-bit operands of scaled matmuls as the instruction has them"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has a scaled matmul of 8-bit elements."""
        return bool(_operands(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites reads, or says why not."""
        function = function.operation
        operands = _operands(function)
        launch = launch_of(function, context.test_target)
        if not operands or launch is None:
            return
        with function.context:
            evaluator = LaneEvaluator(launch)
            try:
                found = [_turned_read(each, evaluator) for each in operands]
            except Refusal as refusal:
                what = "8-bit operands of scaled matmuls stay in another order than the hardware's"
                context.sink.warning(function.location, f"{what}: {refusal.reason}")
                return
            for operand, (read, order) in zip(operands, found, strict=True):
                made = _ordered(read)
                if order is not None:
                    made = Builder.before(operand.contraction).transpose(made, order)
                operand.contraction.operands[operand.number] = made
        count = len(operands)
        context.sink.remark(function.location, f"{count} operands are read in two runs of {_RUN}")


def _operands(function: ir.Operation) -> list[_Operand]:
    """Returns the 8-bit operands of all scaled matmuls."""
    found: list[_Operand] = []
    for contraction in operations_in(function.operation, _CONTRACTION):
        scaled = _SCALED.match(str(contraction.attributes["kind"]))
        if scaled is None:
            continue
        for number in range(_FACTORS):
            kind = contraction.operands[number].type
            if isinstance(kind, ir.VectorType) and element_bits(kind.element_type) == 8:
                found.append(_Operand(contraction, number, int(scaled[1])))
    return found


def _turned_read(
    operand: _Operand, evaluator: LaneEvaluator
) -> tuple[ir.Operation, list[int] | None]:
    """Returns the read that makes an operand, and the order in which blocks are transposed behind.

    Raises:
        Refusal: other operations make it, or it holds other elements than IREE's layout has.
    """
    made, order = defining_operation(operand.contraction.operands[operand.number]), None
    if made is not None and made.name == _TRANSPOSE:
        order = list(ir.DenseI64ArrayAttr(made.attributes["permutation"]))
        if order[-1] != len(order) - 1:
            raise Refusal("elements of a block are transposed")
        made = defining_operation(made.operands[0])
    return _checked_read(made, operand.rows, evaluator), order


def _checked_read(read: ir.Operation | None, rows: int, evaluator: LaneEvaluator) -> ir.Operation:
    """Returns a read of an operand of so many rows.

    Raises:
        Refusal: it is none, or reads other elements than IREE's layout has.
    """
    if read is None or read.name != TRANSFER_READ:
        raise Refusal("an operand is no plain read")
    if is_masked(read) or not is_in_bounds(read):
        raise Refusal("a read of an operand may go beyond its memory")
    lanes = WAVE // rows
    vector, memory = ir.VectorType(read.results[0].type), read.operands[0].type
    if not isinstance(memory, ir.MemRefType) or memory.rank != vector.rank or vector.rank < 3:
        raise Refusal("an operand and its memory have different ranks")
    if vector.shape[-3:] != [1, 1, _HELD] or memory.shape[-3:] != [lanes, 1, _HELD]:
        raise Refusal("a lane does not hold one block of a row")
    if not has_identity_layout(memory):
        raise Refusal("the memory of an operand has gaps")
    identity = ir.AffineMap.get_identity(memory.rank)
    if ir.AffineMapAttr(read.attributes["permutation_map"]) != ir.AffineMapAttr.get(identity):
        raise Refusal("a read of an operand transposes it")
    lane, *rest = list(read.operands)[1 + memory.rank - 3 : 1 + memory.rank]
    if any(constant_value(each) != 0 for each in rest):
        raise Refusal("a block is not read from its first element on")
    expected = thread_ids(evaluator.launch) // rows % lanes
    values = evaluator.evaluate(lane)
    if not isinstance(values, LaneValues):
        raise Refusal("it is not known which block a lane reads")
    if (values.full(evaluator.launch) != expected).any():
        raise Refusal("lanes read other blocks than IREE's layout has")
    return read


def _ordered(read: ir.Operation) -> ir.Value:
    """Returns the operand, read in two runs."""
    at = Builder.before(read)
    memory, *operands = read.operands
    kind, vector = ir.MemRefType(memory.type), ir.VectorType(read.results[0].type)
    rank = kind.rank
    indices, whole = operands[:rank], [[number] for number in range(rank - 3)]
    flat = [*kind.shape[:-3], kind.shape[-3] * _HELD]
    split = [*kind.shape[:-3], _HELD // _RUN, kind.shape[-3], _RUN]
    last = [rank - 3, rank - 2, rank - 1]
    flattened = at.collapse_shape(memory, row_major_type(kind, flat), [*whole, last])
    view = at.expand_shape(flattened, row_major_type(kind, split), [*whole, last])
    runs = at.vector_type([*vector.shape[:-3], _HELD // _RUN, 1, _RUN], vector.element_type)
    zero = at.index(0)
    made = at.transfer_read(view, runs, [*indices[:-3], zero, indices[-3], zero])
    return at.shaped(made, vector.shape)
