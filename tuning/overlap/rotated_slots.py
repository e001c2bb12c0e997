# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Letting the copies of later iterations run under the contractions of this one.

On NVIDIA GPUs they are `cp.async`, on AMD's `amdgpu.gather_to_lds`.

The tiles of a loop (`staged_copies.py`) get N slots each, one behind the other in the LDS.
Iteration t reads slot t mod N. Its copies were issued N - 1 iterations before, so that they have as
long to arrive:

    issue the copies of iterations 0 .. N - 2, those of each iteration as a group
    for t = 0, 1, ...:
      wait until only N - 2 groups are on their way     the tiles of iteration t have come for this
      barrier                                           lane, then for all; all have left t - 1
      issue the copies of iteration t + N - 1 into slot (t + N - 1) mod N = (t - 1) mod N
      compute with slot t mod N

One barrier per iteration is enough for both: the slot that is written now was last read in
iteration t - 1. With N = 2 the copies of the next iteration run while this one computes. A group is
closed in the last iterations too, where it is empty, so that the number of groups on their way
stays what it is.

The last N - 1 iterations have nothing to copy. Either a branch asks for that, or their copies read
no byte and fill with zeros a slot that no iteration reads any more. Without the branch an iteration
is one block, in which the compiler spreads the copies among the contractions.

Where the matrix units may still read slot t - 1 in iteration t (`fragments/groups_under_way.py`),
copies are issued one iteration less ahead: those of t + N - 2 go into the slot of t - 2. All lanes
have waited for the units to be done with that one when iteration t begins. So copies need not wait
until the tiles of t have come. With a barrier more some or all are issued first, while the units
have the products of t - 1 to do, and the rest while they have those of t:

    for t = 0, 1, ...:
      barrier                                           all have waited for what reads slot t - 2
      issue copies of iteration t + N - 2 into slot (t - 2) mod N
      wait until only N - 3 groups are on their way     the tiles of iteration t have come
      barrier
      issue the other copies of iteration t + N - 2, which close the group
      compute with slot t mod N

`cp.async` moves 4, 8 or 16 bytes per lane from global memory to the LDS, past the registers (PTX
ISA, "cp.async"); both addresses are multiples of the size. It needs sm_80.

A `gather_to_lds` of CDNA4 moves 16 bytes per lane. `rocdl.asyncmark` closes a group of them, and
`rocdl.wait.asyncmark N` waits until N groups are on their way: LLVM counts what that is of vmcnt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from math import gcd, prod

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.index.index_cloner import IndexCloner
from ...dialect_utils.loops import body_of, bounds_of
from ...dialect_utils.memory.flat_allocations import align_allocation
from ...dialect_utils.memory.lds_ops import DEALLOC, DIRECT_WAITS
from ...dialect_utils.memory.memref_types import (
    row_major_strides,
    row_major_type,
    strided_type,
    type_of,
    whole_element_bits,
)
from ...dialect_utils.operations import operations_in, operations_of
from ..copies.other_iteration import at_iteration
from ..copies.staged_copies import StagedCopy, StagedTile, StagingLoop
from .early_copies import issue_early

COPY_BYTES = (4, 8, 16)
_WHOLE_CACHE_LINES = 16
"""`cp.async` of 16 bytes may pass by the L1 cache."""
_SLOT_BYTES = 128
"""Slots begin at the first bank, so that each has the layout of the tile."""

Part = list[list[StagedCopy]]
"""Some of the copies of an iteration, those of each tile."""


def check_copies(loop: StagingLoop) -> None:
    """Makes sure that all copies of a loop can be made by `cp.async`.

    Raises:
        Refusal: one cannot.
    """
    if loop.trip_count is not None and loop.trip_count < 2:
        raise Refusal("the loop has one iteration")
    copies = [copy for tile in loop.tiles for copy in tile.copies]
    if len({copy.is_direct for copy in copies}) > 1:
        raise Refusal("some copies go through registers, and others do not")
    for tile in loop.tiles:
        for copy in tile.copies:
            if copy.bytes not in COPY_BYTES or copy.alignment < copy.bytes:
                raise Refusal(
                    f"a lane copies {copy.bytes} bytes at multiples of {copy.alignment}",
                    copy.store.location,
                )


