# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-delay-copies`: an attention issues its copies among the first products of a step.

    wait; barrier                              wait; barrier
    scf.if %there {                            scf.if %there { nvgpu.device_async_copy ... }
      nvgpu.device_async_copy ...              %s = nvgpu.mma.sync ...
      nvgpu.device_async_copy ...       ->     scf.if %there { nvgpu.device_async_copy ... }
    }                                          nvgpu.device_async_create_group
    nvgpu.device_async_create_group            %t = nvgpu.mma.sync ...
    %s = nvgpu.mma.sync ...                    math.exp2 ...
    %t = nvgpu.mma.sync ...

A step begins with a barrier (`bankwise-overlap-copies`). Where all warps issue all copies behind
it, the matrix units wait for that, and for what computes the addresses. Here the products of the
scores begin at once, and a few copies come between them each time. These have the exponentials and
the products with V to arrive. ptxas makes predicated instructions of branches around so few copies.

A copy may land at any time from its issue to the next wait. So nothing that stands between may
touch what it reads or writes, and the copy may as well be issued behind that. It moves only over
operations that write no memory and wait for nothing, and its group is closed behind the last copy.
All values are the same bits.

Runs behind the passes that order products and keep maxima. A loop stays as it is where its copies
are not issued in one branch, or where no products come before its exponentials.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.shown_text import counted
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.index_cloner import IndexCloner, is_index_arithmetic
from ...dialect_utils.loops import FOR, IF, YIELD, body_of
from ...dialect_utils.memory.lds_ops import COPIES_END, COPIES_WAIT, COPY
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.memory.store_free_segments import leaves_memory_alone
from ...dialect_utils.multiplications import EXPONENTIALS
from ...dialect_utils.operations import (
    defining_operation,
    has_operation,
    operations_in,
    operations_of,
    terminator,
)
from ..base import FunctionPass, PassContext

_BRANCHES = frozenset({IF, YIELD})
_OF_COPIES = frozenset({COPY, *_BRANCHES})
_TOGETHER = 3
"""How many copies come together. ptxas puts three instructions that do nothing in front of
`LDGSTS` that follow an `LDSM`, so that single copies cost more."""


@dataclass(frozen=True)
class DelayCopies(FunctionPass):
    """Spreads the copies of a step among the products that make its scores."""

    name: ClassVar[str] = "bankwise-delay-copies"
    summary: ClassVar[str] = "issue the copies of an attention among the first products of a step"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has loops whose copies overlap with exponentials."""
        return bool(_copying_loops(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the loops for which it is proven; never fails."""
        with function.context:
            for loop in _copying_loops(function.operation):
                try:
                    issued = _Issued.of(loop)
                except Refusal as refusal:
                    reason = f"copies are issued at the beginning of a step: {refusal.reason}"
                    context.sink.remark(loop.location, reason)
                    continue
                products = counted(len(issued.products), "product")
                text = f"copies come in {counted(issued.spread(), 'part')} among {products}"
                context.sink.remark(loop.location, text)


def _copying_loops(function: ir.Operation) -> list[ir.Operation]:
    """Returns the loops of attentions that wait for their copies and multiply by `mma.sync`."""
    waits = operations_in(function, COPIES_WAIT)
    loops = dict.fromkeys(wait.parent.operation for wait in waits)
    return [
        loop
        for loop in loops
        if loop.name == FOR and has_operation(loop, MMA) and has_operation(loop, *EXPONENTIALS)
    ]


@dataclass(frozen=True)
class _Issued:
    """How a loop issues its copies.

    Attributes:
        branch: the `scf.if` that holds them all.
        group: what closes their group.
        copies: the copies in the branch, and the branches of some lanes around copies.
        products: those that may come before a copy: they make what exponentials are computed of.
    """

    branch: ir.Operation
    group: ir.Operation
    copies: Sequence[ir.Operation]
    products: Sequence[ir.Operation]

    @staticmethod
    def of(loop: ir.Operation) -> _Issued:
        """Returns what is known of a loop.

        Raises:
            Refusal: its copies may not be spread, or among nothing.
        """
        body = operations_of(body_of(loop))
        issuing = [each for each in body if has_operation(each, COPY)]
        groups = [each for each in body if each.name == COPIES_END]
        if len(issuing) != 1 or len(groups) != 1 or issuing[0].name != IF:
            raise Refusal("they are not issued in one branch and one group")
        (branch,), (group,) = issuing, groups
        between = body[body.index(branch) + 1 : body.index(group)]
        if not body.index(branch) < body.index(group) or not all(
            map(_may_come_before_copies, between)
        ):
            raise Refusal("their group is not closed right behind them")
        products = _products_in(body[body.index(group) + 1 :])
        if not products:
            raise Refusal("no products come before the exponentials")
        return _Issued(branch, group, _copies_of(branch), products)

    def spread(self) -> int:
        """Moves the copies among the products; returns in how many parts they are then."""
        parts = [
            self.copies[first : first + _TOGETHER]
            for first in range(0, len(self.copies), _TOGETHER)
        ]
        for number, part in enumerate(parts):
            place = self.products[number * len(self.products) // len(parts)]
            new = Builder.before(place).if_(self.branch.operands[0], lambda _: None)
            self._move(part, new)
            self.group.move_after(new)
        self.branch.erase()
        return len(parts)

    def _move(self, part: Sequence[ir.Operation], new: ir.Operation) -> None:
        """Moves copies into a branch, and computes there what they need."""
        old, end = self.branch.regions[0].blocks[0], terminator(new.regions[0])

        def leaf(value: ir.Value) -> ir.Value | None:
            definition = defining_operation(value)
            return value if definition is None or definition.block != old else None

        indices = IndexCloner(Builder.before(end), leaf, shares=False)
        for copy in part:
            for inner in operations_in(copy):
                for number, operand in enumerate(list(inner.operands)):
                    inner.operands[number] = indices.clone(operand)
            copy.move_before(end)


def _copies_of(branch: ir.Operation) -> list[ir.Operation]:
    """Returns the copies in a branch, and the branches around copies.

    Raises:
        Refusal: the branch does something else, too.
    """
    if len(branch.results) or len(branch.regions[1].blocks):
        raise Refusal("the branch around them has another side")
    inside = operations_of(branch.regions[0].blocks[0])
    for each in chain.from_iterable(map(operations_in, inside)):
        if each.name not in _OF_COPIES and not is_index_arithmetic(each):
            raise Refusal(f"{each.name} stands beside them", each.location)
    return [each for each in inside if each.name in (COPY, IF)]


def _products_in(behind: Iterable[ir.Operation]) -> list[ir.Operation]:
    """Returns the products that come before exponentials, and before all that may touch memory."""
    front = takewhile(_may_come_before_copies, behind)
    return [each for each in front if each.name == MMA]


def _may_come_before_copies(operation: ir.Operation) -> bool:
    """Returns whether an operation, with all that is inside, is no exponential, and writes nothing.

    Branches around copies leave some behind that compute an index alone.
    """
    return all(
        each.name in _BRANCHES or (each.name not in EXPONENTIALS and leaves_memory_alone(each))
        for each in operations_in(operation)
    )
