# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a transfer may go to what other lanes have accessed.

A renaming lets a lane read what another lane wrote before, or write what another one reads later. A
lane sees its own accesses in their order, but those of other lanes only behind a barrier. So where
something else accesses the same memory, and one of the two writes, a barrier must stand between
them, also on the way around a loop:

    scf.for ... {
      gpu.barrier
      vector.transfer_write %tile     written
      gpu.barrier                     a barrier on the way to the read,
      vector.transfer_read %tile      and the first one, on the way back to the next write
    }
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from iree.compiler import ir

from ...bank_model.lds_rules import AccessKind
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.loops import IF
from ...dialect_utils.memory.barrier_order import orders_lds
from ...dialect_utils.memory.flow import connected_to
from ...dialect_utils.memory.lds_ops import BARRIER, access_row
from ...dialect_utils.memory.memref_types import is_workgroup_memref
from ...dialect_utils.operations import TRANSFER_READ, operations_of, parents_of
from .lane_transfers import LaneTransfer


def check_exchange(transfer: LaneTransfer, alike: Collection[ir.Operation]) -> None:
    """Makes sure that no lane relies on the order of its own accesses.

    Args:
        alike: the transfers that are renamed alike: a lane accesses the same in all of them.

    Raises:
        Refusal: one may.
    """
    operation = transfer.operation
    connected = connected_to(transfer.memory)
    if connected.hidden:
        raise connected.hidden[0]
    for use in connected.sinks:
        row = access_row(use.user)
        reads = row is not None and row.kind is AccessKind.READ
        if use.user in alike or (reads and operation.name == TRANSFER_READ):
            continue
        # Most barriers order accesses to the LDS alone.
        if is_workgroup_memref(transfer.memory.type) and _are_apart(operation, use.user):
            continue
        why = f"no barrier is between {operation.name} and {use.user.name} of the same memory"
        raise Refusal(why, operation.location)


def _are_apart(one: ir.Operation, other: ir.Operation) -> bool:
    """Returns whether a barrier is on every way from one operation to another."""
    around = {each.block: each for each in (one, *_parents_in_function(one))}
    ways = (other, *_parents_in_function(other))
    there = next((each for each in ways if each.block in around), None)
    if there is None:
        return False
    here = around[there.block]
    operations = operations_of(there.block)
    first, second = sorted((operations.index(here), operations.index(there)))
    barriers = [i for i, each in enumerate(operations) if each.name == BARRIER and orders_lds(each)]
    between = any(first < i < second for i in barriers)
    is_repeated = any(each.name != IF for each in _parents_in_function(here))
    return between and (not is_repeated or any(i < first or i > second for i in barriers))


def _parents_in_function(operation: ir.Operation) -> Iterator[ir.Operation]:
    for parent in parents_of(operation):
        if parent.name.endswith("func"):
            return
        yield parent