def bypasses_l1(copy: StagedCopy) -> bool:
    """Returns whether a copy passes by the L1 cache."""
    return copy.bytes == _WHOLE_CACHE_LINES


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


class AsyncCopies(NamedTuple):
    """Rewrites one loop, whose copies `check_copies` has let pass.

    Attributes:
        slots: how many iterations' tiles the LDS holds, at least 2.
        early: whether the first copies may be issued before what stands in front of the loop.
        one_block: whether the loop has no branch around copies. It must not be repeated, since the
            zeros of the last iterations are on their way then.
        may_be_read: how many slots an iteration may read, or those before it still: 1 or 2.
        before_wait: which part of the copies an iteration issues before it waits for its own; with
            0 it waits first, and has one barrier.
    """

    loop: StagingLoop
    slots: int
    early: bool = True
    one_block: bool = False
    may_be_read: int = 1
    before_wait: float = 0.0

    @property
    def _ahead(self) -> int:
        """Returns how many iterations before theirs copies are issued."""
        return self.slots - self.may_be_read

    def carry_out(self) -> None:
        """Makes the copies asynchronous."""
        loop = self.loop.operation
        for wait in operations_in(loop, *DIRECT_WAITS) if self._is_direct else ():
            wait.erase()
        before = Builder.before(loop)
        if self.loop.is_repeated:
            # Lanes may still read what the loop has staged when it ran before.
            before.like(self.loop.barriers[0], [])
        memrefs = [_with_slots(tile, self.slots) for tile in self.loop.tiles]
        token: ir.Value | None = None
        for iteration in range(self._ahead):
            is_early = iteration == 0 and self._may_be_early
            others = {*operations_of(loop.block)} if is_early else set()
            self._issue_first(before, iteration, memrefs)
            token = self._close(before)
            if is_early:
                issue_early([each for each in operations_of(loop.block) if each not in others])
        if self.one_block:
            # Whoever writes to this memory next must not meet zeros that are on their way.
            self._wait(Builder.after(loop), token, 0)
        for tile, memref, slot in zip(
            self.loop.tiles, memrefs, self._iterate(token, memrefs), strict=True
        ):
            _redirect(tile, memref, slot)
        for barrier in self.loop.surplus:
            barrier.erase()

    @property
    def _is_direct(self) -> bool:
        """Returns whether the copies are `gather_to_lds`."""
        return self.loop.tiles[0].copies[0].is_direct

    def _first_row(self, at: Builder, number: ir.Value, tile: StagedTile) -> ir.Value:
        """Emits the index at which a slot begins along the first dimension.

        LLVM would know that such an index is 0 or a power of two, say, and compute what a swizzle
        XORs with it anew in every iteration, by two instructions for each address in place of one.
        """
        row = at.muli(number, at.index(slot_rows(tile)))
        return at.unknown_number(row) if self._is_direct else row

    def _close(self, at: Builder) -> ir.Value | None:
        """Makes a group of the copies issued since the last one; returns its token, if it has."""
        if not self._is_direct:
            return at.close_group()
        at.mark_copies()
        return None

    def _wait(self, at: Builder, token: ir.Value | None, groups: int) -> None:
        """Waits until at most so many groups are on their way."""
        if token is None:
            at.wait_for_marks(groups)
        else:
            at.wait(token, groups)

    def _iterate(self, token: ir.Value | None, memrefs: Sequence[ir.Value]) -> list[ir.Value]:
        """Emits what an iteration waits for and copies; returns the slots that it reads.

        Args:
            token: that of the copies before the loop.
        """
        loop = self.loop.operation
        inside = Builder.at_begin(body_of(loop), loop.location)
        if not self.before_wait:
            self._wait(inside, token, self._ahead - 1)
        inside.like(self.loop.barriers[0], [])
        induction = body_of(loop).arguments[0]
        iteration = self._iteration(inside, induction)
        here = self._slots(inside, iteration, 0, memrefs)
        there = self._slots(inside, iteration, self._ahead, memrefs)
        later = _plus(inside, induction, self._ahead * self.loop.step)
        first, *rest = self._parts
        self._issue_in_loop(inside, later, there, first)
        if not rest:
            token = self._close(inside)
        if self.before_wait:
            self._wait(inside, token, self._ahead - len(rest))
            inside.like(self.loop.barriers[0], [])
        for part in rest:
            self._issue_in_loop(inside, later, there, part)
            self._close(inside)
        return here

    @property
    def _parts(self) -> list[Part]:
        """Returns the copies of an iteration in the parts in which they are issued: one or two."""
        whole = [[*tile.copies] for tile in self.loop.tiles]
        if not self.before_wait:
            return [whole]
        left = int(sum(map(len, whole)) * (1 - self.before_wait))
        first: Part = []
        rest: Part = []
        for copies in reversed(whole):
            behind = min(left, len(copies))
            first.insert(0, copies[: len(copies) - behind])
            rest.insert(0, copies[len(copies) - behind :])
            left -= behind
        return [first, rest] if any(rest) else [first]

    @property
    def _may_be_early(self) -> bool:
        """Returns whether the copies of the first iteration go before what waits for memory.

        Narrow copies are many, and what waits would be late: 16x333x100 in f16, whose lanes copy 27
        times 8 bytes in an iteration, takes 5 % longer so on an H200.
        """
        copies = (copy for tile in self.loop.tiles for copy in tile.copies)
        whole = all(map(bypasses_l1, copies))
        return self.early and whole and not self.loop.is_repeated

    def _issue_first(self, at: Builder, iteration: int, memrefs: Sequence[ir.Value]) -> None:
        """Emits the copies of an iteration before the loop."""
        tiles = zip(self.loop.tiles, memrefs, strict=True)
        slots = [
            _slot(at, tile, memref, at.index(iteration * slot_rows(tile))) for tile, memref in tiles
        ]
        induction = at.index(self.loop.lower + iteration * self.loop.step)
        whole = [[*tile.copies] for tile in self.loop.tiles]
        if self.loop.trip_count is None:
            self._issue_if_there(at, induction, slots, whole)
        elif iteration < self.loop.trip_count:
            self._issue(at, induction, slots, whole)

    def _issue_in_loop(
        self, at: Builder, induction: ir.Value, slots: Sequence[ir.Value], part: Part
    ) -> None:
        """Emits some copies of an iteration that the loop may not have."""
        if not self.one_block:
            self._issue_if_there(at, induction, slots, part)
            return
        _, upper, _ = bounds_of(self.loop.operation)
        self._issue(at, induction, slots, part, at.cmpi("slt", induction, upper))

    def _issue_if_there(
        self, at: Builder, induction: ir.Value, slots: Sequence[ir.Value], part: Part
    ) -> None:
        """Emits some copies of an iteration, if the loop has it."""
        _, upper, _ = bounds_of(self.loop.operation)
        condition = at.cmpi("slt", induction, upper)
        at.if_(condition, lambda inside: self._issue(inside, induction, slots, part))

    def _iteration(self, at: Builder, induction: ir.Value) -> ir.Value:
        """Emits the number of the iteration."""
        begun = at.subi(induction, at.index(self.loop.lower))
        return at.divui(begun, at.index(self.loop.step))

    def _slots(
        self, at: Builder, iteration: ir.Value, later: int, memrefs: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Emits the slot of each tile in an iteration that comes `later`."""
        number = at.remui(_plus(at, iteration, later), at.index(self.slots))
        return [
            _slot(at, tile, memref, self._first_row(at, number, tile))
            for tile, memref in zip(self.loop.tiles, memrefs, strict=True)
        ]

    def _issue(
        self,
        at: Builder,
        induction: ir.Value,
        slots: Sequence[ir.Value],
        part: Part,
        exists: ir.Value | None = None,
    ) -> None:
        """Emits some copies of an iteration to a slot of each tile.

        Args:
            exists: whether the loop has the iteration; None if it is known to.
        """
        iteration = at_iteration(self.loop.operation, induction, at)
        for copies, slot in zip(part, slots, strict=True):
            guarded: dict[tuple[ir.Operation, ...], list[StagedCopy]] = {}
            for copy in copies:
                guarded.setdefault(copy.guards, []).append(copy)
            for guards, copies in guarded.items():
                _copy_under(guards, copies, iteration, slot, exists)


def _copy_under(
    guards: Sequence[ir.Operation],
    copies: Iterable[StagedCopy],
    iteration: IndexCloner,
    slot: ir.Value,
    exists: ir.Value | None,
) -> None:
    """Emits copies in an iteration, where the guards let them happen.

    An iteration that does not exist reads no byte: its addresses may be anywhere.
    """
    at = iteration.builder
    operands: list[tuple[StagedCopy, list[ir.Value], list[ir.Value], ir.Value | None]] = []
    for copy in copies:
        there = [iteration.clone(index) for index in copy.target_indices]
        source = [iteration.clone(operand) for operand in copy.source]
        reading = [] if exists is None else [exists]
        if copy.choice is not None:
            reading.append(iteration.clone(copy.choice.operands[0]))
        count: ir.Value | None = None
        if reading:
            # The hardware fills with zeros what it does not read.
            chosen = reduce(at.andi, reading)
            count = at.select(chosen, at.index(_elements_of(copy)), at.index(0))
        operands.append((copy, source, [slot, *there], count))
    conditions = [iteration.clone(guard.operands[0]) for guard in guards]

    def emit(at: Builder) -> None:
        for copy, source, target, count in operands:
            here = at.at(copy.store.location)
            if copy.is_direct:
                here.gather_to_lds(target, source, copy.moved)
                continue
            bypass = bypasses_l1(copy)
            here.copy_async(target, source, _elements_of(copy), count, bypass_l1=bypass)

    if conditions:
        at.if_(reduce(at.andi, conditions), emit)
    else:
        emit(at)


def _elements_of(copy: StagedCopy) -> int:
    return copy.moved.shape[0]


def _plus(at: Builder, value: ir.Value, constant: int) -> ir.Value:
    return at.addi(value, at.index(constant)) if constant else value


def _with_slots(tile: StagedTile, slots: int) -> ir.Value:
    """Emits a tile's allocation with room for its slots, at the place of the old one."""
    old = tile.allocation
    kind = type_of(old)
    shape = (slot_rows(tile) * slots, *kind.shape[1:])
    new = Builder.before(old).like(old, [], [row_major_type(kind, shape)])
    align_allocation(new, max(copy.bytes for copy in tile.copies))
    return new.results[0]


def _slot(at: Builder, tile: StagedTile, memref: ir.Value, first: ir.Value) -> ir.Value:
    """Emits the view of a tile's slot that begins at an index of the first dimension.

    A view, because then the index of an access does not change in a loop: LLVM computes it once,
    and adds the address of the slot. Of a sum of indices LLVM computes more in every iteration.
    """
    kind = type_of(tile.allocation)
    view = strided_type(kind, kind.shape, row_major_strides(kind.shape), DYNAMIC)
    return at.subview(memref, view, first)


def _redirect(tile: StagedTile, memref: ir.Value, slot: ir.Value) -> None:
    """Lets the reads of a tile go to a slot, and removes its copies and its old allocation."""
    for read in tile.reads:
        read.operands[0] = slot
    for copy in tile.copies:
        if copy.is_direct:
            copy.store.erase()
            continue
        copy.store.erase()
        if copy.choice is not None:
            copy.choice.erase()
        copy.load.erase()
    for use in list(tile.allocation.results[0].uses):
        user = use.owner.operation
        assert user.name == DEALLOC
        user.operands[0] = memref
    tile.allocation.erase()
