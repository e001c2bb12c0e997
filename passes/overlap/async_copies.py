# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Letting the copies of later trips run under the products of this one, by `cp.async`.

The tiles of a loop (`staged_copies.py`) get N slots each, one behind the other in the LDS. Trip t
reads slot t mod N. Its copies were issued N - 1 trips before, so that they have as long to arrive:

    issue the copies of trips 0 .. N - 2, each trip's as a group
    for t = 0, 1, ...:
      wait until only N - 2 groups are on their way     the tiles of trip t have come for this lane
      barrier                                           and for all; and all have left trip t - 1
      issue the copies of trip t + N - 1 into slot (t + N - 1) mod N = (t - 1) mod N, as a group
      compute with slot t mod N

One barrier per trip is enough for both: the slot that is written now was last read in trip t - 1.
With N = 2 the copies of the next trip run while this one computes. A group is closed in the last
trips too, where it is empty, so that the number of groups on their way stays what it is.

`cp.async` moves 4, 8 or 16 bytes per lane from global memory to the LDS, past the registers (PTX
ISA, "cp.async"); both addresses are multiples of the size. It needs sm_80.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd, prod

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.memory.flat_allocations import align_allocation
from ...dialect_utils.memory.lds_ops import DEALLOC, SUBVIEW
from ...dialect_utils.memory.memref_types import (
    row_major_strides,
    row_major_type,
    strided_type,
    type_of,
    whole_element_bits,
)
from .other_trip import OtherTrip
from .staged_copies import BARRIER, StagedCopy, StagedTile, StagingLoop

COPY = "nvgpu.device_async_copy"
COPY_BYTES = (4, 8, 16)
_WHOLE_CACHE_LINES = 16
"""`cp.async` of 16 bytes may pass by the L1 cache."""
_SLOT_BYTES = 128
"""Slots begin at the first bank, so that each has the layout of the tile."""


def check_copies(loop: StagingLoop) -> None:
    """Makes sure that all copies of a loop can be made by `cp.async`.

    Raises:
        Refusal: one cannot.
    """
    if loop.trips is not None and loop.trips < 2:
        raise Refusal("the loop has one trip")
    for tile in loop.tiles:
        for copy in tile.copies:
            if copy.bytes not in COPY_BYTES or copy.alignment < copy.bytes:
                raise Refusal(
                    f"a lane copies {copy.bytes} bytes at multiples of {copy.alignment}",
                    copy.store.location,
                )


def _row_bytes(tile: StagedTile) -> int:
    """Returns the bytes of one index of the first dimension of a tile."""
    kind = type_of(tile.allocation)
    bits = whole_element_bits(kind.element_type)
    assert bits is not None
    return prod(kind.shape[1:]) * bits // 8


