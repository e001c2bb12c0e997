# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewriting loads and stores through swizzle hints into accesses at swizzled offsets.

A swizzle moves runs of elements. An access inside one run stays as it is, at another offset. A
vector of several runs is one access per run, unless the swizzle only reorders the runs within the
vector's own block of memory, and alike wherever it is accessed: then it stays whole and its
elements change places in registers.

**Alignment.** The backend issues one wide LDS instruction only if it can prove the address aligned,
and it gives up after a few steps of index arithmetic, of which swizzles add some. So an access says
what is known here of its address, as its `alignment`, and the allocation is aligned as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
from iree.compiler import ir

from ..bank_model.layouts import MAX_USEFUL_ALIGNMENT
from ..bank_model.swizzles import chain_period
from .access_offsets import KnownOffsets, element_count, vector_type
from .element_types import element_bits
from .hinted_buffers import BufferAccess, BufferGroup, Chain
from .lds_accesses import is_lds_allocation
from .swizzle_arithmetic import SwizzledOffsets
from .swizzle_legality import Placement, contiguous_run, placement


@dataclass(frozen=True)
class AccessRewriter:
    """Rewrites the accesses of one function's groups, whose chains must be resolvable."""

    known: KnownOffsets
    offsets: SwizzledOffsets

    def rewrite(self, group: BufferGroup, chain: Chain) -> list[ir.Operation]:
        """Swizzles all accesses of a group; returns the operations that others have replaced."""
        rewriting = _Rewriting(chain, contiguous_run(chain), self, _allocations(group))
        replaced: list[ir.Operation] = []
        for access in group.accesses:
            if not access.is_gather and rewriting.splits(access):
                replaced.append(access.operation)
        return replaced


