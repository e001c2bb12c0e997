# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which attentions take less time if their heads are copied to longer rows before.

A lane copies 16 bytes of a row of K or V at a time where rows begin at multiples of 16 bytes. Rows
of 75 elements of f16 begin at multiples of 2 bytes: every workgroup then copies each of them by
single elements, or by words that are shifted into place, and `cp.async` cannot copy them at all. As
many workgroups read the same K and V as there are tiles of rows, while a kernel of its own copies
them once, to rows of 80 elements, of which the last five are zeros.

That kernel and the one that takes the columns of the output that there were are certain, and so are
their bytes. The attention is predicted with both lengths of rows, each with its best tile, and with
its keys split where they will be.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.indexing_maps import copied_loops, loops_of
from ...dialect_utils.operations import defining_operation
from ..attention.attention_tiles import K, Q, V, attention_loops
from ..costs.split_cost import copy_microseconds
from ..tiles.tiled_operation import Circumstances
from .key_splits import least_microseconds, planned_attentions
from .program_attention import ProgramAttention

_OUTPUT = -1
COPIED_BYTES = 16
"""The most bytes that a lane copies at once."""
_UNITS = (1, 2)
"""Of how many times as many bytes rows may become multiples."""
_COPY_RATE = 0.7
"""Which part of what memory moves such copies do, which read single elements. Taken from f16
24x2048x75 and 12x512x75 on an H100."""
_LEAST_GAIN = 0.12
"""The part of the predicted time that has to be saved: two more kernels and their memory are
certain, and predictions are not. f16 12x512x75 by `mma.sync` is predicted to take 0.90 times as
long, and takes 1.09 times as long on an H100."""


