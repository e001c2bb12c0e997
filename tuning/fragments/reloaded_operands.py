# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Letting a loop read operands from the LDS in every iteration, and no longer once before it.

    vector.store %v, %tile[...]                     a tile that nobody writes from here on
    gpu.barrier
    %m = nvgpu.ldmatrix %tile[...]                  read once,
    %e = vector.extract %m[0]
    %a = arith.mulf %e, %scale                      multiplied by a constant,
    %q = vector.from_elements ...                   put together,
    scf.for ... {
      gpu.barrier
      nvgpu.mma.sync(%q, ...)                       and held in registers through all iterations
    }

becomes

    %w = arith.mulf %v, %scale
    vector.store %w, %tile[...]
    gpu.barrier
    scf.for ... {
      gpu.barrier
      %m = nvgpu.ldmatrix %tile[...]
      %e = vector.extract %m[0]
      %q = vector.from_elements ...
      nvgpu.mma.sync(%q, ...)
    }

**The reads** give the same in every iteration: all writes of the tile come before the first read,
in the block of the loop, so that nobody writes it until the loop is left. A barrier that orders a
write before the read before the loop orders it before the reads in the loop too. All lanes of a
warp read together, because they multiply together in the same block. A barrier in the loop keeps
the backend from moving the reads out of it again.

**The multiplication** moves to the stores: each element is then multiplied by the same number once,
by the same operation in the same type, before it is written instead of after it is read. The LDS
keeps all its bits, so that the products are the same. All that is read from the tile must be
multiplied so, by one constant, and without fast-math flags, which let a multiplication become
another one beside other operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iree.compiler import ir

from ...bank_model.lds_rules import AccessKind
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_moves import is_move
from ...dialect_utils.loops import IF, body_of
from ...dialect_utils.memory.flow import lds_allocations, reach_of
from ...dialect_utils.memory.lds_ops import BARRIER, DEALLOC, access_row
from ...dialect_utils.memory.surroundings import maps_to_workgroups
from ...dialect_utils.multiplications import is_multiplication
from ...dialect_utils.operations import (
    attributes_of,
    is_inside,
    operations_of,
    parents_of,
    splat_of,
)

_MULTIPLICATION = "arith.mulf"
_STORES = ("vector.store", "memref.store")
_NO_FAST_MATH = "#arith.fastmath<none>"


class Scaling(NamedTuple):
    """A multiplication of all that is read from a tile by one number.

    Attributes:
        products: the multiplications behind the reads.
        stores: all that writes the tile.
        number: the attribute of the number.
    """

    products: tuple[ir.Operation, ...]
    stores: tuple[ir.Operation, ...]
    number: ir.Attribute

    def move_to_stores(self) -> None:
        """Multiplies what is stored, and no longer what is read."""
        for store in self.stores:
            value, at = store.operands[0], Builder.before(store)
            factor = at.constant(value.type, self.number)
            scaled = at.like(self.products[0], [value, factor], [value.type])
            store.operands[0] = scaled.results[0]
        for product in self.products:
            operand, _ = _factors(product)
            product.results[0].replace_all_uses_with(operand)
            product.erase()


class HeldTile(NamedTuple):
    """A tile from which a loop's operands are read before the loop.

    Attributes:
        reads: all reads of the tile, in the order of the text.
        moves: the operations before the loop that put operands together, in that order.
        operands: what the products in the loop take from before it.
        scaling: what the reads are multiplied by before; None if they are not.
    """

    loop: ir.Operation
    allocation: ir.Operation
    reads: tuple[ir.Operation, ...]
    moves: tuple[ir.Operation, ...]
    operands: tuple[ir.Value, ...]
    scaling: Scaling | None

    def read_in_loop(self) -> None:
        """Moves the reads, and what stands between them and the loop, to their first uses."""
        if self.scaling is not None:
            self.scaling.move_to_stores()
        body = operations_of(body_of(self.loop))
        places = {operation: place for place, operation in enumerate(body)}
        moved: list[ir.Operation] = []
        # From the back, so that all users of an operation are known before it.
        for operation in reversed((*self.reads, *self.moves)):
            users = [use.owner.operation for each in operation.results for use in each.uses]
            if users:
                places[operation] = min(places[user] for user in users)
                moved.append(operation)
            else:
                operation.erase()
        for operation in reversed(moved):
            operation.move_before(body[places[operation]])


def held_allocations(function: ir.Operation, loop: ir.Operation) -> list[ir.Operation]:
    """Returns the allocations from which operands of a loop's products are read before the loop."""
    found: list[ir.Operation] = []
    for allocation in lds_allocations(function):
        users = (sink.user for sink in reach_of(allocation.results[0]).sinks)
        reads = [user for user in users if _is_in_front(user, loop) and user.results]
        users = (user for user, _, _ in _Followed(reads, loop).others)
        if any(is_multiplication(user, by_lanes=True) and is_inside(user, loop) for user in users):
            found.append(allocation)
    return found


