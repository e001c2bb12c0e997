# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The accesses to a tile as the backend may join them.

A lane often loads neighbouring elements one after the other. LLVM joins such loads, and such
stores, into accesses of up to 16 bytes. It also joins those of different iterations of a loop,
because it unrolls loops over the LDS:

    scf.for %i = 0 to 4 { %v = memref.load %a[4 * thread + %i] }        one ds_read_b128

The bank model would count four loads here, and conflicts that the machine code does not have. A
swizzle that separates the four elements would seem better than it is.

What LLVM joins depends on what it can prove, and this module does not repeat its proofs. It gives
the reading of the program in which LLVM joins as much as it may. Accesses are joined if

* all of them load, or all of them store;
* they stand in one block, or in the iterations of one loop, without a barrier between them;
* no load between or among them reads what a store before it has written: a joined load stands where
  its first part stood, and a joined store where its last one did;
* they reach consecutive elements in every lane;
* the joint access starts at a multiple of its size in every lane.

What is said of conflicts and instructions is counted in this reading, because it is nearly always
that of the compiled code. The other reading is the program as it is written. A decision that is
right in both readings is right for whatever LLVM does (`passes/layout_policy.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from iree.compiler import ir

from ...bank_model.accesses import AccessKind, LdsAccess, LdsTile
from ...bank_model.errors import is_power_of_two
from ...bank_model.layouts import MAX_USEFUL_ALIGNMENT
from ...bank_model.quick_dataclass import dataclass, replace
from ...bank_model.quick_tuple import NamedTuple
from ..loops import FOR, IF
from ..operations import operations_of
from .lane_accesses import TracedAccess
from .lds_ops import TABLE

MOST_UNROLLED = 64
"""As a rule, LLVM does not unroll a loop completely that has more iterations."""


def emitted_accesses(
    tile: LdsTile,
    accesses: Sequence[TracedAccess],
    through_conditions: bool = False,
    orders: BlockOrders | None = None,
) -> tuple[LdsAccess, ...]:
    """Returns what the backend may make of the accesses of a program, joining what it may.

    Each says in its `segment` with which others the backend may pair it.

    Args:
        accesses: everything that is done to the tile, traced with loops of up to `MOST_UNROLLED`
            iterations unrolled.
        through_conditions: whether accesses are joined that stand under different conditions, if
            these hold in the same lanes. LLVM finds that out for some conditions.
        orders: what is known already of the order of the function's operations.
    """
    segments: dict[tuple[object, ...], list[LdsAccess]] = {}
    numbers: dict[tuple[object, ...], int] = {}
    places = _places(accesses, through_conditions, orders or BlockOrders())
    for each in accesses:
        place = places[each.operation]
        iteration = 0 if place.spans_iterations else each.iteration
        number = numbers.setdefault((place.block, place.segment, iteration), len(numbers))
        access = each.access.in_segment(number)
        mask = None if access.active is None else access.active.tobytes()
        key = (place.block, place.segment, iteration, access.weight, access.kind)
        # An access that only one instruction can carry out is joined with nothing.
        alone = id(access) if access.instruction else None
        segments.setdefault((*key, access.elements.shape, mask, alone), []).append(access)
    found: list[LdsAccess] = []
    for segment in segments.values():
        for row in _rows(segment):
            found += _chunks(tile, row)
    return tuple(found)


def stand_among_conditions(accesses: Iterable[TracedAccess], orders: BlockOrders) -> bool:
    """Returns whether accesses stand under conditions, or beside some in the same block.

    If none does, it makes no difference whether accesses are joined through conditions.
    """
    blocks = {each.operation.block for each in accesses}
    return any(each.owner.name == IF or orders.of(each, False).has_conditions for each in blocks)


class _Place(NamedTuple):
    """The place of an operation, which says past which other operations LLVM may move it.

    Attributes:
        block: the number of its block.
        segment: the number of its part of the block. Between two parts there is a barrier or an
            operation with regions, or the second one begins with a load of what the first stores.
        spans_iterations: whether the block is a loop's body that has one part only, and no
            iteration loads what an earlier one stores. The accesses of the next iteration then
            follow directly on those of this one. An access under a condition has a block of its own
            in each iteration.
    """

    block: int
    segment: int
    spans_iterations: bool


class _BlockOrder(NamedTuple):
    """The operations of a block in their order, by their numbers.

    Attributes:
        numbers: those of the operations that take buffers.
        bounds: those past which no LDS access may move, ascending.
        has_conditions: whether there is an `scf.if` among them.
    """

    numbers: dict[ir.Operation, int]
    bounds: list[int]
    has_conditions: bool


@dataclass
class BlockOrders:
    """The orders of the blocks of a function that stays as it is, each read once."""

    _known: dict[tuple[ir.Block, bool], _BlockOrder] = field(default_factory=dict)
    _operations: dict[ir.Block, list[ir.Operation]] = field(default_factory=dict)

    def of(self, block: ir.Block, through_conditions: bool) -> _BlockOrder:
        """Returns the order of a block; with what stands under its conditions, if asked to."""
        if through_conditions and not self.of(block, False).has_conditions:
            through_conditions = False
        key = block, through_conditions
        if key not in self._known:
            self._known[key] = _order_of(self._listed(block, through_conditions))
        return self._known[key]

    def _listed(self, block: ir.Block, through_conditions: bool) -> Iterator[ir.Operation]:
        """Yields the operations of a block; those under a condition in its place, if asked to."""
        if block not in self._operations:
            self._operations[block] = operations_of(block)
        for operation in self._operations[block]:
            if through_conditions and operation.name == IF:
                for region in operation.regions:
                    for inner in region.blocks:
                        yield from self._listed(inner, True)
            else:
                yield operation


def _order_of(operations: Iterable[ir.Operation]) -> _BlockOrder:
    numbers: dict[ir.Operation, int] = {}
    bounds: list[int] = []
    named: dict[str, bool] = {}
    for number, operation in enumerate(operations):
        name = operation.name
        if name in TABLE:
            numbers[operation] = number
        if name not in named:
            named[name] = "barrier" in name or "call" in name
        if named[name] or len(operation.regions):
            bounds.append(number)
    return _BlockOrder(numbers, bounds, IF in named)


def _places(
    accesses: Iterable[TracedAccess], through_conditions: bool, orders: BlockOrders
) -> dict[ir.Operation, _Place]:
    made: dict[ir.Operation, list[TracedAccess]] = {}
    for each in accesses:
        made.setdefault(each.operation, []).append(each)
    blocks: dict[ir.Block, list[ir.Operation]] = {}
    for operation in made:
        block = operation.block
        while through_conditions and block.owner.name == IF:
            block = block.owner.operation.block
        blocks.setdefault(block, []).append(operation)
    found: dict[ir.Operation, _Place] = {}
    for number, (block, members) in enumerate(blocks.items()):
        order = orders.of(block, through_conditions)
        members.sort(key=order.numbers.__getitem__)
        segment, passed = 0, 0
        segments: list[int] = []
        stored: list[TracedAccess] = []
        for operation in members:
            bounds = bisect_right(order.bounds, order.numbers[operation])
            if bounds > passed or _loads_any(made[operation], stored):
                segment += 1
                stored.clear()
            passed = bounds
            segments.append(segment)
            stored += [each for each in made[operation] if each.access.kind is AccessKind.WRITE]
        is_whole = segment == 0 and not order.bounds and block.owner.name == FOR
        loaded = [each for operation in members for each in made[operation]]
        spans_iterations = is_whole and not _loads_any(loaded, stored, earlier=True)
        found.update(
            (operation, _Place(number, part, spans_iterations))
            for operation, part in zip(members, segments, strict=True)
        )
    return found


def _loads_any(
    accesses: Iterable[TracedAccess], stored: Sequence[TracedAccess], earlier: bool = False
) -> bool:
    """Returns whether a lane loads what it has stored: in the same iteration of the loop right
    around both, or in an earlier one."""
    return any(
        (store.iteration < load.iteration if earlier else store.iteration == load.iteration)
        and _overlap(store.access, load.access)
        for load in accesses
        if load.access.kind is AccessKind.READ
        for store in stored
    )


def _overlap(one: LdsAccess, other: LdsAccess) -> bool:
    """Returns whether a lane may reach an element by both of two accesses."""
    first, second = one.elements, other.elements
    if first.shape != second.shape:
        # They stand in different loops, so that it is not known which issues meet.
        first, second = first.reshape(-1, 1, first.shape[-1]), second[None]
    apart = second - first
    meet = (apart < one.count) & (apart > -other.count)
    if first is one.elements:
        for active in (one.active, other.active):
            meet = meet if active is None else meet & active
    return bool(meet.any())


def _rows(accesses: Sequence[LdsAccess]) -> Iterator[list[LdsAccess]]:
    """Yields the accesses in rows. Each next access of a row begins where the last one ends.

    This holds in all lanes. Every access is in one row. Two accesses to the same elements are in
    different rows, because buffers that share a layout are often filled right after each other.
    """
    if len(accesses) == 1:
        yield [*accesses]
        return
    beginnings: list[dict[bytes, LdsAccess]] = []
    for access in accesses:
        start = access.elements.tobytes()
        beginning = next((each for each in beginnings if start not in each), None)
        if beginning is None:
            beginning = {}
            beginnings.append(beginning)
        beginning[start] = access
    for beginning in beginnings:
        following = {
            id(access): beginning.get((access.elements + access.count).tobytes())
            for access in beginning.values()
        }
        preceded = {id(access) for access in following.values() if access is not None}
        for access in beginning.values():
            if id(access) in preceded:
                continue
            row: list[LdsAccess] = []
            link: LdsAccess | None = access
            while link is not None:
                row.append(link)
                link = following[id(link)]
            yield row


def _chunks(tile: LdsTile, row: Sequence[LdsAccess]) -> Iterator[LdsAccess]:
    """Yields the accesses of up to 16 bytes, each aligned to its size, that a row is joined to.

    For example, a row of six 4-byte elements at 16 * lane becomes one access of 16 bytes and one
    of 8 bytes. At 24 * lane, where not every lane starts at a multiple of 16, it becomes three
    accesses of 8 bytes.
    """
    first = 0
    while first < len(row):
        if first + 1 == len(row):
            yield row[first]
            return
        start = row[first].elements * tile.element_bits // 8
        best, count = first + 1, 0
        for last in range(first, len(row)):
            count += row[last].count
            size = count * tile.element_bits // 8
            if size > MAX_USEFUL_ALIGNMENT:
                break
            if is_power_of_two(size) and not (start % size).any():
                best = last + 1
        joint = sum(access.count for access in row[first:best])
        yield row[first] if best == first + 1 else replace(row[first], count=joint)
        first = best
