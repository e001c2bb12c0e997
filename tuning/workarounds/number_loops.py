# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-number-loops`: products of vectors have their loops in one order.

The sums of this product come transposed:

    %r = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                                           affine_map<(m, n, k) -> (k, n)>,
                                           affine_map<(m, n, k) -> (n, m)>], ...} %a, %b, %c

IREE 3.13 makes multiplications and additions of it (`iree-llvmgpu-vector-lowering`). It transposes
the sums so that they have the loops in the order of their numbers, multiplies in the order in which
the sums had them, and adds the one to the other. The vectors are flat by then, so that values are
added to those of other elements, in silence. All is right where the loops are numbered (n, m, k).

It also takes summed loops in the order that each factor has. Of (m, j, k) and (n, k, j), other
elements are multiplied with each other.

This pass numbers the loops in the order of the sums. Where the factors have the summed loops in
several orders, it makes one loop of them: both factors are transposed so that these loops come last
and in one order. It moves no element from one lane to another. Products under a mask, whose
dimensions are the loops, stay as they are.

Runs right before `iree-llvmgpu-vector-lowering`.

This works around IREE 3.13 (`docs/for_iree.md#transposed-products-of-vectors`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.indexing_maps import ITERATORS, index_by_loops, loops_of, renumber_loops
from ...dialect_utils.operations import operations_in, parents_of, replace_by
from ...passes.base import FunctionPass, PassContext

_CONTRACT, _MASK = "vector.contract", "vector.mask"


class NumberLoops(FunctionPass):
    """Gives products of vectors their loops in one order."""

    name: ClassVar[str] = "bankwise-number-loops"
    summary: ClassVar[str] = "give the factors and the sums of vectors their loops in one order"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether a product in `function` has its loops in several orders."""
        products = _products(function)
        return any(_is_misnumbered(each) or _has_mixed_sums(each) for each in products)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Orders the loops; never fails."""
        for product in _products(function.operation):
            if _has_mixed_sums(product):
                _merge_sums(product)
            elif _is_misnumbered(product):
                kinds = [*ir.ArrayAttr(product.attributes[ITERATORS])]
                *_, of_sums = loops_of(product)
                order = [*of_sums, *(each for each in range(len(kinds)) if each not in of_sums)]
                renumber_loops(product, order)
                _set_kinds(product, [kinds[loop] for loop in order])


def _products(function: ir.Operation) -> list[ir.Operation]:
    found = operations_in(function, _CONTRACT)
    return [each for each in found if next(parents_of(each)).name != _MASK]


def _is_misnumbered(product: ir.Operation) -> bool:
    """Returns whether the sums have the loops in another order than that of their numbers."""
    *_, of_sums = loops_of(product)
    return [*of_sums] != sorted(of_sums)


def _has_mixed_sums(product: ir.Operation) -> bool:
    """Returns whether the factors have the summed loops in several orders."""
    first, second, of_sums = loops_of(product)
    return _without(of_sums, first) != _without(of_sums, second)


def _without(left_out: Sequence[int], loops: Sequence[int]) -> list[int]:
    return [loop for loop in loops if loop not in left_out]


def _merge_sums(product: ir.Operation) -> None:
    """Makes one loop of the summed loops of a product, the last one."""
    first, second, of_sums = loops_of(product)
    summed, last = _without(of_sums, first), len(of_sums)
    at = Builder.before(product)
    operands, loops = [], []
    for factor, of_factor in zip([*product.operands], (first, second), strict=False):
        kept = [loop for loop in of_factor if loop in of_sums]
        ordered = at.transpose(factor, [of_factor.index(each) for each in (*kept, *summed)])
        shape = ir.VectorType(ordered.type).shape
        merged = [*shape[: len(kept)], prod(shape[len(kept) :])]
        operands.append(at.shaped(ordered, merged))
        loops.append([*map(of_sums.index, kept), last])
    made = at.clone(product, [*operands, product.operands[2]])
    index_by_loops(made, last + 1, [*loops, range(last)])
    kinds = [*ir.ArrayAttr(product.attributes[ITERATORS])]
    _set_kinds(made, [kinds[each] for each in (*of_sums, summed[0])])
    replace_by(product, made.results[0])


def _set_kinds(product: ir.Operation, kinds: Sequence[ir.Attribute]) -> None:
    product.attributes[ITERATORS] = ir.ArrayAttr.get([*kinds], product.context)
