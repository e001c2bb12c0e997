# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets lanes with tiles add products in the order of IREE's own tile, so that bits stay.

IREE unrolls what a lane multiplies in a step into fused multiply-adds, and begins with the last of
the summed elements:

    %0 = math.fma %a15, %b15, %sum : vector<8xf32>
    ...
    %15 = math.fma %a0, %b0, %14 : vector<8xf32>

With its own tile it may have gone over 8 elements in a step, or round each product, and begin with
the first one (`tuning/matmuls/stock_sums.py`). Then a lane does that, too:

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
from ...dialect_utils.handed_attributes import SUM_ORDER
from ...dialect_utils.multiplications import ACCUMULATOR, multiplications_in
from ...dialect_utils.operations import defining_operation, operands_with, replace_by
from ...passes.base import FunctionPass, PassContext
from .stock_sums import SumOrder


@dataclass(frozen=True)
class KeepSumOrder(FunctionPass):
    """Adds the products of a function in the order that it notes.

    Attributes:
        ordered: whether they are brought into their order, and not rounded yet.
    """

    name: ClassVar[str] = "bankwise-keep-sum-order"
    summary: ClassVar[str] = "add products of lanes with tiles in the order of IREE's own tile"

    ordered: bool = False

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` notes an order."""
        return SUM_ORDER in function.operation.attributes

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the multiply-adds of `function`; never fails."""
        function = function.operation
        order = SumOrder.of(function)
        if order is None:
            return
        products = multiplications_in(function, by_lanes=True)
        if self.ordered:
            chains = _chains(products)
            if chains and all(len(chain) == order.step for chain in chains):
                for chain in chains:
                    _put_in_order(chain, order.group)
                order._replace(step=0).note(function)
        elif not order.step:
            for product in products if order.rounded else ():
                _round(product)
            del function.attributes[SUM_ORDER]
            how = "are rounded and added" if order.rounded else "are added"
            text = f"{len(products)} products {how} in the order of IREE's own tile"
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


def _put_in_order(chain: Sequence[ir.Operation], group: int) -> None:
    """Replaces multiply-adds that begin with the last summed element by others.

    Args:
        group: how many of them stay together.
    """
    if group == len(chain):
        return
    last = chain[-1]
    at = Builder.before(last)
    starts = range(len(chain) - group, -1, -group)
    sums = reduce(
        lambda total, product: at.fma(product.operands[0], product.operands[1], total),
        [product for start in starts for product in chain[start : start + group]],
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
    replace_by(operation, value)
