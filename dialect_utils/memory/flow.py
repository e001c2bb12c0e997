# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How memory flows through a function: one graph, whose nodes are the memref values.

A memref value is the memory of a *root* (an allocation, an argument of the function, a global), a
view of another memref, or a *meeting*: the result of an `arith.select` or an `scf.if`, or the
argument or result of an `scf.for`, which may be one of several memrefs.

    %a = memref.alloc()           %b = memref.alloc()                  roots
    %r:2 = scf.for ... iter_args(%x = %a, %y = %b) {                   meetings: %x, %y, %r#0, %r#1
      %v = memref.subview %x[...]                                      a view
      vector.load %v[...]                                              an end
      scf.yield %y, %x
    }

An edge leads from a memref to what it becomes, by a view (swizzle hints are views too) or because a
loop or a choice carries it; `lds_ops` knows the views. Every other use is an *end*: an access, or
an operation of which nothing is known. What touches no element, as `memref.dealloc`, is neither.

`uses_of` gives the edges of a node forwards, `sources_of` backwards. All else here asks these two:
`follow` takes a state along all ways from a value to the ends, `reach_of` collects what lies on
these ways, `ways_to` what lies on all ways back from a value, `roots_of` where these can have
begun, and `connected_to` all that may be the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from iree.compiler import ir

from ..diagnostics import Refusal
from ..operations import defining_operation, operations_in, terminator
from ..swizzle_hint import STOWED_SWIZZLE, is_hint
from .lds_ops import ALLOC, Bystander, row_of, view_row
from .memref_types import is_memref, is_workgroup_memref

FOR_BOUNDS = 3
"""Operands of an `scf.for` before its initial values."""


def lds_allocations(function: ir.Operation) -> list[ir.Operation]:
    """Returns the `memref.alloc`s in workgroup memory, in the order of the function's text."""
    return [each for each in operations_in(function, ALLOC) if is_lds_allocation(each)]


def is_lds_allocation(operation: ir.Operation | None) -> bool:
    """Returns whether it is a `memref.alloc` in workgroup memory."""
    return (
        operation is not None
        and operation.name == ALLOC
        and is_workgroup_memref(operation.results[0].type)
    )


# The edges.


@dataclass(frozen=True)
class Use:
    """One use of a memref: an edge to what it becomes, or an end."""

    buffer: ir.Value
    user: ir.Operation
    number: int
    """The number of the operand that is the buffer."""
    becomes: tuple[ir.Value, ...] = ()
    """The values that are the buffer, a view of it, or a meeting; empty at an end."""

    @property
    def is_view(self) -> bool:
        """Returns whether the use is a view of the buffer, other than a meeting."""
        return bool(self.becomes) and view_row(self.user) is not None

    @property
    def is_carried(self) -> bool:
        """Returns whether a loop or a choice carries the buffer to where it may meet others."""
        return bool(self.becomes) and not self.is_view

    @property
    def is_end(self) -> bool:
        """Returns whether the buffer goes no further."""
        return not self.becomes


def uses_of(value: ir.Value) -> list[Use]:
    """Returns the edges and ends of a memref, in the order of the text within its block."""
    found: list[Use] = []
    # Uses are listed last first.
    for use in reversed(list(value.uses)):
        user, number = use.owner.operation, use.operand_number
        row = row_of(user)
        if isinstance(row, Bystander):
            continue
        onward = carried_values(user, number)
        if number == 0 and view_row(user) is not None:
            onward = (user.results[0],)
        found.append(Use(value, user, number, onward))
    return found


def carried_values(user: ir.Operation, number: int) -> tuple[ir.Value, ...]:
    """Returns the meetings that operand `number` of `user` becomes.

    `arith.select %c, %value, %other` gives its result; an initial or yielded value of an `scf.for`
    gives the loop's argument and its result. Empty for an operand that is not carried on.
    """
    if user.name == "arith.select" and number > 0:
        return (user.results[0],)
    if user.name == "scf.for" and number >= FOR_BOUNDS:
        return _loop_values(user, number - FOR_BOUNDS)
    if user.name == "scf.yield":
        parent = user.parent.operation
        if parent.name == "scf.for":
            return _loop_values(parent, number)
        if parent.name == "scf.if":
            return (parent.results[number],)
    return ()


def _loop_values(loop: ir.Operation, number: int) -> tuple[ir.Value, ir.Value]:
    return (loop.regions[0].blocks[0].arguments[1 + number], loop.results[number])


def sources_of(value: ir.Value) -> tuple[ir.Value, ...]:
    """Returns the values whose memory `value` may be; none when it is a root itself.

    Raises:
        Refusal: they are not known, at the operation that hides them.
    """
    operation = defining_operation(value)
    if operation is None:
        return _sources_of_argument(ir.BlockArgument(value))
    if view_row(operation) is not None:
        return (operation.operands[0],)
    if operation.name == "arith.select":
        return (operation.operands[1], operation.operands[2])
    if operation.name == "scf.if":
        number = ir.OpResult(value).result_number
        return tuple(terminator(region).operands[number] for region in operation.regions)
    if operation.name == "scf.for":
        return loop_sources(value) or ()
    if any(map(is_memref, operation.operands)) or len(operation.regions):
        raise Refusal(f"{operation.name} is not a known view", operation.location)
    return ()


