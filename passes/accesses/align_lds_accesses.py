# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-align-lds-accesses`: vector accesses to the LDS say how they are aligned.

    %o = affine.apply affine_map<(w) -> (w * 16)>(%w)
    vector.store %v, %a[%o] : memref<32xf32, #ws>, vector<8xf32>

becomes a store with `alignment = 16`, and so does the allocation. The layouts of this package are
chosen for wide LDS instructions, which the backend issues only for addresses that it can prove
aligned (`dialect_utils/memory/stated_alignment.py`). Accesses that a swizzle has moved say it
already; here the others do, of allocations that stay plain or are padded.

Some operations fault where their addresses are not aligned (`dialect_utils/memory/lds_ops.py`). No
layout of ours moves them to such an address. Where the program itself has, a warning says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal, location_at
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import Launch, launch_of
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.lane_values import LaneEvaluator
from ...dialect_utils.memory.buffer_starts import begins_at_multiple_of
from ...dialect_utils.memory.flow import (
    is_lds_allocation,
    lds_allocations,
    lds_allocations_at,
    roots_of,
)
from ...dialect_utils.memory.lds_ops import (
    Access,
    Misaligned,
    access_row,
    accesses_in,
    in_elements,
    promised_alignment,
    required_alignment,
)
from ...dialect_utils.memory.lds_reading import (
    check_aligned,
    read_allocations,
)
from ...dialect_utils.memory.memref_types import is_workgroup_memref, static_strides, type_of
from ...dialect_utils.memory.stated_alignment import state_alignment
from ...dialect_utils.operations import defining_operation
from ...dialect_utils.swizzle_hint import STOWED_SWIZZLE, stowed_attributes
from ..base import FunctionPass, PassContext
from ..swizzles.hint_ownership import are_hints_marked


class AlignLdsAccesses(FunctionPass):
    """States the alignment of vector loads and stores in LDS allocations where it is known.

    What was stated before stays if it is more. Accesses to anything that may be other memory are
    left alone.
    """

    name: ClassVar[str] = "bankwise-align-lds-accesses"
    summary: ClassVar[str] = "state how vector accesses to LDS allocations are aligned"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has LDS allocations that are not the stock compiler's affair.

        Those with hints of its own are: where a function has no others, the stage is left to it.
        """
        allocations = lds_allocations(function)
        if are_hints_marked(function):
            return bool(allocations)
        return any(not stowed_attributes(allocation) for allocation in allocations)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Adds `alignment` attributes; never fails."""
        function = function.operation
        if not lds_allocations(function):
            return
        with function.context:
            launch = launch_of(function, context.test_target)
            rows = [(op, row) for op in accesses_in(function) if (row := access_row(op))]
            bits = IndexBits(function, None if launch is None else LaneEvaluator(launch))
            # Loads and stores whose address is less aligned are split. Others fault.
            may_fault = any(row.alignment and not row.states_alignment for _, row in rows)
            if launch and may_fault and not _are_aligned(rows, bits):
                _warn_of_misaligned(function, launch, context)
            memories: dict[ir.Value, _Memory | None] = {}
            for operation, row in rows:
                if row.states_alignment:
                    _align(operation, row, bits, memories)


def _are_aligned(rows: Sequence[tuple[ir.Operation, Access]], bits: IndexBits) -> bool:
    """Returns whether the bits of indices show that none of some accesses can fault.

    They show it sooner than the addresses of all lanes. Where they do not, it may still be so.
    """
    needing: dict[ir.Value, list[tuple[ir.Operation, Access]]] = {}
    for operation, row in rows:
        if required_alignment(operation) > 1:
            number = row.buffer_operand(operation)
            if number is None:
                return False
            needing.setdefault(operation.operands[number], []).append((operation, row))
    return all(
        not _may_be_lds(buffer) or _are_aligned_in(buffer, accesses, bits)
        for buffer, accesses in needing.items()
    )


def _are_aligned_in(
    buffer: ir.Value, accesses: Sequence[tuple[ir.Operation, Access]], bits: IndexBits
) -> bool:
    """Returns whether accesses to LDS have the alignment that they need, by their indices alone.

    That can be told of accesses to an LDS allocation itself, which are behind no swizzle.
    """
    allocation = defining_operation(buffer)
    if not is_lds_allocation(allocation):
        return False
    kind = type_of(buffer)
    width, strides = element_bits(kind.element_type), static_strides(kind)
    if STOWED_SWIZZLE in allocation.attributes or width is None or strides is None:
        return False
    return all(_is_aligned(each, row, bits, width, strides) for each, row in accesses)


def _is_aligned(
    operation: ir.Operation, row: Access, bits: IndexBits, width: int, strides: Sequence[int]
) -> bool:
    """Returns whether the indices of an access show that it has the alignment that it needs.

    Args:
        width: the bits of an element.
    """
    try:
        footprint = None if row.footprint is None else row.footprint(operation)
    except Refusal:
        return False
    if footprint is None or footprint.wave_elements:
        return False
    multiple = bits.multiple(footprint.indices, strides)
    return multiple % in_elements(required_alignment(operation), width) == 0


def _warn_of_misaligned(function: ir.Operation, launch: Launch, context: PassContext) -> None:
    """Warns of accesses that fault at the addresses that the program has chosen."""
    for allocation in read_allocations(function, launch):
        if allocation.tile is None:
            continue
        for access in allocation.accesses:
            try:
                check_aligned(allocation, access)
            except Misaligned as fault:
                context.sink.warning(location_at(access.location, function), fault.reason)
                break


class _Memory(NamedTuple):
    """The memory of a buffer.

    Attributes:
        allocations: the LDS allocations that it may be a part of.
        begins: it begins at a multiple of so many elements of these.
    """

    allocations: Sequence[ir.Operation]
    strides: Sequence[int]
    begins: int


def _align(
    operation: ir.Operation,
    row: Access,
    bits: IndexBits,
    memories: dict[ir.Value, _Memory | None],
) -> None:
    """States the alignment of an access.

    Args:
        memories: those of the buffers that were asked for.
    """
    number = row.buffer_operand(operation)
    assert number is not None
    buffer = operation.operands[number]
    if buffer not in memories:
        memories[buffer] = _memory_of(buffer, bits)
    memory = memories[buffer]
    if memory is None:
        return
    multiple = bits.multiple(list(operation.operands)[number + 1 :], memory.strides)
    multiple, promised = gcd(multiple, memory.begins), promised_alignment(operation)
    state_alignment(operation, buffer, multiple, memory.allocations, promised)


def _may_be_lds(buffer: ir.Value) -> bool:
    """Returns whether `buffer` may be a part of an LDS allocation."""
    try:
        roots = [(root, defining_operation(root)) for root in roots_of(buffer)]
    except Refusal:
        return True
    return any(
        owner is None or is_lds_allocation(owner) or is_workgroup_memref(root.type)
        for root, owner in roots
    )


def _memory_of(buffer: ir.Value, bits: IndexBits) -> _Memory | None:
    """Returns the memory of a buffer; None where that may be other memory than LDS, and where its
    strides are not static."""
    strides = static_strides(type_of(buffer))
    try:
        allocations = lds_allocations_at(roots_of(buffer))
    except Refusal:
        return None
    if not allocations or strides is None:
        return None
    return _Memory(allocations, strides, begins_at_multiple_of(buffer, bits))
