# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Saying in the IR how vector accesses are aligned.

The backend issues one wide LDS instruction only if it can prove the address aligned. It gives up
after a few steps of index arithmetic, and it replaces an index by an equal one of which it knows
less: where only lane 0 stores, `(thread / 64) * 64` becomes `thread`, and 16 floats in a row take
eight instructions instead of four. So an access says what is known here of its address, as its
`alignment`, and the allocation is aligned as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from iree.compiler import ir

from ...bank_model.errors import up_to_power_of_two
from ...bank_model.layouts import MAX_USEFUL_ALIGNMENT
from ..element_types import element_bits
from .flat_allocations import align_allocation
from .lds_ops import access_row
from .memref_types import type_of


def state_alignment(
    operation: ir.Operation,
    buffer: ir.Value,
    multiple: int,
    allocations: Sequence[ir.Operation],
    promised: int = 0,
) -> None:
    """Lets a load or store say how it is aligned, if more is known than follows from its type.

    Args:
        buffer: what is accessed.
        multiple: the access lies at a multiple of so many elements of each allocation; 0 is a
            multiple of everything.
        allocations: whatever `buffer` may be a part of; nothing new is said if there are none.
        promised: bytes of an `alignment` that still holds, 0 if there is none.
    """
    width = element_bits(type_of(buffer).element_type)
    if width and not width % 8 and _is_stated(operation):
        moved = _moved_elements(operation) * width // 8
        useful = min(up_to_power_of_two(moved), MAX_USEFUL_ALIGNMENT)
        found = gcd(multiple * width // 8, useful)
        if allocations and found > max(promised, width // 8):
            promised = found
            for allocation in allocations:
                align_allocation(allocation, found)
    if promised:
        kind = ir.IntegerType.get_signless(64, operation.context)
        operation.attributes["alignment"] = ir.IntegerAttr.get(kind, promised)


def _is_stated(operation: ir.Operation) -> bool:
    row = access_row(operation)
    return row is not None and row.states_alignment


def _moved_elements(operation: ir.Operation) -> int:
    """Returns the elements that a vector.load or vector.store moves in a row."""
    value = operation.results[0] if len(operation.results) else operation.operands[0]
    return ir.VectorType(value.type).shape[-1]
