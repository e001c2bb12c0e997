# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the `mma.sync` of f8 those of i8, in functions whose f8 are integers.

`bankwise-carry-integers` lets a contraction of i8 travel through IREE's passes as one of f8. Once
all layouts are resolved, each `nvgpu.mma.sync` becomes the instruction that multiplies integers:

    mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32

Its sums wrap, as those of `arith.addi` do. (`nvgpu.mma.sync` on i8 would become the instruction
with `.satfinite`, whose sums stay at the ends of the range.)

What was carried must not have been computed with on the way: an addition of f32 would give other
bits than one of i32, and even a conversion may change the bits of what it takes for a NaN. So every
operation on a value of f8 must be one that moves or chooses elements, and every operation on the
f32 between the instruction and the `arith.bitcast` to i32 one that moves them. Else the function is
compiled without `bankwise-carry-integers`.

This works around IREE 3.13 (`docs/for_iree.md#nvgpummasync-of-i8`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils import carried_integers
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_moves import is_move
from ...dialect_utils.element_types import scalar_type
from ...dialect_utils.loops import FOR, YIELD, carried_as, carried_by_use
from ...dialect_utils.lowering_config import integers
from ...dialect_utils.memory.flow import connected_to
from ...dialect_utils.memory.lds_ops import DEALLOC
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.operations import (
    defining_operation,
    has_zero_bits,
    operands_with,
    operations_in,
)
from ...passes.base import FunctionPass, PassContext

_INTRINSIC = "llvm.nvvm.mma.m16n8k32.row.col.s8"
_BITCAST, _CONSTANT, _POISON, _TRANSPOSE = (
    "arith.bitcast",
    "arith.constant",
    "ub.poison",
    "vector.transpose",
)
_SELECT = "arith.select"
_LOAD, _STORE = "vector.load", "vector.store"
_SUM = 2
"""The number of the operand of `nvgpu.mma.sync` that it adds to."""
_ON_MEMORY = frozenset(
    {
        "hal.interface.binding.subspan",
        "memref.alloc",
        "memref.assume_alignment",
        "memref.cast",
        "memref.collapse_shape",
        "memref.dealloc",
        "memref.dim",
        "memref.expand_shape",
        "memref.extract_strided_metadata",
        "memref.load",
        "memref.memory_space_cast",
        "memref.reinterpret_cast",
        "memref.store",
        "memref.subview",
        "nvgpu.device_async_copy",
        "nvgpu.ldmatrix",
        "vector.load",
        "vector.store",
    }
)
"""The operations that move elements from and to memory, or only look at it in another way."""


class MultiplyIntegers(FunctionPass):
    """Replaces `nvgpu.mma.sync` by the instruction on i8 where integers travel as f8."""

    name: ClassVar[str] = "bankwise-multiply-integers"
    summary: ClassVar[str] = "multiply 8-bit integers by mma.sync that travel as f8"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether integers of `function` travel as f8."""
        return carried_integers.is_marked(function)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the instructions, or says in the function why not."""
        function = function.operation
        if not carried_integers.is_marked(function):
            return
        contractions = operations_in(function, MMA)
        try:
            if not contractions:
                raise Refusal("no matrix instruction multiplies its integers")
            if any(_shape(each) != carried_integers.SHAPE for each in contractions):
                raise Refusal("a matrix instruction has another shape than that on integers")
            _check_operands(function)
            _check_sums(contractions)
        except Refusal as refusal:
            carried_integers.mark(function, refusal.reason)
            context.sink.remark(function.location, refusal.reason)
            return
        for each in contractions:
            _replace(each)
        carried_integers.unmark(function)
        count = len(contractions)
        context.sink.remark(function.location, f"{count} mma.sync multiply 8-bit integers")


def _shape(contraction: ir.Operation) -> tuple[int, ...]:
    return integers(contraction.attributes["mmaShape"])


def _check_operands(function: ir.Operation) -> None:
    """Makes sure that values of f8 are only moved and multiplied.

    Raises:
        Refusal: something else is done to one.
    """
    carried = carried_integers.operand_type(function.context)
    for operation in operations_in(function):
        values = [*operation.operands, *operation.results]
        if not any(scalar_type(each.type) == carried for each in values):
            continue
        name = operation.name
        if name in (MMA, FOR, YIELD, _POISON, _TRANSPOSE, _SELECT) or name in _ON_MEMORY:
            continue
        if name == _CONSTANT and has_zero_bits(operation.results[0]):
            continue
        if not is_move(operation):
            raise Refusal(f"{name} computes with integers carried as f8")


def _check_sums(contractions: list[ir.Operation]) -> None:
    """Makes sure that the f32 of contractions are only moved, to where they are read as i32.

    Raises:
        Refusal: something else is done to one.
    """
    pending = [value for each in contractions for value in (each.results[0], each.operands[_SUM])]
    seen: set[ir.Value] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for user, number in operands_with(value):
            pending += _moved_to(value, user, number)
        pending += _moved_from(value)


def _moved_to(value: ir.Value, user: ir.Operation, number: int) -> Iterator[ir.Value]:
    """Yields the values that a user makes of a sum.

    Raises:
        Refusal: it does something else than to move it.
    """
    carried = carried_by_use(user, number)
    if carried is not None:
        yield from (*carried.sources, *carried.joins)
    elif is_move(user) or user.name == _TRANSPOSE:
        # What lies beside a sum in a vector is one too.
        yield from user.results
        yield from (each for each in user.operands if not isinstance(each.type, ir.IndexType))
    elif user.name == MMA and number == _SUM:
        yield user.results[0]
    elif user.name == _STORE and number == 0:
        yield from _lying_in(user.operands[1])
    elif user.name != _BITCAST:
        raise Refusal(f"{user.name} computes with sums of integers carried as {value.type}")


def _moved_from(value: ir.Value) -> Iterator[ir.Value]:
    """Yields the values that a sum is made of.

    Raises:
        Refusal: it is made otherwise than by moving, and is not zero.
    """
    carried, definition = carried_as(value), defining_operation(value)
    name = "a block argument" if definition is None else definition.name
    if carried is not None:
        yield from carried.sources
    elif definition is None:
        raise Refusal(f"{name} is a sum of integers carried as f32")
    elif is_move(definition) or name == _TRANSPOSE:
        yield from (each for each in definition.operands if not isinstance(each.type, ir.IndexType))
    elif name == MMA:
        yield definition.operands[_SUM]
    elif name == _LOAD:
        yield from _lying_in(definition.operands[0])
    elif name not in (_BITCAST, _POISON) and not has_zero_bits(value):
        raise Refusal(f"{name} makes a sum of integers carried as f32")


def _lying_in(memory: ir.Value) -> Iterator[ir.Value]:
    """Yields all that is loaded from memory where sums lie, and all that is stored there.

    Raises:
        Refusal: something else is done to the memory.
    """
    for sink in connected_to(memory).sinks:
        if sink.user.name == _LOAD:
            yield sink.user.results[0]
        elif sink.user.name == _STORE:
            yield sink.user.operands[0]
        elif sink.user.name != DEALLOC:
            raise Refusal(f"{sink.user.name} computes with sums of integers carried as f32")


def _replace(contraction: ir.Operation) -> None:
    """Replaces one `nvgpu.mma.sync` on vectors of a row per register."""
    at = Builder.before(contraction)
    a, b, sums = contraction.operands
    integer = at.integer_type(32)
    kind = ir.VectorType(sums.type)
    places = [(row, column) for row in range(kind.shape[0]) for column in range(kind.shape[1])]
    given = [*_registers(at, a), *_registers(at, b)]
    given += [at.same_bits(at.extract(sums, place), integer) for place in places]
    struct = ir.Type.parse(f"!llvm.struct<({', '.join(['i32'] * len(places))})>", at.context)
    made = at.intrinsic(_INTRINSIC, given, struct)
    result = sums
    for number, place in enumerate(places):
        element = at.same_bits(at.member(made, number, integer), kind.element_type)
        result = at.insert(element, result, place)
    contraction.results[0].replace_all_uses_with(result)
    contraction.erase()


def _registers(at: Builder, operand: ir.Value) -> Iterator[ir.Value]:
    """Yields the registers of an operand, each a row of four elements, as i32."""
    for row in range(ir.VectorType(operand.type).shape[0]):
        register = at.bitcast(at.extract(operand, [row]), [1], at.integer_type(32))
        yield at.extract(register, [0])
