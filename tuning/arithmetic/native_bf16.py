# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rounds f32 to bf16 on NVIDIA GPUs by the instruction `cvt.rn.bf16x2.f32`, two at once.

IREE rounds by integer arithmetic for CUDA, of some 13 instructions for two elements: a third of
what the inner loop of a bf16 attention executes at `fast`, a fifth at `exact`. This pass runs
before that:

    %b = arith.truncf %x : vector<2xf32> to vector<2xbf16>

becomes an operation that IREE leaves to LLVM, which has the instruction for it from sm_80 on:

    %b = llvm.fptrunc %x : vector<2xf32> to vector<2xbf16>

Both round to the nearest, ties to even; infinities, zeros and subnormal numbers come out as from
IREE's arithmetic. Only the payload of a NaN differs: the instruction gives 0x7FFF (PTX ISA, "cvt"),
and IREE's arithmetic 0x7FC0. Where outputs must keep all bits, the least of that and 0x7FC0 is
taken, as signed integers, which every other result is below, by `min.s16x2` for two at once. GPUs
have that instruction from sm_90 on, and others keep IREE's arithmetic then.
"""

from __future__ import annotations

import math
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.shown_text import counted_are
from ...dialect_utils.builders import Builder
from ...dialect_utils.element_types import number_type
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext

_ROUNDING = "roundingmode"
_NAN = 0x7FC0
"""The NaN that IREE's arithmetic gives, whatever NaN it rounds."""


@dataclass(frozen=True)
class NativeBf16(FunctionPass):
    """Replaces the rounding of f32, and of vectors of f32, to bf16 by `cvt.rn`.

    Attributes:
        same_nans: whether NaNs get the payload that IREE's arithmetic gives them.
    """

    name: ClassVar[str] = "bankwise-native-bf16"
    summary: ClassVar[str] = "round f32 to bf16 by cvt.rn.bf16x2.f32 on NVIDIA GPUs"

    same_nans: bool = False

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` rounds to bf16 on a GPU that has the instructions."""
        return self._has_instructions(function, None) and bool(_roundings(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the roundings; never fails."""
        function = function.operation
        if not self._has_instructions(function, context.test_target):
            return
        count = 0
        for operation in _roundings(function):
            count += self._replace(operation)
        if count:
            text = f"{counted_are(count, 'number')} rounded by cvt.rn.bf16x2.f32"
            context.sink.remark(function.location, text)

    def _has_instructions(self, function: ir.Operation, test_target: str | None) -> bool:
        features = gpu_features_of(function, test_target)
        if not features.bf16_rounding:
            return False
        return features.packed_minima or not self.same_nans

    def _replace(self, operation: ir.Operation) -> int:
        """Replaces a rounding; returns how many numbers it rounds."""
        builder, value = Builder.before(operation), operation.operands[0]
        before, after = value.type, operation.results[0].type
        count = 1
        if isinstance(before, ir.VectorType):
            count = math.prod(before.shape)
            value = builder.shaped(value, [count])
        kind: ir.Type = ir.BF16Type.get(operation.context)
        bits: ir.Type = builder.integer_type(16)
        if isinstance(after, ir.VectorType):
            kind, bits = (builder.vector_type([count], each) for each in (kind, bits))
        narrow = builder.fptrunc(value, kind)
        if self.same_nans:
            least = builder.minsi(builder.same_bits(narrow, bits), builder.constant(bits, _NAN))
            narrow = builder.same_bits(least, kind)
        if isinstance(after, ir.VectorType):
            narrow = builder.shaped(narrow, after.shape)
        operation.results[0].replace_all_uses_with(narrow)
        operation.erase()
        return count


def _roundings(function: ir.Operation) -> list[ir.Operation]:
    """Returns the roundings to the nearest from f32 to bf16."""
    return [
        operation
        for operation in operations_in(function, "arith.truncf")
        if isinstance(number_type(operation.operands[0].type), ir.F32Type)
        and isinstance(number_type(operation.results[0].type), ir.BF16Type)
        and _ROUNDING not in operation.attributes
    ]
