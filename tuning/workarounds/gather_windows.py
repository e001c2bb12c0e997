# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-gather-windows`: the elements of an image are those that its filter is multiplied with.

IREE makes a product of matrices of a convolution: `iree_linalg_ext.im2col` lists, for each output,
the elements of the image in the filter's window, and a `linalg.generic` multiplies them with the
filter. Where loops over summed elements are neighbours in all operands, one dimension stands for
them. A filter of (y, f, x, c), of which f are the outputs' channels, has two such dimensions:

    %parts = iree_linalg_ext.im2col output_sizes = [[8], [8], [3], [3, 64]] input_k_perm = ...

Indices of these dimensions become coordinates of the image in the order in which `output_sizes`
lists them, and `input_k_perm` says which dimension of the image each coordinate belongs to. In IREE
3.13 the two do not agree:

* `output_sizes` lists dimensions of channels alone before others, and `input_k_perm` means the
  order of the filter: a filter of (y, x, f, c) makes c, y, x of the former, and y, x, c of the
  latter, so that channels are taken for rows.
* `output_sizes` lists other dimensions in the order of the filter, and the product reads them in
  the order of the image. A filter of (x, y, c, f) reads its windows transposed, or does not
  compile where they are no squares.
* `k_pos` lists channels by the numbers of their loops, and coordinates come in the order of the
  image's dimensions.
* Of an image without channels, vectors are read along the window's last dimension as if its
  elements were neighbours, where the window is dilated.

Outputs are wrong, in silence. This pass makes the same product of matrices, with an `im2col` whose
lists agree, of the convolutions for which IREE's do not. It leaves all others to IREE. The loops
are those of IREE's product, for which the convolution is configured.

Runs right before `iree-codegen-convolution-to-igemm`, which finds no convolution then, and goes on
with what it does behind it.

