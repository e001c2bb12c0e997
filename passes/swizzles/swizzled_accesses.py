# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewriting loads and stores through swizzle hints into accesses at swizzled offsets.

A swizzle moves runs of consecutive elements: a run keeps its order, but lies somewhere else. What
this means for an access depends on where its elements lie among the runs.

* An access that stays inside one run keeps its form. Only its offset changes.
* A vector of several runs becomes one access for each run. There is one exception. If the swizzle
  only reorders the runs within the block of memory that the vector fills, and does so in the same
  way wherever the vector is accessed, then the access stays whole, and the elements change places
  in registers.
* A vector that may begin inside a run has elements in more places. The program then asks at run
  time where the vector begins. At the beginning of a run, the access is split into runs. Elsewhere
  it is split into elements:

      %v = vector.load %h[%o]   ->   %v = scf.if %o % 8 == 0 { one load } else { eight loads }

Where the length of the buffer is not known, every offset depends on it, because a buffer that its
rows do not fill stays plain (`hint_resolution.asked_length`).

**Alignment.** A swizzle adds index arithmetic to an offset. The backend then no longer sees how the
address is aligned, and would split wide accesses. Therefore every rewritten access states its
alignment (`stated_alignment.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import pairwise
from math import gcd

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzle_legality import (
    AccessFootprint,
    Placement,
    may_be_whole_runs,
    placement,
    split_points,
)
from ...bank_model.swizzles import chain_period
from ...dialect_utils.builders import Builder
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.index_builder import EmittedIndex
from ...dialect_utils.memory.buffer_starts import begins_at_multiple_of
from ...dialect_utils.memory.flow import lds_allocations_at
from ...dialect_utils.memory.lds_ops import COLLAPSE_SHAPE, promised_alignment
from ...dialect_utils.memory.stated_alignment import state_alignment
from ...dialect_utils.operations import defining_operation
from ...dialect_utils.swizzle_hint import Chain, unhinted
from .access_offsets import KnownOffsets, element_count
from .hint_resolution import AskedLength, PlacedAccess, asked_length
from .hinted_buffers import BufferAccess, BufferGroup
from .swizzle_arithmetic import SwizzledOffsets


class AccessRewriter(NamedTuple):
    """Rewrites the accesses of the groups of one function, whose chains must be resolvable."""

    known: KnownOffsets
    offsets: SwizzledOffsets

    def rewrite(self, group: BufferGroup, accesses: Iterable[PlacedAccess]) -> RewrittenAccesses:
        """Rewrites accesses of a group, each by the chain of hints of its own buffer."""
        # How other memory is aligned is not known.
        allocations = [] if group.problem is not None else lds_allocations_at(group.roots)
        done = RewrittenAccesses()
        buffers: dict[ir.Value, _Buffer] = {}
        for access, chain, run, footprint in accesses:
            asked = asked_length(group, access, self.known.bits)
            condition = None if asked is None else self._fills(asked)
            if access.buffer not in buffers:
                buffers[access.buffer] = _Buffer.of(access.buffer, self.known.bits)
            buffer = buffers[access.buffer]
            rewriting = _Rewriting(chain, run, self, allocations, buffer, condition)
            rewriting.rewrite(access, footprint, done)
        return done

    def _fills(self, asked: AskedLength) -> ir.Value:
        """Emits the question whether rows fill a buffer, right behind the buffer's definition."""
        builder = self.offsets.builder
        buffer, zero = asked.buffer, builder.constant(0)
        length = builder.emitted(buffer, builder.behind(buffer).dim(buffer, zero))
        rest = EmittedIndex(builder, buffer, length) % asked.row
        return builder.emitted(buffer, builder.behind(buffer).cmpi("eq", rest.value, zero))


@dataclass
class RewrittenAccesses:
    """What the accesses of a group have become.

    Attributes:
        replaced: the operations that new ones stand for. The caller erases them.
        swizzled: the number of accesses.
        checked: the number of accesses that ask at run time where they begin.
    """

    replaced: list[ir.Operation] = field(default_factory=list)
    swizzled: int = 0
    checked: int = 0


class _Piece(NamedTuple):
    """The elements `first` to `first + width - 1` of a vector, and their swizzled offset.

    The offset is a multiple of `unit` elements. It was one before the swizzle, too.
    """

    first: int
    width: int
    offset: ir.Value
    unit: int


class _Buffer(NamedTuple):
    """What accesses to a buffer have in common.

    Attributes:
        row_length: the length of the rows of the memref of which it is a flat view; 0 for none.
        begins: it begins at a multiple of so many elements of its allocations.
    """

    row_length: int
    begins: int

    @staticmethod
    def of(buffer: ir.Value, bits: IndexBits) -> _Buffer:
        """Reads a buffer."""
        return _Buffer(_row_length(buffer), begins_at_multiple_of(buffer, bits))


class _Rewriting(NamedTuple):
    """Rewrites the accesses to a buffer that go through one chain of hints.

    Attributes:
        run: the number of consecutive elements that the chain moves together.
        allocations: the allocations that the accesses reach, if their alignment can be stated.
        condition: where the length of the buffer decides about the layout, an i1 that is true if
            the chain applies, and false if the layout is plain.
    """

    chain: Chain
    run: int
    rewriter: AccessRewriter
    allocations: Sequence[ir.Operation]
    buffer: _Buffer
    condition: ir.Value | None = None

    def rewrite(
        self, access: BufferAccess, footprint: AccessFootprint, done: RewrittenAccesses
    ) -> None:
        """Rewrites one access, and notes in `done` what it has become."""
        placed = placement(self.run, footprint)
        done.swizzled += 1
        if placed is Placement.INSIDE:
            self._move(access, self._offset(access))
            multiple = gcd(self.run, footprint.multiple, footprint.residue)
            self._align(access.operation, access, self.run, multiple)
            return
        is_split = placed is Placement.SPLIT
        order = None
        if is_split and self.condition is None:
            order = self.rewriter.known.common_order(access, self.chain, self.run)
        if order is not None:
            self._reorder(access, order)
            return
        if not is_split and may_be_whole_runs(self.run, footprint):
            value = self._checked(access)
            done.checked += 1
        else:
            if placed is Placement.PARTS:
                pieces = self._parts(access, footprint)
            else:
                pieces = self._pieces(access, self.run if is_split else 1)
            loaded = self._access_pieces(access, pieces, Builder.before(access.operation))
            value = loaded[0] if loaded else None
        if value is not None:
            access.operation.results[0].replace_all_uses_with(value)
        done.replaced.append(access.operation)

    def _offset(self, access: BufferAccess, constant: int = 0) -> ir.Value:
        offsets = self.rewriter.offsets
        user, length = access.operation, self.buffer.row_length
        swizzled = offsets.emit(user, self.chain, access.offset, constant, length)
        if self.condition is None:
            return swizzled
        plain = offsets.builder.add_constant_before(
            user, access.offset, constant, no_unsigned_wrap=False
        )
        return Builder.before(user).select(self.condition, swizzled, plain)

    def _move(self, access: BufferAccess, offset: ir.Value) -> None:
        access.operation.operands[access.buffer_operand + 1] = offset

    def _reorder(self, access: BufferAccess, order: Sequence[int]) -> None:
        """Moves a vector as a whole. Its run k lies at place `order[k]` of its block of memory."""
        operation = access.operation
        count = element_count(access)
        self._move(access, self._offset(access, order.index(0) * self.run))
        self._align(operation, access, count, gcd(count, chain_period(self.chain)))
        in_memory = [place * self.run + element for place in order for element in range(self.run)]
        if in_memory == sorted(in_memory):
            return
        if access.writes:
            taken = np.argsort(in_memory).tolist()
            operation.operands[0] = Builder.before(operation).shuffle(operation.operands[0], taken)
            return
        loaded = operation.results[0]
        shuffled = Builder.after(operation).shuffle(loaded, in_memory)
        loaded.replace_all_uses_except(shuffled, shuffled.owner.operation)

    def _checked(self, access: BufferAccess) -> ir.Value | None:
        """Emits an access that asks at run time whether it begins at a run.

        Returns:
            the loaded value; None for a store.
        """
        operation, builder = access.operation, self.rewriter.offsets.builder
        zero = builder.constant(0)
        inside = builder.index(access.offset) % self.run
        runs, elements = (self._pieces(access, width) for width in (self.run, 1))
        at = Builder.before(operation)
        choice = at.if_(
            at.cmpi("eq", inside.value, zero),
            lambda then: self._access_pieces(access, runs, then),
            lambda otherwise: self._access_pieces(access, elements, otherwise),
            [result.type for result in operation.results],
        )
        return choice.results[0] if len(choice.results) else None

    def _pieces(self, access: BufferAccess, width: int) -> list[_Piece]:
        """Returns the parts of `width` elements of a vector, with their swizzled offsets."""
        count = element_count(access)
        return [_Piece(at, width, self._offset(access, at), width) for at in range(0, count, width)]

    def _parts(self, access: BufferAccess, footprint: AccessFootprint) -> list[_Piece]:
        """Returns the parts of a vector that is split at every element at which a run may begin."""
        ends = [*split_points(self.run, footprint)[1:], footprint.count]
        pieces: list[_Piece] = []
        for first, end in pairwise([0, *ends]):
            unit = gcd(self.run, footprint.multiple, footprint.residue + first)
            pieces.append(_Piece(first, end - first, self._offset(access, first), unit))
        return pieces

    def _access_pieces(
        self, access: BufferAccess, pieces: Sequence[_Piece], at: Builder
    ) -> list[ir.Value]:
        """Emits an access for each piece, and returns the whole vector if it is loaded."""
        operation = access.operation
        if access.writes:
            for piece in pieces:
                part = at.extract_slice(operation.operands[0], piece.first, piece.width)
                made = at.like(operation, [part, access.buffer, piece.offset])
                self._align(made, access, piece.unit, piece.unit)
            return []
        vector = ir.VectorType(operation.results[0].type)
        value = at.constant(vector, 0)
        for piece in pieces:
            part = at.vector_type([piece.width], vector.element_type)
            made = at.like(operation, [access.buffer, piece.offset], [part])
            self._align(made, access, piece.unit, piece.unit)
            value = at.insert_slice(made.results[0], value, piece.first)
        return [value]

    def _align(
        self, operation: ir.Operation, access: BufferAccess, unit: int, multiple: int
    ) -> None:
        """States the alignment of `operation`, which `access` has become.

        The swizzle has moved its elements by a multiple of `unit` elements, to a multiple of
        `multiple` elements from the start of the buffer. A `multiple` of 0 stands for the start
        itself. If the program promised an alignment before, the greatest common divisor of that
        promise and of the unit still holds. The attribute `nontemporal` stays as it is.
        """
        bits = element_bits(ir.MemRefType(access.buffer.type).element_type) or 8
        promised = promised_alignment(operation)
        if promised:
            promised = max(gcd(promised * 8, unit * bits) // 8, 1)
        multiple = gcd(multiple, self.buffer.begins)
        state_alignment(operation, access.buffer, multiple, self.allocations, promised)


def _row_length(buffer: ir.Value) -> int:
    """Returns the length of the rows of the memref of which a flat one is a view; 0 for none."""
    view = defining_operation(unhinted(buffer))
    if view is None or view.name != COLLAPSE_SHAPE:
        return 0
    source = ir.MemRefType(view.operands[0].type)
    return source.shape[-1] if source.has_static_shape and source.rank > 1 else 0
