# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-index-unit-loops`: a loop that is run once indexes a dimension without a factor.

A convolution of 1x1 with a stride, such as the shortcuts of ResNet, reads its image by

    affine_map<(n, f, h, w, c) -> (n, c, h * 2, w * 2)>

IREE 3.13 gives it to a warp that sums over `c`, with one element of all other loops. Its
vectorization takes maps without factors alone, so that the product stays a `linalg.generic` on
tensors. Each lane then writes its own parts of both operands into private memory with room for
those of all lanes, multiplies all of them, of which most were never written, and keeps one sum:
a warp does the work of each lane as often as it has lanes, out of local memory.

The only index of a loop that is run once is 0, and 0 * 2 = 0. So `h * 2` becomes `h` here where
`h` is run once, and the product becomes vectors that stay in registers. That needs a dimension of
one element too: a plain `h` says that the operand is as long as the loop, which an image with rows
that nobody reads is not.

On AMD GPUs what IREE makes of it is slow and right, in another order of additions, so that it stays
at the levels that keep stock's bits.

Runs on tiles of lanes, before they become vectors.

This works around IREE 3.13 (`docs/for_iree.md#strided-convolutions-of-1x1-on-cuda`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.indexing_maps import GENERIC, maps_of, set_maps
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext


class IndexUnitLoops(FunctionPass):
    """Drops the factors of loops that are run once from the maps of `linalg.generic`."""

    name: ClassVar[str] = "bankwise-index-unit-loops"
    summary: ClassVar[str] = "index dimensions by loops that are run once without a factor"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether a loop that is run once has a factor in `function`."""
        return any(True for _ in _simplified(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites maps; never fails."""
        for generic, maps in list(_simplified(function.operation)):
            set_maps(generic, maps)
            text = "loops that are run once have no factor, so that its operands become vectors"
            context.sink.remark(generic.location, text)


def _simplified(function: ir.Operation) -> Iterator[tuple[ir.Operation, list[ir.AffineMap]]]:
    """Yields the generic operations whose maps have such factors, and the maps without them."""
    for generic in operations_in(function, GENERIC):
        maps = maps_of(generic)
        once = _loops_run_once(generic, maps)
        without = [
            _without_factors(operand, each, once)
            for operand, each in zip(generic.operands, maps, strict=True)
        ]
        if without != maps:
            yield generic, without


def _loops_run_once(generic: ir.Operation, maps: list[ir.AffineMap]) -> set[int]:
    """Returns the loops that alone index a dimension of one element in an operand."""
    return {
        ir.AffineDimExpr(index).position
        for operand, indexing in zip(generic.operands, maps, strict=True)
        for size, index in zip(_sizes(operand), indexing.results, strict=True)
        if size == 1 and isinstance(index, ir.AffineDimExpr)
    }


def _sizes(operand: ir.Value) -> list[int]:
    """Returns the sizes of an operand; none for a scalar, whose map has no results."""
    kind = operand.type
    return list(kind.shape) if isinstance(kind, ir.ShapedType) and kind.has_rank else []


def _without_factors(operand: ir.Value, indexing: ir.AffineMap, once: set[int]) -> ir.AffineMap:
    """Returns the map of an operand, without factors in dimensions of one element."""
    results = [
        _without_factor(index, once) if size == 1 else index
        for size, index in zip(_sizes(operand), indexing.results, strict=True)
    ]
    return ir.AffineMap.get(indexing.n_dims, indexing.n_symbols, results, indexing.context)


def _without_factor(index: ir.AffineExpr, once: set[int]) -> ir.AffineExpr:
    """Returns the loop whose multiple an index is where it is run once; else the index."""
    if not isinstance(index, ir.AffineMulExpr):
        return index
    product = ir.AffineMulExpr(index)
    is_multiple = isinstance(product.lhs, ir.AffineDimExpr) and isinstance(
        product.rhs, ir.AffineConstantExpr
    )
    if not is_multiple or ir.AffineDimExpr(product.lhs).position not in once:
        return index
    return product.lhs
