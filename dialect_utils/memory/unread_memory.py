# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LDS that nobody reads, whose stores are in no code.

IREE stages what it transposes twice: lanes store a tile, read from it what they have just stored,
and store that to another tile. IREE's `iree-codegen-optimize-vector-transfer` later gives what was
stored in place of what is read, so that nobody reads the first tile. On AMD GPUs LLVM leaves out
such a tile and what is stored to it, because every `memref.alloc` and every workgroup attribution
is a global of its own there.
"""

from __future__ import annotations

from iree.compiler import ir

from ...bank_model.lds_rules import AccessKind
from ..operations import TRANSFER_READ, TRANSFER_WRITE, operations_of, segments_of
from .flow import Use, follow
from .lds_ops import VIEW, Bystander, access_row, is_in_bounds, is_masked, row_of, view_row
from .store_free_segments import leaves_memory_alone

_PLAIN_STORES = frozenset({"memref.store", "vector.store", TRANSFER_WRITE})
"""What becomes a plain store, if no lane is masked."""


def is_never_read(memory: ir.Value) -> bool:
    """Returns whether it is certain that nobody reads LDS that a kernel makes.

    Then nothing is done to it, or to any view of it, but plain stores, and reads of what the same
    lane has stored there right before.
    """
    is_carried = False

    def onward(use: Use, target: ir.Value, state: bool) -> bool | None:
        nonlocal is_carried
        row = view_row(use.user)
        is_plain = row is not None and row.keeps_space and use.user.name != VIEW
        is_carried |= not is_plain or _is_described(target)
        return state

    sinks = [use for use, _ in follow(memory, True, onward)]
    if not sinks or is_carried or _is_described(memory):
        return False
    return all(_is_plain_store(use) or _is_forwarded(use) for use in sinks)


def _is_described(memory: ir.Value) -> bool:
    """Returns whether descriptors get the address of memory."""
    return any(row_of(use.owner.operation) is Bystander.DESCRIBES for use in memory.uses)


def _is_plain_store(use: Use) -> bool:
    store, row = use.user, access_row(use.user)
    if store.name not in _PLAIN_STORES or row is None or row.kind is not AccessKind.WRITE:
        return False
    if row.buffer_operand(store) != use.number:
        return False
    return store.name != TRANSFER_WRITE or _moves_everything(store)


def _is_forwarded(use: Use) -> bool:
    """Returns whether a read gives what was stored by the last operation before it that may store.

    It is then the same vector at the same place of the same view.
    """
    read = use.user
    if read.name != TRANSFER_READ or not _moves_everything(read):
        return False
    before = None
    for each in operations_of(read.block):
        if each == read:
            break
        if not leaves_memory_alone(each):
            before = each
    if before is None or before.name != TRANSFER_WRITE or not _moves_everything(before):
        return False
    (stored,), (buffer,), stored_at, _ = segments_of(before)
    (memory,), read_at, _, _ = segments_of(read)
    same = (buffer == memory, stored_at == read_at, stored.type == read.results[0].type)
    return all(same) and _map_of(before) == _map_of(read)


def _moves_everything(transfer: ir.Operation) -> bool:
    return not is_masked(transfer) and is_in_bounds(transfer)


def _map_of(transfer: ir.Operation) -> ir.Attribute:
    return transfer.attributes["permutation_map"]