def _sources_of_argument(argument: ir.BlockArgument) -> tuple[ir.Value, ...]:
    carried = loop_sources(argument)
    if carried is not None:
        return carried
    block = argument.owner
    parent = block.owner.operation
    entry = block == block.region.blocks[0]
    if entry and parent.name.endswith("func"):
        return ()
    what = f"argument of {parent.name}" if entry else "argument of a block with predecessors"
    raise Refusal(f"it is the {what}", parent.location)


def loop_sources(value: ir.Value) -> tuple[ir.Value, ir.Value] | None:
    """Returns the initial and the yielded value of an `scf.for`'s argument or result.

    Returns None for any other value.
    """
    owner = value.owner
    if isinstance(owner, ir.Block):
        loop, number = owner.owner.operation, ir.BlockArgument(value).arg_number - 1
    else:
        loop, number = owner.operation, ir.OpResult(value).result_number
    if loop.name != "scf.for":
        return None
    return (loop.operands[FOR_BOUNDS + number], terminator(loop.regions[0]).operands[number])


# Questions.

State = TypeVar("State", bound=Hashable)


def follow(
    start: ir.Value, state: State, onward: Callable[[Use, ir.Value, State], State | None]
) -> Iterator[tuple[Use, State]]:
    """Takes a state along all ways from `start`; gives the ends, each with its state.

    Args:
        onward: what the state before an edge becomes at the value behind it; None does not go on.
            A value is visited once with each state.
    """
    pending = [(start, state)]
    seen = {(start, state)}
    while pending:
        value, before = pending.pop()
        for use in uses_of(value):
            if use.is_end:
                yield use, before
            for target in use.becomes:
                behind = onward(use, target, before)
                if behind is not None and (target, behind) not in seen:
                    seen.add((target, behind))
                    pending.append((target, behind))


@dataclass(frozen=True)
class Reach:
    """Everywhere that a memref gets to.

    Attributes:
        meetings: the values in which it, or a view of it, may meet other memory.
        views: the operations that are views of it, or of a meeting.
        ends: all else that takes it, a view of it or a meeting.
    """

    meetings: tuple[ir.Value, ...]
    views: tuple[ir.Operation, ...]
    ends: tuple[Use, ...]


def reach_of(buffer: ir.Value) -> Reach:
    """Follows a memref through views, choices and loops."""
    meetings: dict[ir.Value, None] = {}
    views: dict[ir.Operation, None] = {}

    def onward(use: Use, target: ir.Value, state: bool) -> bool:
        if use.is_view:
            views[use.user] = None
        else:
            meetings[target] = None
        return state

    ends = [use for use, _ in follow(buffer, True, onward)]
    return Reach(tuple(meetings), tuple(views), tuple(ends))


def is_hinted(allocation: ir.Operation) -> bool:
    """Returns whether a swizzle is wanted for it, by an attribute or a hint on its way."""
    if STOWED_SWIZZLE in allocation.attributes:
        return True
    return any(map(is_hint, reach_of(allocation.results[0]).views))


def ways_to(value: ir.Value) -> dict[ir.Value, tuple[ir.Value, ...]]:
    """Returns `value` and all that its memory may come from, each with its own sources.

    Raises:
        Refusal: they are not known.
    """
    found: dict[ir.Value, tuple[ir.Value, ...]] = {}
    seen = {value}
    pending = [value]
    while pending:
        current = pending.pop()
        found[current] = sources_of(current)
        new = [source for source in dict.fromkeys(found[current]) if source not in seen]
        seen.update(new)
        pending += reversed(new)
    return found


def roots_of(value: ir.Value) -> tuple[ir.Value, ...]:
    """Returns the values at which every way back from `value` ends, in the order they are met.

    These are results of `memref.alloc` and `memref.alloca`, and whatever else is not made from a
    memref: arguments of the function, globals, bindings.

    Raises:
        Refusal: they are not known.
    """
    return tuple(each for each, sources in ways_to(value).items() if not sources)


@dataclass
class Connected:
    """All memrefs that may be the same memory, with everything that is done to them.

    Attributes:
        values: the memrefs, in the order in which they are met.
        roots: those that no other is the source of, as far as is known.
        edges: between them.
        ends: the other uses.
        hidden: why the sources of some value are not known; empty where all are.
    """

    values: dict[ir.Value, None] = field(default_factory=dict)
    roots: list[ir.Value] = field(default_factory=list)
    edges: list[Use] = field(default_factory=list)
    ends: list[Use] = field(default_factory=list)
    hidden: list[Refusal] = field(default_factory=list)


def connected_to(value: ir.Value) -> Connected:
    """Follows a memref to and fro.

    It goes on behind an operation of which nothing is known, too, from its operands to its results:
    they may be the same memory.
    """
    found = Connected()
    pending = [value]
    while pending:
        current = pending.pop()
        if current in found.values:
            continue
        found.values[current] = None
        try:
            sources = sources_of(current)
            if not sources:
                found.roots.append(current)
        except Refusal as refusal:
            found.hidden.append(refusal)
            definition = defining_operation(current)
            if definition is None:
                found.roots.append(current)
                sources = ()
            else:
                sources = tuple(filter(is_memref, definition.operands))
        pending += sources
        for use in uses_of(current):
            (found.ends if use.is_end else found.edges).append(use)
            pending += use.becomes or filter(is_memref, use.user.results)
    return found
