# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-convert-arguments`: a caller's numbers are converted to those that a program computes.

IREE 3.13 lets a program compute in f32 where it says f64, unless it is told not to
(`--iree-input-demote-f64-to-f32`). Of what the importers of ONNX and torch make, callers give and
get f64 all the same:

    %x = hal.tensor.import %view : !hal.buffer_view -> tensor<4xf64> as tensor<4xf32>

Nothing converts them. The program reads the bytes of 4 f64 as if the first half of them were 4 f32,
and its results are refused, because they have half of the bytes that their type needs. The same
holds for the other flags that change types.

This pass converts the elements where both types have different widths:

    %given = hal.tensor.import %view : !hal.buffer_view -> tensor<4xf64>
    %x = linalg.generic ... { arith.truncf }

Runs on functions of the program, before dispatches are formed.

This works around IREE 3.13 (`docs/for_iree.md#arguments-of-other-types`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.operations import EXPORT, IMPORT, defining_operation, operations_in
from ...dialect_utils.program_operations import BARRIER
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound

_ENCODINGS = {IMPORT: "target_encoding", EXPORT: "source_encoding"}


class ConvertArguments(FunctionPass):
    """Converts tensors of callers whose elements have another width than those of the program."""

    name: ClassVar[str] = "bankwise-convert-arguments"
    summary: ClassVar[str] = "convert tensors of callers to the types that a program computes in"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` gets or returns such a tensor."""
        return any(True for _ in _crossings(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Converts the tensors; never fails."""
        for crossing, outside in list(_crossings(function.operation)):
            inside = _tensor_of(crossing)
            kind = ir.RankedTensorType(inside.type)
            given = Builder.before(crossing).tensor_type(kind.shape, _signless(outside))
            sizes = list(crossing.operands)[1 : 1 + kind.shape.count(DYNAMIC)]
            if crossing.name == IMPORT:
                at = Builder.after(crossing)
                uses = list(inside.uses)
                inside.set_type(given)
                converted = _converted(at, inside, kind, sizes, outside)
                for use in uses:
                    use.owner.operation.operands[use.operand_number] = converted
            else:
                _convert_behind(crossing, given, sizes, outside)
            text = f"converted between {given.element_type} of the caller and {kind.element_type}"
            context.sink.remark(crossing.location, text)


def _convert_behind(
    export: ir.Operation, given: ir.RankedTensorType, sizes: Sequence[ir.Value], outside: ir.Type
) -> None:
    """Lets an export return a converted tensor.

    A fence that is signalled when the tensor is there has to wait for the converted one.
    """
    user, number = export, 0
    barrier = defining_operation(export.operands[0])
    if barrier is not None and barrier.name == BARRIER:
        number = ir.OpResult(export.operands[0]).result_number
        user = barrier
    value = user.operands[number]
    if value.type != given:
        user.operands[number] = _converted(Builder.before(user), value, given, sizes, outside)
    if user != export:
        user.results[number].set_type(given)


def _crossings(function: ir.Operation) -> Iterator[tuple[ir.Operation, ir.Type]]:
    """Yields what imports or exports a tensor, and the caller's type of its elements."""
    for crossing in operations_in(function, *_ENCODINGS):
        attribute = crossing.attributes[_ENCODINGS[crossing.name]]
        outside = ir.TypeAttr(attribute).value
        inside = _tensor_of(crossing).type
        if isinstance(outside, ir.RankedTensorType) and isinstance(inside, ir.RankedTensorType):
            kinds = outside.element_type, inside.element_type
            bits = [element_bits(each) for each in kinds]
            alike = any(
                all(isinstance(each, kind) for each in kinds)
                for kind in (ir.FloatType, ir.IntegerType)
            )
            if alike and None not in bits and bits[0] != bits[1]:
                yield crossing, kinds[0]


def _tensor_of(crossing: ir.Operation) -> ir.Value:
    return crossing.results[0] if crossing.name == IMPORT else crossing.operands[0]


def _signless(element: ir.Type) -> ir.Type:
    """Returns the type of the same width that operations of `arith` take."""
    if isinstance(element, ir.IntegerType):
        return ir.IntegerType.get_signless(element.width, element.context)
    return element


def _converted(
    at: Builder,
    tensor: ir.Value,
    kind: ir.RankedTensorType,
    sizes: Sequence[ir.Value],
    outside: ir.Type,
) -> ir.Value:
    """Returns a tensor with elements of another width.

    Args:
        sizes: those of the dimensions whose sizes only the program knows.
        outside: the caller's type, which says whether integers have a sign.
    """
    before = element_bits(ir.RankedTensorType(tensor.type).element_type)
    after = element_bits(kind.element_type)
    assert before is not None and after is not None

    def convert(inside: Builder, element: ir.Value, _: ir.Value) -> ir.Value:
        if isinstance(kind.element_type, ir.FloatType):
            change = inside.extf if after > before else inside.truncf
            return change(element, kind.element_type)
        if after < before:
            return inside.trunci(element, after)
        unsigned = ir.IntegerType(outside).is_unsigned
        return (inside.extui if unsigned else inside.extsi)(element, after)

    return at.parallel([tensor], [range(kind.rank)], at.empty(kind, sizes), convert)
