# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets matmuls and convolutions whose results are in f16 or bf16 sum in f32.

JAX writes every product of its models in this way:

    %r = linalg.matmul ins(%a, %b : tensor<2304x768xbf16>, tensor<768x4096xbf16>)
        outs(%zeros : tensor<2304x4096xbf16>)

IREE 3.13 gives such a matmul a matrix instruction that sums in f32, and then fails to compile it,
where it has none that sums in that type: of bf16 anywhere, of f16 on AMD GPUs
(`docs/for_iree.md`). This pass rounds the sum once, behind all products, where matrix instructions
for f16 sums round it in each step: outputs are right to rounding, with smaller errors.

    %s = linalg.generic ... -> tensor<2304x4096xf32>
    %r = linalg.generic ... { arith.truncf } -> tensor<2304x4096xbf16>

IREE fuses the rounding into the kernel of the product. Sizes must be known. So it is for each
`linalg.generic` whose body adds a product of its two factors to a sum, as a convolution's does.

On gfx950 and gfx90a IREE 3.13 fails where it chooses a matrix instruction for up to 8 rows that are
summed in f32, such as those of a decoder. The factors are exchanged there, so that columns are
rows; a product with few of both stays as it is. So does a window that slides over up to 8 places of
an image, on gfx942 too: as it is, IREE gives it no matrix instruction.

Runs on functions of the program, before dispatches are formed.

