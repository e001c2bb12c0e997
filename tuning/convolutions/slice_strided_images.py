# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes strided convolutions of a single element contractions of a slice of the image.

A convolution of 1x1 with a stride, such as the shortcuts of ResNet, is a contraction of the rows
and columns that it reads. IREE indexes its image by multiples of loops:

    linalg.generic {indexing_maps = [affine_map<(n, f, h, w, c) -> (n, c, h * 2, w * 2)>, ...]}
        ins(%image, %filter : tensor<8x256x56x56xf16>, tensor<512x256xf16>)

It takes a slice in place of that, but only where no other `linalg` operation makes the image, as
almost all operations of a network do. Left as it is, each output is a sum of scalars, which a warp
adds up by itself. This pass takes the slice wherever the image comes from:

    %slice = tensor.extract_slice %image[0, 0, 0, 0] [8, 256, 28, 28] [1, 1, 2, 2]
    linalg.generic {indexing_maps = [affine_map<(n, f, h, w, c) -> (n, c, h, w)>, ...]}

IREE reads the slice where it is, as a strided view in the kernel of the contraction, and gives that
matrix instructions, whose sums have another order: outputs are right to rounding.

Runs on functions of the program, before dispatches are formed.

Part of it works around IREE 3.13 (`docs/for_iree.md#strided-convolutions-of-1x1-on-cuda`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.index.loop_sums import LoopSum, loop_lengths, loop_sums
from ...dialect_utils.indexing_maps import GENERIC, index_by_loops, maps_of, summed_loops
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound

_OPERANDS = 3

Loops = tuple[tuple[LoopSum, ...], ...]
"""What indexes the dimensions of each operand."""


class SliceStridedImages(FunctionPass):
    """Lets contractions that index an operand by multiples of loops read a slice of it."""

    name: ClassVar[str] = "bankwise-slice-strided-images"
    summary: ClassVar[str] = "make strided 1x1 convolutions contractions of a slice of the image"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has such a contraction."""
        return any(True for _ in _strided_contractions(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the contractions of `function`; never fails."""
        for generic, loops in list(_strided_contractions(function.operation)):
            plan = partial(_slices, generic, loops)
            slices = context.planned(generic.location, "the strided image is not sliced", plan)
            if slices is None:
                continue
            for number, each in enumerate(slices):
                if each is not None:
                    generic.operands[number] = each.take(generic, number)
            of_operands = [[loop for each in dims for loop in each.factors] for dims in loops]
            index_by_loops(generic, maps_of(generic)[0].n_dims, of_operands)
            context.sink.remark(generic.location, "computed as a contraction of a strided slice")


class _Slice(NamedTuple):
    """The elements of a tensor that a contraction reads, by dimensions."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def take(self, generic: ir.Operation, number: int) -> ir.Value:
        """Emits the slice of an operand; returns it."""
        tensor = generic.operands[number]
        at = Builder.before(generic)
        kind = at.tensor_type(self.sizes, ir.RankedTensorType(tensor.type).element_type)
        return at.slice(tensor, kind, self.offsets, self.sizes, self.strides)


def _strided_contractions(function: ir.Operation) -> Iterator[tuple[ir.Operation, Loops]]:
    """Yields the contractions with an input that multiples of loops index, and their loops."""
    for generic in operations_in(function, GENERIC):
        if len(generic.operands) != _OPERANDS or len(generic.results) != 1:
            continue
        if not summed_loops(generic):
            continue
        try:
            loops = loop_sums(generic)
        except Refusal:
            continue
        *inputs, output = loops
        plain = all(each.loop is not None for each in output)
        if plain and all(map(_are_multiples, inputs)) and any(map(_is_strided, inputs)):
            yield generic, loops


def _are_multiples(dims: Sequence[LoopSum]) -> bool:
    """Returns whether each dimension is indexed by a multiple of another loop plus a number.

    Neither is negative.
    """
    loops = [loop for each in dims for loop in each.factors]
    single = all(len(each.factors) == 1 and each.constant >= 0 for each in dims)
    positive = all(factor > 0 for each in dims for factor in each.factors.values())
    return single and positive and len({*loops}) == len(loops)


def _is_strided(dims: Sequence[LoopSum]) -> bool:
    """Returns whether a dimension is indexed by something else than a loop."""
    return any(each.loop is None for each in dims)


def _slices(generic: ir.Operation, loops: Loops) -> list[_Slice | None]:
    """Returns the slices of the inputs of a contraction; None for one that is read as it is.

    Raises:
        Refusal: the sizes of an input, or how long a loop over it is, are not known.
    """
    extents = loop_lengths(generic, loops)
    return [_slice(dims, extents) if _is_strided(dims) else None for dims in loops[:-1]]


def _slice(dims: Sequence[LoopSum], extents: dict[int, int]) -> _Slice:
    """Returns the elements of a tensor that are read.

    Args:
        dims: what indexes its dimensions.
        extents: how long loops are.
    """
    factors = [next(iter(each.factors.items())) for each in dims]
    sizes = [extents.get(loop, DYNAMIC) for loop, _ in factors]
    if DYNAMIC in sizes:
        raise Refusal("its sizes are not all known")
    offsets = tuple(each.constant for each in dims)
    return _Slice(offsets, tuple(sizes), tuple(factor for _, factor in factors))
