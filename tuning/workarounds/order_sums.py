# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-order-sums`: sums over several dimensions multiply elements that belong together.

Where lanes compute a product by scalar instructions, IREE 3.13 makes a chain of `math.fma` of a
`vector.contract`, and takes the summed dimensions of both factors one element after another, in the
order in which each factor has them:

    vector.contract {indexing_maps = [(m, k, l) -> (m, k, l), (m, k, l) -> (l, k, m),
                                      (m, k, l) -> (m)]}

There it multiplies element (k, l) = (0, 1) of the first factor and (1, 0) of the second one. Here
the second factor is transposed where its order is another one. That is a choice of registers, and
written as one: MLIR would take a `vector.transpose` into the product, whose order is wrong then.

Runs right before `iree-llvmgpu-vector-lowering`, which makes instructions of vectors.

This works around IREE 3.13 (`docs/for_iree.md#orders-of-summed-dimensions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.indexing_maps import index_by_loops, loops_of
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext

_CONTRACT, _MASK = "vector.contract", "vector.mask"


class OrderSums(FunctionPass):
    """Gives both factors of a product the same order of summed dimensions."""

    name: ClassVar[str] = "bankwise-order-sums"
    summary: ClassVar[str] = "let both factors of a product have one order of summed dimensions"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether a product of `function` has factors of two orders."""
        return any(True for _ in _of_two_orders(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Transposes second factors; never fails."""
        for contract, loops in [*_of_two_orders(function.operation)]:
            (a, b, c), around = loops_of(contract), contract.parent
            outermost = contract if around is None or around.name != _MASK else around.operation
            at, order = Builder.before(outermost), [b.index(loop) for loop in loops]
            contract.operands[1] = _transposed(at, contract.operands[1], order)
            index_by_loops(contract, len({*a, *b, *c}), (a, loops, c))


def _transposed(at: Builder, vector: ir.Value, order: Sequence[int]) -> ir.Value:
    """Returns a vector whose dimension d is dimension `order[d]` of another one, by a shuffle."""
    shape = ir.VectorType(vector.type).shape
    strides = [prod(shape[dim + 1 :]) for dim in range(len(shape))]
    indices = product(*(range(shape[dim]) for dim in order))
    taken = [
        sum(index * strides[dim] for index, dim in zip(each, order, strict=True))
        for each in indices
    ]
    return at.shaped(at.shuffle(at.shaped(vector, [len(taken)]), taken), [shape[d] for d in order])


def _of_two_orders(function: ir.Operation) -> Iterator[tuple[ir.Operation, tuple[int, ...]]]:
    """Yields products, with the loops of the second factor in an order that fits the first one.

    The order does not matter where all loops are summed, which IREE takes one by one. That of loops
    that are run once does.
    """
    for contract in operations_in(function, _CONTRACT):
        a, b, c = loops_of(contract)
        others = [loop for loop in b if loop in a and loop not in c]
        summed = [loop for loop in a if loop in others]
        if c and others != summed:
            places = iter(summed)
            yield contract, tuple(next(places) if loop in summed else loop for loop in b)