def slot_rows(tile: StagedTile) -> int:
    """Returns the indices of the first dimension from one slot of a tile to the next."""
    whole = _SLOT_BYTES // gcd(_SLOT_BYTES, _row_bytes(tile))
    return -(-type_of(tile.allocation).shape[0] // whole) * whole


def slots_bytes(tile: StagedTile, slots: int) -> int:
    """Returns the bytes of a tile with so many slots."""
    return slot_rows(tile) * slots * _row_bytes(tile)


@dataclass(frozen=True)
class AsyncCopies:
    """Rewrites one loop, whose copies `check_copies` has let pass.

    Attributes:
        slots: how many trips' tiles the LDS holds, at least 2.
    """

    loop: StagingLoop
    slots: int

    def carry_out(self) -> None:
        """Makes the copies asynchronous."""
        operation, body = self.loop.operation, self.loop.operation.regions[0].blocks[0]
        induction = body.arguments[0]
        with operation.location:
            with ir.InsertionPoint(operation):
                if self.loop.is_repeated:
                    # Lanes may still read what the loop has staged when it ran before.
                    _barrier(self.loop.barriers[0])
                memrefs = [_with_slots(tile, self.slots) for tile in self.loop.tiles]
                token: ir.Value | None = None
                for trip in range(self.slots - 1):
                    self._issue_first(trip, memrefs)
                    token = _close_group()
                assert token is not None
            with ir.InsertionPoint.at_block_begin(body):
                _wait(token, self.slots - 2)
                _barrier(self.loop.barriers[0])
                trip = self._trip(induction)
                here = self._slots(trip, 0, memrefs)
                there = self._slots(trip, self.slots - 1, memrefs)
                later = _add(induction, (self.slots - 1) * self.loop.step)
                with ir.InsertionPoint(self._only_if_there(later)):
                    self._issue(OtherTrip(operation, later), there)
                    ir.Operation.create("scf.yield", [], [])
                _close_group()
        for tile, memref, slot in zip(self.loop.tiles, memrefs, here, strict=True):
            _redirect(tile, memref, slot)
        if self.loop.is_closed:
            for barrier in self.loop.barriers:
                barrier.erase()

    def _issue_first(self, trip: int, memrefs: Sequence[ir.Value]) -> None:
        """Emits the copies of a trip before the loop."""
        tiles = zip(self.loop.tiles, memrefs, strict=True)
        slots = [_slot(tile, memref, _index(trip * slot_rows(tile))) for tile, memref in tiles]
        at = _index(self.loop.lower + trip * self.loop.step)
        other = OtherTrip(self.loop.operation, at)
        if self.loop.trips is None:
            with ir.InsertionPoint(self._only_if_there(at)):
                self._issue(other, slots)
                ir.Operation.create("scf.yield", [], [])
        elif trip < self.loop.trips:
            self._issue(other, slots)

    def _only_if_there(self, induction: ir.Value) -> ir.Block:
        """Emits the condition that the loop has a trip, and returns the block under it."""
        condition = _is_below(induction, self.loop.operation.operands[1])
        guard = ir.Operation.create("scf.if", [], [condition], regions=2)
        return guard.regions[0].blocks.append()

    def _trip(self, induction: ir.Value) -> ir.Value:
        """Emits the number of the trip."""
        begun = _binary("arith.subi", induction, _index(self.loop.lower))
        return _binary("arith.divui", begun, _index(self.loop.step))

    def _slots(self, trip: ir.Value, later: int, memrefs: Sequence[ir.Value]) -> list[ir.Value]:
        """Emits the slot of each tile in a trip that comes `later`."""
        number = _binary("arith.remui", _add(trip, later), _index(self.slots))
        return [
            _slot(tile, memref, _binary("arith.muli", number, _index(slot_rows(tile))))
            for tile, memref in zip(self.loop.tiles, memrefs, strict=True)
        ]

    def _issue(self, trip: OtherTrip, slots: Sequence[ir.Value]) -> None:
        """Emits the copies of a trip to a slot of each tile."""
        for tile, slot in zip(self.loop.tiles, slots, strict=True):
            guarded: dict[tuple[ir.Operation, ...], list[StagedCopy]] = {}
            for copy in tile.copies:
                guarded.setdefault(copy.guards, []).append(copy)
            for guards, copies in guarded.items():
                _copy_under(guards, copies, trip, slot)


def _copy_under(
    guards: Sequence[ir.Operation],
    copies: Iterable[StagedCopy],
    trip: OtherTrip,
    slot: ir.Value,
) -> None:
    """Emits copies in a trip, where the guards let them happen."""
    operands: list[tuple[StagedCopy, list[ir.Value], list[ir.Value]]] = []
    for copy in copies:
        there = [trip.value(index) for index in list(copy.store.operands)[2:]]
        operands.append((copy, [trip.value(operand) for operand in copy.load.operands], there))
    conditions = [trip.value(guard.operands[0]) for guard in guards]
    if not conditions:
        for copy, source, there in operands:
            _copy(copy, source, slot, there)
        return
    condition = conditions[0]
    for other in conditions[1:]:
        condition = _binary("arith.andi", condition, other)
    guard = ir.Operation.create("scf.if", [], [condition], regions=2)
    with ir.InsertionPoint(guard.regions[0].blocks.append()):
        for copy, source, there in operands:
            _copy(copy, source, slot, there)
        ir.Operation.create("scf.yield", [], [])


def _copy(
    copy: StagedCopy, source: Sequence[ir.Value], memref: ir.Value, there: Sequence[ir.Value]
) -> None:
    elements = ir.VectorType(copy.load.results[0].type).shape[0]
    attributes: dict[str, ir.Attribute] = {
        "dstElements": ir.IntegerAttr.get(ir.IndexType.get(), elements),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(there), 1, len(source) - 1, 0]),
    }
    if copy.bytes == _WHOLE_CACHE_LINES:
        attributes["bypassL1"] = ir.UnitAttr.get()
    operands = [memref, *there, *source]
    with copy.store.location:
        ir.Operation.create(COPY, [_token()], operands, attributes)


