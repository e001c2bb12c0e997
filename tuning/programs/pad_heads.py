# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies heads of attentions to rows at multiples of 16 bytes, before all workgroups read them.

    %p:3 = linalg.generic ... outs(...) : tensor<24x2048x80xf16>, ...      Q, K, V, zeros behind
    %r = iree_linalg_ext.attention ... ins(%p#0, %p#1, %p#2, ...) -> tensor<24x2048x80xf16>
    %o = linalg.generic ... : tensor<24x2048x75xf16>                       the first 75 columns

Rows of 75 elements of f16 begin at multiples of 2 bytes, and no lane can copy 8 or 16 bytes of them
at once, or any by `cp.async`. Workgroups that share K and V copy them again and again. One kernel
does so for all: Q, K and V of one type are copied together. What the zeros of K and Q add to a
score is 0, and the columns that the zeros of V make are not in the output. The instructions sum
other elements together: outputs are right to rounding.

Whether that saves time, and how long the rows are, is predicted (`padded_heads.py`).

IREE would make two kernels of a `tensor.pad`, a fill and a copy by single elements, for each
operand. What indexes a flat tensor is one, which writes several elements a lane.

Runs on functions of the program, before dispatches are formed and keys are split.

Part of it works around IREE 3.13 (`docs/for_iree.md#divided-indices-on-cuda`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.indexing_maps import loops_of, maps_of
from ...dialect_utils.lowering_config import COMPILATION_INFO
from ...dialect_utils.operations import (
    operands_with,
    operations_in,
    redirect,
)
from ...passes.base import PassContext
from ...passes.decisions import Action
from .padded_heads import (
    PaddedHeads,
    lengths_of,
    longer,
    padded_heads,
    rows_in_memory,
)
from .program_attention import ATTENTION
from .program_pass import ProgramAttentionPass

_WARPS, _NEIGHBOURS = 8, 4
"""The warps of a workgroup that copies rows, and how many elements a lane has of them. With four,
copies of the output of f16 24x2048x75 take 0.83 times as long on an H100 as with two, and with
eight 0.81 times; those of Q, K and V take 0.98 times."""
_MOST_THREADS, _ROWS = 512, (32, 16, 8, 4, 2, 1)
_CONFIGURATION = (
    "#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{{thread = {thread}, workgroup = {tile}}}>, "
    "translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> "
    "workgroup_size = [{threads}, 1, 1] subgroup_size = {lanes}>>"
)


_VIEWS = ("tensor.collapse_shape", "tensor.expand_shape")


@dataclass(frozen=True)
class PadHeads(ProgramAttentionPass):
    """Copies heads to longer rows where that is predicted to be faster.

    Attributes:
        multiple: of how many elements rows become multiples, where that does not depend on the
            prediction; 0 where it does.
        unmeasured: whether it is done, too, on GPUs on which the model was not compared with
            measured times.
    """

    name: ClassVar[str] = "bankwise-pad-heads"
    summary: ClassVar[str] = "copy heads of attentions to rows at multiples of 16 bytes"

    multiple: int = 0
    unmeasured: bool = False

    def __post_init__(self) -> None:
        self._expect("multiple", self.multiple >= 0, "0, or a number of elements")

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the attentions of `function`; never fails."""
        function = function.operation
        for operation in operations_in(function, ATTENTION):
            plan = partial(self._padded, function, operation, context)
            padded = context.planned(operation.location, "heads are not copied", plan)
            if padded is not None:
                detail = f"{padded.lengths.head} and {padded.lengths.columns} elements"
                named = (operation, Action.COPY_HEADS, str(padded), detail)
                self.record_change(context, function, *named)
                _pad(operation, padded)

    def _padded(
        self, function: ir.Operation, operation: ir.Operation, context: PassContext
    ) -> PaddedHeads:
        """Returns the rows that an attention gets.

        Raises:
            Refusal: it keeps its own.
        """
        self.check_place(operation)
        if self.multiple:
            lengths = lengths_of(rows_in_memory(operation))
            return PaddedHeads(lengths.rounded_up(self.multiple))
        target, circumstances = self.predicted_on(function, context)
        if not circumstances.ldmatrix:
            raise Refusal("the copies of this GPU's lanes were not compared")
        padded = padded_heads(operation, target.matrix_instructions, circumstances)
        if not self.unmeasured:
            self.check_gain(padded, target, circumstances)
        return padded


def _pad(attention: ir.Operation, padded: PaddedHeads) -> None:
    """Replaces an attention by one whose rows are longer."""
    at, lengths, lanes = Builder.before(attention), padded.lengths, padded.lanes
    operands = rows_in_memory(attention)
    copies: dict[ir.Value, ir.Value] = {}
    for tensors, length in longer(operands, lengths):
        copies |= zip(tensors, _lengthened(at, tensors, length, lanes), strict=True)
    *inputs, _ = attention.operands
    maps = [*loops_of(attention)]
    for number, operand in enumerate(operands):
        if operand.tensor in copies:
            inputs[number] = copies[operand.tensor]
            maps[number] = tuple(maps[number][dim] for dim in operand.dims)
    output = attention.results[0]
    kind = ir.RankedTensorType(output.type)
    *outer, columns = kind.shape
    longest = at.tensor_type([*outer, lengths.columns], kind.element_type)
    loops = at.indexing_maps(maps_of(attention)[0].n_dims, maps)
    result = at.attention(attention, inputs, longest, loops)
    uses = operands_with(output)
    if columns != lengths.columns and _is_computed_with(output):
        # A kernel that computes with the output reads its columns itself. Fused with a copy by
        # single elements it divides vectors of indices, of 16 bits where they are small, and LLVM
        # cannot select that for NVIDIA GPUs.
        result = at.slice(result, kind, [0] * kind.rank, kind.shape)
    elif columns != lengths.columns:
        result = _shortened(at, result, columns, lanes)
    redirect(uses, result)
    attention.erase()


def _is_computed_with(tensor: ir.Value) -> bool:
    """Returns whether an operation of `linalg` takes a tensor, or a view of all its elements."""
    users = [user for user, _ in operands_with(tensor)]
    return any(
        _is_computed_with(user.results[0])
        if user.name in _VIEWS
        else user.name.startswith("linalg.")
        for user in users
    )


def _lengthened(
    at: Builder, tensors: Sequence[ir.Value], length: int, lanes: int
) -> list[ir.Value]:
    """Emits copies of tensors of one type whose rows end with zeros.

    Args:
        lanes: how many a warp has; 0 leaves it to IREE how the copies are made.
    """
    kind = ir.RankedTensorType(tensors[0].type)
    *outer, row = kind.shape
    sources = [_flat(at, each) for each in tensors]

    def copy(at: Builder, *indices: ir.Value) -> list[ir.Value]:
        *before, column = indices
        first = at.muli(at.linearize(before, outer), at.index(row))
        place = at.addi(first, at.minui(column, at.index(row - 1)))
        is_there = at.cmpi("ult", column, at.index(row))
        zero = at.constant(kind.element_type, 0.0)
        return [at.select(is_there, at.element(each, [place]), zero) for each in sources]

    result = at.tensor_type([*outer, length], kind.element_type)
    most = _MOST_THREADS * _NEIGHBOURS
    rows = next(
        each for each in _ROWS if outer[-1] % each == 0 and (each * length <= most or each == 1)
    )
    tile = [*[1] * (len(outer) - 1), rows, length]
    return at.computed([result] * len(tensors), copy, _configured(at, result.shape, tile, lanes))


def _shortened(at: Builder, tensor: ir.Value, length: int, lanes: int) -> ir.Value:
    """Emits a copy of a tensor whose rows are without their last elements.

    Lanes have neighbours of one row of all elements: odd rows are not divided among them.
    """
    kind = ir.RankedTensorType(tensor.type)
    *outer, row = kind.shape
    source = _flat(at, tensor)

    def copy(at: Builder, index: ir.Value) -> list[ir.Value]:
        of_row, column = at.divui(index, at.index(length)), at.remui(index, at.index(length))
        return [at.element(source, [at.addi(at.muli(of_row, at.index(row)), column)])]

    flat = at.tensor_type([prod(outer) * length], kind.element_type)
    tile = [_WARPS * lanes * _NEIGHBOURS]
    (made,) = at.computed([flat], copy, _configured(at, flat.shape, tile, lanes))
    result = at.tensor_type([*outer, length], kind.element_type)
    return at.expand_shape(made, result, [[*range(kind.rank)]])


def _flat(at: Builder, tensor: ir.Value) -> ir.Value:
    """Returns a tensor with one dimension."""
    kind = ir.RankedTensorType(tensor.type)
    flat = at.tensor_type([prod(kind.shape)], kind.element_type)
    return at.collapse_shape(tensor, flat, [[*range(kind.rank)]])


def _configured(
    at: Builder, shape: Sequence[int], tile: Sequence[int], lanes: int
) -> dict[str, ir.Attribute]:
    """Returns the attributes by which workgroups copy tiles, of which a lane has some neighbours.

    IREE takes one warp a workgroup, of which a multiprocessor holds too few. It is left to IREE
    where tiles do not divide the tensors, or warps the tiles.
    """
    threads, odd = divmod(prod(tile), _NEIGHBOURS)
    divides = all(size and extent % size == 0 for extent, size in zip(shape, tile, strict=True))
    if not lanes or odd or not divides or threads % lanes or threads > _MOST_THREADS:
        return {}
    text = _CONFIGURATION.format(
        thread=[*[1] * (len(tile) - 1), _NEIGHBOURS],
        tile=[*tile],
        threads=threads,
        lanes=lanes,
    )
    return {COMPILATION_INFO: ir.Attribute.parse(text, at.context)}
