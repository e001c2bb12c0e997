# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How memory flows through a function: one graph, whose nodes are the memref values.

A memref value is the memory of a *root* (an allocation, an argument of the function, a global), a
view of another memref, or a *join*: the result of an `arith.select` or an `scf.if`, or the
argument or result of an `scf.for`, which may be one of several memrefs.

    %a = memref.alloc()           %b = memref.alloc()                  roots
    %r:2 = scf.for ... iter_args(%x = %a, %y = %b) {                   joins: %x, %y, %r#0, %r#1
      %v = memref.subview %x[...]                                      a view
      vector.load %v[...]                                              a sink
      scf.yield %y, %x
    }

An edge leads from a memref to what it becomes, by a view (swizzle hints are views too) or because a
loop or a choice carries it; `lds_ops` knows the views. Every other use is a *sink*: an access, or
an operation of which nothing is known. What touches no element, as `memref.dealloc`, is neither.

`uses_of` gives the edges of a node forwards, `sources_of` backwards. All else here asks these two:
`follow` takes a state along all ways from a value to the sinks, `reach_of` collects what lies on
these ways, `ways_to` what lies on all ways back from a value, `roots_of` where these can have
begun, and `connected_to` all that may be the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import field
from typing import TypeGuard, TypeVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ..diagnostics import Refusal
from ..loops import IF, YIELD, carried_as, carried_by_use
from ..operations import GPU_LAUNCH, defining_operation, operations_in, terminator, value_behind
from ..swizzle_hint import STOWED_SWIZZLE, is_hint
from .lds_ops import ALLOC, VIEWS, Bystander, row_of, view_row
from .memref_types import is_memref, is_workgroup_memref, lds_bytes, type_of


def lds_allocations(function: ir.Operation) -> list[ir.Operation]:
    """Returns the `memref.alloc`s in workgroup memory, in the order of the function's text."""
    return [each for each in operations_in(function, ALLOC) if is_lds_allocation(each)]


def allocated_bytes(function: ir.Operation, without: Collection[ir.Operation] = ()) -> int:
    """Returns the bytes of the `memref.alloc`s in workgroup memory whose sizes are known.

    Args:
        without: those that are not counted.
    """
    counted = (each for each in lds_allocations(function) if each not in without)
    return sum(lds_bytes(type_of(each)) or 0 for each in counted)


def is_lds_allocation(operation: ir.Operation | None) -> TypeGuard[ir.Operation]:
    """Returns whether it is a `memref.alloc` in workgroup memory."""
    return (
        operation is not None
        and operation.name == ALLOC
        and is_workgroup_memref(operation.results[0].type)
    )


def lds_allocation_of(buffer: ir.Value) -> ir.Operation | None:
    """Returns the LDS allocation of which a memref is a view, if it can be no other memory."""
    operation = defining_operation(value_behind(buffer, VIEWS))
    return operation if is_lds_allocation(operation) else None


def lds_allocations_at(roots: Collection[ir.Value]) -> list[ir.Operation]:
    """Returns the LDS allocations at which ways back from memory end; nothing where one ends at
    other memory."""
    found = [*filter(is_lds_allocation, map(defining_operation, roots))]
    return found if len(found) == len(roots) else []


# The edges.


class Use(NamedTuple):
    """One use of a memref: an edge to what it becomes, or a sink."""

    buffer: ir.Value
    user: ir.Operation
    number: int
    """The number of the operand that is the buffer."""
    becomes: tuple[ir.Value, ...] = ()
    """The values that are the buffer, a view of it, or a join; empty at a sink."""

    @property
    def is_view(self) -> bool:
        """Returns whether the use is a view of the buffer, other than a join."""
        return bool(self.becomes) and view_row(self.user) is not None

    @property
    def is_carried(self) -> bool:
        """Returns whether a loop or a choice carries the buffer to where it may meet others."""
        return bool(self.becomes) and not self.is_view

    @property
    def is_sink(self) -> bool:
        """Returns whether the buffer goes no further."""
        return not self.becomes