def _token() -> ir.Type:
    return ir.Type.parse("!nvgpu.device.async.token")


def _close_group() -> ir.Value:
    return ir.Operation.create("nvgpu.device_async_create_group", [_token()], []).results[0]


def _wait(token: ir.Value, groups: int) -> None:
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), groups)
    ir.Operation.create("nvgpu.device_async_wait", [], [token], {"numGroups": number})


def _barrier(like: ir.Operation) -> None:
    attributes = {name: like.attributes[name] for name in like.attributes}
    ir.Operation.create(BARRIER, [], [], attributes)


def _index(value: int) -> ir.Value:
    attribute = ir.IntegerAttr.get(ir.IndexType.get(), value)
    kind = ir.IndexType.get()
    return ir.Operation.create("arith.constant", [kind], [], {"value": attribute}).results[0]


def _binary(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    return ir.Operation.create(name, [left.type], [left, right]).results[0]


def _add(value: ir.Value, constant: int) -> ir.Value:
    return _binary("arith.addi", value, _index(constant)) if constant else value


def _is_below(value: ir.Value, limit: ir.Value) -> ir.Value:
    signed_less = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 2)
    truth = ir.IntegerType.get_signless(1)
    return ir.Operation.create(
        "arith.cmpi", [truth], [value, limit], {"predicate": signed_less}
    ).results[0]


def _with_slots(tile: StagedTile, slots: int) -> ir.Value:
    """Emits a tile's allocation with room for its slots, at the place of the old one."""
    old = tile.allocation
    kind = type_of(old)
    shape = (slot_rows(tile) * slots, *kind.shape[1:])
    attributes = {name: old.attributes[name] for name in old.attributes}
    with ir.InsertionPoint(old), old.location:
        new = ir.Operation.create("memref.alloc", [row_major_type(kind, shape)], [], attributes)
    align_allocation(new, max(copy.bytes for copy in tile.copies))
    return new.results[0]


def _slot(tile: StagedTile, memref: ir.Value, first: ir.Value) -> ir.Value:
    """Emits the view of a tile's slot that begins at an index of the first dimension.

    A view, because then the index of an access does not change in a loop: LLVM computes it once,
    and adds the address of the slot. Of a sum of indices LLVM computes more in every trip.
    """
    kind = type_of(tile.allocation)
    strides = row_major_strides(kind.shape)
    rest = len(kind.shape) - 1
    attributes: dict[str, ir.Attribute] = {
        "static_offsets": ir.DenseI64ArrayAttr.get([DYNAMIC, *[0] * rest]),
        "static_sizes": ir.DenseI64ArrayAttr.get(list(kind.shape)),
        "static_strides": ir.DenseI64ArrayAttr.get([1] * (rest + 1)),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 0, 0]),
    }
    view = strided_type(kind, kind.shape, strides, DYNAMIC)
    return ir.Operation.create(SUBVIEW, [view], [memref, first], attributes).results[0]


def _redirect(tile: StagedTile, memref: ir.Value, slot: ir.Value) -> None:
    """Lets the reads of a tile go to a slot, and removes its copies and its old allocation."""
    for read in tile.reads:
        read.operands[0] = slot
    for copy in tile.copies:
        copy.store.erase()
        copy.load.erase()
    for use in list(tile.allocation.results[0].uses):
        user = use.owner.operation
        assert user.name == DEALLOC
        user.operands[0] = memref
    tile.allocation.erase()
