# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-number-loops`: the loops of a product of vectors are numbered in the order of its sums.

The sums of this product come transposed:

    %r = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                                           affine_map<(m, n, k) -> (k, n)>,
                                           affine_map<(m, n, k) -> (n, m)>], ...} %a, %b, %c

IREE 3.13 makes multiplications and additions of it (`iree-llvmgpu-vector-lowering`). It transposes
the sums so that they have the loops in the order of their numbers, multiplies in the order in which
the sums had them, and adds the one to the other. The vectors are flat by then, so that values are
added to those of other elements, in silence. All is right where the loops are numbered (n, m, k).

This pass numbers the loops in the order of the sums. It moves nothing. Products under a mask, whose
dimensions are the loops, stay as they are.

Runs right before `iree-llvmgpu-vector-lowering`.

This works around IREE 3.13 (`docs/for_iree.md#transposed-products-of-vectors`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.indexing_maps import ITERATORS, loops_of, renumber_loops
from ...dialect_utils.operations import operations_in, parents_of
from ...passes.base import FunctionPass, PassContext

_CONTRACT, _MASK = "vector.contract", "vector.mask"


class NumberLoops(FunctionPass):
    """Numbers the loops of products of vectors in the order of their sums."""

    name: ClassVar[str] = "bankwise-number-loops"
    summary: ClassVar[str] = "number the loops of products of vectors in the order of their sums"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether the sums of a product in `function` have its loops in another order."""
        return any(True for _ in _misnumbered(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Numbers the loops; never fails."""
        for product, order in list(_misnumbered(function.operation)):
            kinds = [*ir.ArrayAttr(product.attributes[ITERATORS])]
            renumber_loops(product, order)
            ordered = [kinds[loop] for loop in order]
            product.attributes[ITERATORS] = ir.ArrayAttr.get(ordered, product.context)


def _misnumbered(function: ir.Operation) -> Iterator[tuple[ir.Operation, list[int]]]:
    """Yields the products whose sums have the loops in another order, and the order to be."""
    for product in operations_in(function, _CONTRACT):
        *_, of_sums = loops_of(product)
        if [*of_sums] != sorted(of_sums) and next(parents_of(product)).name != _MASK:
            count = len(ir.ArrayAttr(product.attributes[ITERATORS]))
            yield product, [*of_sums, *(loop for loop in range(count) if loop not in of_sums)]
