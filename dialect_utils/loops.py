# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Typed views of `scf.for`: its bounds, its body, and the values that it carries.

    %r = scf.for %i = %lower to %upper step %step iter_args(%x = %initial) -> (...) {
      scf.yield %yielded
    }

The operands are the bounds and then the initial values; the arguments of the body are the induction
variable and then the carried values. Nothing else counts these positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from iree.compiler import ir

from ..bank_model.quick_tuple import NamedTuple
from .builders import Builder
from .operations import (
    GPU_LAUNCH,
    constant_value,
    operands_with,
    operations_in,
    operations_of,
    parents_of,
    redirect,
    terminator,
)

FOR, IF, YIELD = "scf.for", "scf.if", "scf.yield"
UNROLLED = "unroll_loop"
"""The attribute of an `scf.for` that `iree-codegen-unroll-annotated-loops` unrolls."""
_BOUNDS = 3
"""Operands of an `scf.for` before its initial values."""
_END = 1
"""The operand of an `scf.for` that is its upper bound."""


class Carried(NamedTuple):
    """One of the values that an `scf.for` carries from iteration to iteration.

    Attributes:
        number: its place among the results of the loop.
    """

    loop: ir.Operation
    number: int

    @property
    def operand(self) -> int:
        """Returns the number of the loop's operand that is the initial value."""
        return _BOUNDS + self.number

    @property
    def initial(self) -> ir.Value:
        """Returns the value before the first iteration."""
        return self.loop.operands[self.operand]

    @property
    def argument(self) -> ir.BlockArgument:
        """Returns the value at the beginning of an iteration."""
        return body_of(self.loop).arguments[1 + self.number]

    @property
    def yielded(self) -> ir.Value:
        """Returns the value at the end of an iteration."""
        return terminator(self.loop.regions[0]).operands[self.number]

    @property
    def result(self) -> ir.Value:
        """Returns the value behind the loop."""
        return self.loop.results[self.number]

    @property
    def joins(self) -> tuple[ir.Value, ir.Value]:
        """Returns the argument and the result, each of which joins the sources."""
        return self.argument, self.result

    @property
    def sources(self) -> tuple[ir.Value, ir.Value]:
        """Returns the values that the argument and the result may be."""
        return self.initial, self.yielded


def bounds_of(loop: ir.Operation) -> list[ir.Value]:
    """Returns the lower bound, the upper bound and the step of an `scf.for`."""
    return list(loop.operands)[:_BOUNDS]


def counts_by_index(loop: ir.Operation) -> bool:
    """Returns whether the bounds of an `scf.for` are of the type `index`, and not integers."""
    return isinstance(loop.operands[0].type, ir.IndexType)


def body_of(loop: ir.Operation) -> ir.Block:
    """Returns the block that a loop repeats."""
    return loop.regions[0].blocks[0]


def operations_by_place(body: Iterable[ir.Operation]) -> Iterator[tuple[int, ir.Operation]]:
    """Yields the operations of a body and those inside them, each with the place in the body."""
    for place, outer in enumerate(body):
        if len(outer.regions):
            yield from ((place, each) for each in operations_in(outer))
        else:
            yield place, outer


def loops_around(operations: Iterable[ir.Operation]) -> list[ir.Operation]:
    """Returns the `scf.for` that have operations in their own bodies, not only in loops inside."""
    around = dict.fromkeys(each.parent.operation for each in operations)
    return [each for each in around if each.name == FOR]


def carried_values(loop: ir.Operation) -> list[Carried]:
    """Returns all values that an `scf.for` carries."""
    return [Carried(loop, number) for number in range(len(loop.results))]


def carried_by_use(user: ir.Operation, number: int) -> Carried | None:
    """Returns what operand `number` of an `scf.for` or of its `scf.yield` is carried as.

    Returns None for a bound, and for an operand of any other operation.
    """
    if user.name == FOR:
        return Carried(user, number - _BOUNDS) if number >= _BOUNDS else None
    if user.name == YIELD:
        parent = user.parent.operation
        return Carried(parent, number) if parent.name == FOR else None
    return None


def carried_as(value: ir.Value) -> Carried | None:
    """Returns the carried value of which `value` is the argument or the result, if it is one."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        loop, number = owner.owner.operation, ir.BlockArgument(value).arg_number - 1
    else:
        loop, number = owner.operation, ir.OpResult(value).result_number
    return Carried(loop, number) if loop.name == FOR and number >= 0 else None


def is_induction(value: ir.Value) -> bool:
    """Returns whether a value is the induction variable of an `scf.for`."""
    block = value.owner
    is_first = isinstance(block, ir.Block) and ir.BlockArgument(value).arg_number == 0
    return is_first and block.owner.operation.name == FOR


def loop_depth(operation: ir.Operation) -> int:
    """Returns how many `scf.for` are around an operation in its function or `gpu.launch`."""
    inside = takewhile(lambda parent: parent.name != GPU_LAUNCH, parents_of(operation))
    return sum(parent.name == FOR for parent in inside)


def is_flat(loop: ir.Operation) -> bool:
    """Returns whether no operation in the body of an `scf.for` has regions of its own; looks for no
    second one."""
    is_inside, found = False, False

    def visit(operation: ir.Operation) -> ir.WalkResult:
        nonlocal is_inside, found
        found = is_inside and len(operation.regions) > 0
        is_inside = True  # The loop is visited first.
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    loop.walk(visit, ir.WalkOrder.PRE_ORDER)
    return not found


def unroll(loop: ir.Operation, inductions: list[int]) -> None:
    """Replaces an `scf.for` that `is_flat` by its iterations.

    Args:
        inductions: the value of the induction variable in each iteration.
    """
    body = body_of(loop)
    *operations, end = operations_of(body)
    induction, *arguments = body.arguments
    carried = [each.initial for each in carried_values(loop)]
    at = Builder.before(loop)
    for number in inductions:
        now = dict(zip(arguments, carried, strict=True))
        now[induction] = at.constant(induction.type, number)
        at.clone_all(operations, now)
        carried = [now.get(each, each) for each in end.operands]
    for result, value in zip(loop.results, carried, strict=True):
        result.replace_all_uses_with(value)
    loop.erase()


def peel_last_step(loop: ir.Operation) -> str:
    """Makes a loop of its own of the last iteration, and returns how a remark calls that.

    A loop that the program gives no iteration has none there either.
    """
    uses = [operands_with(result) for result in loop.results]
    _, end, step = bounds_of(loop)
    at, name = Builder.before(loop), "last step"
    last_end, by = constant_value(end), constant_value(step)
    if last_end is None or by is None:
        border = at.maxsi(at.subi(end, step), at.index(0))
    else:
        border, name = at.index(last_end - by), f"step at {last_end - by}"
    loop.operands[_END] = border
    rest = Builder.after(loop).clone(loop, [border, end, step, *loop.results])
    for carried, users in zip(carried_values(rest), uses, strict=True):
        redirect(users, carried.result)
    return name