This works around IREE 3.13 (`docs/for_iree.md#sums-in-f16-and-bf16`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.gpu_target import gpu_features_of, gpu_target_of
from ...dialect_utils.index.loop_sums import loop_sums
from ...dialect_utils.indexing_maps import (
    GENERIC,
    ITERATORS,
    MAPS,
    PRODUCTS,
    product_loops,
    summed_loops,
)
from ...dialect_utils.lowering_config import is_configured
from ...dialect_utils.operations import children, defining_operation, operations_in, replace_by
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound

_FILL = "linalg.fill"
_NARROW = (ir.F16Type, ir.BF16Type)
_OPERANDS = 3
Order = tuple[int, int]
"""The numbers of the factors in the order in which a product has them."""
_AS_GIVEN, _EXCHANGED = (0, 1), (1, 0)
_FEW_ROWS, _DEPTH = 8, 128
"""IREE divides by zero, or takes sparse instructions that there are not, where there are so many
rows at most, and what is summed is a multiple of so many."""
_FAILING, _FAILING_WINDOWS = (2, 4), (2, 3, 4)
"""The generations of AMD's matrix instructions for which it does (CDNA2 and CDNA4), and those for
which it cannot lower a window that slides over so few places, or finds no LDS for it."""
_ROWS_OF_VECTORS, _LANES = 4, 64
"""So many rows are vectors to IREE where there are more columns than lanes."""
_BODY = ["arith.mulf", "arith.addf", "linalg.yield"]


class WidenSums(FunctionPass):
    """Lets matmuls and convolutions with narrow results sum in f32."""

    name: ClassVar[str] = "bankwise-widen-sums"
    summary: ClassVar[str] = "let products whose results are in f16 or bf16 sum in f32"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has such a matmul."""
        return any(map(_is_narrow, operations_in(function, *PRODUCTS, GENERIC)))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the matmuls of `function`; never fails."""
        function = function.operation
        if gpu_target_of(function, context.test_target) is None:
            return
        generation = gpu_features_of(function, context.test_target).matrix_generation
        for operation in filter(_is_narrow, operations_in(function, *PRODUCTS, GENERIC)):
            plan = partial(_planned, operation, generation)
            order = context.planned(operation.location, "its sum keeps its type", plan)
            if order:
                context.sink.remark(operation.location, "summed in f32, and rounded at the end")
                _widen(operation, order)


def _is_narrow(operation: ir.Operation) -> bool:
    """Returns whether an operation sums products in f16 or bf16."""
    if len(operation.operands) != _OPERANDS or len(operation.results) != 1:
        return False
    if not all(isinstance(each.type, ir.ShapedType) for each in operation.operands):
        return False
    kinds = [ir.ShapedType(each.type).element_type for each in operation.operands]
    floats = all(isinstance(each, ir.FloatType) for each in kinds)
    if not floats or not isinstance(kinds[-1], _NARROW):
        return False
    return operation.name != GENERIC or (len({*kinds}) == 1 and _adds_product(operation))


def _adds_product(generic: ir.Operation) -> bool:
    """Returns whether all that a `linalg.generic` does is to add products of factors to sums."""
    inside = children(generic)
    if not summed_loops(generic) or [each.name for each in inside] != _BODY:
        return False
    product, addition, end = inside
    left, right, total = generic.regions[0].blocks[0].arguments
    return (
        {*product.operands} == {left, right}
        and {*addition.operands} == {product.results[0], total}
        and end.operands[0] == addition.results[0]
    )


def _planned(operation: ir.Operation, generation: int | None) -> Order:
    """Returns which of the factors comes first.

    Args:
        generation: that of the GPU's matrix instructions, if it is one of AMD's that has them.

    Raises:
        Refusal: the sum of an operation keeps its type.
    """
    if is_configured(operation):
        raise Refusal("it has a configuration")
    if DYNAMIC in ir.ShapedType(operation.results[0].type).shape:
        raise Refusal("its sizes are not all known")
    if operation.name != GENERIC:
        product_loops(operation)
    if generation not in _FAILING_WINDOWS:
        return _AS_GIVEN
    dims = _loops_of_dimensions(operation)
    extents = _extents(operation, dims)
    slides = any(len([loop for loop in each if extents[loop] != 1]) > 1 for each in dims[0])
    if not slides and generation not in _FAILING:
        return _AS_GIVEN
    for order in (_AS_GIVEN,) if slides else (_AS_GIVEN, _EXCHANGED):
        if not _fails(dims, extents, order, slides=slides):
            return order
    raise Refusal("IREE chooses no matrix instruction for so few rows and columns")


_Dims = list[list[set[int]]]
"""The loops that index each dimension of each operand."""


def _loops_of_dimensions(operation: ir.Operation) -> _Dims:
    if operation.name == GENERIC:
        return [[{*each.factors} for each in sums] for sums in loop_sums(operation)]
    return [[{loop} for loop in loops] for loops in product_loops(operation)]


def _fails(dims: _Dims, extents: Mapping[int, int], order: Order, *, slides: bool) -> bool:
    """Returns whether IREE fails with the matrix instruction that it chooses for a widened product.

    Args:
        slides: whether the product is one of a window that slides.
    """
    found = [{loop for each in part for loop in each} for part in dims]
    a, b, c = *(found[each] for each in order), found[-1]
    parts = (a & b & c, a & c - b, b & c - a, a & b - c)
    batches, rows, columns, summed = (prod(extents[loop] for loop in part) for part in parts)
    vectors = rows == 1 or (rows <= _ROWS_OF_VECTORS and columns > _LANES)
    by_vectors = batches == 1 and vectors and not slides
    return rows <= _FEW_ROWS and summed % _DEPTH == 0 and not by_vectors


def _extents(operation: ir.Operation, dims: _Dims) -> Mapping[int, int]:
    """Returns how long loops are: what a filter or a result says, which come behind an image."""
    return {
        loop: size
        for operand, part in zip(operation.operands, dims, strict=True)
        for size, loops in zip(ir.ShapedType(operand.type).shape, part, strict=True)
        if len(loops) == 1
        for loop in loops
    }


def _widen(operation: ir.Operation, order: Order) -> None:
    """Replaces an operation by one that sums in f32, and by the rounding of its result."""
    at = Builder.before(operation).at(operation.location)
    inputs, begin = [operation.operands[each] for each in order], operation.operands[-1]
    kind = ir.RankedTensorType(begin.type)
    dims, single = [range(kind.rank)], ir.F32Type.get(at.context)
    empty = at.empty(at.tensor_type(kind.shape, single))
    filled = defining_operation(begin)
    if filled is not None and filled.name == _FILL:
        sums = at.fill(at.extf(filled.operands[0], single), empty)
    else:
        sums = at.parallel([begin], dims, empty, lambda at, each, _: at.extf(each, single))
    if operation.name == GENERIC:
        maps = [*ir.ArrayAttr(operation.attributes[MAPS])]
        indexing = {
            MAPS: ir.ArrayAttr.get([*(maps[each] for each in order), maps[-1]], at.context),
            ITERATORS: operation.attributes[ITERATORS],
        }
        wide = at.sum_of_products(inputs, sums, indexing)
    else:
        loops = product_loops(operation)
        wide = at.contraction(inputs, sums, [*(loops[each] for each in order), loops[-1]])
    rounded = at.parallel(
        [wide], dims, at.empty(kind), lambda at, each, _: at.truncf(each, kind.element_type)
    )
    replace_by(operation, rounded)
