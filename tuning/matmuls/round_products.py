# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets lanes with tiles add rounded products from the first to the last, as IREE does.

IREE unrolls what a lane multiplies in a step into fused multiply-adds, and begins with the last of
the summed elements:

    %0 = math.fma %a15, %b15, %sum : vector<8xf32>
    ...
    %15 = math.fma %a0, %b0, %14 : vector<8xf32>

Where its own tile would round each product, and begin with the first one
(`tuning/matmuls/rounded_sums.py`), a lane does that, too, so that outputs are the same bits:

    %p0 = arith.mulf %a0, %b0
    %0 = arith.addf %sum, %p0
    ...

Runs twice behind the pipeline: with `ordered` it brings the multiply-adds into that order, and
behind the passes that know multiply-adds it takes them apart. A function whose multiply-adds are
others keeps its mark, and is compiled again with IREE's tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder
from ...dialect_utils.handed_attributes import ROUNDED_PRODUCTS
from ...dialect_utils.multiplications import ACCUMULATOR, multiplications_in
from ...dialect_utils.operations import defining_operation, operands_with, redirect
from ...passes.base import FunctionPass, PassContext
from .rounded_sums import note_rounded

_ORDERED = 0
"""Stands for multiply-adds that are in order already."""


@dataclass(frozen=True)
class RoundProducts(FunctionPass):
    """Rounds the products of a function before they are added.

    Attributes:
        ordered: whether they are brought into their order, and not rounded yet.
    """

    name: ClassVar[str] = "bankwise-round-products"
    summary: ClassVar[str] = "add rounded products from the first to the last, as IREE does"

    ordered: bool = False

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether products of `function` are to be rounded."""
        return ROUNDED_PRODUCTS in function.operation.attributes

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the multiply-adds of `function`; never fails."""
        function = function.operation
        if ROUNDED_PRODUCTS not in function.attributes:
            return
        step = ir.IntegerAttr(function.attributes[ROUNDED_PRODUCTS]).value
        products = multiplications_in(function, by_lanes=True)
        if self.ordered:
            chains = _chains(products)
            if chains and all(len(chain) == step for chain in chains):
                for chain in chains:
                    _begin_with_first(chain)
                note_rounded(function, _ORDERED)
        elif step == _ORDERED:
            for product in products:
                _round(product)
            del function.attributes[ROUNDED_PRODUCTS]
            text = f"{len(products)} products are rounded before they are added"
            context.sink.remark(function.location, text)


def _chains(products: Sequence[ir.Operation]) -> list[list[ir.Operation]]:
    """Returns multiply-adds that alone use the results of one another, the first ones first."""
    chains: list[list[ir.Operation]] = []
    ends: dict[ir.Operation, list[ir.Operation]] = {}
    for product in products:
        added = defining_operation(product.operands[ACCUMULATOR])
        chain = None if added is None else ends.pop(added, None)
        if chain is None or len(operands_with(chain[-1].results[0])) != 1:
            chain = []
            chains.append(chain)
        chain.append(product)
        ends[product] = chain
    return chains


def _begin_with_first(chain: Sequence[ir.Operation]) -> None:
    """Replaces multiply-adds that begin with the last summed element by others."""
    last = chain[-1]
    at = Builder.before(last)
    sums = reduce(
        lambda total, product: at.fma(product.operands[0], product.operands[1], total),
        reversed(chain),
        chain[0].operands[ACCUMULATOR],
    )
    _replace(last, sums)
    for product in reversed(chain[:-1]):
        product.erase()


def _round(product: ir.Operation) -> None:
    at = Builder.before(product)
    left, right, total = product.operands
    _replace(product, at.addf(total, at.mulf(left, right)))


def _replace(operation: ir.Operation, value: ir.Value) -> None:
    redirect(operands_with(operation.results[0]), value)
    operation.erase()
