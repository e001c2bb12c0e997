# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets the heads of an attention read one mask, where the program has a copy of it for each.

Exporters repeat the mask of a sequence for all heads, and often for all sequences of a batch:

    %r = linalg.generic {indexing_maps = [(b, h, m, k) -> (b, m, k), (b, h, m, k) -> (b, h, m, k)]}
        ins(%mask : tensor<8x384x384xi1>) outs(... : tensor<8x12x384x384xi1>) { yield }
    %c = tensor.collapse_shape %r [[0, 1], [2], [3]] : ... into tensor<96x384x384xi1>
    %a = iree_linalg_ext.attention ... ins(%q, %k, %v, %scale, %c) -> tensor<96x384x64xf16>

IREE 3.13 writes the copies to memory, and computes what they are copies of for each of them again.
This pass lets the loop over 96 heads be one over 8 sequences and one over 12 heads, of which the
mask has the first one only. Where the mask is the same for all, it has neither, and the loop stays:

    %qs = tensor.expand_shape %q [[0, 1], [2], [3]] : ... into tensor<8x12x384x64xf16>
    %a = iree_linalg_ext.attention ... ins(%qs, %ks, %vs, %scale, %mask) -> tensor<8x12x384x64xf16>

What is computed for an element of the output stays the same.

Runs on functions of the program, before dispatches are formed.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.operations import has_operation, operands_with, operations_in, redirect
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound
from ..attention.attention_tiles import K, Q, V
from .program_attention import ATTENTION, ProgramAttention, Repeated

_MASK = 4
"""The number of the mask among the operands of an attention."""


class ShareMasks(FunctionPass):
    """Lets attentions read masks that are not repeated for their heads."""

    name: ClassVar[str] = "bankwise-share-masks"
    summary: ClassVar[str] = "let the heads of an attention read one mask"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has an attention."""
        return has_operation(function, ATTENTION)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the attentions of `function` that have masks; never fails."""
        for operation in operations_in(function.operation, ATTENTION):
            plan = partial(_SharedMask.of, operation)
            shared = context.planned(operation.location, "its mask stays as it is", plan)
            if shared is not None:
                text = f"{shared.copies} heads read one mask, which is not copied for each"
                context.sink.remark(operation.location, text)
                shared.apply()


class _SharedMask(NamedTuple):
    """An attention that reads its mask without the copies.

    Attributes:
        attention: it, with the mask that is copied as its last input.
        copies: how many copies there were.
    """

    attention: ProgramAttention
    copies: int

    @staticmethod
    def of(operation: ir.Operation) -> _SharedMask | None:
        """Looks for the mask behind that of an attention; None where it has no mask.

        Raises:
            Refusal: its heads have masks of their own, or the attention is not a plain one.
        """
        if len(operation.operands) <= _MASK + 1:
            return None
        attention = ProgramAttention.as_written(operation)
        mask = attention.inputs[_MASK]
        found = Repeated.behind(mask, attention.extents)
        if found is None:
            raise Refusal("it is not copied for the heads")
        heads = {*attention.output.dims}.intersection(
            *(attention.inputs[number].dims for number in (Q, K, V))
        )
        whole = {loop for loop, _ in found.dims} - found.split.keys()
        if not whole.issuperset({*mask.dims} - heads):
            raise Refusal("it is copied for rows or keys, or they are several dimensions")
        read = {loop for loop, _ in found.dims}
        parts = {}
        for loop, sizes in found.split.items():
            if loop in read:
                first = len(attention.order)
                parts[loop] = (loop, *range(first, first + len(sizes) - 1))
                attention = attention.with_loop_split(loop, parts[loop], sizes)
        shared = found.operand(parts)
        every = attention.inputs[_MASK]
        if shared.dims != tuple(each for each in every.dims if each in shared.dims):
            raise Refusal("its copies are transposed")
        copies = prod(attention.sizes([e for e in every.dims if e not in shared.dims]))
        if copies == 1:
            raise Refusal("every head has a mask of its own")
        inputs = (*attention.inputs[:_MASK], shared)
        return _SharedMask(attention._replace(inputs=inputs), copies)

    def apply(self) -> None:
        """Replaces the attention."""
        attention, operation = self.attention, self.attention.operation
        at = Builder.before(operation)
        values = [each.expanded(at, attention.sizes) for each in attention.inputs]
        place = {loop: number for number, loop in enumerate(attention.order)}
        operands = (*attention.inputs, attention.output)
        maps = [[place[loop] for loop in each.dims] for each in operands]
        output, groups = attention.output.value, attention.output.groups
        kind = ir.RankedTensorType(output.type)
        made = at.attention(
            operation,
            values,
            at.tensor_type(attention.sizes(attention.output.dims), kind.element_type),
            at.indexing_maps(len(place), maps),
        )
        uses = operands_with(output)
        redirect(uses, at.collapse_shape(made, kind, groups) if made.type != kind else made)
        operation.erase()
