# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-order-products`: the operands of a product of vectors have its loops in one order.

IREE 3.13 makes multiplications and additions of a `vector.contract` where lanes compute it by
scalar instructions (`iree-llvmgpu-vector-lowering`), and takes the loops of each operand in that
operand's own order. The vectors are flat by then, so that elements meet others, in silence:

    vector.contract {indexing_maps = [(m, k, l) -> (m, k, l), (m, k, l) -> (l, k, m),
                                      (m, k, l) -> (m)]}

multiplies element (k, l) = (0, 1) of the first factor and (1, 0) of the second one. Here the second
factor is moved where its summed loops have another order. That is a choice of registers, and
written as one: MLIR would take a `vector.transpose` into the product, whose order is wrong then.

    vector.contract {indexing_maps = [(m, n, k) -> (k, m), (m, n, k) -> (k, n),
                                      (m, n, k) -> (n, m)]}

transposes the sums to (m, n), the order of the numbers, multiplies in the order (n, m), which the
sums had, and adds the one to the other. Here the loops are numbered in the order of the sums, which
moves nothing. Under a mask, whose dimensions are the loops, they keep their numbers.

Runs right before `iree-llvmgpu-vector-lowering`.

This works around IREE 3.13 (`docs/for_iree.md#orders-of-a-products-loops`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.indexing_maps import ITERATORS, index_by_loops, loops_of, renumber_loops
from ...dialect_utils.memory.memref_types import row_major_strides
from ...dialect_utils.operations import operations_in, parents_of
from ...passes.base import FunctionPass, PassContext

_CONTRACT, _MASK = "vector.contract", "vector.mask"


class OrderProducts(FunctionPass):
    """Gives the operands of products of vectors one order of loops."""

    name: ClassVar[str] = "bankwise-order-products"
    summary: ClassVar[str] = "let the operands of products of vectors have one order of loops"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether a product of `function` has operands of several orders."""
        return any(True for _ in _disordered(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Moves second factors and numbers loops; never fails."""
        for contract, moved, order in [*_disordered(function.operation)]:
            a, b, c = loops_of(contract)
            if moved != b:
                at = Builder.before(_mask_of(contract) or contract)
                dims = [b.index(loop) for loop in moved]
                contract.operands[1] = _transposed(at, contract.operands[1], dims)
                index_by_loops(contract, len(order), (a, moved, c))
            renumber_loops(contract, order)
            kinds = [*ir.ArrayAttr(contract.attributes[ITERATORS])]
            ordered = [kinds[loop] for loop in order]
            contract.attributes[ITERATORS] = ir.ArrayAttr.get(ordered, contract.context)


def _transposed(at: Builder, vector: ir.Value, order: Sequence[int]) -> ir.Value:
    """Returns a vector whose dimension d is dimension `order[d]` of another one, by a shuffle."""
    shape = ir.VectorType(vector.type).shape
    strides = row_major_strides(shape)
    indices = product(*(range(shape[dim]) for dim in order))
    taken = [
        sum(index * strides[dim] for index, dim in zip(each, order, strict=True))
        for each in indices
    ]
    return at.shaped(at.shuffle(at.shaped(vector, [len(taken)]), taken), [shape[d] for d in order])


def _disordered(
    function: ir.Operation,
) -> Iterator[tuple[ir.Operation, tuple[int, ...], list[int]]]:
    """Yields products, the loops of the second factor in an order that fits the first one, and all
    loops in the order that their numbers are to have.

    No order matters where all loops are summed, which IREE takes one by one. That of loops that are
    run once does.
    """
    for contract in operations_in(function, _CONTRACT):
        a, b, c = loops_of(contract)
        summed = iter([loop for loop in a if loop in b and loop not in c])
        moved = tuple(next(summed) if loop in a and loop not in c else loop for loop in b)
        order = sorted({*a, *b})
        misnumbered = [*c] != sorted(c) and not _mask_of(contract)
        if misnumbered:
            order = [*c, *(loop for loop in order if loop not in c)]
        if misnumbered or (c and moved != b):
            yield contract, moved, order


def _mask_of(contract: ir.Operation) -> ir.Operation | None:
    """Returns the `vector.mask` around a product, if there is one."""
    around = next(parents_of(contract))
    return around if around.name == _MASK else None
