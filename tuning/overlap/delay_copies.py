# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-delay-copies`: an attention issues its copies behind the products of the scores.

    wait; barrier                              wait; barrier
    scf.if %there {                            %s = nvgpu.mma.sync ...
      nvgpu.device_async_copy ...              scf.if %there {
    }                                   ->       nvgpu.device_async_copy ...
    nvgpu.device_async_create_group            }
    %s = nvgpu.mma.sync ...                    nvgpu.device_async_create_group
    %p = math.exp2 %s                          %p = math.exp2 %s
    ... = nvgpu.mma.sync %p, ...               ... = nvgpu.mma.sync %p, ...

A step begins with a barrier (`bankwise-overlap-copies`). Where all warps issue the copies of later
steps behind it, the matrix units wait for that, and for what computes the addresses. Here they have
the products of the scores to do at once. The copies come while these end, and have the exponentials
and the products with V to arrive, and the steps that they are ahead.

A copy may land at any time from its issue to the next wait. So nothing that stands between may
touch what it reads or writes, and the copy may as well be issued behind that. It moves only over
operations that write no memory and wait for nothing, and its group is closed behind it. All values
are the same bits.

Where the next step waits for the copies of this one, the products that are left have to be enough
for them to arrive. To spread the copies over the products, three at a time, gains nothing: ptxas
puts three instructions that do nothing in front of `LDGSTS` that follow an `LDSM`.

Runs behind the passes that order products and keep maxima. A loop stays as it is where its copies
are not issued in one branch, where no products come before its exponentials, or where the next
step waits for the copies and too few products are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.shown_text import counted
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.index_cloner import is_index_arithmetic
from ...dialect_utils.loops import IF, YIELD, body_of, loops_around
from ...dialect_utils.memory.lds_ops import COPIES_END, COPIES_WAIT, COPY
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.memory.store_free_segments import leaves_memory_alone
from ...dialect_utils.multiplications import EXPONENTIALS
from ...dialect_utils.operations import (
    has_operation,
    operations_in,
    operations_of,
)
from ...passes.base import FunctionPass, PassContext

_BRANCHES = frozenset({IF, YIELD})
_GROUPS = "numGroups"
_TO_ARRIVE = 96
"""The products of a warp in which copies arrive for which the next step waits. On an H100,
16x1024x160 and 40x2048x80, which have 80, took 1.01 and 1.15 times as long with the pass, and
16x2048x192, which has 96, took 0.97 times as long."""
_OF_COPIES = frozenset({COPY, *_BRANCHES})


@dataclass(frozen=True)
class DelayCopies(FunctionPass):
    """Moves the copies of a step behind the products that make its scores."""

    name: ClassVar[str] = "bankwise-delay-copies"
    summary: ClassVar[str] = "issue the copies of an attention behind the first products of a step"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has loops whose copies overlap with exponentials."""
        return bool(_copying_loops(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the loops for which it is proven; never fails."""
        with function.context:
            for loop in _copying_loops(function.operation):
                what_stays = "copies are issued at the beginning of a step"
                with context.refusals_said(loop.location, what_stays):
                    products = counted(_delay(loop), "product")
                    text = f"copies are issued behind {products} of a step"
                    context.sink.remark(loop.location, text)


def _copying_loops(function: ir.Operation) -> list[ir.Operation]:
    """Returns the loops of attentions that wait for their copies and multiply by `mma.sync`."""
    waiting = loops_around(operations_in(function, COPIES_WAIT))
    return [
        loop for loop in waiting if has_operation(loop, MMA) and has_operation(loop, *EXPONENTIALS)
    ]


def _delay(loop: ir.Operation) -> int:
    """Moves the copies of a loop behind the products of its scores; returns how many those are.

    Raises:
        Refusal: the copies must stay, or there are no such products.
    """
    body = operations_of(body_of(loop))
    issuing = [each for each in body if has_operation(each, COPY)]
    groups = [each for each in body if each.name == COPIES_END]
    if len(issuing) != 1 or len(groups) != 1 or issuing[0].name != IF:
        raise Refusal("they are not issued in one branch and one group")
    (branch,), (group,) = issuing, groups
    _check(branch)
    first, last = body.index(branch), body.index(group)
    if not first < last or not all(map(_may_come_before_copies, body[first + 1 : last])):
        raise Refusal("their group is not closed right behind them")
    products = _products_in(body[last + 1 :])
    if not products:
        raise Refusal("no products come before the exponentials")
    left = sum(each.name == MMA for each in body[body.index(products[-1]) + 1 :])
    if not _waits_later(body) and left < _TO_ARRIVE:
        raise Refusal(f"the next step waits for them, and only {counted(left, 'product')} are left")
    branch.move_after(products[-1])
    group.move_after(branch)
    return len(products)


def _waits_later(body: Sequence[ir.Operation]) -> bool:
    """Returns whether a step lets copies of the step before be on their way."""
    waits = (each for each in body if each.name == COPIES_WAIT)
    return all(
        _GROUPS in w.attributes and ir.IntegerAttr(w.attributes[_GROUPS]).value for w in waits
    )


def _check(branch: ir.Operation) -> None:
    """Makes sure that a branch issues copies, and does nothing else.

    Raises:
        Refusal: it does.
    """
    if len(branch.results):
        raise Refusal("the branch around them has results")
    for each in operations_in(branch):
        if each.name not in _OF_COPIES and not is_index_arithmetic(each):
            raise Refusal(f"{each.name} stands beside them", each.location)


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