def uses_of(value: ir.Value) -> list[Use]:
    """Returns the edges and sinks of a memref, in the order of the text within its block."""
    found: list[Use] = []
    # Uses are listed last first.
    for use in reversed(list(value.uses)):
        user, number = use.owner.operation, use.operand_number
        row = row_of(user)
        if isinstance(row, Bystander):
            continue
        onward = joins_of_use(user, number)
        if number == 0 and view_row(user) is not None:
            onward = (user.results[0],)
        found.append(Use(value, user, number, onward))
    return found


def joins_of_use(user: ir.Operation, number: int) -> tuple[ir.Value, ...]:
    """Returns the joins that operand `number` of `user` becomes.

    `arith.select %c, %value, %other` gives its result; an initial or yielded value of an `scf.for`
    gives the loop's argument and its result. Empty for an operand that is not carried on.
    """
    if user.name == "arith.select" and number > 0:
        return (user.results[0],)
    if user.name == YIELD and user.parent.operation.name == IF:
        return (user.parent.operation.results[number],)
    carried = carried_by_use(user, number)
    return () if carried is None else carried.joins


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
    if operation.name == IF:
        number = ir.OpResult(value).result_number
        return tuple(terminator(region).operands[number] for region in operation.regions)
    carried = carried_as(value)
    if carried is not None:
        return carried.sources
    if any(map(is_memref, operation.operands)) or len(operation.regions):
        raise Refusal(f"{operation.name} is not a known view", operation.location)
    return ()


def _sources_of_argument(argument: ir.BlockArgument) -> tuple[ir.Value, ...]:
    carried = carried_as(argument)
    if carried is not None:
        return carried.sources
    block = argument.owner
    parent = block.owner.operation
    entry = block == block.region.blocks[0]
    if entry and (parent.name.endswith("func") or parent.name == GPU_LAUNCH):
        return ()
    what = f"argument of {parent.name}" if entry else "argument of a block with predecessors"
    raise Refusal(f"it is the {what}", parent.location)


# Questions.

State = TypeVar("State", bound=Hashable)


def follow(
    start: ir.Value, state: State, onward: Callable[[Use, ir.Value, State], State | None]
) -> Iterator[tuple[Use, State]]:
    """Takes a state along all ways from `start`; gives the sinks, each with its state.

    Args:
        onward: what the state before an edge becomes at the value behind it; None does not go on.
            A value is visited once with each state.
    """
    pending = [(start, state)]
    seen = {(start, state)}
    while pending:
        value, before = pending.pop()
        for use in uses_of(value):
            if use.is_sink:
                yield use, before
            for target in use.becomes:
                behind = onward(use, target, before)
                if behind is not None and (target, behind) not in seen:
                    seen.add((target, behind))
                    pending.append((target, behind))


class Reach(NamedTuple):
    """Everywhere that a memref gets to.

    Attributes:
        joins: the values in which it, or a view of it, may meet other memory.
        views: the operations that are views of it, or of a join.
        sinks: all else that takes it, a view of it or a join.
    """

    joins: tuple[ir.Value, ...]
    views: tuple[ir.Operation, ...]
    sinks: tuple[Use, ...]


def reach_of(buffer: ir.Value) -> Reach:
    """Follows a memref through views, choices and loops."""
    joins: dict[ir.Value, None] = {}
    views: dict[ir.Operation, None] = {}

    def onward(use: Use, target: ir.Value, state: bool) -> bool:
        if use.is_view:
            views[use.user] = None
        else:
            joins[target] = None
        return state

    sinks = [use for use, _ in follow(buffer, True, onward)]
    return Reach(tuple(joins), tuple(views), tuple(sinks))


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
        sinks: the other uses.
        hidden: why the sources of some value are not known; empty where all are.
    """

    values: dict[ir.Value, None] = field(default_factory=dict)
    roots: list[ir.Value] = field(default_factory=list)
    edges: list[Use] = field(default_factory=list)
    sinks: list[Use] = field(default_factory=list)
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
            (found.sinks if use.is_sink else found.edges).append(use)
            pending += use.becomes or filter(is_memref, use.user.results)
    return found