@dataclass(frozen=True)
class _Rewriting:
    """Rewrites accesses that go through one chain."""

    chain: Chain
    run: int
    rewriter: AccessRewriter
    allocations: Sequence[ir.Operation]
    """What the accesses access, if it can be aligned; else nothing."""

    def splits(self, access: BufferAccess) -> bool:
        """Swizzles one access; whether others have replaced it."""
        known = self.rewriter.known
        footprint = known.footprint(access, self.run)
        if placement(self.run, footprint) is Placement.INSIDE:
            self._move(access, self._offset(access))
            multiple = gcd(self.run, footprint.multiple, footprint.residue)
            self._align(access.operation, access, self.run, multiple)
            return False
        order = known.common_order(access, self.chain, self.run)
        if order is not None:
            self._reorder(access, order)
            return False
        self._split(access)
        return True

    def _offset(self, access: BufferAccess, constant: int = 0) -> ir.Value:
        emit = self.rewriter.offsets.emit
        return emit(access.operation, self.chain, access.offset, constant)

    def _move(self, access: BufferAccess, offset: ir.Value) -> None:
        access.operation.operands[access.buffer_operand + 1] = offset

    def _reorder(self, access: BufferAccess, order: Sequence[int]) -> None:
        """Moves a whole vector whose run k lies at place `order[k]` of its block of memory."""
        operation = access.operation
        count = element_count(access)
        self._move(access, self._offset(access, order.index(0) * self.run))
        self._align(operation, access, count, gcd(count, chain_period(self.chain)))
        in_memory = [place * self.run + element for place in order for element in range(self.run)]
        if in_memory == sorted(in_memory):
            return
        with operation.location:
            if operation.name == "vector.store":
                taken = np.argsort(in_memory).tolist()
                with ir.InsertionPoint(operation):
                    operation.operands[0] = _shuffled(operation.operands[0], taken)
                return
            with ir.InsertionPoint.after(operation):
                loaded = operation.results[0]
                shuffled = _shuffled(loaded, in_memory)
            loaded.replace_all_uses_except(shuffled, shuffled.owner.operation)

    def _split(self, access: BufferAccess) -> None:
        """Replaces an access of several runs by one access per run."""
        operation, run = access.operation, self.run
        vector = vector_type(access)
        assert vector is not None
        piece = ir.VectorType.get([run], vector.element_type, loc=operation.location)
        starts = range(0, vector.shape[0], run)
        indices = [self._offset(access, start) for start in starts]
        attributes = {name: operation.attributes[name] for name in operation.attributes}
        with ir.InsertionPoint(operation), operation.location:
            if operation.name == "vector.store":
                for start, index in zip(starts, indices, strict=True):
                    part = ir.Operation.create(
                        "vector.extract_strided_slice",
                        results=[piece],
                        operands=[operation.operands[0]],
                        attributes=_slice(offsets=start, sizes=run, strides=1),
                    ).results[0]
                    made = ir.Operation.create(
                        operation.name, operands=[part, access.buffer, index], attributes=attributes
                    )
                    self._align(made, access, run, run)
                return
            is_float = isinstance(vector.element_type, ir.FloatType)
            zero = ir.Attribute.parse(f"dense<{'0.0' if is_float else '0'}> : {vector}")
            value = ir.Operation.create(
                "arith.constant", results=[vector], attributes={"value": zero}
            ).results[0]
            for start, index in zip(starts, indices, strict=True):
                made = ir.Operation.create(
                    operation.name,
                    results=[piece],
                    operands=[access.buffer, index],
                    attributes=attributes,
                )
                self._align(made, access, run, run)
                value = ir.Operation.create(
                    "vector.insert_strided_slice",
                    results=[vector],
                    operands=[made.results[0], value],
                    attributes=_slice(offsets=start, strides=1),
                ).results[0]
        operation.results[0].replace_all_uses_with(value)

    def _align(
        self, operation: ir.Operation, access: BufferAccess, unit: int, multiple: int
    ) -> None:
        """Says how `operation`, which `access` has become, is aligned.

        What it moves has moved by a multiple of `unit` elements, and lies at a multiple of
        `multiple` elements of its buffer; 0 is a multiple of everything. Of a promise that was made
        before, what divides both it and the unit still holds. `nontemporal` stays as it is.
        """
        element = ir.MemRefType(access.buffer.type).element_type
        bits = element_bits(element)
        promised = 0
        if "alignment" in operation.attributes:
            before = ir.IntegerAttr(operation.attributes["alignment"]).value
            promised = max(gcd(before * 8, unit * (bits or 8)) // 8, 1)
        vector = vector_type(access)
        if vector is not None and operation.name.startswith("vector.") and bits and not bits % 8:
            moved = _vector_bytes(operation, bits)
            useful = min(1 << (moved - 1).bit_length(), MAX_USEFUL_ALIGNMENT)
            found = gcd(multiple * bits // 8, useful)
            if self.allocations and found > max(promised, bits // 8):
                promised = found
                for allocation in self.allocations:
                    _align_allocation(allocation, found)
        if promised:
            kind = ir.IntegerType.get_signless(64, operation.context)
            operation.attributes["alignment"] = ir.IntegerAttr.get(kind, promised)


def _vector_bytes(operation: ir.Operation, bits: int) -> int:
    """What a vector.load or vector.store moves."""
    value = operation.results[0] if len(operation.results) else operation.operands[0]
    return ir.VectorType(value.type).shape[0] * bits // 8


def _allocations(group: BufferGroup) -> list[ir.Operation]:
    """The group's LDS allocations; none if it has other memory, whose alignment is not known."""
    found: list[ir.Operation] = []
    for root in group.roots:
        owner = None if isinstance(root.owner, ir.Block) else root.owner.operation
        if owner is None or not is_lds_allocation(owner):
            return []
        found.append(owner)
    return found


def _align_allocation(allocation: ir.Operation, alignment: int) -> None:
    before = 1
    if "alignment" in allocation.attributes:
        before = ir.IntegerAttr(allocation.attributes["alignment"]).value
    if alignment > before:
        kind = ir.IntegerType.get_signless(64, allocation.context)
        allocation.attributes["alignment"] = ir.IntegerAttr.get(kind, alignment)


def _shuffled(vector: ir.Value, taken: list[int]) -> ir.Value:
    """The vector of the elements `taken` of another."""
    return ir.Operation.create(
        "vector.shuffle",
        results=[vector.type],
        operands=[vector, vector],
        attributes={"mask": ir.DenseI64ArrayAttr.get(taken)},
    ).results[0]


def _slice(**numbers: int) -> dict[str, ir.Attribute]:
    """The attributes of a strided slice of a rank-1 vector."""
    kind = ir.IntegerType.get_signless(64)
    return {
        name: ir.ArrayAttr.get([ir.IntegerAttr.get(kind, number)])
        for name, number in numbers.items()
    }