def held_tile(allocation: ir.Operation, loop: ir.Operation) -> HeldTile:
    """Returns how the loop can read an allocation's operands itself.

    Raises:
        Refusal: it cannot.
    """
    _check_runs_once(loop)
    reads, writes = _accesses(allocation)
    for read in reads:
        if not _is_in_front(read, loop):
            raise Refusal("it is read elsewhere than before the loop, too", read.location)
    for write in writes:
        place = next((each for each in _around(write) if each.block == loop.block), None)
        if place is None or not all(place.is_before_in_block(read) for read in reads):
            raise Refusal("it may be written after its first read", write.location)
    _check_lives(allocation, loop)
    body = body_of(loop)
    if not any(each.name == BARRIER for each in operations_of(body)):
        raise Refusal("the loop has no barrier that keeps the reads in it", loop.location)
    followed = _Followed(reads, loop)
    for user, _, _ in followed.others:
        if not is_multiplication(user, by_lanes=True) or user.block != body:
            where = "in the loop" if is_inside(user, loop) else "outside of the loop"
            raise Refusal(f"what is read is used by {user.name} {where}", user.location)
    order = {operation: place for place, operation in enumerate(operations_of(loop.block))}
    return HeldTile(
        loop,
        allocation,
        tuple(sorted(reads, key=order.__getitem__)),
        tuple(sorted(followed.moves, key=order.__getitem__)),
        tuple(dict.fromkeys(value for _, value, _ in followed.others)),
        _scaling(followed, writes),
    )


class _Followed:
    """What becomes of values that are read before a loop.

    Attributes:
        moves: the operations before the loop that move their elements.
        products: those before the loop that multiply them by a constant.
        others: all other operations that take what these make, each with the value and with whether
            that has been multiplied.
    """

    def __init__(self, reads: Iterable[ir.Operation], loop: ir.Operation) -> None:
        self.moves: dict[ir.Operation, None] = {}
        self.products: dict[ir.Operation, None] = {}
        self.others: list[tuple[ir.Operation, ir.Value, bool]] = []
        pending = [(read.results[0], False) for read in reads]
        seen = {*pending}
        while pending:
            value, multiplied = pending.pop()
            for use in value.uses:
                user, state = use.owner.operation, multiplied
                in_front = _is_in_front(user, loop)
                if is_move(user) and (in_front or is_inside(user, loop)):
                    if in_front:
                        self.moves[user] = None
                elif in_front and not multiplied and _number_in(user) is not None:
                    self.products[user] = None
                    state = True
                else:
                    self.others.append((user, value, multiplied))
                    continue
                new = {(each, state) for each in user.results} - seen
                seen |= new
                pending += new


def _is_in_front(operation: ir.Operation, loop: ir.Operation) -> bool:
    """Returns whether an operation stands before a loop, in the same block."""
    return operation.block == loop.block and operation.is_before_in_block(loop)


def _around(operation: ir.Operation) -> Iterable[ir.Operation]:
    """Yields an operation and all around it in its function, from the inside outwards."""
    yield operation
    for outer in parents_of(operation):
        if outer.name.endswith("func"):
            return
        yield outer


def _check_runs_once(loop: ir.Operation) -> None:
    """Makes sure that a workgroup runs the loop once, so that no write before it comes again."""
    _, *outer = _around(loop)
    for each in outer:
        if each.name != IF and not (each.name == "scf.forall" and maps_to_workgroups(each)):
            raise Refusal(f"the loop is inside {each.name}", loop.location)


def _check_lives(allocation: ir.Operation, loop: ir.Operation) -> None:
    """Makes sure that the memory is not freed before the loop is left."""
    buffers = [allocation, *reach_of(allocation.results[0]).views]
    users = (use.owner.operation for each in buffers for use in each.results[0].uses)
    for user in users:
        if user.name != DEALLOC:
            continue
        beside = (each for each in _around(loop) if each.block == user.block)
        if not any(each.is_before_in_block(user) for each in beside):
            raise Refusal("it is freed before the loop ends", user.location)


def _accesses(allocation: ir.Operation) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """Returns all reads and all writes of an allocation.

    Raises:
        Refusal: they are not known.
    """
    reach = reach_of(allocation.results[0])
    if reach.joins:
        raise Refusal("a value may be this memory or another")
    reads: list[ir.Operation] = []
    writes: list[ir.Operation] = []
    for sink in reach.sinks:
        user, row = sink.user, access_row(sink.user)
        if row is None or row.kind is None or row.buffer_operand(user) != sink.number:
            raise Refusal(f"it is used by {user.name}", user.location)
        (reads if row.kind is AccessKind.READ else writes).append(user)
    return reads, writes


# Multiplications.


def _scaling(followed: _Followed, stores: Sequence[ir.Operation]) -> Scaling | None:
    """Returns what all reads are multiplied by; None if none of them is multiplied.

    Stores, reads and moves keep the type of elements, as MLIR verifies, so that a product in the
    place of a store has the type that it had.

    Raises:
        Refusal: stores cannot be multiplied in their place.
    """
    products = tuple(followed.products)
    if not products:
        return None
    first = products[0]
    if not all(multiplied for _, _, multiplied in followed.others):
        raise Refusal("only a part of what is read is multiplied", first.location)
    number, attributes = _number_in(first), attributes_of(first)
    assert number is not None
    if any(_number_in(each) != number or attributes_of(each) != attributes for each in products):
        raise Refusal("what is read is multiplied in different ways", first.location)
    if str(attributes.get("fastmath", _NO_FAST_MATH)) != _NO_FAST_MATH:
        raise Refusal("what is read is multiplied with fast-math flags", first.location)
    for store in stores:
        if store.name not in _STORES:
            raise Refusal(f"what {store.name} writes cannot be multiplied", store.location)
    return Scaling(products, tuple(stores), number)


def _factors(product: ir.Operation) -> tuple[ir.Value, ir.Attribute | None]:
    """Returns a factor, and the number that the other one is in all elements, if one is that."""
    left, right = product.operands
    for number, other in ((splat_of(right), left), (splat_of(left), right)):
        if number is not None:
            return other, number
    return left, None


def _number_in(operation: ir.Operation) -> ir.Attribute | None:
    """Returns the constant by which an operation multiplies; None if it does not."""
    return _factors(operation)[1] if operation.name == _MULTIPLICATION else None