This works around IREE 3.13 (`docs/for_iree.md#orders-of-filters`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from math import prod
from typing import Any, ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.loop_sums import LoopSum, loop_sums
from ...dialect_utils.indexing_maps import GENERIC, ITERATORS, index_by_loops
from ...dialect_utils.operations import operands_with, operations_in, redirect, replace_by
from ...passes.base import FunctionPass, PassContext

_OPERANDS = 3
_IMAGE, _FILTER, _SUMS = range(_OPERANDS)

Groups = list[tuple[int, ...]]
"""Loops of a convolution; those of a group are one loop of the product of matrices."""


class GatherWindows(FunctionPass):
    """Makes products of matrices of convolutions whose images IREE would read in a wrong order."""

    name: ClassVar[str] = "bankwise-gather-windows"
    summary: ClassVar[str] = "read images in the order of their filters, where IREE does not"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether IREE would make wrong code of a convolution in `function`."""
        return any(True for _ in _misread(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the convolutions of `function`; never fails."""
        for convolution in list(_misread(function.operation)):
            location = convolution.generic.location
            convolution.replace()
            context.sink.remark(location, f"IREE would read {convolution.what_is_misread}")


def _misread(function: ir.Operation) -> Iterator[_Convolution]:
    """Yields the convolutions whose image IREE would read in a wrong order."""
    for generic in operations_in(function.operation, GENERIC):
        if len(generic.operands) != _OPERANDS:
            continue
        try:
            sums = loop_sums(generic)
        except Refusal:
            continue
        if any(len(each.factors) > 1 for each in sums[_IMAGE]):
            # The bindings are slow to load.
            from iree.compiler._mlir_libs import _ireeCompilerDialects  # type: ignore

            details = _ireeCompilerDialects.iree_codegen.get_igemm_generic_conv_details(generic)
            if details is not None:
                convolution = _Convolution(generic, sums, details)
                if convolution.is_misread:
                    yield convolution


class _Convolution:
    """A convolution that IREE makes a product of matrices.

    Attributes:
        generic: the operation.
        image, filter: what indexes their dimensions.
    """

    def __init__(
        self, generic: ir.Operation, sums: Sequence[tuple[LoopSum, ...]], details: Any
    ) -> None:
        self.generic = generic
        self.image, self.filter, output = sums
        self._details = details
        self._outputs = {loop for each in output for loop in each.factors}
        self._filters = {loop for each in self.filter for loop in each.factors}
        shapes = zip((_FILTER, _SUMS), (self.filter, output), strict=True)
        self._extents = {
            loop: size
            for number, dims in shapes
            for size, each in zip(self._shape(number), dims, strict=True)
            for loop in each.factors
        }

    def _shape(self, number: int) -> list[int]:
        return ir.ShapedType(self.generic.operands[number].type).shape

    @cached_property
    def places(self) -> dict[int, int]:
        """Returns which dimension of the image each of its loops indexes."""
        return {loop: place for place, each in enumerate(self.image) for loop in each.factors}

    @cached_property
    def batches(self) -> list[int]:
        """Returns the dimensions of the image that the filter has, too: those of groups."""
        own = (next(iter(each.factors)) for each in self.image)
        kept = self._outputs & self._filters
        return [place for place, loop in enumerate(own) if loop in kept and self._is_plain(place)]

    @cached_property
    def channels(self) -> list[int]:
        """Returns the dimensions of the image that are summed over as they are."""
        plain = [place for place in range(len(self.image)) if self._is_plain(place)]
        return [place for place in plain if not self._outputs & self.image[place].factors.keys()]

    @cached_property
    def rows(self) -> list[int]:
        """Returns the other dimensions of the image: those of the rows of the product."""
        others = {*self.batches, *self.channels}
        return [place for place in range(len(self.image)) if place not in others]

    def _is_plain(self, place: int) -> bool:
        return len(self.image[place].factors) == 1

    def _split(self, place: int) -> tuple[int, int | None]:
        """Returns the output's loop that indexes a dimension of rows, and the window's loop."""
        loops = self.image[place].factors
        (output,) = (loop for loop in loops if loop in self._outputs)
        return output, next((loop for loop in loops if loop != output), None)

    @cached_property
    def _summed_of_filter(self) -> Groups:
        """Returns the summed loops by dimensions of the product, in the order of the filter."""
        groups = (
            tuple(loop for dim in dims for loop in self.filter[dim].factors)
            for dims in self._details.filter_reassoc_indices
        )
        return [each for each in groups if not self._outputs.intersection(each)]

    def _channels_first(self, groups: Groups) -> Groups:
        """Returns groups in the order in which IREE numbers the dimensions of an `im2col`."""
        return sorted(groups, key=lambda each: not self._are_channels(each))

    def _are_channels(self, group: tuple[int, ...]) -> bool:
        return all(self.places[loop] in self.channels for loop in group)

    @cached_property
    def _maps(self) -> list[list[int]]:
        """Returns the loops of the product that index its operands, the image's first."""
        maps = [
            [ir.AffineDimExpr(each).position for each in affine_map.value.results]
            for affine_map in self._details.igemm_contraction_maps
        ]
        return maps if not self._filter_is_first else [maps[1], maps[0], maps[2]]

    @property
    def _filter_is_first(self) -> bool:
        return self._details.is_output_channel_first

    @cached_property
    def _summed(self) -> Groups:
        """Returns the summed loops by dimensions of the product, as it reads the image."""
        names = {loop: group for group in self._summed_of_filter for loop in group}
        of_product = {
            product: names[loop]
            for loop, product in self._details.conv_to_igemm_dim_map.items()
            if loop in names
        }
        order = [of_product[each] for each in self._maps[_IMAGE] if each in of_product]
        return self._channels_first(order)

    @property
    def is_misread(self) -> bool:
        """Returns whether what IREE makes of the convolution is wrong."""
        if {*self.places} | self._outputs | self._filters != {*self._extents}:
            return False
        listed = self._channels_first(self._summed_of_filter)
        if [*map(self._longer, listed)] != [*map(self._longer, self._summed)]:
            return True
        meant = self._longer(chain.from_iterable(self._summed_of_filter))
        if self._longer(chain.from_iterable(self._summed)) != meant:
            return True
        # The bindings number the loops over channels in the order of `k_pos`.
        channels = [self.places[loop] for loop in sorted(self.places) if self._is_channel(loop)]
        return channels != sorted(channels) or self.is_read_without_gaps

    @property
    def what_is_misread(self) -> str:
        """Returns what is wrong in what IREE makes of a convolution that it misreads."""
        if self.is_read_without_gaps:
            return "elements of the image as neighbours that the dilated window takes apart"
        return "the image in another order than that of the filter"

    @property
    def is_read_without_gaps(self) -> bool:
        """Returns whether IREE would read elements as neighbours that a window takes apart."""
        if self.channels:
            return False
        last = self._longer(chain.from_iterable(self._summed))[-1:]
        return any(self.image[self.places[loop]].factors[loop] != 1 for loop in last)

    def _is_channel(self, loop: int) -> bool:
        return self.places[loop] in self.channels

    def _longer(self, loops: Any) -> list[int]:
        """Returns the loops that are run more than once."""
        return [loop for loop in loops if self._extents[loop] != 1]

    def replace(self) -> None:
        """Makes the product of matrices in the place of the convolution."""
        generic, details = self.generic, self._details
        at = Builder.before(generic).at(generic.location)
        image, factor, sums = generic.operands
        parts = self._parts(at, image)
        groups = [list(each) for each in details.filter_reassoc_indices]
        if any(len(each) > 1 for each in groups):
            shape = [prod(self._shape(_FILTER)[dim] for dim in each) for each in groups]
            kind = at.tensor_type(shape, ir.ShapedType(factor.type).element_type)
            factor = at.collapse_shape(factor, kind, groups)
        product = at.clone(generic, [parts, factor, sums])
        maps = self._maps
        if self._filter_is_first:
            _swap_factors(product)
            maps = [maps[_FILTER], maps[_IMAGE], maps[_SUMS]]
        index_by_loops(product, len(details.igemm_loop_bounds), maps)
        kinds = ", ".join(
            f"#linalg.iterator_type<{each}>" for each in map(_word, details.igemm_loop_iterators)
        )
        product.attributes[ITERATORS] = ir.Attribute.parse(f"[{kinds}]", generic.context)
        replace_by(generic, product.results[0])

    def _parts(self, at: Builder, image: ir.Value) -> ir.Value:
        """Emits the `im2col` of the image; returns it."""
        rows = [self._split(place) for place in self.rows]
        of_batches = [next(iter(self.image[place].factors)) for place in self.batches]
        # A row that has no window has a coordinate in one, which is 0.
        absent = [place for place, (_, window) in zip(self.rows, rows, strict=True) if not window]
        sizes = [[self._extents[loop]] for loop in (*of_batches, *(output for output, _ in rows))]
        summed = [[self._extents[loop] for loop in group] for group in self._summed]
        summed[0] = [1] * len(absent) + summed[0]
        coordinates = absent + [self.places[loop] for group in self._summed for loop in group]
        channels = self.channels
        if not channels:
            # IREE reads vectors along channels: along one, there are none.
            image, channels = _with_channel(at, image), [len(self.image)]
            summed[-1].append(1)
            coordinates.append(len(self.image))
        rank = ir.RankedTensorType(image.type).rank
        shared = [place for place in range(rank) if place not in self.batches]
        order = list(self._details.im2col_output_perm)
        sizes += summed
        shape = [prod(sizes[each]) for each in order]
        kind = at.tensor_type(shape, ir.ShapedType(image.type).element_type)
        strides, dilations, kernel = zip(*map(self._window, self.rows), strict=True)
        return at.im2col(
            image,
            kind,
            strides=strides,
            dilations=dilations,
            kernel_size=kernel,
            output_sizes=sizes,
            batch_pos=self.batches,
            m_pos=self.rows,
            k_pos=channels,
            input_k_perm=[shared.index(place) for place in coordinates],
            output_perm=order,
        )

    def _window(self, place: int) -> tuple[int, int, int]:
        """Returns stride, dilation and size of the window in a dimension of rows."""
        factors = self.image[place].factors
        output, window = self._split(place)
        if window is None:
            return factors[output], 1, 1
        return factors[output], factors[window], self._extents[window]


def _with_channel(at: Builder, image: ir.Value) -> ir.Value:
    """Emits an image with a channel behind its other dimensions; returns it."""
    kind = ir.RankedTensorType(image.type)
    last = kind.rank - 1
    groups = [*([each] for each in range(last)), [last, last + 1]]
    return at.expand_shape(image, at.tensor_type([*kind.shape, 1], kind.element_type), groups)


def _word(iterator: Any) -> str:
    return str(iterator).rpartition(".")[2].strip('"')


def _swap_factors(product: ir.Operation) -> None:
    """Puts the second factor of a product first."""
    first, second, _ = product.operands
    product.operands[0], product.operands[1] = second, first
    left, right, _ = product.regions[0].blocks[0].arguments
    uses = operands_with(left), operands_with(right)
    redirect(uses[0], right)
    redirect(uses[1], left)
    kind = left.type
    left.set_type(right.type)
    right.set_type(kind)