class HeadLengths(NamedTuple):
    """How many elements the rows of Q and K, and those of V and the output, have in memory."""

    head: int
    columns: int

    @property
    def of_operands(self) -> tuple[int, int, int]:
        """Returns those of Q, K and V."""
        return self.head, self.head, self.columns

    def rounded_up(self, elements: int) -> HeadLengths:
        """Returns the least multiples of so many elements."""
        return HeadLengths(*(-(-each // elements) * elements for each in (self.head, self.columns)))


class PaddedHeads(NamedTuple):
    """Longer rows, and what is predicted of them.

    Attributes:
        lengths: the elements that rows get.
        time: the microseconds of the attention and of the copies; 0 where nothing was predicted.
        whole: those of the attention with its own rows.
        lanes: how many a warp has; 0 where the GPU was not asked for.
    """

    lengths: HeadLengths
    time: float = 0.0
    whole: float = 0.0
    lanes: int = 0

    def __str__(self) -> str:
        rows = f"rows of {self.lengths.head} and {self.lengths.columns} elements"
        if not self.time:
            return f"heads are copied to {rows}"
        return (
            f"heads copied to {rows} are predicted to take {self.time:.1f} us, "
            f"and as they are {self.whole:.1f} us"
        )


def padded_heads(
    operation: ir.Operation, listed: tuple[str, ...], circumstances: Circumstances
) -> PaddedHeads:
    """Returns the rows to which the heads of an attention of a program are best copied.

    Args:
        listed: the names that the compiler has for the matrix instructions of the GPU.

    Raises:
        Refusal: they are best left as they are, or the attention is of another form.
    """
    operands = rows_in_memory(operation)
    lengths = lengths_of(operands)
    attention = ProgramAttention.of(operation)
    asked = listed, circumstances
    planned = planned_attentions(attention, *asked)[0]
    if planned.row_alignment % COPIED_BYTES == 0:
        raise Refusal(f"lanes can copy {COPIED_BYTES} bytes of its rows at once")
    whole = least_microseconds(attention, *asked)
    possible: list[PaddedHeads] = []
    for unit in _UNITS:
        padded = lengths.rounded_up(unit * COPIED_BYTES // planned.element_bytes)
        time = least_microseconds(attention.with_rows_of(padded.head, padded.columns), *asked)
        time += _copied_time(operation, operands, padded, circumstances)
        possible.append(PaddedHeads(padded, time, whole, circumstances.processor.lanes))
    best = min(possible, key=lambda each: each.time)
    if best.time > whole * (1 - _LEAST_GAIN):
        raise Refusal(str(best))
    return best


class RowsInMemory(NamedTuple):
    """The tensor in memory whose elements an operand of an attention has.

    Attributes:
        tensor: the operand, or what it is made from by transposing or repeating it.
        dims: for each dimension of the tensor, that of the operand.
    """

    tensor: ir.Value
    dims: tuple[int, ...]

    @staticmethod
    def of(operand: ir.Value, along: int) -> RowsInMemory:
        """Finds the tensor behind an operand.

        Args:
            along: the dimension of the operand along which rows lie.

        Raises:
            Refusal: its rows do not lie along it.
        """
        found = RowsInMemory(operand, tuple(range(ir.ShapedType(operand.type).rank)))
        definition = defining_operation(operand)
        loops = None if definition is None else copied_loops(definition)
        if definition is not None and loops is not None:
            read, written = loops
            if written == found.dims and len({*read}) == len(read):
                found = RowsInMemory(definition.operands[0], read)
        if not found.dims or found.dims[-1] != along:
            raise Refusal("its rows do not lie along the head and the columns")
        return found

    @property
    def row(self) -> int:
        """Returns how many elements a row has."""
        return ir.ShapedType(self.tensor.type).shape[-1]


def rows_in_memory(operation: ir.Operation) -> list[RowsInMemory]:
    """Returns Q, K and V of an attention of a program as they lie in memory.

    Raises:
        Refusal: their rows, or those of the output, do not lie along the head and the columns, each
            of them a single loop, or the attention is of another form.
    """
    if ProgramAttention.of(operation).doubled is not None:
        raise Refusal("it has a single row")
    loops, *_ = attention_loops(operation)
    if len(loops.head) != 1 or len(loops.columns) != 1:
        raise Refusal("its head or its columns are several loops")
    maps = loops_of(operation)
    (head,), (columns,) = loops.head, loops.columns
    found = [
        RowsInMemory.of(operation.operands[number], maps[number].index(loop))
        for number, loop in ((Q, head), (K, head), (V, columns))
    ]
    kinds = [ir.ShapedType(each.tensor.type) for each in found]
    if not all(isinstance(each.element_type, ir.FloatType) for each in kinds):
        raise Refusal("its elements are no floating-point numbers")
    if maps[_OUTPUT][-1] != columns:
        raise Refusal("the rows of its output do not lie along the columns")
    return found


def lengths_of(operands: Sequence[RowsInMemory]) -> HeadLengths:
    """Returns how long the rows of Q, K and V are."""
    return HeadLengths(operands[K].row, operands[V].row)


def _copied_time(
    operation: ir.Operation,
    operands: Sequence[RowsInMemory],
    lengths: HeadLengths,
    circumstances: Circumstances,
) -> float:
    """Returns the predicted microseconds of the kernels that copy operands and the output."""
    copied = [(len(tensors), tensors[0], length) for tensors, length in longer(operands, lengths)]
    result = operation.results[0]
    if ir.ShapedType(result.type).shape[-1] != lengths.columns:
        copied.append((1, result, lengths.columns))
    time = 0.0
    for count, tensor, length in copied:
        kind = ir.ShapedType(tensor.type)
        *outer, row = kind.shape
        element_bytes = (element_bits(kind.element_type) or 0) // 8
        moved = count * prod(outer) * (row + length) * element_bytes
        time += copy_microseconds(round(moved / _COPY_RATE), circumstances.processor)
    return time


def longer(
    operands: Sequence[RowsInMemory], lengths: HeadLengths
) -> list[tuple[list[ir.Value], int]]:
    """Returns the tensors whose rows become longer, those of one type together, and how long."""
    found: dict[tuple[ir.Type, int], list[ir.Value]] = {}
    for operand, length in zip(operands, lengths.of_operands, strict=True):
        together = found.setdefault((operand.tensor.type, length), [])
        if operand.row != length and operand.tensor not in together:
            together.append(operand.tensor)
    return [(tensors, length) for (_, length), tensors in found.items() if tensors]
